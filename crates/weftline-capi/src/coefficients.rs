//! Coding vectors as C sees them.

use weftline_codec::coefficients::Coefficients as Vector;
use weftline_codec::field::Arithmetic;

use crate::guard::guard;
use crate::raw;
use crate::status::{Failure, Status};

/// A coefficient other than 0 for every symbol, drawn from `key`. In GF(2) that is the plain sum.
pub const COEFFICIENTS_NON_ZERO: u32 = 0;
/// Any element of the field, also 0, for every symbol, drawn from `key`.
pub const COEFFICIENTS_UNIFORM: u32 = 1;
/// A coefficient other than 0 for each symbol with a probability of (`parameter` + 1) / 16, drawn from `key`.
pub const COEFFICIENTS_SPARSE: u32 = 2;
/// A coefficient other than 0 for the `parameter` newest symbols, and for fewer of the older ones, drawn from
/// `key`.
pub const COEFFICIENTS_FADING: u32 = 3;
/// The coefficients of RFC 8681, with `key` as repair key (16 bits) and `parameter` as density threshold.
pub const COEFFICIENTS_RFC8681: u32 = 4;
/// The vector itself: `vector_len` elements, one a byte.
pub const COEFFICIENTS_EXPLICIT: u32 = 5;

/// The coding vector of a repair symbol, which has one coefficient for each symbol of its window: a kind
/// (`WEFTLINE_COEFFICIENTS_...`) and the fields that the kind uses. Other fields are ignored. `{0}` with a `key` is
/// a good choice in GF(2^8).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Coefficients {
    /// One of `WEFTLINE_COEFFICIENTS_...`.
    pub kind: u32,
    /// Determines the vector of all kinds except the explicit one. Use a new key for each repair symbol.
    pub key: u32,
    /// Some kinds have one.
    pub parameter: u32,
    /// The explicit vector.
    pub vector: *const u8,
    /// How many elements it has.
    pub vector_len: usize,
}

impl Coefficients {
    /// The vector in the codec's type.
    ///
    /// # Safety
    ///
    /// For the explicit kind, `vector` is NULL or valid for reading `vector_len` bytes for as long as
    /// the result is used.
    pub(crate) unsafe fn to_codec<'a>(self) -> Result<Vector<'a>, Failure> {
        let Coefficients { key, parameter, .. } = self;
        Ok(match self.kind {
            COEFFICIENTS_NON_ZERO => Vector::NonZero { key },
            COEFFICIENTS_UNIFORM => Vector::Uniform { key },
            COEFFICIENTS_SPARSE => Vector::Sparse {
                key,
                density_threshold: small(parameter, "density threshold")?,
            },
            COEFFICIENTS_FADING => Vector::Fading {
                key,
                dense: small(parameter, "number of dense symbols")?,
            },
            COEFFICIENTS_RFC8681 => Vector::Rfc8681 {
                repair_key: small(key, "repair key of RFC 8681")?,
                density_threshold: small(parameter, "density threshold")?,
            },
            COEFFICIENTS_EXPLICIT => {
                // SAFETY: by the contract of this function.
                let vector = unsafe { raw::bytes(self.vector, self.vector_len) }?;
                Vector::Explicit(vector)
            }
            kind => {
                let reason = format!("there is no kind {kind} of coefficients: use 0 to 5");
                return Err(Failure::argument(reason));
            }
        })
    }
}

fn small<T: TryFrom<u32>>(value: u32, what: &str) -> Result<T, Failure> {
    T::try_from(value).map_err(|_| Failure::argument(format!("{value} is too large for a {what}")))
}

/// The field GF(2^bits).
pub(crate) fn field(bits: u32) -> Result<Arithmetic, Failure> {
    Arithmetic::with_bits(bits).ok_or_else(|| {
        Failure::argument(format!(
            "there is no field GF(2^{bits}) here: use 1 to 8 bits"
        ))
    })
}

/// Writes the coding vector over a window of `length` symbols in GF(2^bits): one element a byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_coefficients_fill(
    bits: u32,
    coefficients: Coefficients,
    vector: *mut u8,
    length: usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (place, codec) = unsafe { (raw::buffer(vector, length)?, coefficients.to_codec()?) };
        let mut made = vec![0; bounded(length)?];
        codec
            .fill(field(bits)?, &mut made)
            .map_err(Failure::argument)?;
        raw::copy(&made, place)
    })
}

/// The most symbols of a block, of a window and of a recoder. A decoder needs memory for the square of its
/// symbols.
pub const MAX_SYMBOLS: usize = 8192;

/// The longest payload, in bytes, whose repair symbols in GF(2^bits) have at most `room` bytes. A repair symbol
/// is 2 bytes longer than the payload, rounded up to whole groups of the field. 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_longest_payload(bits: u32, room: usize) -> usize {
    let mut longest = 0;
    guard(|| {
        let group = field(bits)?.group();
        longest = (room / group * group).saturating_sub(weftline_codec::LENGTH_BYTES);
        longest = longest.min(weftline_codec::MAX_SYMBOL_SIZE);
        Ok(())
    });
    longest
}

/// A number of symbols that is not 0 and within [`MAX_SYMBOLS`].
pub(crate) fn bounded(symbols: usize) -> Result<usize, Failure> {
    if (1..=MAX_SYMBOLS).contains(&symbols) {
        Ok(symbols)
    } else {
        let reason = format!("the number of symbols is {symbols}: use 1 to {MAX_SYMBOLS}");
        Err(Failure::argument(reason))
    }
}

/// A symbol size that can be coded.
pub(crate) fn size(bytes: usize) -> Result<usize, Failure> {
    if bytes <= weftline_codec::MAX_SYMBOL_SIZE {
        Ok(bytes)
    } else {
        let max = weftline_codec::MAX_SYMBOL_SIZE;
        let reason = format!("symbols of {bytes} bytes are too long: use at most {max}");
        Err(Failure::argument(reason))
    }
}
