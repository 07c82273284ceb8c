//! Every kernel of this CPU computes the same bytes as the scalar one, and
//! touches no others.

use proptest::prelude::*;
use weftline_codec::field::{Field, Gf256};
use weftline_codec::kernel::{ENVIRONMENT, Ignored, Kernel, Ops, selection};

/// Bytes around a destination that no kernel may change.
const GUARD: usize = 64;

fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let step = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}

fn all_ops() -> Vec<Ops> {
    Kernel::available().filter_map(Kernel::ops).collect()
}

/// Runs `operation` on a destination of `length` bytes, `shift` bytes off the
/// alignment of its allocation, and returns it after checking its surroundings.
fn guarded(length: usize, shift: usize, operation: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let before = bytes(length as u64 ^ 0xD5, GUARD + shift + length + GUARD);
    let mut after = before.clone();
    let range = GUARD + shift..GUARD + shift + length;
    operation(&mut after[range.clone()]);
    assert_eq!(after[..range.start], before[..range.start]);
    assert_eq!(after[range.end..], before[range.end..]);
    after[range].to_vec()
}

#[test]
// Without `std` the CPU is not queried, and a plain x86-64 build has no vector
// kernel. Neither has Miri.
#[cfg(any(
    all(feature = "std", target_arch = "x86_64", not(miri)),
    target_arch = "aarch64",
    target_feature = "simd128"
))]
fn this_machine_runs_a_vector_kernel() {
    // Otherwise the tests below compare the scalar kernel with itself.
    assert!(Kernel::available().any(|kernel| kernel != Kernel::Scalar));
}

/// A slice of these bytes that starts `shift` bytes after a multiple of 64.
struct Shifted {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Shifted {
    fn new(content: &[u8], shift: usize) -> Self {
        let mut bytes = vec![0; content.len() + 128];
        let start = bytes.as_ptr().align_offset(64) + shift;
        bytes[start..start + content.len()].copy_from_slice(content);
        let length = content.len();
        Self {
            bytes,
            start,
            length,
        }
    }

    fn slice(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    fn slice_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }

