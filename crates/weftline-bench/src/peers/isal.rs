//! ISA-L's erasure coding, if its library is installed.
//!
//! It is loaded at run time, so the build does not need it. All `unsafe` code
//! of this crate is here. The signatures are those of `erasure_code.h`,
//! `gf_vect_mul.h` and `raid.h` of ISA-L 2.30, which have not changed since 2.
//!
//! Its field is ours, GF(2^8) with the polynomial 0x11D, so results must be
//! equal byte for byte.

use std::ffi::{c_int, c_uchar, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::data::Symbols;

/// The name in results.
pub(crate) const NAME: &str = "isa-l";

/// The shortest vector that all of its kernels accept.
const MIN_LENGTH: usize = 64;

const FILE: &str = "libisal.so.2";
/// Bytes of the tables of a coefficient.
const TABLE: usize = 32;

type InitTables = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type EncodeData = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    *const c_uchar,
    *const *const c_uchar,
    *const *mut c_uchar,
);
type DotProd =
    unsafe extern "C" fn(c_int, c_int, *const c_uchar, *const *const c_uchar, *mut c_uchar);
type Mad = unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const c_uchar, *mut c_uchar);
type InvertMatrix = unsafe extern "C" fn(*mut c_uchar, *mut c_uchar, c_int) -> c_int;
type XorGen = unsafe extern "C" fn(c_int, c_int, *const *mut c_void) -> c_int;

/// The library's functions.
#[derive(Debug)]
pub(crate) struct Isal {
    init_tables: InitTables,
    encode_data: EncodeData,
    dot_prod: DotProd,
    mad: Mad,
    invert_matrix: InvertMatrix,
    xor_gen: XorGen,
    /// The library that holds the functions.
    _library: Library,
}

/// The library, or the reason why it is missing, for the user.
pub(crate) fn load() -> Result<&'static Isal, String> {
    static LOADED: OnceLock<Result<Isal, String>> = OnceLock::new();
    let open = || open(["ec_encode_data", "gf_vect_dot_prod", "gf_vect_mad"]);
    LOADED.get_or_init(open).as_ref().map_err(Clone::clone)
}

/// The same, always with its kernels for AVX2, to compare our AVX2 kernel with.
fn load_avx2() -> Result<&'static Isal, String> {
    static LOADED: OnceLock<Result<Isal, String>> = OnceLock::new();
    #[cfg(target_arch = "x86_64")]
    let here = std::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let here = false;
    let open = || {
        if !here {
            return Err("this CPU does not have AVX2".to_owned());
        }
        open([
            "ec_encode_data_avx2",
            "gf_vect_dot_prod_avx2",
            "gf_vect_mad_avx2",
        ])
    };
    LOADED.get_or_init(open).as_ref().map_err(Clone::clone)
}

/// All variants for symbols of this size, by their names in results.
pub(crate) fn variants(size: usize) -> [(&'static str, Result<&'static Isal, String>); 2] {
    let avx2 = for_size(size).and_then(|_| load_avx2());
    [(NAME, for_size(size)), ("isa-l avx2", avx2)]
}

/// The library for symbols of this size, or the reason against it, for the
/// user.
pub(crate) fn for_size(size: usize) -> Result<&'static Isal, String> {
    if size < MIN_LENGTH {
        return Err(format!("accepts no fewer than {MIN_LENGTH} bytes"));
    }
    load()
}

/// Looks up the functions, of which `encode`, `dot_prod` and `mad` have variants.
fn open([encode, dot_prod, mad]: [&str; 3]) -> Result<Isal, String> {
    let absent =
        |error| format!("{FILE} cannot be loaded ({error}); install Debian's package libisal2");
    // SAFETY: ISA-L's initialisers only look at the CPU; its soname stands for
    // the interface declared above.
    let library = unsafe { Library::new(FILE) }.map_err(absent)?;
    // SAFETY: the types are those of the library's headers, the variants having
    // that of the function they are variants of; and the functions stay where
    // they are as long as `library`, which is kept beside them.
    unsafe {
        Ok(Isal {
            init_tables: *library
                .get::<InitTables>("ec_init_tables")
                .map_err(absent)?,
            encode_data: *library.get::<EncodeData>(encode).map_err(absent)?,
            dot_prod: *library.get::<DotProd>(dot_prod).map_err(absent)?,
            mad: *library.get::<Mad>(mad).map_err(absent)?,
            invert_matrix: *library
                .get::<InvertMatrix>("gf_invert_matrix")
                .map_err(absent)?,
            xor_gen: *library.get::<XorGen>("xor_gen").map_err(absent)?,
            _library: library,
        })
    }
}

