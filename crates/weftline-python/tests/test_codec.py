"""The codes, on all kinds of buffers."""

from __future__ import annotations

import array
import random
import struct
import threading
import time

import numpy as np
import pytest

from weftline import CodecError
from weftline._types import Buffer
from weftline.codec import (
    BlockDecoder,
    BlockEncoder,
    Coefficients,
    Recoder,
    ReedSolomon,
    WindowDecoder,
    WindowEncoder,
)

RANDOM = random.Random(11)


def test_a_window_recovers_what_was_lost() -> None:
    encoder, decoder = WindowEncoder(64, 1200), WindowDecoder(64, 1200)
    payloads = [RANDOM.randbytes(RANDOM.randrange(1201)) for _ in range(40)]
    for esi, payload in enumerate(payloads):
        assert encoder.push(payload) == esi
        if esi % 5:
            assert decoder.source(esi, payload)
    assert (len(encoder), encoder.held, decoder.unknowns, decoder.deficit) == (40, (0, 40), 8, 8)
    assert decoder.missing()[:2] == [(0, 1), (5, 6)] and decoder.contiguous == 0
    several = WindowDecoder(64, 1200)
    assert several.sources([(esi, payloads[esi]) for esi in range(40) if esi % 5]) == 32
    assert several.take_known() == decoder.take_known()
    for key in range(8):
        assert decoder.repair(0, 40, key, encoder.repair(0, 40, key))
    assert not decoder.repair(0, 40, 9, encoder.repair(0, 40, 9)), "nothing is missing any more"
    assert decoder.take_known() == [(esi, payloads[esi]) for esi in range(0, 40, 5)]
    assert decoder.take_known() == []
    assert decoder.symbol(5) == payloads[5] and decoder.symbol(40) is None
    encoder.discard_before(30)
    assert encoder.symbol(29) is None and encoder.symbol(30) == payloads[30]
    decoder.forget_before(30)
    assert (decoder.first, decoder.contiguous, decoder.end) == (30, 40, 40)
    decoder.expect(45)
    assert decoder.missing() == [(40, 45)]
    decoder.skip_to(100)
    assert decoder.first == 100


@pytest.mark.parametrize("bits", range(1, 9))
def test_a_block_is_decoded_in_every_field(bits: int) -> None:
    encoder = BlockEncoder(20, 100, field_bits=bits)
    payloads = [RANDOM.randbytes(100) for _ in range(20)]
    assert [encoder.push(payload) for payload in payloads] == list(range(20))
    decoder = BlockDecoder(20, 100, field_bits=bits)
    for index in range(0, 20, 2):
        assert decoder.source(index, payloads[index])
    assert decoder.missing() == list(range(1, 20, 2)) and decoder.symbols() is None
    key = 0
    while not decoder.is_complete:
        assert key < 200, "random combinations are nearly independent"
        coefficients = Coefficients.uniform(key)
        decoder.repair(coefficients, encoder.repair(coefficients))
        key += 1
    assert decoder.symbols() == payloads and decoder.deficit == 0
    decoder.clear()
    encoder.clear()
    assert len(encoder) == 0 and len(decoder) == 20 and decoder.deficit == 20


def test_each_kind_of_coefficients_is_its_explicit_vector() -> None:
    encoder = WindowEncoder(64, 50)
    for _ in range(60):
        encoder.push(RANDOM.randbytes(50))
    for coefficients in (
        Coefficients.non_zero(7),
        Coefficients.uniform(7),
        Coefficients.sparse(7, 3),
        Coefficients.fading(7, 8),
        Coefficients.rfc8681(7, 15),
    ):
        vector = coefficients.vector(60)
        assert encoder.repair(0, 60, coefficients) == encoder.repair(0, 60, vector)
    assert encoder.repair(0, 60, 7) == encoder.repair(0, 60, Coefficients.non_zero(7))
    assert Coefficients.non_zero(0).vector(4).hex() == "cd7ba8e2"
    assert encoder.repairs(0, 60, [1, Coefficients.uniform(2)]) == [
        encoder.repair(0, 60, 1),
        encoder.repair(0, 60, Coefficients.uniform(2)),
    ]


