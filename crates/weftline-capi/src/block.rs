//! Block codes.

use std::mem::MaybeUninit;

use weftline_codec as codec;
use weftline_codec::PushError;

use crate::coefficients::{Coefficients, bounded, field, size};
use crate::guard::{free, given, guard, look, make, put, put_outcome, put_symbol};
use crate::raw;
use crate::status::{Failure, Status};

/// A block of source symbols, and repair symbols over all of it: send the source symbols and then
/// repair symbols (systematic), or nothing but repair symbols, as many as it takes.
#[derive(Debug)]
pub struct BlockEncoder {
    block: codec::BlockEncoder,
    repair: Vec<u8>,
}

/// Recovers a block from any symbols of it that suffice.
#[derive(Debug)]
pub struct BlockDecoder(codec::BlockDecoder);

pub(crate) fn push_error(error: PushError) -> Failure {
    let status = match error {
        PushError::Full { .. } => Status::Full,
        _ => Status::Argument,
    };
    Failure::new(status, error)
}

/// An empty block in GF(2^bits), 1 to 8 bits, for at most `max_symbols` symbols of at most
/// `max_symbol_size` bytes (65,535 at most). NULL if that cannot be.
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

/// Takes the next source symbol into the block (a copy) and tells its index, unless `index` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_encoder_push(
    encoder: Option<&mut BlockEncoder>,
    payload: *const u8,
    length: usize,
    index: Option<&mut MaybeUninit<usize>>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let payload = unsafe { raw::bytes(payload, length) }?;
        let block = &mut given(encoder)?.block;
        put(index, block.push(payload).map_err(push_error)?);
        Ok(())
    })
}

/// Writes the repair symbol with these coefficients over the whole block, and its length: 2 bytes
/// more than the longest payload, rounded up to whole groups of the field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_encoder_repair(
    encoder: Option<&mut BlockEncoder>,
    coefficients: Coefficients,
    buffer: *mut u8,
    capacity: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (place, vector) = unsafe { (raw::buffer(buffer, capacity)?, coefficients.to_codec()?) };
        let encoder = given(encoder)?;
        encoder.repair.clear();
        let made = encoder.block.repair(vector, &mut encoder.repair);
        made.map_err(Failure::argument)?;
        raw::copy_out(&encoder.repair, place, length)
    })
}

/// Empties the block for the next one; memory is reused.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_encoder_clear(encoder: Option<&mut BlockEncoder>) -> Status {
    guard(|| {
        given(encoder)?.block.clear();
        Ok(())
    })
}

/// A decoder in GF(2^bits), 1 to 8 bits, for a block of `symbols` symbols of at most
/// `max_symbol_size` bytes. NULL if that cannot be.
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

/// Takes a source symbol (a copy). `innovative`, unless NULL, tells whether it brought anything new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_decoder_source(
    decoder: Option<&mut BlockDecoder>,
    index: usize,
    payload: *const u8,
    length: usize,
    innovative: Option<&mut MaybeUninit<bool>>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let payload = unsafe { raw::bytes(payload, length) }?;
        let outcome = given(decoder)?.0.source(index, payload);
        put_outcome(innovative, outcome)
    })
}

/// Takes a repair symbol made with these coefficients. `innovative`, unless NULL, tells whether it
/// brought anything new. The one that makes the block solvable solves it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_block_decoder_repair(
    decoder: Option<&mut BlockDecoder>,
    coefficients: Coefficients,
    data: *const u8,
    length: usize,
    innovative: Option<&mut MaybeUninit<bool>>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (data, vector) = unsafe { (raw::bytes(data, length)?, coefficients.to_codec()?) };
        let outcome = given(decoder)?.0.repair(vector, data);
        put_outcome(innovative, outcome)
    })
}

/// How many more innovative symbols complete the block; 0 when every symbol is known.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_deficit(decoder: Option<&BlockDecoder>) -> usize {
    look(decoder, |decoder| decoder.0.deficit())
}

/// How many source symbols are missing.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_missing(decoder: Option<&BlockDecoder>) -> usize {
    look(decoder, |decoder| decoder.0.unknowns())
}

/// Where the payload of a known symbol is, and its length; valid until the decoder is used again
/// but for looking.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_symbol(
    decoder: Option<&BlockDecoder>,
    index: usize,
    payload: Option<&mut MaybeUninit<*const u8>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> Status {
    guard(|| put_symbol(index, given(decoder)?.0.symbol(index), payload, length))
}

/// Forgets everything and begins a block of as many symbols; memory is reused.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_block_decoder_clear(decoder: Option<&mut BlockDecoder>) -> Status {
    guard(|| {
        given(decoder)?.0.clear();
        Ok(())
    })
}
