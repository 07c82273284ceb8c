"""Whatever a program does wrong, the interpreter goes on: each call answers or raises an ordinary exception."""

from __future__ import annotations

import array
import asyncio
import gc
import inspect
import os
import random
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from conftest import pair, run

import weftline
from weftline import Allowed, Config, Endpoint, Fingerprint, Identity, InsecureEndpoint
from weftline import codec, pairing, sim, theory


def values() -> list[Any]:
    """Values of all kinds, the usual and the absurd."""
    closed = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    closed.close()
    return [
        None, True, False, 0, 1, -1, 2, 7, 255, 256, 8192, 65535, 1 << 31, 1 << 32, 1 << 63, 1 << 64, -(1 << 70),
        0.0, 1.5, -1.0, float("nan"), float("inf"), 1e300, 1j,
        "", "x", "\0", "\ud800", "127.0.0.1:0", "iid:0.1", "markov:0.1,4", "auto", "x" * 10_000,
        b"", b"x", bytes(100), bytearray(5), memoryview(b"abc"), memoryview(b"abcd")[::2], array.array("d", [1.0]),
        (), (1, 2), [], [b"x", b"y"], [1, "x"], {}, {0: b"x"}, {"x": None}, {1, 2}, range(5), object(), int, len,
        Fingerprint("mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u"), Identity.generate(), Allowed.anyone(), Config(),
        Config(scheme=7), Config(connect_timeout=None), Config(paths=3),  # type: ignore[arg-type]
        Config(event_logs="logs"), Config(monitor=7), weftline.Monitor(),  # type: ignore[arg-type]
        codec.Coefficients.fading(1, 3), codec.BlockEncoder(3, 3), closed,
    ]  # fmt: skip


def attack(target: object, names: list[str], rng: random.Random, calls: int) -> None:
    """Calls methods with arguments that have been drawn."""
    pool = values()
    for _ in range(calls):
        name = rng.choice(names)
        arguments = rng.choices(pool, k=rng.randrange(6))
        try:
            result = getattr(target, name)
            if callable(result):
                result = result(*arguments)
            if inspect.iscoroutine(result):
                result.close()
        except Exception:  # any ordinary exception will do, but no panic, which is none
            pass


def public(target: object) -> list[str]:
    """The methods of an object, but for those that all objects have."""
    return [name for name in dir(target) if not hasattr(object, name)]


SEED = int(os.environ.get("WEFTLINE_SEED", 1))
CALLS = int(os.environ.get("WEFTLINE_CALLS", 2000))