@pytest.mark.parametrize("construction", ["cauchy", "rfc5510"])
def test_any_shards_recover_all(construction: str) -> None:
    code = ReedSolomon(10, 4, construction=construction)  # type: ignore[arg-type]
    assert (code.sources, code.repairs) == (10, 4)
    sources = [RANDOM.randbytes(1000) for _ in range(10)]
    shards = dict(enumerate(sources + code.encode(sources)))
    for _ in range(20):
        received = {index: shards[index] for index in RANDOM.sample(range(14), 10)}
        missing = set(range(10)) - set(received)
        assert code.reconstruct(received) == {index: sources[index] for index in missing}
        others = sorted(set(range(14)) - set(received))
        assert code.reconstruct(received, others) == {index: shards[index] for index in others}


def test_shards_are_written_into_numpy_arrays() -> None:
    code = ReedSolomon(4, 2)
    sources = np.arange(4 * 64, dtype=np.uint32).reshape(4, 64)
    repairs = np.zeros((2, 256), dtype=np.uint8)
    code.encode_into(list(sources), list(repairs))
    assert [bytes(row.tobytes()) for row in repairs] == code.encode(list(sources))
    back = np.zeros((2, 64), dtype=np.uint32)
    code.reconstruct_into({0: sources[0], 2: sources[2], 4: repairs[0], 5: repairs[1]}, {1: back[0], 3: back[1]})
    assert (back == sources[[1, 3]]).all()


def test_a_relay_recodes() -> None:
    encoder, relay, decoder = BlockEncoder(10, 100), Recoder(10, 10, 100), BlockDecoder(10, 100)
    payloads = [RANDOM.randbytes(100) for _ in range(10)]
    for index, payload in enumerate(payloads):
        encoder.push(payload)
        if index < 5:
            assert relay.source(index, payload)
    for key in range(5):
        assert relay.repair(0, 10, key, encoder.repair(key))
    assert relay.rank == 10 and relay.window == (0, 10)
    for key in range(10):
        first, end, vector, data = relay.recode(key)
        assert (first, end) == (0, 10)
        decoder.repair(vector, data)
    assert decoder.symbols() == payloads
    relay.forget_before(10)
    assert relay.rank == 0
    with pytest.raises(CodecError):
        relay.recode(1)


def test_all_contiguous_buffers_are_read() -> None:
    numbers = array.array("H", range(50))
    block = np.arange(100, dtype=np.uint8).reshape(10, 10)
    encoder = WindowEncoder(10, 100)
    payloads: list[tuple[Buffer, bytes]] = [
        (numbers, numbers.tobytes()),
        (block, bytes(range(100))),
        (block[2], bytes(range(20, 30))),
        (np.float64(2.5), struct.pack("d", 2.5)),
        (memoryview(b"abc")[1:], b"bc"),
        (bytearray(b"xyz"), b"xyz"),
        (b"", b""),
    ]
    for payload, expected in payloads:
        assert encoder.symbol(encoder.push(payload)) == expected
    strided_buffers: list[Buffer] = [block[:, 1], memoryview(b"abcdef")[::2], np.asfortranarray(np.ones((3, 2)))]
    for strided in strided_buffers:
        with pytest.raises((BufferError, ValueError), match="contiguous"):
            encoder.push(strided)
    read_only = np.zeros(10, dtype=np.uint8)
    read_only.flags.writeable = False
    code = ReedSolomon(1, 1)
    targets: list[Buffer] = [read_only, bytes(10), memoryview(bytes(10))]
    for target in targets:
        with pytest.raises((BufferError, ValueError), match="read-only|not writable"):
            code.encode_into([bytes(10)], [target])


