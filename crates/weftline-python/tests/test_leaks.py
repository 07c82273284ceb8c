"""Memory is given back. `WEFTLINE_MESSAGES=1000000` runs the long form."""

from __future__ import annotations

import asyncio
import gc
import os
import pathlib

import pytest
from conftest import pair, run

from weftline import Connection
from weftline.codec import BlockDecoder, BlockEncoder, WindowDecoder, WindowEncoder

MESSAGES = int(os.environ.get("WEFTLINE_MESSAGES", 40_000))
STATUS = pathlib.Path("/proc/self/statm")
PAGE = os.sysconf("SC_PAGE_SIZE")

pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells the memory of a process so")


def memory() -> int:
    """Bytes of this process that are resident."""
    gc.collect()
    return int(STATUS.read_text().split()[1]) * PAGE


async def exchange(client: Connection, server: Connection, count: int) -> None:
    """Messages with and without deadlines, with receipts kept and dropped, and cancelled receives."""

    async def send() -> None:
        for number in range(count):
            receipt = await client.send_message(bytes(64), deadline=5.0 if number % 2 else None)
            if number % 100 == 0:
                await receipt.delivered()

    async def receive() -> None:
        for number in range(count):
            if number % 50 == 0:
                given_up = asyncio.ensure_future(server.recv_message())
                given_up.cancel()
                await asyncio.wait([given_up])
            await server.recv_message()

    await asyncio.gather(send(), receive())


def test_messages_leave_nothing_behind() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            await exchange(client, server, 20_000)
            before = memory()
            await exchange(client, server, MESSAGES)
            grown = memory() - before
            print(f"{MESSAGES} messages: {grown} bytes more")
            # A leak of 25 bytes for each of a million messages would be seen.
            assert grown < (25 << 20)

    run(test, 570)


def test_streams_and_connections_leave_nothing_behind() -> None:
    async def streams(client: Connection, server: Connection, count: int) -> None:
        for _ in range(count):
            reader, writer = await client.open_stream()
            writer.write(bytes(1000))
            writer.close()
            theirs, answer = await server.accept_stream()
            answer.close()
            assert len(await theirs.read()) == 1000 and await reader.read() == b""

    async def test() -> None:
        async with pair() as (client, server):
            await streams(client, server, 300)
            before = memory()
            await streams(client, server, 1500)
            # Each has 1000 bytes at two ends.
            assert memory() - before < 1 << 20

    run(test, 120)


def test_the_codec_leaves_nothing_behind() -> None:
    def code(count: int) -> None:
        for _ in range(count):
            encoder, decoder = WindowEncoder(8, 10_000), WindowDecoder(8, 10_000)
            block, other = BlockEncoder(4, 10_000), BlockDecoder(4, 10_000)
            for index in range(4):
                encoder.push(bytearray(10_000))
                block.push(bytearray(10_000))
                decoder.repair(0, index + 1, index, encoder.repair(0, index + 1, index))
            for key in range(4):
                other.repair(key, block.repair(key))
            assert decoder.contiguous == 4 and other.is_complete

    code(100)
    before = memory()
    code(1000)
    # 80 kB of symbols each.
    assert memory() - before < 4 << 20
