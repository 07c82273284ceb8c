#!/usr/bin/env python3
"""A parameter sweep of `weftline-lab sim` on Dask workers, and the same in a plain loop.

Every point is a command that prints JSON, so a scheduler only has to start it somewhere. Here the
workers are processes of this machine. With `--scheduler ADDRESS` they are those of a Dask cluster
whose machines have `weftline-lab` on their PATH.

    pip install 'dask[distributed]'
    python sweep_dask.py                                  # delay of the streaming code, a table
    python sweep_dask.py --check                          # again in a loop: the same numbers
    python sweep_dask.py --figures karzand-7 --out report # a figure's points; then `weftline-lab repro`
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import time

LOSSES = ["0.01", "0.05", "0.1", "markov:0.05,4"]
SPACINGS = [5, 8, 12, 16]


def run(program, arguments):
    """Runs a point: returns what the command printed, and how many seconds it took."""
    start = time.monotonic()
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout), time.monotonic() - start


def sweep(slots, seed):
    """The points of the table: loss, spacing, and the command's arguments."""
    for loss, spacing in itertools.product(LOSSES, SPACINGS):
        if float(loss.removeprefix("markov:").split(",")[0]) * spacing >= 1:
            continue  # more losses than repairs: the command refuses it
        options = f"--loss {loss} --spacing {spacing} --slots {slots} --seed {seed}"
        yield loss, spacing, f"sim streaming {options} --threads 1 --json".split()


def figures(program, names, folder):
    """The figures' points that the folder does not have yet, as `weftline-lab repro` lists them."""
    listed = subprocess.run(
        [program, "repro", *names, "--list", "--json"], capture_output=True, text=True, check=True
    )
    listed = json.loads(listed.stdout)
    kept = folder / "points.jsonl"
    known = set()
    if kept.exists():
        for line in kept.read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # a run was stopped in the middle of this line: run the point again
            if record["version"] == listed["version"]:
                known.add(record["command"])
    points = {}
    for figure in listed["figures"]:
        for point in figure["points"]:
            # Speeds are measured where the report is made, and ns-3 is not everywhere.
            if point["program"] == "weftline-lab" and not point["alone"]:
                points[point["command"]] = point["arguments"]
    todo = {command: arguments for command, arguments in points.items() if command not in known}
    return listed, todo


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="weftline-lab", help="the program")
    parser.add_argument("--workers", type=int, default=2, help="local workers")
    parser.add_argument("--scheduler", help="address of a Dask cluster's scheduler")
    parser.add_argument("--slots", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="run the points in a loop too, and compare")
    parser.add_argument("--figures", nargs="+", help="run the points of these figures instead")
    parser.add_argument("--out", type=pathlib.Path, help="the report's folder, with --figures")
    args = parser.parse_args()
    if args.figures and not args.out:
        parser.error("--figures needs --out, the folder for `weftline-lab repro`")

    from dask.distributed import Client, LocalCluster, as_completed

    if args.scheduler:
        client = Client(args.scheduler)
    else:
        # A worker waits for its process: one thread each. No dashboard, loopback only.
        cluster = LocalCluster(
            n_workers=args.workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        client = Client(cluster)

    with client:
        if args.figures:
            listed, points = figures(args.program, args.figures, args.out)
            futures = {
                client.submit(run, args.program, arguments, pure=False): command
                for command, arguments in points.items()
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
            return

        points = list(sweep(args.slots, args.seed))
        futures = [client.submit(run, args.program, arguments, pure=False) for *_, arguments in points]
        results = [value for value, _ in client.gather(futures)]

    print(f"{'loss':<15} {'l':>3} {'mean delay, slots':>18} {'+-':>8} {'p99':>6}")
    for (loss, spacing, _), value in zip(points, results):
        mean, error = value["mean_delay_slots"], value["stderr"]
        print(f"{loss:<15} {spacing:>3} {mean:>18.4f} {error:>8.4f} {value['delay_slots']['p99']:>6}")
    if args.check:
        for (*_, arguments), value in zip(points, results):
            assert run(args.program, arguments)[0] == value, f"{arguments}: different numbers"
        print(f"{len(points)} points in a plain loop: the same numbers, to the last digit")


if __name__ == "__main__":
    main()
