#!/usr/bin/env python3
"""A file: its bytes over a stream, and its digest as the answer.

    python file.py --file received.bin listen 0.0.0.0:4433 FINGERPRINT
    python file.py --file movie.mkv connect 192.0.2.1:4433 FINGERPRINT
"""

from __future__ import annotations

import asyncio
import hashlib
import pathlib
import time

from peers import connection, parser
from weftline import Connection

CHUNK = 256 << 10


async def send(peer: Connection, path: pathlib.Path) -> None:
    reader, writer = await peer.open_stream()
    digest, start, size = hashlib.sha256(), time.monotonic(), 0
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            digest.update(data)
            size += len(data)
            writer.write(data)
            await writer.drain()
    writer.close()
    if await reader.read() != digest.digest():
        raise SystemExit("the peer has something else")
    seconds = time.monotonic() - start
    print(f"{size} bytes in {seconds:.2f} s, {size * 8 / seconds / 1e6:.0f} Mbit/s: the peer has every byte")


async def receive(peer: Connection, path: pathlib.Path) -> None:
    reader, writer = await peer.accept_stream()
    digest = hashlib.sha256()
    with path.open("wb") as file:
        while data := await reader.read(CHUNK):
            digest.update(data)
            file.write(data)
    async with writer:
        writer.write(digest.digest())
    print(f"{path.stat().st_size} bytes received")


async def main() -> None:
    options = parser("file")
    options.add_argument("--file", type=pathlib.Path, required=True)
    args = options.parse_args()
    async with connection(args) as peer:
        await (send if args.end == "connect" else receive)(peer, args.file)


asyncio.run(main())