def test_classes_and_functions_take_anything() -> None:
    print("WEFTLINE_SEED =", SEED)
    rng = random.Random(SEED)
    names = [name for name in weftline.__all__ if name not in {"Endpoint", "InsecureEndpoint"}]
    attack(weftline, names, rng, CALLS)
    attack(codec, list(codec.__all__), rng, CALLS)
    attack(pairing, list(pairing.__all__), rng, CALLS // 10)
    for model in (sim, theory):
        # A crowd with the usual options takes seconds: see below.
        attack(model, [name for name in model.__all__ if name != "crowd"], rng, CALLS // 10)


def test_simulations_take_any_option() -> None:
    quick: dict[Callable[..., object], dict[str, object]] = {
        # Bulk data over a link without a rate or a delay never end.
        sim.crowd: {"duration": 0.1, "flows": 1, "app": "cbr:1mbit,1000"},
        sim.fecframe: {"symbols": 100, "runs": 1},
    }
    for function, options in quick.items():
        for name in inspect.signature(function).parameters:
            for value in values():
                # A long time is allowed, and takes long.
                if name == "duration" and isinstance(value, (int, float)):
                    continue
                try:
                    function(**{**options, name: value})
                except Exception:  # as above
                    pass


def test_codecs_take_anything() -> None:
    print("WEFTLINE_SEED =", SEED)
    rng = random.Random(SEED)
    for _ in range(5):
        for target in (
            codec.WindowEncoder(16, 100),
            codec.WindowDecoder(16, 100),
            codec.BlockEncoder(16, 100, field_bits=3),
            codec.BlockDecoder(2, 4),
            codec.ReedSolomon(1, 2),
            codec.Recoder(4, 8, 100),
            codec.Coefficients.uniform(1),
        ):
            attack(target, public(target), rng, CALLS // 20)


def test_endpoints_connections_and_streams_take_anything_open_and_closed() -> None:
    print("WEFTLINE_SEED =", SEED)

    async def test() -> None:
        rng = random.Random(SEED)
        for closed in (False, True):
            async with pair() as (client, server):
                reader, writer = await client.open_stream()
                writer.write(b"x")
                theirs, _ = await server.accept_stream()
                receipt = await client.send_message(b"x")
                plain = InsecureEndpoint.bind("127.0.0.1:0")
                encrypted = Endpoint.bind("127.0.0.1:0", Identity.generate())
                if closed:
                    client.close()
                    plain.close()
                    encrypted.close()
                host = pairing.Host(encrypted)
                for target in (reader, theirs, writer, receipt, client, plain, encrypted, host):
                    attack(target, public(target), rng, CALLS // 10)
                    await asyncio.sleep(0)
                for endpoint in (plain, encrypted):
                    endpoint.close()
                    await endpoint.wait_idle()

    run(test)


def test_a_closed_endpoint_may_move_and_be_watched() -> None:
    async def test() -> None:
        monitor = weftline.Monitor()
        endpoint = Endpoint.bind("127.0.0.1:0", Identity.generate(), config=Config(monitor=monitor))
        endpoint.close()
        await endpoint.wait_idle()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            endpoint.rebind(other)
            assert endpoint.local_address.endswith(f":{other.getsockname()[1]}")
        assert monitor.overview().connections == 0

    run(test)


def test_operations_that_nobody_awaits_or_that_are_awaited_twice() -> None:
    async def test() -> None:
        async with pair() as (client, _):
            native = client._native  # pyright: ignore[reportPrivateUsage]
            native.recv_message()
            operation = native.recv_message()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_await(operation), 0.05)
            later = native.flushed()
            await later
            with pytest.raises(RuntimeError, match="awaited before"):
                await later
            # Outside of a loop there is nobody to wake.
            other = native.recv_message()
            failed: list[BaseException] = []

            def elsewhere() -> None:
                try:
                    next(other)
                except BaseException as error:
                    failed.append(error)

            await asyncio.get_running_loop().run_in_executor(None, elsewhere)
            assert isinstance(failed[0], RuntimeError)

    run(test)


async def _await(operation: Any) -> Any:
    return await operation


def script(text: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of its own."""
    return subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=60
    )


def test_an_interpreter_ends_with_everything_open() -> None:
    done = script(
        """
        import asyncio, threading, weftline

        async def main():
            server = weftline.InsecureEndpoint.bind("127.0.0.1:0")
            client = weftline.InsecureEndpoint.bind("127.0.0.1:0")
            ours, theirs = await asyncio.gather(client.connect(server.local_address), server.accept())
            reader, writer = await ours.open_stream()
            writer.write(bytes(10_000_000))
            globals().update(locals())
            for call in (theirs.recv_message, reader.read, writer.drain, theirs.accept_stream, server.accept):
                globals()["task" + call.__name__] = asyncio.ensure_future(call())
            await asyncio.sleep(0.1)
            print("end")

        asyncio.run(main())
        """
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_with_endpoints_is_refused_with_what_to_do() -> None:
    done = script(
        """
        import os, warnings, weftline
        warnings.simplefilter("ignore")
        weftline.InsecureEndpoint.bind("127.0.0.1:0")
        if os.fork() == 0:
            try:
                weftline.InsecureEndpoint.bind("127.0.0.1:0")
            except RuntimeError as error:
                print(error)
            os._exit(0)
        os.wait()
        """
    )
    assert done.returncode == 0 and "spawn" in done.stdout, done


def test_a_loop_that_is_closed_while_operations_wait() -> None:
    async def start() -> tuple[InsecureEndpoint, asyncio.Task[Any]]:
        endpoint = InsecureEndpoint.bind("127.0.0.1:0")
        return endpoint, asyncio.ensure_future(endpoint.accept())

    loop = asyncio.new_event_loop()
    endpoint, task = loop.run_until_complete(start())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    endpoint.close()  # wakes a task of a loop that is gone
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    del task, endpoint
    gc.collect()
