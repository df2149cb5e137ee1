#!/usr/bin/env python3
"""Throughput of `durahash bench --device`, one row for each size of the batches, against what the bus would allow.

usage: gpu_rates.py [--tool FILE] [--device cuda:0] [--path FILE] [--keys 16777216] [OPTION OF BENCH]...

Options that it does not know go to the benchmark as they are: --set slots=16, --durability, --repeat, and so on. --device cpu
tells what the processor does; its times are of all, with filling and checking the batches.
"""
import argparse
import json
import os
import subprocess
import sys

WORKLOADS = {"insert": "load", "insert-steady": "insert", "positive": "positive", "negative": "negative", "update": "update", "erase": "erase"}
# Calculated for u64 keys and values, not measured: where the table is, and what bounds it there.
BOUNDS = {"pool": ({"insert-steady": 160, "positive": 160, "negative": 190}, "in pinned host memory behind PCIe gen5"),
          "host-mirror": ({"insert-steady": 160, "positive": 160, "negative": 190}, "in pinned host memory behind PCIe gen5"),
          "device-mirror": ({"insert-steady": 10_000, "positive": 14_000, "negative": 17_000},
                            "in device memory at 4.3 TB/s; of writes without their way to the pool, of batches in device memory")}
BATCHES = [1 << exponent for exponent in range(8, 23, 2)]


def row(title, mops):
    print(f"{title:>10}", *(f"{mops[w]:>10.2f}" if w in mops else f"{'':>10}" for w in WORKLOADS), flush=True)


def measure(tool, device, path, keys, batch, options):
    ops = max(batch, min(keys // 4, 256 * batch))
    command = [tool, "bench", "--engine", "gphash", "--device", device, "--medium", "file", "--path", path, "--keys", str(keys), "--ops", str(ops),
               "--batch", str(batch), "--workload", ",".join(WORKLOADS), "--no-latency", "--json", "-", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)  # the tool has said why
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False, usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--tool", default="build/bin/durahash")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--path", default=f"/dev/shm/durahash-gpu-rates-{os.getpid()}")
    parser.add_argument("--keys", type=int, default=1 << 24)
    asked, options = parser.parse_known_args()
    for batch in BATCHES:
        if batch > BATCHES[0] and batch > asked.keys // 4:
            break
        report = measure(asked.tool, asked.device, asked.path, asked.keys, batch, options)
        if batch == BATCHES[0]:
            where = f" ({report['device_memory']})" if report["device_memory"] else ""
            print(f"{report['device']}{where}, {report['machine']['cpu']}, commit {report['machine']['commit']}: pool in {os.path.dirname(asked.path)}, durability {report['durability']}, "
                  f"{report['keys']} records, seed {report['seed']}, medians of {report['repetitions']}", *options)
            timed = "wall time" if asked.device == "cpu" else "each batch timed from its call until its answers are final"
            print(f"millions of operations a second, {timed}; load: into an empty table that grows; insert: into one with room\n")
            print(f"{'batch':>10}", *(f"{title:>10}" for title in WORKLOADS.values()))
        if "device_cache" in report:
            cache = report["device_cache"]
            print(f"{'':>10} copies of {cache['percent']} % of the buckets ({cache['policy']}) had {cache['hit_rate']:.3f} of what finds looked at")
        row(batch, {result["workload"]: result["mops"] for result in report["results"]})
    if report["device_memory"] in BOUNDS and "device_cache" not in report and "--key" not in options:
        bounds, where = BOUNDS[report["device_memory"]]
        row("bound", bounds)
        print(f"\nbound: calculated for a table {where}; not measured")


if __name__ == "__main__":
    main()
