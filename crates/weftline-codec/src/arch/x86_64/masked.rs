//! The code that the AVX-512 kernels share: registers of 64 bytes, and
//! instructions that can skip bytes.

/// Writes the methods of the kernel `$kernel` and its register operations for
/// an instruction set `$feature` that has AVX-512 F and BW. Of the operations
/// that [`vector`](crate::arch::vector) lists, the calling module provides only
/// `split`, `multiplier` and `product`; it also imports the intrinsics of
/// x86-64.
macro_rules! masked_kernel {
    ($kernel:ident, $feature:literal) => {
        use crate::arch::Onto;
        use crate::arch::vector::methods;
        use crate::tables::Tables;

        methods!($kernel);

        const WIDTH: usize = 64;
        /// Registers that hold sums of one destination while the sources are
        /// read.
        const LONG: usize = 8;
        /// The number of destinations computed at once, and the registers of
        /// each.
        const ROWS: usize = 4;
        const SHORT: usize = 4;

        #[target_feature(enable = $feature)]
        fn xor(dst: &mut [u8], src: &[u8]) {
            crate::arch::scalar::xor(dst, src);
        }

        #[target_feature(enable = $feature)]
        fn mul(tables: &Tables, dst: &mut [u8], c: u8) {
            let multiplier = multiplier(tables, c);
            for chunk in dst.chunks_mut(WIDTH) {
                store_first(chunk, product(&multiplier, &split(load_first(chunk))));
            }
        }

        /// Adds `c * src[from..]` to `dst[from..]`.
        #[target_feature(enable = $feature)]
        fn mul_add(tables: &Tables, dst: &mut [u8], src: &[u8], from: usize, c: u8) {
            let dst = &mut dst[..src.len()];
            let multiplier = multiplier(tables, c);
            let (src_chunks, src_rest) = src[from..].as_chunks::<WIDTH>();
            let (dst_chunks, dst_rest) = dst[from..].as_chunks_mut::<WIDTH>();
            for (d, s) in dst_chunks.iter_mut().zip(src_chunks) {
                store(d, add(load(d), product(&multiplier, &split(load(s)))));
            }
            if !src_rest.is_empty() {
                let rest = product(&multiplier, &split(load_first(src_rest)));
                store_first(dst_rest, add(load_first(dst_rest), rest));
            }
        }

        #[target_feature(enable = $feature)]
        fn mul_add_multi(tables: &Tables, dst: &mut [u8], terms: &[(u8, &[u8])], onto: Onto) {
            combine::<false>(tables, dst, terms, onto);
        }

        #[target_feature(enable = $feature)]
        fn sum(dst: &mut [u8], terms: &[(u8, &[u8])], onto: Onto) {
            combine::<true>(&crate::tables::GF2, dst, terms, onto);
        }

        /// Adds every `c * src` to `dst`; with `SUM` all `c` are 0 or 1.
        #[target_feature(enable = $feature)]
        #[inline]
        fn combine<const SUM: bool>(
            tables: &Tables,
            dst: &mut [u8],
            terms: &[(u8, &[u8])],
            onto: Onto,
        ) {
            for at in (0..dst.len()).step_by(LONG * WIDTH) {
                match (dst.len() - at).div_ceil(WIDTH) {
                    1 => block::<1, SUM>(tables, dst, at, terms, onto),
                    2 => block::<2, SUM>(tables, dst, at, terms, onto),
                    3 => block::<3, SUM>(tables, dst, at, terms, onto),
                    4 => block::<4, SUM>(tables, dst, at, terms, onto),
                    5 => block::<5, SUM>(tables, dst, at, terms, onto),
                    6 => block::<6, SUM>(tables, dst, at, terms, onto),
                    7 => block::<7, SUM>(tables, dst, at, terms, onto),
                    _ => block::<LONG, SUM>(tables, dst, at, terms, onto),
                }
            }
        }

        /// The bytes of the `N` registers from `at`, if all of them exist.
        #[inline(always)]
        fn whole<const N: usize>(src: &[u8], at: usize) -> Option<&[[u8; WIDTH]; N]> {
            let whole = src.get(at..at + N * WIDTH)?;
            whole.as_chunks::<WIDTH>().0.first_chunk::<N>()
        }

        /// The bytes of at most `N` registers from `at`; fewer at the end of a
        /// slice.
        #[inline(always)]
        fn piece<const N: usize>(src: &[u8], at: usize) -> &[u8] {
            let src = src.get(at..).unwrap_or_default();
            &src[..src.len().min(N * WIDTH)]
        }

        /// The `N` registers of a piece; bytes beyond its end are 0.
        #[target_feature(enable = $feature)]
        #[inline]
        fn registers<const N: usize>(piece: &[u8]) -> [Register; N] {
            let mut out = [zero(); N];
            // Usually all but the last register are whole.
            let (whole, rest) = piece.as_chunks::<WIDTH>();
            if whole.len() >= N - 1 {
                for i in 0..N - 1 {
                    out[i] = load(&whole[i]);
                }
                out[N - 1] = match whole.get(N - 1) {
                    Some(last) => load(last),
                    None => load_first(rest),
                };
            } else {
                for (out, chunk) in out.iter_mut().zip(piece.chunks(WIDTH)) {
                    *out = load_first(chunk);
                }
            }
            out
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn add_sums<const N: usize>(dst: &mut [u8], at: usize, sums: [Register; N], onto: Onto) {
            let end = dst.len().min(at + N * WIDTH);
            let chunks = dst[at..end].chunks_mut(WIDTH);
            if onto == Onto::Nothing {
                for (chunk, sum) in chunks.zip(sums) {
                    store_first(chunk, sum);
                }
            } else {
                for (chunk, sum) in chunks.zip(sums) {
                    store_first(chunk, add(load_first(chunk), sum));
                }
            }
        }

        /// Adds every `c * src` within the `N` registers from `at`, the last of
        /// which may be incomplete. The sums stay in registers while all
        /// sources are read.
        #[target_feature(enable = $feature)]
        #[inline]
        fn block<const N: usize, const SUM: bool>(
            tables: &Tables,
            dst: &mut [u8],
            at: usize,
            terms: &[(u8, &[u8])],
            onto: Onto,
        ) {
            let mut sums = [zero(); N];
            for &(c, src) in terms {
                if SUM && c == 0 {
                    continue;
                }
                let multiplier = multiplier(tables, c);
                let times = |part| {
                    if SUM {
                        part
                    } else {
                        product(&multiplier, &split(part))
                    }
                };
                if let Some(whole) = whole::<N>(src, at) {
                    for i in 0..N {
                        sums[i] = add(sums[i], times(load(&whole[i])));
                    }
                } else {
                    let parts = registers::<N>(piece::<N>(src, at));
                    for i in 0..N {
                        sums[i] = add(sums[i], times(parts[i]));
                    }
                }
            }
            add_sums(dst, at, sums, onto);
        }

        #[target_feature(enable = $feature)]
        fn mul_add_matrix(
            tables: &Tables,
            dsts: &mut [&mut [u8]],
            srcs: &[&[u8]],
            matrix: &[u8],
            onto: Onto,
        ) {
            let length = dsts.first().map_or(0, |dst| dst.len());
            // Strip by strip, with all destinations for each, while the strip's
            // sources are in the cache.
            for at in (0..length).step_by(SHORT * WIDTH) {
                match (length - at).div_ceil(WIDTH) {
                    1 => strip::<1>(tables, dsts, at, srcs, matrix, onto),
                    2 => strip::<2>(tables, dsts, at, srcs, matrix, onto),
                    3 => strip::<3>(tables, dsts, at, srcs, matrix, onto),
                    _ => strip::<SHORT>(tables, dsts, at, srcs, matrix, onto),
                }
            }
        }

        /// The `N` registers from `at` of all destinations.
        #[target_feature(enable = $feature)]
        #[inline]
        fn strip<const N: usize>(
            tables: &Tables,
            mut dsts: &mut [&mut [u8]],
            at: usize,
            srcs: &[&[u8]],
            mut matrix: &[u8],
            onto: Onto,
        ) {
            while !dsts.is_empty() {
                // The passes are as even as possible, because each one splits
                // the sources again.
                let rows = dsts.len().div_ceil(dsts.len().div_ceil(ROWS));
                let (some, rest) = dsts.split_at_mut(rows);
                let (of_some, of_rest) = matrix.split_at(rows * srcs.len());
                match rows {
                    4 => rows_block::<4, N>(tables, some, at, srcs, of_some, onto),
                    3 => rows_block::<3, N>(tables, some, at, srcs, of_some, onto),
                    2 => rows_block::<2, N>(tables, some, at, srcs, of_some, onto),
                    _ => rows_block::<1, N>(tables, some, at, srcs, of_some, onto),
                }
                (dsts, matrix) = (rest, of_rest);
            }
        }

        /// [`block`] for `D` destinations; each source is split once.
        #[target_feature(enable = $feature)]
        #[inline]
        fn rows_block<const D: usize, const N: usize>(
            tables: &Tables,
            dsts: &mut [&mut [u8]],
            at: usize,
            srcs: &[&[u8]],
            matrix: &[u8],
            onto: Onto,
        ) {
            let mut sums = [[zero(); N]; D];
            let rows: [&[u8]; D] =
                core::array::from_fn(|d| &matrix[d * srcs.len()..][..srcs.len()]);
            for (s, src) in srcs.iter().enumerate() {
                let whole = registers::<N>(piece::<N>(src, at));
                // A plain loop: `map` and similar functions are compiled
                // without the target feature, so `split` might not be inlined
                // into them.
                let mut parts = [split(zero()); N];
                for i in 0..N {
                    parts[i] = split(whole[i]);
                }
                for d in 0..D {
                    let multiplier = multiplier(tables, rows[d][s]);
                    for i in 0..N {
                        sums[d][i] = add(sums[d][i], product(&multiplier, &parts[i]));
                    }
                }
            }
            for (dst, sums) in dsts.iter_mut().zip(sums) {
                add_sums(dst, at, sums, onto);
            }
        }

        type Register = __m512i;

        #[target_feature(enable = $feature)]
        #[inline]
        fn zero() -> Register {
            _mm512_setzero_si512()
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn add(a: Register, b: Register) -> Register {
            _mm512_xor_si512(a, b)
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn load(bytes: &[u8; WIDTH]) -> Register {
            // SAFETY: the reference covers the 64 bytes read; no alignment is asked.
            unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn store(bytes: &mut [u8; WIDTH], x: Register) {
            // SAFETY: the reference covers the 64 bytes written; no alignment is asked.
            unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), x) }
        }

        /// A one for each of the first `length` bytes.
        #[inline(always)]
        fn first(length: usize) -> __mmask64 {
            // A shift by 64 cannot occur: an empty slice gets no mask.
            if length == 0 {
                0
            } else {
                u64::MAX >> (WIDTH - length.min(WIDTH))
            }
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn load_first(bytes: &[u8]) -> Register {
            // SAFETY: only bytes of the slice are in the mask, and others are not read.
            unsafe { _mm512_maskz_loadu_epi8(first(bytes.len()), bytes.as_ptr().cast()) }
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn store_first(bytes: &mut [u8], x: Register) {
            let mask = first(bytes.len());
            // SAFETY: only bytes of the slice are in the mask, and others are not written.
            unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask, x) }
        }
    };
}

pub(super) use masked_kernel;
