#!/usr/bin/env python3
"""Throughput of `durahash bench --device`, one row for each size of the batches, beside what counts of the kernels predict.

usage: gpu_rates.py --predict | [--tool FILE] [--device cuda:0] [--path FILE] [--keys 16777216] [OPTION OF BENCH]...

Options that it does not know go to the benchmark as they are: --set slots=16, --durability, --repeat, and so on. --device cpu
tells what the processor does; its times are of all, with filling and checking the batches.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

WORKLOADS = {"insert": "load", "insert-steady": "insert", "positive": "positive", "negative": "negative", "update": "update", "erase": "erase"}
# What an operation costs, counted by the interpreter of the kernels' PTX (test/ptx/budgets.json), and what a device of this
# kind gives. Not measured; there are no caches in it. Instructions of the machine for one of PTX: of find, read once.
HERE = pathlib.Path(__file__).parent.parent
MODEL = {"device": "H100 SXM, PCIe gen5 x16", "instructions_per_s": 132 * 4 * 1.7e9, "machine_per_ptx": 1.45,
         "device_bytes_per_s": 0.8 * 3.35e12, "bus_bytes_per_s": 55e9, "bus_bytes_per_request": 24, "sector_bytes": 32}
SHAPE = "levels2_hashes2_slots8"
# Finds alone: writes wait for releases, which the model does not know. Where the batch's arrays were when it was counted.
COUNTED = {"positive": "find hit", "negative": "find miss"}
PREDICTED = {"pool": "pool", "device-mirror": "device mirror"}
ARRAYS = {"pool": "host", "device-mirror": "device"}
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


def predicted(place):
    """Millions of operations a second: the least of what issue, device memory and bus allow."""
    counted = PREDICTED[place]
    costs = json.loads((HERE / "test/ptx/budgets.json").read_text())["per_operation"]
    rates = {}
    for workload, operation in COUNTED.items():
        c = costs[f"{operation}, {counted}, {SHAPE}"]
        bus = c["host_sectors"] * MODEL["sector_bytes"] + c["host_requests"] * MODEL["bus_bytes_per_request"]
        seconds = [c["instructions"] * MODEL["machine_per_ptx"] / MODEL["instructions_per_s"],
                   c["device_sectors"] * MODEL["sector_bytes"] / MODEL["device_bytes_per_s"], bus / MODEL["bus_bytes_per_s"]]
        rates[workload] = 1e-6 / max(seconds)
    return rates


def print_predictions():
    print("millions of operations a second, predicted and not measured: " + ", ".join(f"{k} {v:g}" if k != "device" else v for k, v in MODEL.items()))
    print(f"{'':>14}", *(f"{title:>10}" for title in WORKLOADS.values()))
    for place in PREDICTED:
        rates = predicted(place)
        print(f"{place:>14}", *(f"{rates[w]:>10.2f}" if w in rates else f"{'':>10}" for w in WORKLOADS))


def main():
    if sys.argv[1:] == ["--predict"]:
        print_predictions()
        return
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
    place = report["device_memory"]
    if place in PREDICTED and report.get("device_arrays") == ARRAYS[place] and "device_cache" not in report and "--key" not in options and "--set" not in options:
        row("predicted", predicted(place))
        print(f"\npredicted: from counts of the kernels, {SHAPE}, for {MODEL['device']}; not measured")


if __name__ == "__main__":
    main()
