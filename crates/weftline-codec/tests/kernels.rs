//! Every kernel this CPU has computes what the scalar one does, byte for byte,
//! and touches nothing else.

use proptest::prelude::*;
use weftline_codec::field::{Field, Gf256};
use weftline_codec::kernel::{Kernel, Ops};

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
// Without `std` no CPU is asked, and a plain x86-64 build has no kernel.
#[cfg(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn this_machine_runs_a_vector_kernel() {
    // Otherwise the tests below compare the scalar kernel with itself.
    assert!(Kernel::available().any(|kernel| kernel != Kernel::Scalar));
}

#[test]
fn all_coefficients_multiply_as_the_field_does() {
    let src: Vec<u8> = (0..=255).chain(0..=255).chain(0..99).collect();
    for ops in all_ops() {
        for c in 0..=255 {
            let mut product = src.clone();
            ops.mul(&mut product, c);
            let mut sum = src.clone();
            ops.mul_add(&mut sum, &src, c);
            let mut fused = src.clone();
            ops.mul_add_multi(&mut fused, &[(c, &src)]);
            for (i, &x) in src.iter().enumerate() {
                let expected = Gf256::mul(c, x);
                assert_eq!(product[i], expected, "{} {c} * {x}", ops.kernel());
                assert_eq!(sum[i], expected ^ x, "{} {c} * {x}", ops.kernel());
                assert_eq!(fused[i], expected ^ x, "{} {c} * {x}", ops.kernel());
            }
        }
    }
}

#[test]
fn all_lengths_give_what_the_scalar_kernel_gives() {
    let scalar = Kernel::Scalar.ops().unwrap();
    for length in 0..=600 {
        let src = bytes(length as u64, length);
        let c = (length % 254 + 2) as u8;
        for ops in all_ops() {
            let run = |run: fn(Ops, &mut [u8], &[u8], u8)| {
                let expected = guarded(length, 0, |dst| run(scalar, dst, &src, c));
                let got = guarded(length, 0, |dst| run(ops, dst, &src, c));
                assert_eq!(got, expected, "{} over {length} bytes", ops.kernel());
            };
            run(|ops, dst, src, _| ops.xor(dst, src));
            run(|ops, dst, _, c| ops.mul(dst, c));
            run(|ops, dst, src, c| ops.mul_add(dst, src, c));
            run(|ops, dst, src, c| ops.mul_add_multi(dst, &[(c, src), (c ^ 1, src)]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_alignment_and_mixture_of_lengths_gives_what_the_scalar_kernel_gives(
        length in 0..2000_usize,
        shift in 0..33_usize,
        sources in proptest::collection::vec((any::<u8>(), 0..33_usize, 0.0..=1.0), 0..40),
        all_full in any::<bool>(),
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
            let products = guarded(length, shift, |dst| ops.mul(dst, seed as u8));
            let reference = guarded(length, shift, |dst| scalar.mul(dst, seed as u8));
            prop_assert_eq!(products, reference);
        }
    }
}
