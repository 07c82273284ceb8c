//! Makes missing shards from any k others.

use alloc::vec::Vec;

use super::code::{Code, check_groups, check_length, combine};
use super::error::ShardError;
use super::points::MOST;

/// Makes missing shards of a [`Code`] from any k others.
///
/// Keeps m x k bytes for coefficients, and nothing else from one block to the
/// next, so it allocates no memory per block. It uses some kilobytes of stack.
#[derive(Clone, Debug)]
pub struct Decoder {
    code: Code,
    matrix: Vec<u8>,
}

impl Decoder {
    /// A decoder for the shards that `code` makes.
    #[must_use]
    pub fn new(code: Code) -> Self {
        let matrix = Vec::with_capacity(code.repairs() * code.sources());
        Self { code, matrix }
    }

    /// The code it decodes.
    #[must_use]
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Makes the shards with the indices `wanted` (sources 0..k, repairs k..k +
    /// m) from those received, overwriting `out`, which has a buffer for each
    /// in the same order. `received` are indices and shards in any order; if
    /// there are more than k, the source shards and the first repair shards are
    /// used.
    ///
    /// With w wanted shards and e missing source shards it takes O(k (e + w))
    /// look-ups, then one pass over k shards with O(k w) products for each
    /// byte: missing shards that are not wanted are not made.
    ///
    /// # Errors
    ///
    /// When fewer than k shards were received; an index is out of range, given
    /// twice or both received and wanted; lengths differ or are not whole
    /// groups; or the number of buffers differs from the number of wanted
    /// shards. `out` is then unchanged.
    pub fn reconstruct<'a>(
        &mut self,
        received: impl IntoIterator<Item = (usize, &'a [u8])>,
        wanted: &[usize],
        out: &mut [&mut [u8]],
    ) -> Result<(), ShardError> {
        let (k, shards, field) = (self.code.sources(), self.code.shards(), self.code.field());
        let in_range = |index| {
            if index < shards {
                return Ok(());
            }
            Err(ShardError::OutOfRange { index, shards })
        };

        let mut shard_of = [&[][..]; MOST];
        let mut present = Present::default();
        let (mut got, mut length) = (0, 0);
        for (index, shard) in received {
            in_range(index)?;
            if present.has(index) {
                return Err(ShardError::Duplicate { index });
            }
            if got == 0 {
                length = shard.len();
                check_groups(field, length)?;
            }
            check_length(index, shard.len(), length)?;
            present.add(index);
            shard_of[index] = shard;
            got += 1;
        }
        if got < k {
            return Err(ShardError::TooFew { got, needed: k });
        }
        if wanted.len() != out.len() {
            return Err(ShardError::Buffers {
                got: out.len(),
                expected: wanted.len(),
            });
        }
        for (&index, buffer) in wanted.iter().zip(out.iter()) {
            in_range(index)?;
            if present.has(index) {
                return Err(ShardError::NotMissing { index });
            }
            check_length(index, buffer.len(), length)?;
        }

        // Repair shards take the places of missing source shards.
        let mut given: [u8; MOST] = core::array::from_fn(|i| i as u8);
        let mut repairs = (k..shards).filter(|index| present.has(*index));
        for source in (0..k).filter(|index| !present.has(*index)) {
            // At least k are present, so there is one for each.
            let Some(repair) = repairs.next() else { break };
            given[source] = repair as u8;
            shard_of[source] = shard_of[repair];
        }
        self.matrix.clear();
        self.matrix.resize(wanted.len() * k, 0);
        self.code
            .points
            .interpolation(&given[..k])
            .rows(wanted.iter().copied().zip(self.matrix.chunks_exact_mut(k)));
        combine(field, out, &shard_of[..k], &self.matrix);
        Ok(())
    }
}

/// A set of shards.
#[derive(Default)]
struct Present([u64; MOST / 64]);

impl Present {
    fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    fn add(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reed_solomon::construction::Construction;
    use alloc::vec;

    #[test]
    fn no_memory_is_allocated_however_many_shards_are_missing() -> Result<(), ShardError> {
        let code = Code::new(Construction::Rfc5510, 20, 30).unwrap();
        let mut decoder = Decoder::new(code);
        let before = (decoder.matrix.as_ptr(), decoder.matrix.capacity());
        // The sources and some repairs are lost: 30 shards are to be made.
        let wanted: Vec<usize> = (0..30).collect();
        let mut buffers = vec![vec![1; 3]; 30];
        let mut out: Vec<&mut [u8]> = buffers.iter_mut().map(|buffer| &mut buffer[..]).collect();
        decoder.reconstruct((30..50).map(|i| (i, &[0; 3][..])), &wanted, &mut out)?;
        let after = (decoder.matrix.as_ptr(), decoder.matrix.capacity());
        assert_eq!(before, after);
        assert!(buffers.iter().flatten().all(|&byte| byte == 0));
        Ok(())
    }
}
