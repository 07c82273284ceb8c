//! Repair symbols that ride in the datagram of a source symbol.

use super::reader::{Malformed, Reader, put_varint, varint_len};

/// Repair symbols that ride in the datagram of a source symbol: they have one window, which ends before
/// that symbol, one length, and consecutive repair keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Riders<'a> {
    /// Number of source symbols in the encoding window, at least 1.
    pub nss: u16,
    /// Repair key of the first; each has one more than that before it.
    pub key: u16,
    /// Bytes of each coded symbol, at least 2.
    len: usize,
    /// The coded symbols, one after the other.
    data: &'a [u8],
}

impl<'a> Riders<'a> {
    /// Most repair symbols in one datagram.
    pub const MOST: u8 = 8;

    /// Reads the riders of a source symbol whose window must not begin below `span` symbols before it.
    pub(super) fn parse(r: &mut Reader<'a>, span: u16) -> Result<Self, Malformed> {
        let count = r.u8()?;
        if !(1..=Self::MOST).contains(&count) {
            return Err(Malformed::Range("number of repair symbols"));
        }
        let nss = r.varint()?;
        if nss == 0 || nss > u64::from(span) {
            return Err(Malformed::Range("number of source symbols"));
        }
        let key = r.u16()?;
        let len = usize::try_from(r.varint()?).unwrap_or(usize::MAX);
        if len < 2 {
            return Err(Malformed::Range("length of a coded symbol"));
        }
        let bytes = len.saturating_mul(usize::from(count));
        Ok(Riders {
            nss: nss as u16,
            key,
            len,
            data: r.bytes(bytes)?,
        })
    }

    /// Bytes of each coded symbol.
    pub fn symbol_len(&self) -> usize {
        self.len
    }

    /// Key and coded symbol of each.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let first = self.key;
        let symbols = self.data.chunks_exact(self.len);
        (0..)
            .zip(symbols)
            .map(move |(n, symbol)| (first.wrapping_add(n), symbol))
    }

    /// How many there are.
    pub fn count(&self) -> u8 {
        (self.data.len() / self.len) as u8
    }
}

/// What a source datagram says of its riders before their coded symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RidersHeader {
    /// 1 to [`Riders::MOST`].
    pub count: u8,
    /// At least 1, and no more than the source symbol's span.
    pub nss: u16,
    /// Key of the first.
    pub key: u16,
    /// Bytes of each coded symbol.
    pub len: usize,
}

impl RidersHeader {
    /// Bytes of this header.
    pub(crate) fn overhead(nss: u16, len: usize) -> usize {
        1 + varint_len(nss.into()) + 2 + varint_len(len as u64)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.push(self.count);
        put_varint(out, self.nss.into());
        out.extend_from_slice(&self.key.to_be_bytes());
        put_varint(out, self.len as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Coded, Datagram, SOURCE_HEADER};
    use super::*;

    const CODED: Coded = Coded {
        transmission: 7,
        timestamp: 1_000_000,
        esi: 90,
        span: 80,
    };

    fn written(header: RidersHeader, symbols: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        CODED.put_source_and_repairs(&header, &mut out);
        let overhead = RidersHeader::overhead(header.nss, header.len);
        assert_eq!(out.len(), SOURCE_HEADER + overhead);
        out.extend_from_slice(symbols);
        out
    }

    #[test]
    fn a_source_symbol_and_its_riders_round_trip() {
        for (count, nss, len) in [(1, 1, 2), (3, 80, 70), (8, 64, 4)] {
            let header = RidersHeader {
                count,
                nss,
                key: u16::MAX,
                len,
            };
            let coded: Vec<u8> = (0..len * usize::from(count)).map(|n| n as u8).collect();
            for symbol in [&b""[..], b"symbol"] {
                let datagram = written(header, &[&coded, symbol].concat());
                let Ok(Datagram::Source {
                    coded: CODED,
                    payload,
                    riders: Some(riders),
                }) = Datagram::parse(&datagram)
                else {
                    panic!("{:?}", Datagram::parse(&datagram))
                };
                assert_eq!((payload, riders.nss, riders.count()), (symbol, nss, count));
                let (keys, read): (Vec<u16>, Vec<&[u8]>) = riders.iter().unzip();
                assert_eq!(keys.first(), Some(&u16::MAX));
                assert_eq!(keys.get(1).copied().unwrap_or(0), 0);
                assert_eq!(read.concat(), coded);
                for n in 0..datagram.len() - symbol.len() {
                    let cut = Datagram::parse(&datagram[..n]);
                    assert_eq!(cut, Err(Malformed::Truncated), "{n} bytes");
                }
            }
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let sound = RidersHeader {
            count: 2,
            nss: 80,
            key: 0,
            len: 2,
        };
        let symbols = [0; 4096];
        let parse = |header| Datagram::parse(&written(header, &symbols)).map(|_| ());
        assert_eq!(parse(sound), Ok(()));
        let hostile = [
            RidersHeader { count: 0, ..sound },
            RidersHeader { count: 9, ..sound },
            RidersHeader {
                count: 255,
                ..sound
            },
            RidersHeader { nss: 0, ..sound },
            // The window would begin below the sender's edge.
            RidersHeader { nss: 81, ..sound },
            RidersHeader { len: 0, ..sound },
            RidersHeader { len: 1, ..sound },
        ];
        for header in hostile {
            assert!(
                matches!(parse(header), Err(Malformed::Range(_))),
                "{header:?}"
            );
        }
        for len in [2049, 1 << 20, (1 << 62) - 1] {
            let header = RidersHeader { len, ..sound };
            assert_eq!(parse(header), Err(Malformed::Truncated), "{len}");
        }
    }
}
