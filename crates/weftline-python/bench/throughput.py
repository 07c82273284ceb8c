#!/usr/bin/env python3
"""How fast is a stream over loopback from Python, beside aioquic in the same run?

    pip install aioquic
    python throughput.py --mib 512 --rounds 5

The two ends are processes of their own. A round sends the bytes once with each library, one after the other; the time is
the reader's, from the first byte to the last. Processor seconds are those of both ends.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import multiprocessing
import os
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection as Pipe
from typing import Any, Union

from weftline import Allowed, Endpoint, Identity, StreamWriter

CHUNK = 256 << 10
Side = Callable[[Pipe, int], Coroutine[Any, Any, float]]


async def weftline_reader(pipe: Pipe, size: int) -> float:
    identity = Identity.generate()
    async with Endpoint.bind("127.0.0.1:0", identity, Allowed.anyone()) as endpoint:
        pipe.send((endpoint.local_address, str(identity.fingerprint)))
        connection = await endpoint.accept()
        assert connection is not None
        reader, _ = await connection.accept_stream()
        got, start = len(await reader.read(CHUNK)), time.perf_counter()
        while data := await reader.read(CHUNK):
            got += len(data)
        seconds = time.perf_counter() - start
        assert got == size
        await connection.closed()
    return seconds


async def weftline_writer(pipe: Pipe, size: int) -> float:
    address, peer = pipe.recv()
    async with Endpoint.bind("127.0.0.1:0", Identity.generate()) as endpoint:
        async with await endpoint.connect(address, peer) as connection:
            _, writer = await connection.open_stream()
            await write(writer, size)
            await writer.wait_closed()
    return 0.0


async def write(writer: Union[asyncio.StreamWriter, StreamWriter], size: int) -> None:
    data = memoryview(os.urandom(CHUNK))
    for start in range(0, size, CHUNK):
        writer.write(data[: min(CHUNK, size - start)])
        await writer.drain()
    writer.write_eof()


async def aioquic_reader(pipe: Pipe, size: int) -> float:
    from aioquic.asyncio import serve
    from aioquic.quic.configuration import QuicConfiguration

    done: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got, start = len(await reader.read(CHUNK)), time.perf_counter()
        while data := await reader.read(CHUNK):
            got += len(data)
        assert got == size
        done.set_result(time.perf_counter() - start)
        writer.write_eof()

    configuration = QuicConfiguration(is_client=False, max_data=16 << 20, max_stream_data=16 << 20)
    with tempfile.NamedTemporaryFile("wb") as pem:
        pem.write(certificate())
        pem.flush()
        configuration.load_cert_chain(pem.name)
    server = await serve(
        "127.0.0.1", 0, configuration=configuration, stream_handler=lambda r, w: asyncio.ensure_future(read(r, w))
    )
    pipe.send(server._transport.get_extra_info("sockname")[1])
    seconds = await done
    await asyncio.sleep(0.2)
    server.close()
    return seconds


async def aioquic_writer(pipe: Pipe, size: int) -> float:
    from aioquic.asyncio import connect
    from aioquic.quic.configuration import QuicConfiguration

    configuration = QuicConfiguration(verify_mode=ssl.CERT_NONE, max_data=16 << 20, max_stream_data=16 << 20)
    async with connect("127.0.0.1", pipe.recv(), configuration=configuration) as protocol:
        reader, writer = await protocol.create_stream()
        await write(writer, size)
        await reader.read()
    return 0.0


def certificate() -> bytes:
    """A key and a certificate that nobody trusts."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    public: bytes = builder.sign(key, hashes.SHA256()).public_bytes(pem)
    return public + bytes(private)


def side(run: Side, pipe: Pipe, size: int) -> None:
    seconds = asyncio.run(run(pipe, size))
    pipe.send((seconds, time.process_time()))


def measure(reader: Side, writer: Side, size: int) -> tuple[float, float]:
    """Mbit/s, and processor seconds of both ends."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    ours, processes = [pipe for pipe, _ in pipes], []
    for run, (_, pipe) in zip((reader, writer), pipes):
        processes.append(context.Process(target=side, args=(run, pipe, size)))
        processes[-1].start()
        pipe.close()  # so that an end that fails is noticed
    ours[1].send(ours[0].recv())  # where the reader is
    (seconds, one), (_, other) = ours[0].recv(), ours[1].recv()
    for process in processes:
        process.join()
    return size * 8 / seconds / 1e6, one + other


LIBRARIES = {"weftline": (weftline_reader, weftline_writer), "aioquic": (aioquic_reader, aioquic_writer)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512, help="MiB of a round of weftline")
    parser.add_argument("--share", type=float, default=0.125, help="share of that for aioquic, which is slower")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    sizes = {"weftline": args.mib << 20, "aioquic": int(args.mib * args.share) << 20}
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in LIBRARIES}
    for _ in range(args.rounds):
        for name, (reader, writer) in LIBRARIES.items():
            results[name].append(measure(reader, writer, sizes[name]))
    peer = statistics.median(rate for rate, _ in results["aioquic"])
    print("| library | Mbit/s, median (range) | for that of aioquic | processor seconds for each GiB |")
    print("| --- | --- | --- | --- |")
    for name, rounds in results.items():
        rates = sorted(rate for rate, _ in rounds)
        median = statistics.median(rates)
        cpu = statistics.median(seconds for _, seconds in rounds) * (1 << 30) / sizes[name]
        print(f"| {name} | {median:.0f} ({rates[0]:.0f}-{rates[-1]:.0f}) | {median / peer:.1f} | {cpu:.1f} |")


if __name__ == "__main__":
    main()
