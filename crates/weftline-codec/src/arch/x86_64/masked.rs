//! The code that the AVX-512 kernels share: registers of 64 bytes, and
//! instructions that can skip bytes.

/// Writes the methods of the kernel `$kernel` and its register operations for
/// an instruction set `$feature` that has AVX-512 F and BW. Of the operations
/// that [`vector`](crate::arch::vector) lists, the calling module provides only
/// `split`, `multiplier` and `product`; it also imports the intrinsics of
/// x86-64.
macro_rules! masked_kernel {
    ($kernel:ident, $feature:literal) => {
        use crate::arch::vector::methods;
        use crate::arch::{Onto, Term};
        use crate::tables::Tables;

        methods!($kernel);

        const WIDTH: usize = 64;
        /// Registers that hold sums of one destination while the sources are
        /// read.
        const LONG: usize = 8;
        /// The same for plain sums, which wait for the second-level cache and
        /// not for products: fewer, so that what the CPU fetches ahead is still
        /// in the first-level cache when its turn comes.
        const SUMS: usize = 4;
        /// Bytes of sources that exceed the second-level cache. Memory is read
        /// faster in long runs.
        const FAR: usize = 1 << 20;
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

        /// Adds every term to `dst`.
        #[target_feature(enable = $feature)]
        fn combine<'a, T: Term<'a>>(tables: &Tables, dst: &mut [u8], terms: &[T], onto: Onto) {
            let short = T::PLAIN && terms.len() * dst.len() < FAR;
            let mut at = 0;
            while dst.len() - at >= LONG * WIDTH {
                if short {
                    block::<SUMS, true, _>(tables, dst, at, terms, onto);
                    at += SUMS * WIDTH;
                } else {
                    block::<LONG, true, _>(tables, dst, at, terms, onto);
                    at += LONG * WIDTH;
                }
            }
            match (dst.len() - at).div_ceil(WIDTH) {
                0 => {}
                1 => block::<1, false, _>(tables, dst, at, terms, onto),
                2 => block::<2, false, _>(tables, dst, at, terms, onto),
                3 => block::<3, false, _>(tables, dst, at, terms, onto),
                4 => block::<4, false, _>(tables, dst, at, terms, onto),
                5 => block::<5, false, _>(tables, dst, at, terms, onto),
                6 => block::<6, false, _>(tables, dst, at, terms, onto),
                7 => block::<7, false, _>(tables, dst, at, terms, onto),
                _ => block::<LONG, false, _>(tables, dst, at, terms, onto),
            }
        }

        /// The bytes of the `N` registers from `at`, of which the last ends at
        /// `end`, if the slice has all of them.
        #[inline(always)]
        fn whole<const N: usize>(
            src: &[u8],
            at: usize,
            end: usize,
        ) -> Option<(&[[u8; WIDTH]], &[u8])> {
            let (whole, last) = src.get(at..end)?.split_at((N - 1) * WIDTH);
            Some((whole.as_chunks::<WIDTH>().0, last))
        }

        /// The `N` registers from `at`; bytes beyond the end of the slice are 0.
        /// Inlined, it would slow the loops that rarely need it.
        #[target_feature(enable = $feature)]
        #[cold]
        #[inline(never)]
        fn ragged<const N: usize>(src: &[u8], at: usize) -> [Register; N] {
            let mut out = [zero(); N];
            for (out, chunk) in out.iter_mut().zip(src[at..].chunks(WIDTH)) {
                *out = load_first(chunk);
            }
            out
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn add_sums<const N: usize>(dst: &mut [u8], sums: [Register; N], onto: Onto) {
            let (whole, last) = dst.split_at_mut((N - 1) * WIDTH);
            let whole = whole.as_chunks_mut::<WIDTH>().0;
            if onto == Onto::Nothing {
                for i in 0..N - 1 {
                    store(&mut whole[i], sums[i]);
                }
                store_first(last, sums[N - 1]);
            } else {
                for i in 0..N - 1 {
                    let sum = add(load(&whole[i]), sums[i]);
                    store(&mut whole[i], sum);
                }
                store_first(last, add(load_first(last), sums[N - 1]));
            }
        }

        /// Adds every term within the `N` registers from `at`, the last of
        /// which may be incomplete. The sums stay in registers while all
        /// sources are read.
        #[target_feature(enable = $feature)]
        #[inline]
        fn block<'a, const N: usize, const WHOLE: bool, T: Term<'a>>(
            tables: &Tables,
            dst: &mut [u8],
            at: usize,
            terms: &[T],
            onto: Onto,
        ) {
            let end = if WHOLE { at + N * WIDTH } else { dst.len() };
            let mut sums = [zero(); N];
            for &term in terms {
                let multiplier = multiplier(tables, term.coefficient());
                let times = |part| {
                    if T::PLAIN {
                        part
                    } else {
                        product(&multiplier, &split(part))
                    }
                };
                let src = term.source();
                if let Some((whole, last)) = whole::<N>(src, at, end) {
                    for i in 0..N - 1 {
                        sums[i] = add(sums[i], times(load(&whole[i])));
                    }
                    sums[N - 1] = add(sums[N - 1], times(load_first(last)));
                } else if src.len() > at {
                    let parts = ragged::<N>(src, at);
                    for i in 0..N {
                        sums[i] = add(sums[i], times(parts[i]));
                    }
                }
            }
            add_sums(&mut dst[at..end], sums, onto);
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
            let end = dsts.first().map_or(0, |dst| dst.len().min(at + N * WIDTH));
            let mut sums = [[zero(); N]; D];
            let rows: [&[u8]; D] =
                core::array::from_fn(|d| &matrix[d * srcs.len()..][..srcs.len()]);
            for (s, src) in srcs.iter().enumerate() {
                // A plain loop: `map` and similar functions are compiled
                // without the target feature, so `split` might not be inlined
                // into them.
                let mut parts = [split(zero()); N];
                if let Some((whole, last)) = whole::<N>(src, at, end) {
                    for i in 0..N - 1 {
                        parts[i] = split(load(&whole[i]));
                    }
                    parts[N - 1] = split(load_first(last));
                } else if src.len() > at {
                    let whole = ragged::<N>(src, at);
                    for i in 0..N {
                        parts[i] = split(whole[i]);
                    }
                } else {
                    continue;
                }
                for d in 0..D {
                    let multiplier = multiplier(tables, rows[d][s]);
                    for i in 0..N {
                        sums[d][i] = add(sums[d][i], product(&multiplier, &parts[i]));
                    }
                }
            }
            for (dst, sums) in dsts.iter_mut().zip(sums) {
                add_sums(&mut dst[at..end], sums, onto);
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