    /// The slice, after a check of the bytes around it.
    fn into_checked(self) -> Vec<u8> {
        let around = self.bytes[..self.start]
            .iter()
            .chain(&self.bytes[self.start + self.length..]);
        assert!(
            around.copied().all(|byte| byte == 0),
            "bytes outside changed"
        );
        self.slice().to_vec()
    }
}

#[test]
fn all_coefficients_multiply_as_the_field_does() {
    let all: Vec<u8> = (0..=255).chain(0..=255).chain(0..99).collect();
    for ops in all_ops() {
        for c in (0..=255).step_by(if cfg!(miri) { 150 } else { 1 }) {
            for length in [1, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 611] {
                let src = &all[..length];
                let mut product = src.to_vec();
                ops.mul(&mut product, c);
                let mut sum = src.to_vec();
                ops.mul_add(&mut sum, src, c);
                let mut fused = src.to_vec();
                ops.mul_add_multi(&mut fused, &[(c, src), (c ^ 1, src)]);
                let (mut one, mut other) = (src.to_vec(), vec![0; length]);
                let matrix = [c, 0, c ^ 1, c];
                ops.mul_add_matrix(&mut [&mut one, &mut other], &[src, src], &matrix);
                for (i, &x) in src.iter().enumerate() {
                    let expected = Gf256::mul(c, x);
                    let context = (ops.kernel(), c, x, length);
                    assert_eq!(product[i], expected, "{context:?}");
                    assert_eq!(sum[i], expected ^ x, "{context:?}");
                    assert_eq!(fused[i], 0, "{context:?}");
                    assert_eq!(one[i], expected ^ x, "{context:?}");
                    assert_eq!(other[i], x, "{context:?}");
                }
            }
        }
    }
}

#[test]
fn the_functions_use_the_chosen_kernel() {
    use weftline_codec::kernel;
    let before = bytes(2, 99);
    let (one, two) = (&bytes(1, 99)[..], &bytes(3, 50)[..]);
    let scalar = Kernel::Scalar.ops().unwrap();
    let both = |with: &dyn Fn(&mut [u8]), expected: &dyn Fn(&mut [u8])| {
        let (mut got, mut wanted) = (before.clone(), before.clone());
        with(&mut got);
        expected(&mut wanted);
        assert_eq!(got, wanted);
    };
    both(&|dst| kernel::xor(dst, one), &|dst| scalar.xor(dst, one));
    both(&|dst| kernel::mul(dst, 7), &|dst| scalar.mul(dst, 7));
    both(&|dst| kernel::mul_add(dst, one, 9), &|dst| {
        scalar.mul_add(dst, one, 9)
    });
    both(&|dst| kernel::xor_multi(dst, &[one, two]), &|dst| {
        scalar.xor_multi(dst, &[one, two])
    });
    both(&|dst| kernel::sum(dst, &[one, two]), &|dst| {
        scalar.sum(dst, &[one, two])
    });
    let terms = [(5, one), (6, two)];
    both(&|dst| kernel::mul_add_multi(dst, &terms), &|dst| {
        scalar.mul_add_multi(dst, &terms)
    });
}

#[test]
fn all_lengths_and_alignments_give_what_the_scalar_kernel_gives() {
    // Miri is slow, so test only a little more than the longest run of
    // registers.
    const LENGTHS: usize = if cfg!(miri) { 600 } else { 4096 };
    const STEP: usize = if cfg!(miri) { 37 } else { 1 };
    let scalar = Kernel::Scalar.ops().unwrap();
    let content = bytes(1, LENGTHS + 1);
    let before = bytes(2, LENGTHS);
    for length in (0..=LENGTHS).step_by(STEP) {
        let c = (length % 254 + 2) as u8;
        let (src, other) = (&content[..length], &content[1..=length]);
        type Run = fn(Ops, &mut [u8], &[u8], &[u8], u8);
        let runs: [(Run, usize); 6] = [
            (|ops, dst, src, _, c| ops.mul_add(dst, src, c), 1),
            (
                |ops, dst, src, other, c| ops.mul_add_multi(dst, &[(c, src), (c ^ 1, other)]),
                1,
            ),
            (
                |ops, dst, src, other, c| ops.dot(dst, &[(c, src), (c ^ 1, other)]),
                9,
            ),
            (
                |ops, dst, src, other, _| ops.xor_multi(dst, &[src, other]),
                9,
            ),
            (|ops, dst, src, _, _| ops.xor(dst, src), 9),
            (|ops, dst, _, _, c| ops.mul(dst, c), 9),
        ];
        for (run, (operation, step)) in runs.into_iter().enumerate() {
            let mut expected = before[..length].to_vec();
            operation(scalar, &mut expected, src, other, c);
            for ops in all_ops() {
                // All alignments of short slices; for long ones, each kind in
                // turn.
                let step = match length {
                    _ if cfg!(miri) => 64,
                    0..=300 => step,
                    _ => 13,
                };
                for shift in (length % step..64).step_by(step) {
                    let mut dst = Shifted::new(&before[..length], shift);
                    let src = Shifted::new(src, (shift * 5 + length) % 64);
                    let dst_slice = dst.slice_mut();
                    dst_slice.copy_from_slice(&before[..length]);
                    operation(ops, dst_slice, src.slice(), other, c);
                    let context = (ops.kernel(), run, length, shift);
                    assert!(dst.slice() == expected, "{context:?}");
                    dst.into_checked();
                }
            }
        }
    }
}

#[test]
fn sums_of_many_and_of_far_sources_are_those_of_one_after_the_other() {
    // A pass over the destination reads 64 sources, and long runs of each where
    // they exceed a cache.
    let cases: &[(usize, usize)] = if cfg!(miri) {
        &[(0, 70), (66, 70)]
    } else {
        &[(0, 70), (1, 70), (64, 4096), (130, 611), (66, 16_500)]
    };
    for &(count, length) in cases {
        let content = bytes(3, length + count);
        let srcs: Vec<&[u8]> = (0..count)
            // Every seventh ends early.
            .map(|i| &content[i..i + length - if i % 7 == 6 { 20 * i % length } else { 0 }])
            .collect();
        let mut sum = vec![0; length];
        for src in &srcs {
            for (sum, byte) in sum.iter_mut().zip(*src) {
                *sum ^= byte;
            }
        }
        for ops in all_ops() {
            let context = (ops.kernel(), count, length);
            let anew = guarded(length, 5, |dst| ops.sum(dst, &srcs));
            assert!(anew == sum, "{context:?}");
            let twice = guarded(length, 5, |dst| {
                ops.sum(dst, &srcs);
                ops.xor_multi(dst, &srcs);
            });
            assert!(twice.iter().all(|byte| *byte == 0), "{context:?}");
        }
    }
}

#[test]
fn a_kernel_is_found_by_its_name() {
    for &kernel in Kernel::ALL {
        assert_eq!(Kernel::from_name(kernel.name()), Some(kernel));
    }
    assert!(Kernel::available().any(|kernel| kernel == Kernel::active()));
}

#[test]
#[cfg(all(feature = "std", not(any(target_family = "wasm", miri))))]
fn the_kernel_that_is_asked_for_is_the_one_that_runs() {
    let asked = std::env::var(ENVIRONMENT).unwrap_or_default();
    let selection = selection();
    match selection.ignored {
        None if asked.is_empty() => assert_eq!(Some(selection.active), Kernel::available().last()),
        None => assert_eq!(selection.active.name(), asked),
        // Then all these tests say nothing of the kernel that was asked for.
        Some(Ignored::Unavailable(kernel)) => {
            weftline_testkit::unable(kernel.name(), "this CPU does not have the kernel");
        }
        Some(ignored) => panic!("{ignored}"),
    }
}

/// As above, in a process that asks for the scalar kernel.
#[test]
#[cfg(all(feature = "std", not(any(target_family = "wasm", miri))))]
fn another_process_may_ask_for_another_kernel() {
    let test = "the_kernel_that_is_asked_for_is_the_one_that_runs";
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new(program)
        .args(["--exact", test])
        .env(ENVIRONMENT, Kernel::Scalar.name())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
#[cfg(all(feature = "std", target_arch = "x86_64", not(miri)))]
fn kernels_of_common_processors_are_there() {
    let has = |kernel: Kernel| kernel.ops().is_some();
    assert_eq!(has(Kernel::Ssse3), is_x86_feature_detected!("ssse3"));
    assert_eq!(has(Kernel::Avx2), is_x86_feature_detected!("avx2"));
}

/// The cases, the longest destination and the most sources of the test below.
const MIXTURES: (u32, usize, usize) = if cfg!(miri) {
    (4, 600, 4)
} else {
    (400, 2000, 40)
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(MIXTURES.0))]

