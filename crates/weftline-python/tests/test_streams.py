"""Streams: bytes in order, with asyncio's methods."""

from __future__ import annotations

import asyncio
import gc
import random

import pytest
from conftest import pair, run

from weftline import (
    ConnectionClosed,
    StreamClosed,
    StreamReader,
    StreamReset,
    StreamStopped,
    StreamWriter,
)


def test_bytes_arrive_in_order_and_the_end_is_seen() -> None:
    async def test() -> None:
        data = random.Random(7).randbytes(3_000_000)
        async with pair() as (client, server):
            reader, writer = await client.open_stream()

            async def send() -> None:
                for start in range(0, len(data), 50_000):
                    writer.write(memoryview(data)[start : start + 50_000])
                    await writer.drain()
                writer.close()
                await writer.wait_closed()

            sending = asyncio.ensure_future(send())
            theirs, answers = await server.accept_stream()
            assert theirs.id == reader.id == writer.id
            assert await theirs.read() == data
            assert theirs.at_eof() and await theirs.read(10) == b""
            await sending
            async with answers:
                answers.write(b"thanks")
            assert await reader.read() == b"thanks"

    run(test)


def test_each_way_of_reading_gives_what_asyncio_gives() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            _, writer = await client.open_stream()
            writer.writelines([b"one\ntwo\n", bytearray(b"\x00\x01|"), memoryview(b"abc\nrest")])
            writer.write_eof()
            reader, _ = await server.accept_stream()
            assert await reader.readline() == b"one\n"
            assert await reader.readuntil(b"\n") == b"two\n"
            assert await reader.readuntil(b"\x01|") == b"\x00\x01|"
            assert await reader.read(0) == b""
            assert await reader.readexactly(2) == b"ab"
            assert [line async for line in reader] == [b"c\n", b"rest"]
            with pytest.raises(asyncio.IncompleteReadError) as incomplete:
                await reader.readexactly(1)
            assert incomplete.value.partial == b""

    run(test)


def test_a_line_without_an_end_is_refused_and_stays_to_be_read() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            _, writer = await client.open_stream()
            writer.write(b"x" * 200_000)
            writer.write_eof()
            reader, _ = await server.accept_stream()
            with pytest.raises(asyncio.LimitOverrunError):
                await reader.readuntil()
            assert len(await reader.read()) == 200_000

    run(test)


def test_a_cancelled_read_loses_nothing() -> None:
    """A read is cancelled after every possible number of steps of the loop; the bytes that come are complete."""

    async def test() -> None:
        data = bytes(range(256)) * 400
        async with pair() as (client, server):
            _, writer = await client.open_stream()

            async def send() -> None:
                for start in range(0, len(data), 100):
                    writer.write(data[start : start + 100])
                    await asyncio.sleep(0)
                writer.close()

            sending = asyncio.ensure_future(send())
            reader, _ = await server.accept_stream()
            got, cancelled, steps = b"", 0, 0
            while not reader.at_eof():
                read = asyncio.ensure_future(reader.read(70))
                for _ in range(steps % 4):
                    await asyncio.sleep(0)
                read.cancel()
                try:
                    got += await read
                except asyncio.CancelledError:
                    cancelled += 1
                steps += 1
                if steps % 4 == 3:
                    got += await reader.read(70)
            assert got == data
            assert cancelled > 10, "the test cancels reads"
            await sending

    run(test)


def test_a_cancelled_readexactly_keeps_what_it_has() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            _, writer = await client.open_stream()
            writer.write(b"half")
            reader, _ = await server.accept_stream()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(reader.readexactly(8), 0.1)
            writer.write(b"full")
            assert await reader.readexactly(8) == b"halffull"

    run(test)


def test_drain_waits_while_the_peer_does_not_read() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            _, writer = await client.open_stream()
            chunk, written = bytes(1 << 20), 0

            async def fill() -> None:
                nonlocal written
                while True:
                    writer.write(chunk)
                    written += len(chunk)
                    await writer.drain()

            filling = asyncio.ensure_future(fill())
            reader, _ = await server.accept_stream()
            # As much as the peer's credit and the buffers hold, and then no more.
            before = -1
            while before != written:
                before = written
                await asyncio.sleep(0.3)
            assert not filling.done() and written < 64 << 20
            assert writer.queued <= 2 << 20
            await reader.readexactly(32 << 20)
            filling.cancel()
            assert written > before

    run(test)


def test_reset_and_stop_carry_their_codes() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            reader, writer = await client.open_stream()
            writer.write(b"x")
            theirs, back = await server.accept_stream()
            assert await theirs.read(1) == b"x"
            writer.reset(7)
            with pytest.raises(StreamReset) as reset:
                await theirs.read(1)
            assert reset.value.code == 7
            with pytest.raises(StreamClosed):
                writer.write(b"y")
            with pytest.raises(StreamClosed):
                await writer.wait_closed()
            reader.stop(9)
            with pytest.raises(StreamStopped) as stopped:
                while True:
                    back.write(b"z")
                    await back.drain()
                    await asyncio.sleep(0.001)
            assert stopped.value.code == 9

    run(test)


def test_stop_ends_a_read_that_waits() -> None:
    async def test() -> None:
        async with pair() as (client, _):
            reader, _writer = await client.open_stream()
            read = asyncio.ensure_future(reader.read(1))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="another task"):
                await reader.read(1)
            reader.stop()
            with pytest.raises(StreamClosed):
                await read

    run(test)


def test_a_writer_that_is_dropped_resets_and_one_that_was_closed_delivers() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            for close in (True, False):
                _, writer = await client.open_stream()
                writer.write(b"data")
                theirs, _ = await server.accept_stream()
                assert await theirs.read(4) == b"data"
                if close:
                    writer.close()
                del writer
                gc.collect()
                if close:
                    assert await theirs.read() == b""
                else:
                    with pytest.raises(StreamReset):
                        await theirs.read()

    run(test)


def test_a_connection_that_ends_ends_its_streams() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            reader, writer = await client.open_stream()
            writer.write(b"x")
            _theirs = await server.accept_stream()
            waiting = asyncio.ensure_future(reader.read(1))
            server.close(3, "enough")
            with pytest.raises(ConnectionClosed) as closed:
                await waiting
            reason = closed.value.reason
            assert (reason.kind, reason.code, reason.text) == ("peer", 3, "enough")
            with pytest.raises(ConnectionClosed):
                await client.open_stream()
            with pytest.raises((ConnectionClosed, StreamClosed)):
                writer.close()
                await writer.wait_closed()

    run(test)


def test_many_streams_at_once() -> None:
    async def test() -> None:
        async def echo(reader: StreamReader, writer: StreamWriter) -> None:
            async with writer:
                while data := await reader.read(1000):
                    writer.write(data)
                    await writer.drain()

        async with pair() as (client, server):

            async def serve() -> None:
                while True:
                    asyncio.ensure_future(echo(*await server.accept_stream()))

            serving = asyncio.ensure_future(serve())

            async def ask(number: int) -> None:
                reader, writer = await client.open_stream()
                question = b"%d" % number * 1000
                async with writer:
                    writer.write(question)
                assert await reader.read() == question

            await asyncio.gather(*map(ask, range(100)))
            serving.cancel()

    run(test)