def test_buffers_that_overlap_are_refused() -> None:
    memory = bytearray(40)
    view = memoryview(memory)
    code = ReedSolomon(2, 2)
    with pytest.raises(BufferError, match="overlap"):
        code.encode_into([bytes(10)] * 2, [view[:10], view[5:15]])
    with pytest.raises(BufferError, match="overlap"):
        code.encode_into([view[5:15], bytes(10)], [view[:10], view[20:30]])
    with pytest.raises(BufferError, match="overlap"):
        code.encode_into([view, bytes(40)], [view[:40], bytearray(40)])
    code.encode_into([view[:10], view[5:15]], [view[20:30], view[30:]])
    # The views are given back.
    del view
    memory.append(1)


def test_what_is_not_possible_is_refused_with_the_reason() -> None:
    encoder = WindowEncoder(2, 10)
    encoder.push(b"one")
    encoder.push(b"two")
    for wrong, text in (
        (lambda: encoder.push(b"three"), "full"),
        (lambda: encoder.repair(1, 1, 0), "at least one"),
        (lambda: encoder.repair(0, 3, 0), "holds"),
        (lambda: encoder.repair(0, 2, b"x"), "coding vector"),
        (lambda: encoder.repairs(0, 2, [Coefficients.sparse(1, 16)]), "density"),
        (lambda: WindowEncoder(0, 10), "1 to 8192"),
        (lambda: WindowEncoder(1, 10**6), "65535"),
        (lambda: BlockDecoder(9000, 10), "1 to 8192"),
        (lambda: BlockEncoder(2, 10, field_bits=9), "1 to 8 bits"),
        (lambda: ReedSolomon(200, 100), "256"),
        (lambda: ReedSolomon(2, 1, construction="other"), "cauchy"),  # type: ignore[arg-type]
        (lambda: ReedSolomon(2, 1).encode([b"one"]), "source"),
        (lambda: ReedSolomon(2, 1).encode([b"one", b"four"]), "shard"),
        (lambda: ReedSolomon(2, 1).reconstruct({0: b"one"}), "2"),
        (lambda: ReedSolomon(2, 1).reconstruct({0: b"one", 9: b"two"}), "9"),
        (lambda: WindowDecoder(8, 10).source(8, b"x"), "span"),
        (lambda: WindowDecoder(8, 10).source(0, bytes(11)), "exceeds"),
        (lambda: BlockDecoder(8, 10).repair(0, bytes(13)), "bytes"),
    ):
        with pytest.raises(CodecError, match=text):
            wrong()


def test_long_calls_let_other_threads_run() -> None:
    encoder = WindowEncoder(1000, 60_000)
    payload = bytes(60_000)
    for _ in range(1000):
        encoder.push(payload)
    running = threading.Event()
    counts: list[float] = []

    def count() -> None:
        while running.is_set():
            counts.append(time.perf_counter())

    def runs_meanwhile() -> bool:
        counts.clear()
        running.set()
        thread = threading.Thread(target=count)
        thread.start()
        start = time.perf_counter()
        encoder.repair(0, 1000, 1)
        end = time.perf_counter()
        running.clear()
        thread.join()
        # All but the first and last part of the call.
        share = (end - start) / 4
        return any(start + share < at < end - share for at in counts)

    # On a busy machine the other thread may get no processor during one call.
    assert any(runs_meanwhile() for _ in range(50))


def test_threads_share_an_encoder() -> None:
    encoder = WindowEncoder(8192, 100)
    pushed: list[list[int]] = [[] for _ in range(4)]

    def push(mine: list[int]) -> None:
        for _ in range(1000):
            mine.append(encoder.push(b"x" * 100))
            encoder.repair(mine[-1], mine[-1] + 1, 1)

    threads = [threading.Thread(target=push, args=(mine,)) for mine in pushed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(esi for mine in pushed for esi in mine) == list(range(4000))
