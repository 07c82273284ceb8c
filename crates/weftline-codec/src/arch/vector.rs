//! What all vector kernels share: how slices are cut into registers.

/// As many zeros as ones, from which masks are cut.
pub(super) struct Tail<const TWICE: usize>([u8; TWICE]);

impl<const TWICE: usize> Tail<TWICE> {
    pub(super) const fn new() -> Self {
        let mut bytes = [0; TWICE];
        let mut at = TWICE / 2;
        while at < TWICE {
            bytes[at] = 0xFF;
            at += 1;
        }
        Self(bytes)
    }

    /// Begins with a mask of `length` bytes, at most half of all there are,
    /// that lets the last `left` of them through.
    #[inline(always)]
    pub(super) fn mask(&self, length: usize, left: usize) -> &[u8] {
        &self.0[TWICE / 2 - length + left..]
    }
}

/// Writes the methods of the kernel `$kernel` for an instruction set
/// `$feature` with registers of `$width` bytes.
///
/// The calling module provides the register operations, each a
/// `#[target_feature]` function: `zero`, `load`, `store`, `add`, `and`, and
/// `multiplier(tables, c)` with `product(multiplier, x)`.
macro_rules! vector_kernel {
    ($kernel:ident, $feature:literal, $width:literal) => {
        use crate::field::Tables;

        impl $kernel {
            pub(crate) fn xor(self, dst: &mut [u8], src: &[u8]) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { xor(dst, src) }
            }

            pub(crate) fn mul(self, tables: &Tables, dst: &mut [u8], c: u8) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { mul(tables, dst, c) }
            }

            pub(crate) fn mul_add(self, tables: &Tables, dst: &mut [u8], src: &[u8], c: u8) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { mul_add(tables, dst, src, 0, c) }
            }

            pub(crate) fn mul_add_multi(
                self,
                tables: &Tables,
                dst: &mut [u8],
                terms: &[(u8, &[u8])],
            ) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { mul_add_multi(tables, dst, terms) }
            }
        }

        const WIDTH: usize = $width;

        static TAIL: crate::arch::vector::Tail<{ 6 * WIDTH }> = crate::arch::vector::Tail::new();

        #[target_feature(enable = $feature)]
        fn xor(dst: &mut [u8], src: &[u8]) {
            crate::arch::scalar::xor(dst, src);
        }

        #[target_feature(enable = $feature)]
        fn mul(tables: &Tables, dst: &mut [u8], c: u8) {
            let multiplier = multiplier(tables, c);
            let Some(last) = dst.last_chunk::<WIDTH>() else {
                return crate::arch::scalar::mul(tables, dst, c);
            };
            // The last register may overlap the one before it: its product is
            // taken first and stored last, so that no byte is multiplied twice.
            let last = product(&multiplier, load(last));
            for chunk in dst.as_chunks_mut::<WIDTH>().0 {
                store(chunk, product(&multiplier, load(chunk)));
            }
            if let Some(chunk) = dst.last_chunk_mut::<WIDTH>() {
                store(chunk, last);
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
                store(d, add(load(d), product(&multiplier, load(s))));
            }
            if src_rest.is_empty() {
                return;
            }
            let left = src_rest.len();
            match (
                src.last_chunk::<WIDTH>(),
                TAIL.mask(WIDTH, left).first_chunk(),
            ) {
                // One more register that ends where the slices end; the bytes
                // before the rest, already done, are masked out.
                (Some(s), Some(mask)) => {
                    let rest = and(product(&multiplier, load(s)), load(mask));
                    if let Some(d) = dst.last_chunk_mut::<WIDTH>() {
                        store(d, add(load(d), rest));
                    }
                }
                _ => crate::arch::scalar::mul_add(tables, dst_rest, src_rest, c),
            }
        }

        #[target_feature(enable = $feature)]
        fn mul_add_multi(tables: &Tables, dst: &mut [u8], terms: &[(u8, &[u8])]) {
            let mut at = 0;
            while dst.len() - at >= 6 * WIDTH {
                block::<6>(tables, dst, at, terms);
                at += 6 * WIDTH;
            }
            while dst.len() - at >= 2 * WIDTH {
                block::<2>(tables, dst, at, terms);
                at += 2 * WIDTH;
            }
            if at == dst.len() {
                return;
            }
            if dst.len() >= 2 * WIDTH {
                return rest(tables, dst, at, terms);
            }
            for &(c, src) in terms {
                if src.len() > at {
                    mul_add(tables, dst, src, at, c);
                }
            }
        }

        /// The `N` registers from `at`, as an array so that the compiler knows
        /// their number.
        #[inline(always)]
        fn registers<const N: usize>(src: &[u8], at: usize) -> Option<&[[u8; WIDTH]; N]> {
            src.get(at..at + N * WIDTH)?
                .as_chunks::<WIDTH>()
                .0
                .first_chunk::<N>()
        }

        /// Adds every `c * src` within the `N` registers from `at`, which stay
        /// registers while all sources pass by.
        #[target_feature(enable = $feature)]
        #[inline]
        fn block<const N: usize>(
            tables: &Tables,
            dst: &mut [u8],
            at: usize,
            terms: &[(u8, &[u8])],
        ) {
            let end = at + N * WIDTH;
            let mut sums = [zero(); N];
            let mut some_end_within = false;
            for &(c, src) in terms {
                let Some(piece) = registers::<N>(src, at) else {
                    some_end_within |= src.len() > at;
                    continue;
                };
                let multiplier = multiplier(tables, c);
                for i in 0..N {
                    sums[i] = add(sums[i], product(&multiplier, load(&piece[i])));
                }
            }
            let chunks = dst[at..end].as_chunks_mut::<WIDTH>().0;
            for (chunk, sum) in chunks.iter_mut().zip(sums) {
                store(chunk, add(load(chunk), sum));
            }
            if some_end_within {
                for &(c, src) in terms {
                    if src.len() > at && src.len() < end {
                        mul_add(tables, dst, src, at, c);
                    }
                }
            }
        }

        /// Adds every `c * src` from `at` on, less than two registers before
        /// the end: in the last two, with the bytes before `at` masked out.
        #[target_feature(enable = $feature)]
        #[inline]
        fn rest(tables: &Tables, dst: &mut [u8], at: usize, terms: &[(u8, &[u8])]) {
            let start = dst.len() - 2 * WIDTH;
            let mut sums = [zero(); 2];
            for &(c, src) in terms {
                if let Some(piece) = registers::<2>(src, start) {
                    let multiplier = multiplier(tables, c);
                    for i in 0..2 {
                        sums[i] = add(sums[i], product(&multiplier, load(&piece[i])));
                    }
                } else if src.len() > at {
                    mul_add(tables, dst, src, at, c);
                }
            }
            let masks = registers::<2>(TAIL.mask(2 * WIDTH, dst.len() - at), 0)
                .expect("the table is as long as two masks of two registers");
            let chunks = dst[start..].as_chunks_mut::<WIDTH>().0;
            for ((chunk, sum), mask) in chunks.iter_mut().zip(sums).zip(masks) {
                store(chunk, add(load(chunk), and(sum, load(mask))));
            }
        }
    };
}

pub(super) use vector_kernel;
