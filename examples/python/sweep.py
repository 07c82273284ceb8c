#!/usr/bin/env python3
"""A parameter sweep of a model: in a loop, on Dask or on Ray. The workers call the function; no subprocess.

    pip install weftline[numpy] 'dask[distributed]' ray
    python sweep.py --on dask
    python sweep.py --on ray --workers 2
    python sweep.py --on dask --scheduler ADDRESS --check       # a cluster, and again in a loop: the same numbers

The workers' machines need the package `weftline`. Calls release the interpreter's lock, so threads of one process do as well.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any, Optional

from weftline import sim

LOSSES = ["0.01", "0.05", "0.1", "markov:0.05,4"]
SPACINGS = [5, 8, 12, 16]


def points() -> list[tuple[str, int]]:
    """Loss and spacing of each point that does not lose more than it repairs."""
    share = {loss: float(loss.removeprefix("markov:").split(",")[0]) for loss in LOSSES}
    return [(loss, l) for loss, l in itertools.product(LOSSES, SPACINGS) if share[loss] * l < 1]


def run(point: tuple[str, int], slots: int) -> tuple[float, float, int]:
    """Mean delay in slots, its standard error, and the 99th percentile."""
    found = sim.streaming(*point, slots=slots, threads=1)
    return found.mean_delay_slots, found.stderr, found.delay_slots.p99


def on_dask(slots: int, workers: int, scheduler: Optional[str]) -> Any:
    from dask.distributed import Client, LocalCluster

    local = {"n_workers": workers, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with Client(scheduler or LocalCluster(**local)) as client:
        return client.gather(client.map(run, points(), slots=slots, pure=False))


def on_ray(slots: int, workers: int, scheduler: Optional[str]) -> Any:
    import ray

    ray.init(address=scheduler, num_cpus=None if scheduler else workers, include_dashboard=False)
    try:
        remote = ray.remote(run)
        return ray.get([remote.remote(point, slots) for point in points()])
    finally:
        ray.shutdown()


def in_a_loop(slots: int, workers: int, scheduler: Optional[str]) -> Any:
    return [run(point, slots) for point in points()]


def main() -> None:
    ways = {"dask": on_dask, "ray": on_ray, "loop": in_a_loop}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", choices=ways, default="loop")
    parser.add_argument("--workers", type=int, default=2, help="local workers")
    parser.add_argument("--scheduler", help="address of a cluster")
    parser.add_argument("--slots", type=int, default=5_000_000)
    parser.add_argument("--check", action="store_true", help="run the points in a loop too, and compare")
    args = parser.parse_args()
    results = [tuple(result) for result in ways[args.on](args.slots, args.workers, args.scheduler)]
    print(f"{'loss':<15} {'l':>3} {'mean delay, slots':>18} {'+-':>8} {'p99':>6}")
    for (loss, spacing), (mean, error, p99) in zip(points(), results):
        print(f"{loss:<15} {spacing:>3} {mean:>18.4f} {error:>8.4f} {p99:>6}")
    if args.check:
        assert results == in_a_loop(args.slots, 1, None), "different numbers"
        print(f"{len(results)} points in a plain loop: the same numbers, to the last digit")


if __name__ == "__main__":
    main()
