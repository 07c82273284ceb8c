//! One suite for all fields: exhaustive checks of the axioms and of
//! multiplication bit by bit.

use weftline_codec::field::{Arithmetic, Field, Gf2, Gf4, Gf8, Gf16, Gf32, Gf64, Gf128, Gf256};

/// Multiplication by its definition: shift, add, reduce.
fn reference_mul<F: Field>(a: u8, b: u8) -> u8 {
    let mut product = 0u16;
    for bit in 0..F::BITS {
        if b & (1 << bit) != 0 {
            product ^= u16::from(a) << bit;
        }
    }
    for bit in (F::BITS..16).rev() {
        if product & (1 << bit) != 0 {
            product ^= F::POLYNOMIAL << (bit - F::BITS);
        }
    }
    u8::try_from(product).expect("a reduced product is an element")
}

fn elements<F: Field>() -> impl Iterator<Item = u8> {
    (0..F::ORDER).map(|element| element as u8)
}

/// Reads the elements of data, in the documented layout.
fn unpack(field: Arithmetic, data: &[u8]) -> Vec<u8> {
    let bits = field.bits();
    let mask = (field.order() - 1) as u8;
    if field.group() == 1 {
        let split = |byte: &u8| {
            let byte = *byte;
            (0..8 / bits).map(move |i| byte >> (i * bits) & mask)
        };
        return data.iter().flat_map(split).collect();
    }
    let mut elements = Vec::new();
    for group in data.chunks(field.group()) {
        for element in 0..64 {
            let (byte, bit) = (element / 8, element % 8);
            let words = group.chunks(8).enumerate();
            elements.push(
                words
                    .map(|(place, word)| ((word[byte] >> bit) & 1) << place)
                    .sum(),
            );
        }
    }
    elements
}

fn suite<F: Field>() {
    multiplication_is_polynomial_multiplication::<F>();
    the_axioms_hold::<F>();
    powers_of_the_generator_are_all_elements_but_zero::<F>();
    byte_strings_are_combined_element_by_element::<F>();
}

fn multiplication_is_polynomial_multiplication<F: Field>() {
    for a in elements::<F>() {
        for b in elements::<F>() {
            assert_eq!(F::mul(a, b), reference_mul::<F>(a, b), "{a} * {b}");
        }
    }
}

fn the_axioms_hold<F: Field>() {
    for a in elements::<F>() {
        assert_eq!(F::add(a, a), 0);
        assert_eq!(F::add(a, 0), a);
        assert_eq!(F::mul(a, 1), a);
        assert_eq!(F::mul(a, 0), 0);
        if a != 0 {
            assert_eq!(F::mul(a, F::inv(a)), 1);
        }
        for b in elements::<F>() {
            assert_eq!(F::add(a, b), F::add(b, a));
            assert_eq!(F::mul(a, b), F::mul(b, a));
            assert!(usize::from(F::mul(a, b)) < F::ORDER);
            if b != 0 {
                assert_eq!(F::div(F::mul(a, b), b), a);
                assert_eq!(F::mul(F::div(a, b), b), a);
            }
            for c in elements::<F>() {
                assert_eq!(F::mul(F::mul(a, b), c), F::mul(a, F::mul(b, c)));
                let sum = F::add(F::mul(a, b), F::mul(a, c));
                assert_eq!(F::mul(a, F::add(b, c)), sum);
            }
        }
    }
}

fn powers_of_the_generator_are_all_elements_but_zero<F: Field>() {
    let mut seen = vec![false; F::ORDER];
    let mut power = 1;
    for n in 0..F::ORDER - 1 {
        assert_eq!(F::exp(n as u8), power);
        assert!(power != 0 && !std::mem::replace(&mut seen[usize::from(power)], true));
        power = reference_mul::<F>(power, F::GENERATOR);
    }
    assert_eq!(power, 1);
}

fn byte_strings_are_combined_element_by_element<F: Field>() {
    let field = F::arithmetic();
    let length = field.whole_groups(420);
    let bytes = |salt: usize| -> Vec<u8> {
        (0..length)
            .map(|i| (((i + salt) * 151) >> 2) as u8)
            .collect()
    };
    let (start, src) = (bytes(3), bytes(77));
    // The last source ends within a group.
    for source in [&src[..], &src[..length / 2], &src[..1], &[]] {
        for c in elements::<F>() {
            let mut padded = source.to_vec();
            padded.resize(length, 0);
            let product = |x: u8| reference_mul::<F>(c, x);
            let expected: Vec<u8> = unpack(field, &start)
                .into_iter()
                .zip(unpack(field, &padded))
                .map(|(sum, x)| sum ^ product(x))
                .collect();
            let mut sum = start.clone();
            field.mul_add(&mut sum, source, c);
            assert_eq!(unpack(field, &sum), expected, "{field:?} {c}");
            let mut sum = start.clone();
            field.mul_add_multi(&mut sum, &[(c, source)]);
            assert_eq!(unpack(field, &sum), expected, "{field:?} {c}");
            let mut scaled = padded.clone();
            field.scale(&mut scaled, c);
            let expected: Vec<u8> = unpack(field, &padded).into_iter().map(product).collect();
            assert_eq!(unpack(field, &scaled), expected, "{field:?} {c}");
        }
    }
    // One element to a byte.
    let vector: Vec<u8> = (0..600).map(|i| (i * 7 % F::ORDER) as u8).collect();
    for c in elements::<F>() {
        let mut sum = vector.clone();
        field.mul_add_vector(&mut sum, &vector, c);
        let mut scaled = vector.clone();
        field.scale_vector(&mut scaled, c);
        for (i, &x) in vector.iter().enumerate() {
            let product = reference_mul::<F>(c, x);
            assert_eq!(sum[i], x ^ product);
            assert_eq!(scaled[i], product);
        }
    }
}

macro_rules! suites {
    ($($name:ident: $field:ty;)*) => {$(
        #[test]
        fn $name() {
            suite::<$field>();
        }
    )*};
}

suites! {
    gf2: Gf2;
    gf4: Gf4;
    gf8: Gf8;
    gf16: Gf16;
    gf32: Gf32;
    gf64: Gf64;
    gf128: Gf128;
    gf256: Gf256;
}

#[test]
fn a_field_by_its_bits_is_the_field_of_that_type() {
    for bits in 1..=8 {
        let field = Arithmetic::with_bits(bits).unwrap();
        assert_eq!((field.bits(), field.order()), (bits, 1 << bits));
    }
    assert_eq!(Arithmetic::with_bits(0), None);
    assert_eq!(Arithmetic::with_bits(9), None);
    assert_eq!(Arithmetic::default(), Gf256::arithmetic());
    assert_eq!(Gf256::POLYNOMIAL, 0x11D);
}

#[test]
#[should_panic(expected = "zero has no inverse")]
fn zero_has_no_inverse() {
    let _ = Gf16::inv(0);
}

#[test]
#[should_panic(expected = "not a whole number of groups")]
fn a_destination_of_broken_groups_is_refused() {
    Gf8::arithmetic().mul_add(&mut [0; 25], &[1], 3);
}
