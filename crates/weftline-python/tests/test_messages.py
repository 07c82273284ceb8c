"""Messages, their deadlines, and what became of them."""

from __future__ import annotations

import asyncio

import pytest
from conftest import pair, run

from weftline import (
    Config,
    ConfigError,
    ConnectionClosed,
    Message,
    MessageTooLong,
    NoRoomError,
)


def test_messages_arrive_whole_and_their_receipts_tell() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            pieces: list[bytes | bytearray | memoryview] = [b"", b"x", bytearray(b"yy"), memoryview(b"-zzz-")[1:4], bytes(200_000)]
            receipts = [await client.send_message(piece) for piece in pieces]
            received = [await server.recv_message() for _ in pieces]
            assert sorted(message.data for message in received) == sorted(map(bytes, pieces))
            assert {message.id for message in received} == {receipt.id for receipt in receipts}
            assert not any(message.late for message in received)
            for receipt in receipts:
                await receipt.delivered()
                await receipt.delivered()  # the same answer again
            await client.flushed()

    run(test)


def test_a_message_with_a_deadline_arrives_in_time() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            receipt = await client.send_message(b"now", deadline=5.0)
            assert (await server.recv_message()).data == b"now"
            await receipt.delivered()
            alone = client.try_send_message(b"alone", 5.0, alone=True)
            assert (await server.recv_message()).data == b"alone"
            await asyncio.gather(alone.delivered(), alone.delivered())
            assert client.message_alone_max > 500

    run(test)


def test_what_cannot_be_sent_is_refused_with_its_limit() -> None:
    async def test() -> None:
        async with pair(server_config=Config(message_size=20_000)) as (client, _):
            with pytest.raises(MessageTooLong) as refused:
                await client.send_message(bytes(20_001))
            assert refused.value.limit == 20_000
            for deadline in (-1.0, float("nan"), float("inf")):
                with pytest.raises(ConfigError, match="deadline"):
                    await client.send_message(b"x", deadline=deadline)

    run(test)


def test_a_full_buffer_makes_send_message_wait_and_try_send_message_fail() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            sent = 0
            with pytest.raises(NoRoomError):
                while sent < 1000:
                    client.try_send_message(bytes(100_000))
                    sent += 1
            waiting = asyncio.ensure_future(client.send_message(b"last"))
            writable = asyncio.ensure_future(client.message_writable(100_000))
            for _ in range(sent):
                assert len((await server.recv_message()).data) == 100_000
            await writable
            await waiting
            assert (await server.recv_message()).data == b"last"

    run(test)


def test_a_cancelled_receive_loses_no_message() -> None:
    """Each receive is cancelled after some steps of the loop: with and without a message that is there."""

    async def test() -> None:
        async with pair() as (client, server):
            count, cancelled = 2000, 0
            got: list[int] = []

            async def send() -> None:
                for number in range(count):
                    await client.send_message(b"%d" % number)
                    if number % 7 == 0:
                        await asyncio.sleep(0)

            sending = asyncio.ensure_future(send())
            steps = 0
            while len(got) < count:
                receive = asyncio.ensure_future(server.recv_message())
                for _ in range(steps % 5):
                    await asyncio.sleep(0)
                if steps % 5 < 4:
                    receive.cancel()
                try:
                    got.append(int((await receive).data))
                except asyncio.CancelledError:
                    cancelled += 1
                steps += 1
            await sending
            assert sorted(got) == list(range(count))
            assert cancelled > 100, "the test cancels receives"

    run(test)


def test_a_cancelled_send_has_sent_nothing_or_all() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            for number in range(100):
                send = asyncio.ensure_future(client.send_message(b"%d" % number * 1000))
                if number % 2:
                    await asyncio.sleep(0)
                send.cancel()
            await client.send_message(b"end")
            await client.flushed()
            got: set[bytes] = set()
            while (message := await server.recv_message()).data != b"end" or len(got) < 50:
                if message.data != b"end":
                    got.add(message.data)
                if len(got) == 50:
                    break
            assert got == {b"%d" % number * 1000 for number in range(1, 100, 2)}

    run(test)


def test_a_task_that_never_waits_lets_others_run() -> None:
    """What is ready at once does not starve the loop."""

    async def test() -> None:
        async with pair() as (client, server):
            beats = 0

            async def beat() -> None:
                nonlocal beats
                while True:
                    beats += 1
                    await asyncio.sleep(0)

            for number in range(1000):
                await client.send_message(b"%d" % number)
            await client.flushed()
            beating = asyncio.ensure_future(beat())
            for _ in range(1000):
                await server.recv_message()
            beating.cancel()
            assert beats >= 1000 // 64 - 1

    run(test)


def test_the_end_of_the_connection_ends_all_that_waits() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            waiting = [
                asyncio.ensure_future(client.recv_message()),
                asyncio.ensure_future(client.accept_stream()),
                asyncio.ensure_future(client.path_event()),
            ]
            await asyncio.sleep(0)
            server.close(5, "bye")
            for each in waiting:
                with pytest.raises(ConnectionClosed, match="bye"):
                    await each
            reason = await client.closed()
            assert (reason.kind, reason.code, reason.text) == ("peer", 5, "bye")
            assert client.close_reason == reason
            assert server.close_reason is not None and server.close_reason.kind == "local"
            with pytest.raises(ConnectionClosed):
                await client.send_message(b"x")

    run(test)


def test_a_message_describes_itself() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            await client.send_message(b"four")
            message = await server.recv_message()
            assert isinstance(message, Message)
            assert repr(message) == "<Message 0: 4 bytes>"

    run(test)
