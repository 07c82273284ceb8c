//! Datagrams that are longer than the path takes, in pieces.
//!
//! A path can shrink while symbols of the old length are in the encoding window: their repairs
//! must still get through. It is rare, so that pieces have no redundancy of their own: with one of
//! them lost, the datagram is.

use std::collections::VecDeque;

use crate::wire::{PIECE_HEADER, Piece};

/// Datagrams put together at once; the oldest is given up for a new one.
const PARTIAL: usize = 8;

/// Cuts datagrams.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    next: u32,
    waiting: VecDeque<Vec<u8>>,
}

impl Cutter {
    /// Cuts a datagram that exceeds `largest` bytes: `out` becomes its first piece, the others
    /// wait. False: it needs more pieces than there may be.
    pub(super) fn cut(&mut self, largest: usize, out: &mut Vec<u8>) -> bool {
        let room = largest.saturating_sub(PIECE_HEADER).max(1);
        let count = out.len().div_ceil(room);
        if count > usize::from(Piece::MOST) {
            return false;
        }
        let id = self.next;
        self.next = id.wrapping_add(1);
        let whole = std::mem::take(out);
        for (index, data) in whole.chunks(room).enumerate() {
            let piece = Piece {
                id,
                index: index as u8,
                count: count as u8,
                data,
            };
            let mut datagram = Vec::with_capacity(PIECE_HEADER + data.len());
            piece.put(&mut datagram);
            self.waiting.push_back(datagram);
        }
        self.write(out)
    }

    /// The next piece that waits.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) -> bool {
        match self.waiting.pop_front() {
            Some(piece) => {
                *out = piece;
                true
            }
            None => false,
        }
    }
}

/// Puts datagrams together.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    partial: VecDeque<Partial>,
}

#[derive(Debug)]
struct Partial {
    id: u32,
    pieces: Vec<Option<Box<[u8]>>>,
}

impl Joiner {
    /// Takes a piece; gives the datagram that it completes. Pieces that are longer than `longest`
    /// together are dropped.
    pub(super) fn join(&mut self, piece: &Piece<'_>, longest: usize) -> Option<Vec<u8>> {
        let same = |p: &Partial| p.id == piece.id && p.pieces.len() == usize::from(piece.count);
        let position = self.partial.iter().position(same).unwrap_or_else(|| {
            if self.partial.len() == PARTIAL {
                self.partial.pop_front();
            }
            self.partial.push_back(Partial {
                id: piece.id,
                pieces: vec![None; usize::from(piece.count)],
            });
            self.partial.len() - 1
        });
        let partial = &mut self.partial[position];
        let held: usize = partial.pieces.iter().flatten().map(|p| p.len()).sum();
        if held + piece.data.len() > longest {
            self.partial.remove(position);
            return None;
        }
        partial.pieces[usize::from(piece.index)].get_or_insert_with(|| piece.data.into());
        if partial.pieces.iter().any(Option::is_none) {
            return None;
        }
        let whole = self.partial.remove(position)?;
        Some(whole.pieces.into_iter().flatten().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Datagram;

    fn pieces(cutter: &mut Cutter, datagram: &[u8], largest: usize) -> Vec<Vec<u8>> {
        let mut out = datagram.to_vec();
        assert!(cutter.cut(largest, &mut out));
        let mut all = vec![out.clone()];
        while cutter.write(&mut out) {
            all.push(out.clone());
        }
        all
    }

    fn join(joiner: &mut Joiner, datagram: &[u8]) -> Option<Vec<u8>> {
        match Datagram::parse(datagram) {
            Ok(Datagram::Piece(piece)) => joiner.join(&piece, 2000),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_cut_is_joined_in_any_order() {
        let (mut cutter, mut joiner) = (Cutter::default(), Joiner::default());
        let datagram: Vec<u8> = (0..1400).map(|i| i as u8).collect();
        let mut cut = pieces(&mut cutter, &datagram, 600);
        assert_eq!(cut.len(), 3);
        assert!(cut.iter().all(|piece| piece.len() <= 600));
        cut.reverse();
        let joined: Vec<_> = cut.iter().filter_map(|p| join(&mut joiner, p)).collect();
        assert_eq!(joined, [datagram]);
    }

    #[test]
    fn a_lost_piece_costs_its_datagram_only_and_memory_is_bounded() {
        let (mut cutter, mut joiner) = (Cutter::default(), Joiner::default());
        for i in 0..100u8 {
            let cut = pieces(&mut cutter, &[i; 100], 80);
            assert_eq!(join(&mut joiner, &cut[0]), None);
            assert!(joiner.partial.len() <= PARTIAL);
        }
        let cut = pieces(&mut cutter, &[7; 100], 80);
        assert_eq!(join(&mut joiner, &cut[1]), None);
        assert_eq!(join(&mut joiner, &cut[1]), None, "the same once more");
        assert_eq!(join(&mut joiner, &cut[0]), Some(vec![7; 100]));
    }

    #[test]
    fn more_than_a_datagram_may_hold_is_not_collected() {
        let mut joiner = Joiner::default();
        let data = [0; 1500];
        for index in 0..4 {
            let piece = Piece {
                id: 1,
                index,
                count: 8,
                data: &data,
            };
            assert_eq!(joiner.join(&piece, 2000), None);
            assert!(joiner.partial.len() <= 1);
        }
    }
}
