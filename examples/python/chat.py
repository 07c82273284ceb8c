#!/usr/bin/env python3
"""A chat: lines of the terminal over one stream.

    python chat.py listen 0.0.0.0:4433                          # shows this host's fingerprint
    python chat.py listen 0.0.0.0:4433 FINGERPRINT              # allows that peer
    python chat.py connect 192.0.2.1:4433 FINGERPRINT
"""

from __future__ import annotations

import asyncio
import sys

from peers import connection, parser
from weftline import StreamReader, StreamWriter


async def show(reader: StreamReader) -> None:
    async for line in reader:
        print(">", line.decode(errors="replace"), end="", flush=True)


async def send(writer: StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    # A thread waits for the terminal; the loop goes on meanwhile.
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        writer.write(line.encode())
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def main() -> None:
    args = parser("chat").parse_args()
    async with connection(args) as peer:
        if args.end == "connect":
            reader, writer = await peer.open_stream()
            writer.write(b"hello\n")  # the peer learns of a stream with its first data
        else:
            reader, writer = await peer.accept_stream()
        await asyncio.gather(show(reader), send(writer))


asyncio.run(main())
