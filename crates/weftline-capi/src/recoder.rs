//! Recoding at relays.

use weftline_codec as codec;
use weftline_codec::RepairError;

use crate::coefficients::{Coefficients, bounded, field, size};
use crate::guard::{free, given, guard, look, make, put, put_outcome};
use crate::raw;
use crate::status::{Failure, Status};

/// Makes new repair symbols from the symbols that reach a relay, without decoding them.
#[derive(Debug)]
pub struct Recoder {
    recoder: codec::Recoder,
    vector: Vec<u8>,
    data: Vec<u8>,
}

/// Makes a relay in GF(2^bits), 1 to 8 bits, that holds at most `max_symbols` symbols of at most
/// `max_symbol_size` bytes, and combines at most `max_span` consecutive ESIs. Returns NULL if there is no
/// such code.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_recoder_new(
    bits: u32,
    max_symbols: usize,
    max_span: usize,
    max_symbol_size: usize,
) -> Option<Box<Recoder>> {
    make(|| {
        let (symbols, span) = (bounded(max_symbols)?, bounded(max_span)?);
        let size = size(max_symbol_size)?;
        let recoder = codec::Recoder::with_field(symbols, span, size, field(bits)?);
        let (vector, data) = (Vec::new(), Vec::new());
        Ok(Recoder {
            recoder,
            vector,
            data,
        })
    })
}

/// Frees a relay.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_recoder_free(recoder: Option<Box<Recoder>>) {
    free(recoder);
}

/// Gives the relay a source symbol that it received. `innovative`, unless NULL, says whether it told the
/// relay something new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_recoder_source(
    recoder: Option<&mut Recoder>,
    esi: u64,
    payload: *const u8,
    length: usize,
    innovative: *mut bool,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (payload, innovative) =
            unsafe { (raw::bytes(payload, length)?, raw::place(innovative)) };
        let outcome = given(recoder)?.recoder.source(esi, payload);
        put_outcome(innovative, outcome)
    })
}

/// Gives the relay a repair symbol that it received, over the symbols from `first` up to and without `end`.
/// `innovative`, unless NULL, says whether it told the relay something new. Returns `WEFTLINE_STATUS_LATE` if it
/// covers symbols that the relay has forgotten and needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_recoder_repair(
    recoder: Option<&mut Recoder>,
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
        let outcome = given(recoder)?.recoder.repair(first..end, vector, data);
        put_outcome(innovative, outcome)
    })
}

/// Writes a new repair symbol: its window to `first` and `end`, its explicit coding vector to `vector`
/// (`end - first` elements, one a byte), and its data. Use a new `key` for each. If a buffer is too small, the
/// window and the length of the data are written all the same. Returns `WEFTLINE_STATUS_MISSING` while the
/// relay holds nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_recoder_recode(
    recoder: Option<&mut Recoder>,
    key: u32,
    first: *mut u64,
    end: *mut u64,
    vector: *mut u8,
    vector_capacity: usize,
    data: *mut u8,
    data_capacity: usize,
    data_length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (first, end, data_length) =
            unsafe { (raw::place(first), raw::place(end), raw::place(data_length)) };
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (vector_place, data_place) = unsafe {
            (
                raw::buffer(vector, vector_capacity)?,
                raw::buffer(data, data_capacity)?,
            )
        };
        let relay = given(recoder)?;
        relay.vector.clear();
        relay.data.clear();
        let made = relay
            .recoder
            .recode(key, &mut relay.vector, &mut relay.data);
        let window = made.map_err(|error| match error {
            RepairError::EmptyWindow => Failure::new(Status::Missing, "nothing is held"),
            error => Failure::argument(error),
        })?;
        put(first, window.start);
        put(end, window.end);
        raw::copy_out(&relay.data, data_place, data_length)?;
        raw::copy(&relay.vector, vector_place)
    })
}

/// How many symbols the relay holds. They are independent of each other.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_recoder_rank(recoder: Option<&Recoder>) -> usize {
    look(recoder, |relay| relay.recoder.rank())
}

/// Forgets all symbols below `esi`, and keeps what is known about the others without them.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_recoder_forget_before(
    recoder: Option<&mut Recoder>,
    esi: u64,
) -> Status {
    guard(|| {
        given(recoder)?.recoder.forget_before(esi);
        Ok(())
    })
}
