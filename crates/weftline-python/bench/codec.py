#!/usr/bin/env python3
"""How fast are calls of the codec from Python, beside the same calls in Rust?

    cargo build --release -p weftline-codec --example speed
    python codec.py ../../../target/release/examples/speed

The two are measured in turns, five times; the table has medians. Every call works on 64 KiB or more.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import timeit

import numpy as np

from weftline.codec import BlockEncoder, ReedSolomon, Recoder, WindowEncoder

BATCH, BATCHES, ROUNDS = 0.0005, 300, 5


def measure(call: str, **names: object) -> float:
    """Nanoseconds of a call: the least of many short batches, since whatever else the machine does can only add to it."""
    timer, calls = timeit.Timer(call, globals=names), 1
    while timer.timeit(calls) < BATCH:
        calls *= 2
    return min(timer.repeat(BATCHES, calls)) * 1e9 / calls


def python() -> dict[str, float]:
    times: dict[str, float] = {}
    for symbols, size in ((64, 1024), (256, 1200), (64, 16384)):
        window, block, relay = WindowEncoder(symbols, size), BlockEncoder(symbols, size), Recoder(symbols, symbols, size)
        for esi in range(symbols):
            payload = np.full(size, esi, dtype=np.uint8)
            window.push(payload)
            block.push(payload)
            relay.source(esi, payload)
        times[f"window-repair-{symbols}x{size}"] = measure("window.repair(0, symbols, 7)", window=window, symbols=symbols)
        times[f"block-repair-{symbols}x{size}"] = measure("block.repair(7)", block=block)
        times[f"recode-{symbols}x{size}"] = measure("relay.recode(7)", relay=relay)
    payload, pushing = np.full(65535, 7, dtype=np.uint8), WindowEncoder(16, 65535, evicting=True)
    times["window-push-65535"] = measure("window.push(payload)", window=pushing, payload=payload)
    for size in (8 << 10, 64 << 10, 1 << 20):
        code = ReedSolomon(10, 4)
        sources = [np.full(size, index, dtype=np.uint8) for index in range(10)]
        repairs = [np.zeros(size, dtype=np.uint8) for _ in range(4)]
        encode = "code.encode_into(sources, repairs)"
        times[f"rs-encode-10+4x{size}"] = measure(encode, code=code, sources=sources, repairs=repairs)
        received = dict(enumerate(sources[4:], 4)) | dict(enumerate(repairs, 10))
        out = {index: np.zeros(size, dtype=np.uint8) for index in range(4)}
        reconstruct = "code.reconstruct_into(received, out)"
        times[f"rs-reconstruct-4of10x{size}"] = measure(reconstruct, code=code, received=received, out=out)
    return times


def rust(program: str) -> dict[str, float]:
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: float(time) for name, time in map(str.split, lines)}


def main() -> None:
    rounds = [(rust(sys.argv[1]), python()) for _ in range(ROUNDS)]
    print("| call | Rust, us | Python, us | Python for Rust |")
    print("| --- | --- | --- | --- |")
    for name in rounds[0][0]:
        ours = statistics.median(there[name] for _, there in rounds)
        theirs = statistics.median(here[name] for here, _ in rounds)
        ratio = statistics.median(there[name] / here[name] for here, there in rounds)
        print(f"| {name} | {theirs / 1e3:.2f} | {ours / 1e3:.2f} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
