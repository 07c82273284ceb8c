//! Sliding-window codes.

use weftline_codec as codec;
use weftline_codec::DecoderConfig;

use crate::block::push_error;
use crate::coefficients::{Coefficients, bounded, field, size};
use crate::guard::{free, given, guard, look, make, put, put_outcome, put_symbol};
use crate::raw;
use crate::status::{Failure, Status};

/// Source symbols, numbered by their ESI (encoding symbol id). It makes repair symbols over any window of
/// the symbols that it still holds.
#[derive(Debug)]
pub struct WindowEncoder {
    window: codec::WindowEncoder,
    repair: Vec<u8>,
}

/// Recovers source symbols from repair symbols, each as soon as the symbols that arrived determine it.
#[derive(Debug)]
pub struct WindowDecoder(codec::WindowDecoder);

/// Makes an empty encoder in GF(2^bits), 1 to 8 bits, that holds at most `capacity` symbols
/// (`WEFTLINE_MAX_SYMBOLS` at most) of at most `max_symbol_size` bytes (65,535 at most). Returns NULL if there
/// is no such code.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_encoder_new(
    bits: u32,
    capacity: usize,
    max_symbol_size: usize,
) -> Option<Box<WindowEncoder>> {
    make(|| {
        let (capacity, size) = (bounded(capacity)?, size(max_symbol_size)?);
        let window = codec::WindowEncoder::with_field(capacity, size, field(bits)?);
        let repair = Vec::new();
        Ok(WindowEncoder { window, repair })
    })
}

/// Frees an encoder.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_encoder_free(encoder: Option<Box<WindowEncoder>>) {
    free(encoder);
}

/// Adds a copy of the next source symbol. `esi`, unless NULL, gets its ESI. Returns `WEFTLINE_STATUS_FULL`
/// while the encoder holds as many symbols as it may.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_window_encoder_push(
    encoder: Option<&mut WindowEncoder>,
    payload: *const u8,
    length: usize,
    esi: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (payload, esi) = unsafe { (raw::bytes(payload, length)?, raw::place(esi)) };
        let window = &mut given(encoder)?.window;
        put(esi, window.push(payload).map_err(push_error)?);
        Ok(())
    })
}

/// Writes which symbols the encoder holds: the first ESI, and the ESI after the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_window_encoder_held(
    encoder: Option<&WindowEncoder>,
    first: *mut u64,
    end: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (first, end) = unsafe { (raw::place(first), raw::place(end)) };
        let held = given(encoder)?.window.held();
        put(first, held.start);
        put(end, held.end);
        Ok(())
    })
}

/// Discards all symbols below `esi`. Call this for symbols that the receiver has.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_encoder_discard_before(
    encoder: Option<&mut WindowEncoder>,
    esi: u64,
) -> Status {
    guard(|| {
        given(encoder)?.window.discard_before(esi);
        Ok(())
    })
}

/// Writes the repair symbol over the symbols from `first` up to and without `end`, and its length: 2 bytes
/// more than their longest payload, rounded up to whole groups of the field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_window_encoder_repair(
    encoder: Option<&mut WindowEncoder>,
    first: u64,
    end: u64,
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
        let WindowEncoder { window, repair } = given(encoder)?;
        repair.clear();
        window
            .repair(first..end, vector, repair)
            .map_err(Failure::argument)?;
        raw::copy_out(repair, place, length)
    })
}

/// Makes a decoder in GF(2^bits), 1 to 8 bits, that keeps at most `max_span` symbols, known or missing, of at
/// most `max_symbol_size` bytes, and accepts repair symbols over at most as many. Returns NULL if there is no
/// such code.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_decoder_new(
    bits: u32,
    max_span: usize,
    max_symbol_size: usize,
) -> Option<Box<WindowDecoder>> {
    make(|| {
        let (span, size) = (bounded(max_span)?, size(max_symbol_size)?);
        let config = DecoderConfig::new(span, size, span, span);
        Ok(WindowDecoder(codec::WindowDecoder::with_field(
            config,
            field(bits)?,
        )))
    })
}

/// Frees a decoder.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_decoder_free(decoder: Option<Box<WindowDecoder>>) {
    free(decoder);
}

/// Gives the decoder a source symbol, which it copies. `innovative`, unless NULL, says whether the symbol was
/// new to it. Returns `WEFTLINE_STATUS_FULL` for a symbol too far above the oldest one that
/// the decoder keeps: forget older symbols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_window_decoder_source(
    decoder: Option<&mut WindowDecoder>,
    esi: u64,
    payload: *const u8,
    length: usize,
    innovative: *mut bool,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (payload, innovative) =
            unsafe { (raw::bytes(payload, length)?, raw::place(innovative)) };
        let outcome = given(decoder)?.0.source(esi, payload);
        put_outcome(innovative, outcome)
    })
}

/// Gives the decoder a repair symbol over the symbols from `first` up to and without `end`. `innovative`,
/// unless NULL, says whether it told the decoder something new. Returns `WEFTLINE_STATUS_LATE` if it covers
/// symbols that the decoder has forgotten and needs them: drop the repair symbol and continue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_window_decoder_repair(
    decoder: Option<&mut WindowDecoder>,
    first: u64,
    end: u64,
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
        let outcome = given(decoder)?.0.repair(first..end, vector, data);
        put_outcome(innovative, outcome)
    })
}

/// Writes the ESI of the next symbol that became known, received or recovered, each symbol once. Returns
/// `WEFTLINE_STATUS_MISSING` when there is none now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_window_decoder_next_known(
    decoder: Option<&mut WindowDecoder>,
    esi: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let esi = unsafe { raw::place(esi) };
        let (decoder, esi) = (given(decoder)?, given(esi)?);
        let known = decoder.0.next_known();
        esi.write(known.ok_or_else(|| Failure::new(Status::Missing, "nothing became known"))?);
        Ok(())
    })
}

/// Writes where the payload of a known symbol is, and its length. The payload is valid until the next call
/// that changes the decoder. Returns `WEFTLINE_STATUS_MISSING` for a symbol that is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_window_decoder_symbol(
    decoder: Option<&WindowDecoder>,
    esi: u64,
    payload: *mut *const u8,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (payload, length) = unsafe { (raw::place(payload), raw::place(length)) };
        put_symbol(esi, given(decoder)?.0.symbol(esi), payload, length)
    })
}

/// The in-order edge: the lowest ESI that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_decoder_contiguous(decoder: Option<&WindowDecoder>) -> u64 {
    look(decoder, |decoder| decoder.0.contiguous())
}

/// How many symbols are missing.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_decoder_missing(decoder: Option<&WindowDecoder>) -> usize {
    look(decoder, |decoder| decoder.0.unknowns())
}

/// How many more innovative symbols the decoder needs until nothing is missing.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_decoder_deficit(decoder: Option<&WindowDecoder>) -> usize {
    look(decoder, |decoder| decoder.0.deficit())
}

/// Forgets all symbols below `esi`, and gives up those of them that are missing.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_window_decoder_forget_before(
    decoder: Option<&mut WindowDecoder>,
    esi: u64,
) -> Status {
    guard(|| {
        given(decoder)?.0.forget_before(esi);
        Ok(())
    })
}
