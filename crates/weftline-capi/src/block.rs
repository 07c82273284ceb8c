//! Block codes.

use weftline_codec as codec;
use weftline_codec::PushError;

use crate::coefficients::{Coefficients, bounded, field, size};
use crate::guard::{free, given, guard, look, make, put, put_outcome, put_symbol};
use crate::raw;
use crate::status::{Failure, Status};

/// A block of source symbols, which makes repair symbols over all of them. Send the source symbols and then
/// repair symbols (systematic), or only repair symbols.
#[derive(Debug)]
pub struct BlockEncoder {
    block: codec::BlockEncoder,
    repair: Vec<u8>,
}

/// Recovers a block from as many of its symbols as suffice, whichever they are.
#[derive(Debug)]
pub struct BlockDecoder(codec::BlockDecoder);

pub(crate) fn push_error(error: PushError) -> Failure {
    let status = match error {
        PushError::Full { .. } => Status::Full,
        _ => Status::Argument,
    };
    Failure::new(status, error)
}

/// Makes an empty block in GF(2^bits), 1 to 8 bits, for at most `max_symbols` symbols
/// (`WEFTLINE_MAX_SYMBOLS` at most) of at most `max_symbol_size` bytes (65,535 at most). Returns NULL if there
/// is no such code.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_encoder_new(
    bits: u32,
    max_symbols: usize,
    max_symbol_size: usize,
) -> Option<Box<BlockEncoder>> {
    make(|| {
        let (symbols, size) = (bounded(max_symbols)?, size(max_symbol_size)?);
        let block = codec::BlockEncoder::with_field(symbols, size, field(bits)?);
        let repair = Vec::new();
        Ok(BlockEncoder { block, repair })
    })
}

/// Frees a block.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_encoder_free(encoder: Option<Box<BlockEncoder>>) {
    free(encoder);
}

/// Adds a copy of the next source symbol to the block. `index`, unless NULL, gets its index. Returns
/// `WEFTLINE_STATUS_FULL` when the block has all its symbols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_encoder_push(
    encoder: Option<&mut BlockEncoder>,
    payload: *const u8,
    length: usize,
    index: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (payload, index) = unsafe { (raw::bytes(payload, length)?, raw::place(index)) };
        let block = &mut given(encoder)?.block;
        put(index, block.push(payload).map_err(push_error)?);
        Ok(())
    })
}

/// Writes the repair symbol with these coefficients over the whole block, and its length: 2 bytes
/// more than the longest payload of the block, rounded up to whole groups of the field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_encoder_repair(
    encoder: Option<&mut BlockEncoder>,
    coefficients: Coefficients,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (place, vector, length) = unsafe {
            (
                raw::buffer(buffer, capacity)?,
                coefficients.to_codec()?,
                raw::place(length),
            )
        };
        let encoder = given(encoder)?;
        encoder.repair.clear();
        let made = encoder.block.repair(vector, &mut encoder.repair);
        made.map_err(Failure::argument)?;
        raw::copy_out(&encoder.repair, place, length)
    })
}

/// Removes all symbols, so that the next block can begin. The memory is used again.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_encoder_clear(encoder: Option<&mut BlockEncoder>) -> Status {
    guard(|| {
        given(encoder)?.block.clear();
        Ok(())
    })
}

/// Makes a decoder in GF(2^bits), 1 to 8 bits, for a block of `symbols` symbols of at most
/// `max_symbol_size` bytes. Returns NULL if there is no such code.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_new(
    bits: u32,
    symbols: usize,
    max_symbol_size: usize,
) -> Option<Box<BlockDecoder>> {
    make(|| {
        let (symbols, size) = (bounded(symbols)?, size(max_symbol_size)?);
        let decoder = codec::BlockDecoder::with_field(symbols, size, field(bits)?);
        Ok(BlockDecoder(decoder))
    })
}

/// Frees a decoder.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_free(decoder: Option<Box<BlockDecoder>>) {
    free(decoder);
}

/// Gives the decoder a source symbol, which it copies. `innovative`, unless NULL, says whether the symbol was
/// new to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_decoder_source(
    decoder: Option<&mut BlockDecoder>,
    index: usize,
    payload: *const u8,
    length: usize,
    innovative: *mut bool,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (payload, innovative) =
            unsafe { (raw::bytes(payload, length)?, raw::place(innovative)) };
        let outcome = given(decoder)?.0.source(index, payload);
        put_outcome(innovative, outcome)
    })
}

/// Gives the decoder a repair symbol that was made with these coefficients. `innovative`, unless NULL, says
/// whether it told the decoder something new. The block is solved as soon as that is possible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_decoder_repair(
    decoder: Option<&mut BlockDecoder>,
    coefficients: Coefficients,
    data: *const u8,
    length: usize,
    innovative: *mut bool,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (data, vector, innovative) = unsafe {
            (
                raw::bytes(data, length)?,
                coefficients.to_codec()?,
                raw::place(innovative),
            )
        };
        let outcome = given(decoder)?.0.repair(vector, data);
        put_outcome(innovative, outcome)
    })
}

/// How many more innovative symbols the decoder needs; 0 when every symbol is known.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_deficit(decoder: Option<&BlockDecoder>) -> usize {
    look(decoder, |decoder| decoder.0.deficit())
}

/// How many source symbols are missing.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_missing(decoder: Option<&BlockDecoder>) -> usize {
    look(decoder, |decoder| decoder.0.unknowns())
}

/// Writes where the payload of a known symbol is, and its length. The payload is valid until the next call
/// that changes the decoder. Returns `WEFTLINE_STATUS_MISSING` for a symbol that is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_decoder_symbol(
    decoder: Option<&BlockDecoder>,
    index: usize,
    payload: *mut *const u8,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (payload, length) = unsafe { (raw::place(payload), raw::place(length)) };
        put_symbol(index, given(decoder)?.0.symbol(index), payload, length)
    })
}

/// Forgets everything, so that the next block of the same number of symbols can begin. The memory is used
/// again.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_clear(decoder: Option<&mut BlockDecoder>) -> Status {
    guard(|| {
        given(decoder)?.0.clear();
        Ok(())
    })
}
