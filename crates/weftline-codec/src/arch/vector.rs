//! The code that all vector kernels share: how slices are cut into registers.
//!
//! Two macros write the kernels: [`vector_kernel`] for instruction sets that
//! load and store whole registers, and `masked_kernel` of x86-64 for those that
//! can skip bytes. The module that calls a macro provides the register
//! operations, all of them `#[target_feature]` functions: `zero`, `add`,
//! `load`, `store`, `split(x)`, which prepares bytes for several
//! multiplications, `entry(tables, c)`, `multiplier(entry)` with
//! `product(multiplier, split)`; see their own descriptions for the rest.

/// Zeros and as many ones, from which masks are cut.
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

    /// A mask of `length` bytes, at most half of the table, that keeps the last
    /// `left` bytes.
    #[inline(always)]
    pub(super) fn mask(&self, length: usize, left: usize) -> &[u8] {
        &self.0[TWICE / 2 - length + left..]
    }
}

/// Writes the methods of a kernel type. Each calls the function of the same
/// name in the calling module.
macro_rules! methods {
    ($kernel:ident) => {
        #[allow(
            unused_unsafe,
            reason = "WebAssembly checks instructions before it runs any, so there all calls are safe"
        )]
        impl $kernel {
            pub(crate) fn xor(self, dst: &mut [u8], src: &[u8]) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { xor(dst, src) }
            }

            pub(crate) fn combine<'a, T: Term<'a>>(
                self,
                tables: &Tables,
                dst: &mut [u8],
                terms: &[T],
                onto: Onto,
            ) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { combine(tables, dst, terms, onto) }
            }

            pub(crate) fn mul(self, tables: &Tables, dst: &mut [u8], c: u8) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { mul(tables, dst, c) }
            }

            pub(crate) fn mul_add(self, tables: &Tables, dst: &mut [u8], src: &[u8], c: u8) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { mul_add(tables, dst, src, 0, c) }
            }

            pub(crate) fn mul_add_matrix(
                self,
                tables: &Tables,
                dsts: &mut [&mut [u8]],
                srcs: &[&[u8]],
                matrix: &[u8],
                onto: Onto,
            ) {
                // SAFETY: `self` exists, so `new` has found the instructions.
                unsafe { mul_add_matrix(tables, dsts, srcs, matrix, onto) }
            }
        }
    };
}

