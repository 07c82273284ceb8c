//! Impossible requests are refused with the reason.

use weftline_codec::field::Arithmetic;
use weftline_codec::reed_solomon::{Code, CodeError, Construction, Decoder, ShardError};

use super::support::{BOTH, codeword, recovers_all, slices_mut};

#[test]
fn parameters_without_a_code_are_refused() {
    let too_many = |sources, repairs, limit| CodeError::TooManyShards {
        sources,
        repairs,
        limit,
    };
    let refusal = |construction, k, m| Code::new(construction, k, m).unwrap_err();
    let (rfc, cauchy) = (Construction::Rfc5510, Construction::Cauchy);
    assert_eq!(refusal(rfc, 0, 4), CodeError::NoSources);
    assert_eq!(refusal(cauchy, 4, 0), CodeError::NoRepairs);
    assert_eq!(refusal(rfc, 200, 56), too_many(200, 56, 255));
    assert_eq!(refusal(cauchy, 200, 57), too_many(200, 57, 256));
    assert_eq!(refusal(cauchy, usize::MAX, 1), too_many(usize::MAX, 1, 256));
    for bits in 1..=8 {
        let field = Arithmetic::with_bits(bits).unwrap();
        for construction in BOTH {
            let limit = construction.max_shards(field);
            let refused = Code::with_field(construction, field, 1, limit);
            assert_eq!(refused.unwrap_err(), too_many(1, limit, limit));
        }
    }
}

#[test]
fn shards_that_do_not_fit_are_refused_and_buffers_are_unchanged() {
    let code = Code::new(Construction::Cauchy, 3, 2).unwrap();
    let shards = codeword(&code, 4);
    let (four, five) = (&[9; 4][..], &[9; 5][..]);
    let encode = |sources: &[&[u8]], lengths: &[usize]| {
        let mut repairs: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![1; length]).collect();
        let refusal = code
            .encode(sources, &mut slices_mut(&mut repairs))
            .unwrap_err();
        assert!(repairs.iter().flatten().all(|&byte| byte == 1));
        refusal
    };
    let length = |index, got| ShardError::Length {
        index,
        got,
        expected: 4,
    };
    assert_eq!(
        encode(&[four; 2], &[4]),
        ShardError::Sources {
            got: 2,
            expected: 3
        }
    );
    assert_eq!(
        encode(&[four; 3], &[4; 3]),
        ShardError::Repairs { got: 3, limit: 2 }
    );
    assert_eq!(encode(&[four, four, five], &[4]), length(2, 5));
    assert_eq!(encode(&[four; 3], &[4, 3]), length(4, 3));
    let mut out = [1; 4];
    assert_eq!(
        code.encode_one(2, &[four; 3], &mut out),
        Err(ShardError::OutOfRange {
            index: 5,
            shards: 5
        })
    );
    assert_eq!(
        code.encode_one(usize::MAX, &[four; 3], &mut out),
        Err(ShardError::OutOfRange {
            index: usize::MAX,
            shards: 5
        })
    );
    assert_eq!(
        code.encode_one(0, &[four; 3], &mut out[..3]),
        Err(length(3, 3))
    );
    assert_eq!(out, [1; 4]);

    let mut decoder = Decoder::new(code.clone());
    let mut reconstruct = |received: &[(usize, &[u8])], wanted: &[usize], lengths: &[usize]| {
        let mut out: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![1; length]).collect();
        let received = received.iter().copied();
        let refusal = decoder
            .reconstruct(received, wanted, &mut slices_mut(&mut out))
            .unwrap_err();
        assert!(out.iter().flatten().all(|&byte| byte == 1));
        refusal
    };
    let all = [(1, four), (3, four), (4, four)];
    assert_eq!(
        reconstruct(&all[..2], &[0], &[4]),
        ShardError::TooFew { got: 2, needed: 3 }
    );
    assert_eq!(
        reconstruct(&[], &[0], &[4]),
        ShardError::TooFew { got: 0, needed: 3 }
    );
    assert_eq!(
        reconstruct(&[(1, four), (1, four), (3, four)], &[0], &[4]),
        ShardError::Duplicate { index: 1 }
    );
    assert_eq!(
        reconstruct(&[(1, four), (5, four), (3, four)], &[0], &[4]),
        ShardError::OutOfRange {
            index: 5,
            shards: 5
        }
    );
    assert_eq!(
        reconstruct(&all, &[usize::MAX], &[4]),
        ShardError::OutOfRange {
            index: usize::MAX,
            shards: 5
        }
    );
    assert_eq!(
        reconstruct(&all, &[1], &[4]),
        ShardError::NotMissing { index: 1 }
    );
    assert_eq!(
        reconstruct(&all, &[0, 2], &[4]),
        ShardError::Buffers {
            got: 1,
            expected: 2
        }
    );
    assert_eq!(
        reconstruct(&[(1, four), (3, five)], &[0], &[4]),
        length(3, 5)
    );
    assert_eq!(reconstruct(&all, &[0], &[5]), length(0, 5));

    // The decoder still works.
    recovers_all(&mut decoder, &shards, &[1, 3, 4]);
    assert_eq!(decoder.reconstruct(all, &[], &mut []), Ok(()));
}

#[test]
fn shards_that_end_within_a_group_are_refused() {
    let field = Arithmetic::with_bits(3).unwrap();
    let code = Code::with_field(Construction::Cauchy, field, 2, 2).unwrap();
    let refusal = ShardError::BrokenGroup {
        length: 4,
        group: field.group(),
    };
    let shard = &[0; 4][..];
    let mut out = [0; 4];
    assert_eq!(code.encode_one(0, &[shard; 2], &mut out), Err(refusal));
    let received = [(0, shard), (2, shard)];
    let mut decoder = Decoder::new(code);
    assert_eq!(
        decoder.reconstruct(received, &[1], &mut [&mut out]),
        Err(refusal)
    );
}

#[test]
fn errors_name_what_was_wrong() {
    let error = Code::new(Construction::Cauchy, 250, 7).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("250 source and 7 repair shards exceed the 256")
    );
    let error = ShardError::TooFew { got: 2, needed: 3 };
    assert_eq!(
        error.to_string(),
        "2 shards were given, but any 3 are needed"
    );
}