fn int(value: usize) -> c_int {
    c_int::try_from(value).expect("workloads are smaller than 2 GiB")
}

/// The multiplication tables of a matrix with a column for each source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    bytes: Vec<u8>,
    sources: usize,
    rows: usize,
    /// Room for where the destinations begin.
    out: Vec<*mut u8>,
}

/// Sources in the form that ISA-L takes: pointers.
#[derive(Clone, Debug)]
pub(crate) struct Sources<'a> {
    pointers: Vec<*const u8>,
    length: usize,
    _slices: std::marker::PhantomData<&'a [u8]>,
}

impl<'a> Sources<'a> {
    /// Equally long sources.
    pub(crate) fn new(sources: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut length = None;
        let pointers = sources.into_iter().map(|source| {
            assert_eq!(*length.get_or_insert(source.len()), source.len());
            source.as_ptr()
        });
        let pointers = pointers.collect();
        Self {
            pointers,
            length: length.unwrap_or(0),
            _slices: std::marker::PhantomData,
        }
    }
}

impl Isal {
    /// Fills `tables` for a row-major matrix with a row for each destination.
    pub(crate) fn tables(&self, matrix: &[u8], sources: usize, tables: &mut Tables) {
        assert!(sources > 0 && matrix.len().is_multiple_of(sources));
        tables.sources = sources;
        tables.rows = matrix.len() / sources;
        tables.bytes.resize(matrix.len() * TABLE, 0);
        // SAFETY: `matrix` has `sources * rows` elements, and 32 bytes are
        // written for each.
        unsafe {
            (self.init_tables)(
                int(tables.sources),
                int(tables.rows),
                matrix.as_ptr(),
                tables.bytes.as_mut_ptr(),
            );
        }
    }

    /// Sets every symbol of `out` to its row's combination of the sources.
    pub(crate) fn encode(&self, tables: &mut Tables, sources: &Sources<'_>, out: &mut Symbols) {
        assert_eq!(
            (tables.sources, tables.rows),
            (sources.pointers.len(), out.len())
        );
        assert!(sources.length >= MIN_LENGTH && out.size() == sources.length);
        tables.out.clear();
        tables.out.extend(out.iter_mut().map(<[u8]>::as_mut_ptr));
        // SAFETY: as many sources, destinations and tables as it says, each
        // source and destination `length` bytes; destinations do not overlap
        // anything, because they are borrowed mutably.
        unsafe {
            (self.encode_data)(
                int(sources.length),
                int(sources.pointers.len()),
                int(tables.rows),
                tables.bytes.as_ptr(),
                sources.pointers.as_ptr(),
                tables.out.as_ptr(),
            );
        }
    }

    /// Sets `out` to the combination of the sources; the tables have one row.
    pub(crate) fn dot_product(&self, tables: &Tables, sources: &Sources<'_>, out: &mut [u8]) {
        assert_eq!((tables.sources, tables.rows), (sources.pointers.len(), 1));
        assert!(out.len() == sources.length && sources.length >= MIN_LENGTH);
        // SAFETY: as in `encode`.
        unsafe {
            (self.dot_prod)(
                int(sources.length),
                int(sources.pointers.len()),
                tables.bytes.as_ptr(),
                sources.pointers.as_ptr(),
                out.as_mut_ptr(),
            );
        }
    }

    /// Adds the source with this index times its coefficient to `out`.
    pub(crate) fn multiply_add(&self, tables: &Tables, index: usize, src: &[u8], out: &mut [u8]) {
        assert!(index < tables.sources && tables.rows == 1);
        assert!(src.len() == out.len() && src.len() >= MIN_LENGTH);
        // SAFETY: both are `len` bytes and do not overlap; the tables hold 32
        // bytes for `index`.
        unsafe {
            (self.mad)(
                int(src.len()),
                int(tables.sources),
                int(index),
                tables.bytes.as_ptr(),
                src.as_ptr(),
                out.as_mut_ptr(),
            );
        }
    }