    #[test]
    fn any_alignment_and_mixture_of_lengths_gives_what_the_scalar_kernel_gives(
        length in 0..MIXTURES.1,
        shift in 0..33_usize,
        sources in proptest::collection::vec((any::<u8>(), 0..33_usize, 0.0..=1.0), 0..MIXTURES.2),
        all_full in any::<bool>(),
        rows in 0..10_usize,
        seed in any::<u64>(),
    ) {
        let sources: Vec<(u8, usize, Vec<u8>)> = sources
            .into_iter()
            .enumerate()
            .map(|(i, (c, shift, share))| {
                let share: f64 = if all_full { 1.0 } else { share };
                let length = (length as f64 * share) as usize;
                (c, shift, bytes(seed ^ i as u64, shift + length))
            })
            .collect();
        let terms: Vec<(u8, &[u8])> = sources
            .iter()
            .map(|(c, shift, bytes)| (*c, &bytes[*shift..]))
            .collect();
        let scalar = Kernel::Scalar.ops().unwrap();
        let expected = guarded(length, shift, |dst| {
            for (c, src) in &terms {
                scalar.mul_add(dst, src, *c);
            }
        });
        for ops in all_ops() {
            let one_by_one = guarded(length, shift, |dst| {
                for (c, src) in &terms {
                    ops.mul_add(dst, src, *c);
                }
            });
            prop_assert_eq!(&one_by_one, &expected);
            let fused = guarded(length, shift, |dst| ops.mul_add_multi(dst, &terms));
            prop_assert_eq!(&fused, &expected);
            let zeros = guarded(length, shift, |dst| {
                dst.fill(0);
                ops.mul_add_multi(dst, &terms);
            });
            let anew = guarded(length, shift, |dst| ops.dot(dst, &terms));
            prop_assert_eq!(&anew, &zeros);
            let srcs: Vec<&[u8]> = terms.iter().map(|(_, src)| *src).collect();
            let one_by_one = guarded(length, shift, |dst| {
                for src in &srcs {
                    scalar.xor(dst, src);
                }
            });
            let plain = guarded(length, shift, |dst| ops.xor_multi(dst, &srcs));
            prop_assert_eq!(&plain, &one_by_one);
            let zeros = guarded(length, shift, |dst| {
                dst.fill(0);
                ops.xor_multi(dst, &srcs);
            });
            let anew = guarded(length, shift, |dst| ops.sum(dst, &srcs));
            prop_assert_eq!(&anew, &zeros);
            let mut rows: Vec<Vec<u8>> = vec![vec![0; length]; rows];
            let width = terms.len();
            let matrix: Vec<u8> = (0..rows.len() * width)
                .map(|i| terms[i % width].0.wrapping_mul((i / width) as u8 | 1))
                .collect();
            let mut dsts: Vec<&mut [u8]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
            ops.mul_add_matrix(&mut dsts, &srcs, &matrix);
            let mut others: Vec<Vec<u8>> = vec![bytes(seed, length); dsts.len()];
            let mut anew: Vec<&mut [u8]> = others.iter_mut().map(Vec::as_mut_slice).collect();
            ops.dot_matrix(&mut anew, &srcs, &matrix);
            prop_assert_eq!(&others, &rows);
            for (row, coefficients) in rows.iter().zip(matrix.chunks(width.max(1))) {
                let mut sum = vec![0; length];
                for (src, &c) in srcs.iter().zip(coefficients) {
                    scalar.mul_add(&mut sum, src, c);
                }
                prop_assert_eq!(row, &sum);
            }
            let products = guarded(length, shift, |dst| ops.mul(dst, seed as u8));
            let reference = guarded(length, shift, |dst| scalar.mul(dst, seed as u8));
            prop_assert_eq!(products, reference);
        }
    }
}
