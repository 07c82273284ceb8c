#!/usr/bin/env python3
"""The points of the papers' figures on Dask workers; then `weftline-lab repro` draws them.

Every point is a command that prints JSON. Here the workers are processes of this machine. With `--scheduler ADDRESS` they
are those of a Dask cluster whose machines have `weftline-lab` on their PATH. A sweep that is no figure needs no program:
see sweep.py.

    pip install 'dask[distributed]'
    python figures_dask.py karzand-7 rest --out full
    weftline-lab repro karzand-7 rest --out full
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import time
from typing import Any


def run(program: str, arguments: list[str]) -> tuple[Any, float]:
    """Runs a point: returns what the command printed, and how many seconds it took."""
    start = time.monotonic()
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout), time.monotonic() - start


def figures(program: str, names: list[str], folder: pathlib.Path) -> tuple[Any, dict[str, list[str]]]:
    """The figures' points that the folder does not have yet, as `weftline-lab repro` lists them."""
    listed, _ = run(program, ["repro", *names, "--list", "--json"])
    kept = folder / "points.jsonl"
    known: set[str] = set()
    if kept.exists():
        for line in kept.read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # a run was stopped in the middle of this line: run the point again
            if record["version"] == listed["version"]:
                known.add(record["command"])
    points: dict[str, list[str]] = {}
    for figure in listed["figures"]:
        for point in figure["points"]:
            # Speeds are measured where the report is made, and ns-3 is not everywhere.
            if point["program"] == "weftline-lab" and not point["alone"] and point["command"] not in known:
                points[point["command"]] = point["arguments"]
    return listed, points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", nargs="+", help="names of figures, such as karzand-7")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the report's folder")
    parser.add_argument("--program", default="weftline-lab")
    parser.add_argument("--workers", type=int, default=2, help="local workers")
    parser.add_argument("--scheduler", help="address of a Dask cluster's scheduler")
    args = parser.parse_args()

    from dask.distributed import Client, LocalCluster, as_completed

    # A worker waits for its process: one thread each. No dashboard, loopback only.
    local = {"n_workers": args.workers, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with Client(args.scheduler or LocalCluster(**local)) as client:
        listed, points = figures(args.program, args.figures, args.out)
        futures = {
            client.submit(run, args.program, arguments, pure=False): command for command, arguments in points.items()
        }
        args.out.mkdir(parents=True, exist_ok=True)
        with (args.out / "points.jsonl").open("a") as kept:
            for future in as_completed(futures):
                value, seconds = future.result()
                record = {
                    "command": futures[future],
                    "version": listed["version"],
                    "build": listed["build"],
                    "seconds": seconds,
                    "value": value,
                }
                kept.write(json.dumps(record) + "\n")
    names = " ".join(args.figures)
    print(f"{len(points)} points kept; now: weftline-lab repro {names} --out {args.out}")


if __name__ == "__main__":
    main()
