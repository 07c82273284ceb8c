//! What streams keep of the memory of what was read.

use super::*;

#[test]
fn only_the_stream_that_was_read_last_keeps_the_memory_of_what_was_read() {
    const BYTES: u64 = 1 << 20;
    let limits = Limits {
        session_data: 10 * BYTES,
        stream_data: BYTES,
        streams: 3,
        ..Limits::LEAST
    };
    let mut table = Streams::new(Role::Server, limits, limits, 1);
    let mut credit = Credit::new(limits.session_data, limits.session_data);
    let (data, mut buf) = (vec![7; BYTES as usize], vec![0; BYTES as usize - 1]);
    let mut events = VecDeque::new();
    for id in [0, 2, 4] {
        let inbound = Inbound {
            id,
            offset: 0,
            fin: false,
            data: &data,
        };
        table.on_stream(inbound, &mut credit, &mut events).unwrap();
        let read = table.read(StreamId(id), &mut buf, &mut credit).unwrap();
        assert_eq!(read, buf.len());
    }
    let kept = |table: &Streams, id| {
        let recv = table.entries[&id].recv.as_ref().unwrap();
        recv.capacity() as u64
    };
    assert!(kept(&table, 0) < BYTES / 8 && kept(&table, 2) < BYTES / 8);
    assert!(kept(&table, 4) >= BYTES);
    table.trim();
    assert!(kept(&table, 4) < BYTES / 8);
}
