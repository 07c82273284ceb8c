#!/usr/bin/env python3
"""A camera over a relay: datagrams of ffmpeg travel as messages with a deadline, each in a symbol of its own.

    python camera.py listen 0.0.0.0:4433 FINGERPRINT            # gives them to 127.0.0.1:5006: ffplay -i udp://127.0.0.1:5006
    python camera.py connect 192.0.2.1:4433 FINGERPRINT         # starts ffmpeg with a test picture
    python camera.py --input '-f v4l2 -i /dev/video0' connect 192.0.2.1:4433 FINGERPRINT

The relay knows nothing of video: it carries what arrives at its UDP port 5004, late packets excepted. `weftline relay` does the
same for any program.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex

from peers import connection, parser
from weftline import Connection, ConnectionClosed, SendError

FROM, TO = ("127.0.0.1", 5004), ("127.0.0.1", 5006)
TEST = "-re -f lavfi -i testsrc2=size=640x360:rate=30"
CODING = "-c:v libx264 -preset ultrafast -tune zerolatency -g 30 -b:v 2M -f mpegts"


class Inlet(asyncio.DatagramProtocol):
    """Takes datagrams of the program beside it."""

    def __init__(self, peer: Connection, deadline: float) -> None:
        self.peer, self.deadline, self.dropped = peer, deadline, 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        try:
            self.peer.try_send_message(data, self.deadline, alone=True)
        except (SendError, ConnectionClosed):
            self.dropped += 1  # as any network does


async def record(peer: Connection, source: str, seconds: float, deadline: float) -> None:
    loop = asyncio.get_running_loop()
    transport, inlet = await loop.create_datagram_endpoint(lambda: Inlet(peer, deadline), local_addr=FROM)
    command = f"ffmpeg -loglevel error {source} -t {seconds} {CODING} udp://{FROM[0]}:{FROM[1]}?pkt_size=1128"
    ffmpeg = await asyncio.create_subprocess_exec(*shlex.split(command))
    await ffmpeg.wait()
    await peer.flushed()
    transport.close()
    sent, path = peer.stats().sent, peer.stats().path
    print(f"{sent.source_symbols} packets and {sent.repair_symbols} repairs sent, {inlet.dropped} dropped, {path.loss:.1%} lost")


async def play(peer: Connection) -> None:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=TO)
    count = 0
    with contextlib.suppress(ConnectionClosed):
        while True:
            message = await peer.recv_message()
            transport.sendto(message.data)
            count += 1
    transport.close()
    print(f"{count} packets arrived in time, {peer.stats().received.recovered_symbols} of them by repairs")


async def main() -> None:
    options = parser("camera")
    options.add_argument("--input", default=TEST, help="ffmpeg's options for the camera")
    options.add_argument("--seconds", type=float, default=3600)
    options.add_argument("--deadline", type=float, default=0.15)
    args = options.parse_args()
    async with connection(args) as peer:
        await (record(peer, args.input, args.seconds, args.deadline) if args.end == "connect" else play(peer))


asyncio.run(main())
