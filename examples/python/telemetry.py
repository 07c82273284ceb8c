#!/usr/bin/env python3
"""Telemetry: 60 samples of 64 bytes a second, each worth something for 100 ms.

    python telemetry.py listen 0.0.0.0:4433 FINGERPRINT
    python telemetry.py --seconds 60 connect 192.0.2.1:4433 FINGERPRINT

A sample that would arrive too late is not sent again, and holds up no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import struct

from peers import connection, parser
from weftline import Connection, ConnectionClosed, MessageExpired, NoRoomError, Receipt

RATE, DEADLINE = 60, 0.1
SAMPLE = struct.Struct("!Qd48x")  # number and value, 64 bytes


async def produce(peer: Connection, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    start, receipts, dropped = loop.time(), list[Receipt](), 0
    for number in range(int(seconds * RATE)):
        await asyncio.sleep(start + number / RATE - loop.time())
        try:
            sample = SAMPLE.pack(number, math.sin(number / 20))
            receipts.append(peer.try_send_message(sample, DEADLINE))
        except NoRoomError:
            dropped += 1  # the next one is worth more
    expired = 0
    for receipt in receipts:
        try:
            await receipt.delivered()
        except MessageExpired:
            expired += 1
    stats = peer.stats()
    print(
        f"{len(receipts)} samples sent, {dropped} dropped, {expired} expired; round trip {stats.path.rtt * 1e3:.1f} ms, "
        f"loss {stats.path.loss:.1%}, {stats.sent.repair_symbols} repairs"
    )


async def consume(peer: Connection) -> None:
    last, got = -1, 0
    with contextlib.suppress(ConnectionClosed):
        while True:
            message = await peer.recv_message()
            number, value = SAMPLE.unpack(message.data)
            last, got = max(last, number), got + 1
            if number % RATE == 0:
                print(f"sample {number}: {value:+.3f}", flush=True)
    print(f"{got} of {last + 1} samples arrived in time")


async def main() -> None:
    options = parser("telemetry")
    options.add_argument("--seconds", type=float, default=10)
    args = options.parse_args()
    async with connection(args) as peer:
        await (produce(peer, args.seconds) if args.end == "connect" else consume(peer))


asyncio.run(main())