    /// The inverse of an `n` x `n` matrix, which is overwritten; `None` if it
    /// is singular.
    pub(crate) fn inverse(&self, matrix: &mut [u8], n: usize) -> Option<Vec<u8>> {
        assert_eq!(matrix.len(), n * n);
        let mut inverse = vec![0; n * n];
        // SAFETY: both are n x n bytes.
        let failed =
            unsafe { (self.invert_matrix)(matrix.as_mut_ptr(), inverse.as_mut_ptr(), int(n)) };
        (failed == 0).then_some(inverse)
    }

    /// Sets `out` to the XOR of at least two sources. Returns false if the
    /// library refuses, for example because memory is not aligned.
    pub(crate) fn xor(&self, sources: &Sources<'_>, out: &mut [u8], room: &mut Xor) -> bool {
        assert!(sources.pointers.len() >= 2 && out.len() == sources.length);
        let all = sources.pointers.iter().map(|source| source.cast_mut());
        room.0.clear();
        room.0.extend(all.map(<*mut u8>::cast));
        room.0.push(out.as_mut_ptr().cast());
        if room.0.iter().any(|place| place.addr() % 64 != 0) {
            return false;
        }
        // SAFETY: one pointer for each source and one for the destination, all
        // aligned, to `len` bytes each; only the last one is written to.
        let failed = unsafe { (self.xor_gen)(int(room.0.len()), int(out.len()), room.0.as_ptr()) };
        failed == 0
    }
}

/// Room for the pointers of [`Isal::xor`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Xor(Vec<*mut c_void>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::coefficients;
    use weftline_codec::field::{Field, Gf256};

    fn naive(matrix: &[u8], sources: &Symbols) -> Vec<u8> {
        let rows = matrix.chunks_exact(sources.len());
        let rows = rows.flat_map(|row| {
            let mut sum = vec![0; sources.get(0).len()];
            for (c, source) in row.iter().zip(sources.slices()) {
                for (sum, byte) in sum.iter_mut().zip(source) {
                    *sum ^= Gf256::mul(*c, *byte);
                }
            }
            sum
        });
        rows.collect()
    }

    #[test]
    fn its_results_are_those_of_our_field() {
        let variants = variants(64);
        for (name, isal) in &variants {
            match isal {
                Ok(isal) => results_are_those_of_our_field(isal),
                Err(reason) => weftline_testkit::unable("isa-l", &format!("{name}: {reason}")),
            }
        }
    }

    fn results_are_those_of_our_field(isal: &Isal) {
        for length in [64, 65, 100, 1280] {
            let symbols = Symbols::random(7, length, 5);
            let sources = Sources::new(symbols.slices());
            let mut tables = Tables::default();
            for rows in [1, 2, 6, 9] {
                let matrix = coefficients(7 * rows, rows as u64);
                let mut out = Symbols::zeroed(rows, length);
                isal.tables(&matrix, 7, &mut tables);
                isal.encode(&mut tables, &sources, &mut out);
                assert_eq!(out.concat(), naive(&matrix, &symbols), "{rows} x {length}");
            }
            let matrix = coefficients(7, 9);
            let mut out = Symbols::zeroed(2, length);
            isal.tables(&matrix, 7, &mut tables);
            isal.dot_product(&tables, &sources, out.get_mut(0));
            for (index, symbol) in symbols.slices().into_iter().enumerate() {
                isal.multiply_add(&tables, index, symbol, out.get_mut(1));
            }
            assert_eq!(out.get(0), naive(&matrix, &symbols));
            assert_eq!(out.get(1), out.get(0));
            assert!(isal.xor(&sources, out.get_mut(0), &mut Xor::default()));
            assert_eq!(out.get(0), naive(&[1; 7], &symbols));
        }
    }

    #[test]
    fn it_inverts_what_can_be_inverted() {
        let isal = match load() {
            Ok(isal) => isal,
            Err(reason) => return weftline_testkit::unable("isa-l", &reason),
        };
        assert_eq!(isal.inverse(&mut [1, 1, 1, 1], 2), None);
        assert_eq!(
            isal.inverse(&mut [2, 0, 0, 1], 2),
            Some(vec![Gf256::inv(2), 0, 0, 1])
        );
    }
}