/// Writes the methods of the kernel `$kernel` for an instruction set `$feature`
/// with registers of `$width` bytes, which are loaded and stored whole; `$rows`
/// x `$short` registers hold the sums of several destinations. The module also
/// provides `and`.
macro_rules! vector_kernel {
    ($kernel:ident, $feature:literal, $width:literal, $rows:literal x $short:literal) => {
        use crate::arch::vector::{Tail, methods};
        use crate::arch::{Onto, Term};
        use crate::tables::Tables;

        methods!($kernel);

        const WIDTH: usize = $width;
        /// Registers that hold sums of one destination while the sources are
        /// read.
        const LONG: usize = 8;
        /// Registers for the bytes that are left.
        const MIDDLE: usize = 4;
        /// The number of destinations computed at once, and the registers of
        /// each: enough for all sums, the split sources and a multiplier.
        const ROWS: usize = $rows;
        const SHORT: usize = $short;
        /// Registers of each destination where there are two.
        const WIDE: usize = if SHORT < MIDDLE { MIDDLE } else { SHORT };

        static TAIL: Tail<{ 2 * MIDDLE * WIDTH }> = Tail::new();

        /// The coefficients of one source for a group of destinations.
        #[derive(Clone, Copy)]
        struct Column {
            /// The entries that their multipliers are made from.
            entries: [&'static Entry; ROWS],
            coefficients: [u8; ROWS],
        }

        #[target_feature(enable = $feature)]
        fn xor(dst: &mut [u8], src: &[u8]) {
            crate::arch::scalar::xor(dst, src);
        }

        #[target_feature(enable = $feature)]
        fn mul(tables: &Tables, dst: &mut [u8], c: u8) {
            let multiplier = multiplier(entry(tables, c));
            let Some(last) = dst.last_chunk::<WIDTH>() else {
                return crate::arch::scalar::mul(tables, dst, c);
            };
            // The last register may overlap the one before it: its product is
            // taken first and stored last, so that no byte is multiplied twice.
            let last = product(&multiplier, &split(load(last)));
            for chunk in dst.as_chunks_mut::<WIDTH>().0 {
                store(chunk, product(&multiplier, &split(load(chunk))));
            }
            if let Some(chunk) = dst.last_chunk_mut::<WIDTH>() {
                store(chunk, last);
            }
        }

        /// Adds `c * src[from..]` to `dst[from..]`.
        #[target_feature(enable = $feature)]
        fn mul_add(tables: &Tables, dst: &mut [u8], src: &[u8], from: usize, c: u8) {
            let dst = &mut dst[..src.len()];
            let multiplier = multiplier(entry(tables, c));
            let (src_chunks, src_rest) = src[from..].as_chunks::<WIDTH>();
            let (dst_chunks, dst_rest) = dst[from..].as_chunks_mut::<WIDTH>();
            for (d, s) in dst_chunks.iter_mut().zip(src_chunks) {
                store(d, add(load(d), product(&multiplier, &split(load(s)))));
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
                    let rest = and(product(&multiplier, &split(load(s))), load(mask));
                    if let Some(d) = dst.last_chunk_mut::<WIDTH>() {
                        store(d, add(load(d), rest));
                    }
                }
                _ => crate::arch::scalar::mul_add(tables, dst_rest, src_rest, c),
            }
        }

        /// Adds every term to `dst`.
        #[target_feature(enable = $feature)]
        fn combine<'a, T: Term<'a>>(tables: &Tables, dst: &mut [u8], terms: &[T], onto: Onto) {
            let mut at = 0;
            while dst.len() - at >= LONG * WIDTH {
                block::<LONG, _>(tables, dst, at, 0, terms, onto);
                at += LONG * WIDTH;
            }
            while dst.len() - at >= MIDDLE * WIDTH {
                block::<MIDDLE, _>(tables, dst, at, 0, terms, onto);
                at += MIDDLE * WIDTH;
            }
            if at == dst.len() {
                return;
            }
            // As few registers as possible; they may overlap finished bytes.
            let left = (dst.len() - at).div_ceil(WIDTH).next_power_of_two();
            if let Some(start) = dst.len().checked_sub(left * WIDTH) {
                return match left {
                    1 => block::<1, _>(tables, dst, start, at - start, terms, onto),
                    2 => block::<2, _>(tables, dst, start, at - start, terms, onto),
                    _ => block::<MIDDLE, _>(tables, dst, start, at - start, terms, onto),
                };
            }
            onto.prepare(&mut dst[at..]);
            for &term in terms {
                if term.source().len() > at {
                    add_end(tables, dst, at, term);
                }
            }
        }

        /// Adds the bytes of a term from `at`, at least one.
        #[target_feature(enable = $feature)]
        #[inline]
        fn add_end<'a, T: Term<'a>>(tables: &Tables, dst: &mut [u8], at: usize, term: T) {
            let src = term.source();
            if T::PLAIN {
                xor(&mut dst[at..], &src[at..]);
            } else {
                mul_add(tables, dst, src, at, term.coefficient());
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

        /// Adds sums to the `N` registers from `at`, without the first `skip`
        /// bytes, for which `N` is at most `MIDDLE`.
        #[target_feature(enable = $feature)]
        #[inline]
        fn add_sums<const N: usize>(
            dst: &mut [u8],
            at: usize,
            skip: usize,
            sums: [Register; N],
            onto: Onto,
        ) {
            let chunks = dst[at..at + N * WIDTH].as_chunks_mut::<WIDTH>().0;
            if skip == 0 {
                if onto == Onto::Nothing {
                    for (chunk, sum) in chunks.iter_mut().zip(sums) {
                        store(chunk, sum);
                    }
                } else {
                    for (chunk, sum) in chunks.iter_mut().zip(sums) {
                        store(chunk, add(load(chunk), sum));
                    }
                }
                return;
            }
            onto.prepare(&mut dst[at + skip..at + N * WIDTH]);
            let chunks = dst[at..at + N * WIDTH].as_chunks_mut::<WIDTH>().0;
            let masks = TAIL
                .mask(N * WIDTH, N * WIDTH - skip)
                .as_chunks::<WIDTH>()
                .0;
            for ((chunk, sum), mask) in chunks.iter_mut().zip(sums).zip(masks) {
                store(chunk, add(load(chunk), and(sum, load(mask))));
            }
        }

        /// Adds every `c * src` within the `N` registers from `at`, except for
        /// the first `skip` bytes. The sums stay in registers while all sources
        /// are read.
        #[target_feature(enable = $feature)]
        #[inline]
        fn block<'a, const N: usize, T: Term<'a>>(
            tables: &Tables,
            dst: &mut [u8],
            at: usize,
            skip: usize,
            terms: &[T],
            onto: Onto,
        ) {
            let end = at + N * WIDTH;
            let mut sums = [zero(); N];
            let mut some_end_within = false;
            for &term in terms {
                let src = term.source();
                let Some(piece) = registers::<N>(src, at) else {
                    some_end_within |= src.len() > at + skip;
                    continue;
                };
                if T::PLAIN {
                    for i in 0..N {
                        sums[i] = add(sums[i], load(&piece[i]));
                    }
                } else {
                    let multiplier = multiplier(entry(tables, term.coefficient()));
                    for i in 0..N {
                        sums[i] = add(sums[i], product(&multiplier, &split(load(&piece[i]))));
                    }
                }
            }
            add_sums(dst, at, skip, sums, onto);
            if some_end_within {
                for &term in terms {
                    if (at + skip + 1..end).contains(&term.source().len()) {
                        add_end(tables, dst, at + skip, term);
                    }
                }
            }
        }

        #[target_feature(enable = $feature)]
        fn mul_add_matrix(
            tables: &Tables,
            dsts: &mut [&mut [u8]],
            srcs: &[&[u8]],
            matrix: &[u8],
            onto: Onto,
        ) {
            dsts.iter_mut().for_each(|dst| onto.prepare(dst));
            // Preparing a long list costs more than a few sources.
            match srcs.len() {
                ..=8 => in_lists::<8>(tables, dsts, srcs, matrix),
                ..=24 => in_lists::<24>(tables, dsts, srcs, matrix),
                _ => in_lists::<64>(tables, dsts, srcs, matrix),
            }
        }

        /// At most `LIST` sources at a time, so that the entries of their
        /// multipliers are looked up once for all strips: the inner loop must
        /// do little but multiply.
        #[target_feature(enable = $feature)]
        fn in_lists<const LIST: usize>(
            tables: &Tables,
            dsts: &mut [&mut [u8]],
            srcs: &[&[u8]],
            matrix: &[u8],
        ) {
            let width = srcs.len();
            for start in (0..width).step_by(LIST) {
                let some = &srcs[start..width.min(start + LIST)];
                let (mut dsts, mut rows) = (&mut *dsts, matrix.chunks_exact(width));
                // Two groups at a time: the second finds the sources' strips in
                // the cache.
                while !dsts.is_empty() {
                    let column = Column {
                        entries: [entry(tables, 0); ROWS],
                        coefficients: [0; ROWS],
                    };
                    let mut columns = [[column; LIST]; 2];
                    let mut groups = [0; 2];
                    let mut count = 0;
                    for (group, columns) in groups.iter_mut().zip(&mut columns) {
                        *group = rows_of(dsts.len() - count);
                        count += *group;
                        for (d, row) in rows.by_ref().take(*group).enumerate() {
                            for (column, c) in columns.iter_mut().zip(&row[start..]) {
                                column.entries[d] = entry(tables, *c);
                                column.coefficients[d] = *c;
                            }
                        }
                    }
                    let (here, rest) = dsts.split_at_mut(count);
                    let columns = [&columns[0][..some.len()], &columns[1][..some.len()]];
                    if count <= 2 {
                        strips::<WIDE>(tables, here, groups, some, columns);
                    } else {
                        strips::<SHORT>(tables, here, groups, some, columns);
                    }
                    dsts = rest;
                }
            }
        }

        /// How many of `left` destinations come next. The passes are as even as
        /// possible, because each one splits the sources again.
        #[inline(always)]
        fn rows_of(dsts: usize) -> usize {
            dsts.div_ceil(dsts.div_ceil(ROWS).max(1))
        }

        /// All strips, of `N` registers, of two groups of destinations.
        #[target_feature(enable = $feature)]
        #[inline]
        fn strips<const N: usize>(
            tables: &Tables,
            dsts: &mut [&mut [u8]],
            groups: [usize; 2],
            srcs: &[&[u8]],
            columns: [&[Column]; 2],
        ) {
            let length = dsts.first().map_or(0, |dst| dst.len());
            let mut at = 0;
            while length - at >= N * WIDTH {
                strip::<N>(tables, dsts, groups, at, 0, srcs, columns);
                at += N * WIDTH;
            }
            if at == length {
                return;
            }
            if let Some(start) = length.checked_sub(N * WIDTH) {
                return strip::<N>(tables, dsts, groups, start, at - start, srcs, columns);
            }
            let (first, second) = dsts.split_at_mut(groups[0]);
            for (dsts, columns) in [first, second].into_iter().zip(columns) {
                for (d, dst) in dsts.iter_mut().enumerate() {
                    for (src, column) in srcs.iter().zip(columns) {
                        if src.len() > at {
                            mul_add(tables, dst, src, at, column.coefficients[d]);
                        }
                    }
                }
            }
        }

        /// The `N` registers from `at` of all destinations, except for the
        /// first `skip` bytes.
        #[target_feature(enable = $feature)]
        #[inline]
        fn strip<const N: usize>(
            tables: &Tables,
            dsts: &mut [&mut [u8]],
            groups: [usize; 2],
            at: usize,
            skip: usize,
            srcs: &[&[u8]],
            columns: [&[Column]; 2],
        ) {
            let (first, second) = dsts.split_at_mut(groups[0]);
            for (dsts, columns) in [first, second].into_iter().zip(columns) {
                match dsts.len() {
                    0 => {}
                    1 => rows_block::<1, N>(tables, dsts, at, skip, srcs, columns),
                    2 => rows_block::<2, N>(tables, dsts, at, skip, srcs, columns),
                    3 => rows_block::<3, N>(tables, dsts, at, skip, srcs, columns),
                    _ => rows_block::<ROWS, N>(tables, dsts, at, skip, srcs, columns),
                }
            }
        }

        /// [`block`] for `D` destinations; each source is split once.
        #[target_feature(enable = $feature)]
        #[inline]
        fn rows_block<const D: usize, const N: usize>(
            tables: &Tables,
            dsts: &mut [&mut [u8]],
            at: usize,
            skip: usize,
            srcs: &[&[u8]],
            columns: &[Column],
        ) {
            let end = at + N * WIDTH;
            let mut sums = [[zero(); N]; D];
            let mut some_end_within = false;
            for (src, column) in srcs.iter().zip(columns) {
                let Some(piece) = registers::<N>(src, at) else {
                    some_end_within |= src.len() > at + skip;
                    continue;
                };
                // Plain loops: `from_fn` and similar functions are compiled
                // without the target feature, so `split` might not be inlined
                // into them.
                if D <= 2 {
                    // The multipliers fit the registers; the split sources
                    // would not.
                    let mut multipliers = [multiplier(column.entries[0]); D];
                    for d in 1..D {
                        multipliers[d] = multiplier(column.entries[d]);
                    }
                    for i in 0..N {
                        let part = split(load(&piece[i]));
                        for d in 0..D {
                            sums[d][i] = add(sums[d][i], product(&multipliers[d], &part));
                        }
                    }
                } else {
                    let mut parts = [split(zero()); N];
                    for i in 0..N {
                        parts[i] = split(load(&piece[i]));
                    }
                    for (sums, entry) in sums.iter_mut().zip(column.entries) {
                        let multiplier = multiplier(entry);
                        for i in 0..N {
                            sums[i] = add(sums[i], product(&multiplier, &parts[i]));
                        }
                    }
                }
            }
            for (dst, sums) in dsts.iter_mut().zip(sums) {
                add_sums(dst, at, skip, sums, Onto::All);
            }
            if some_end_within {
                for (d, dst) in dsts.iter_mut().enumerate() {
                    for (src, column) in srcs.iter().zip(columns) {
                        if src.len() > at + skip && src.len() < end {
                            mul_add(tables, dst, src, at + skip, column.coefficients[d]);
                        }
                    }
                }
            }
        }
    };
}

pub(super) use {methods, vector_kernel};
