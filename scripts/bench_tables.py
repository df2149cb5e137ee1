#!/usr/bin/python3
"""durahash and other hash tables in memory, in one process and in turns: `make bench-tables`.

    scripts/bench_tables.py [--sources DIR] [--boost DIR] [--keys N] [--rounds N] [--threads N]
                            [--seed N] [--table NAME ...] [--preset release|check] [--json FILE]

DIR has checkouts, as many of them as you like, under these names:

    RECIPE            https://github.com/utsaslab/RECIPE              P-CLHT
    CCEH              https://github.com/DICL/CCEH
    TurboHash         https://github.com/hansonzhao007/TurboHash      wants libtbb-dev and CLWB
    unordered_dense   https://github.com/martinus/unordered_dense

They are built as they are, but for what bench/peers/tables/CMakeLists.txt says of each. All tables
are in one process, loaded with the same KEYS random words. Each operation is durable on return:
lines are written back, in memory. ENGINE-process and the volatile ones write nothing back. `limit`
is what the memory alone does: one random line an operation.

Slices of 131,072 operations are done with each table in turn, in another order each round. Shown
are millions of operations for each second of the processor: the mean of a load and of new keys, the
median of other slices. In brackets, the ratio to the best durable peer, and to the limit. Peers and
durahash have huge pages. With threads each has slices of its own, and in the same rounds one of
them has a slice alone. No time is asserted.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from bench_report import commit, heading, table
from engines import ENGINES

ROOT = pathlib.Path(__file__).resolve().parent.parent
PHASES = ["load", "insert steady", "present", "absent", "ycsb-c", "update", "ycsb-a", "erase",
          "get-many present", "get-many absent", "put-many new", "put-many present"]
MEANS = {"load", "insert steady", "put-many new"}


def built(asked):
    tree = ROOT / "build" if asked.preset == "release" else ROOT / "build" / asked.preset
    named = [f"-DDURAHASH_PEERS={pathlib.Path(asked.sources).resolve() if asked.sources else ''}"]
    if asked.boost:
        named.append(f"-DDURAHASH_BOOST={pathlib.Path(asked.boost).resolve()}")
    subprocess.run(["cmake", "--preset", asked.preset, *named], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([ROOT / "scripts/build.sh", asked.preset, "durahash_table_peers"], check=True)
    return tree / "bin/durahash_table_peers"


def rates(ns):
    """Millions of operations a second, by phase."""
    middle = {phase: statistics.mean if phase.removesuffix(", alone") in MEANS
              else statistics.median for phase in ns}
    return {phase: 1000 / middle[phase](each) for phase, each in ns.items()}


def report(kinds, ns):
    all_rates = {name: rates(each) for name, each in ns.items()}
    peers = [name for name in ns if kinds[name] == "durable"]
    names = [name for name in ns if name != "limit"]

    def cell(name, phase):
        if phase not in all_rates[name]:
            return "-"
        rate = all_rates[name][phase]
        ratios = []
        if kinds[name] == "ours":
            best = max((all_rates[p][phase] for p in peers if phase in all_rates[p]), default=None)
            ratios = [] if best is None else [f"{rate / best:.2f}"]
            if "limit" in all_rates:
                ratios.append(f"{rate / all_rates['limit'][phase]:.2f}")
        return f"{rate:.3g}" + (f" ({'; '.join(ratios)})" if ratios else "")

    def part(some):
        return table(["", *some], [[phase, *(cell(name, phase) for name in some)]
                                   for phase in PHASES])

    alone = "{}, alone".format
    if any(alone(phase) in all_rates[name] for name in ns for phase in PHASES):
        def gain(name, phase):
            rate = all_rates[name]
            return f"{rate[phase] / rate[alone(phase)]:.2f}" if alone(phase) in rate else "-"
        print("All threads to one of them alone\n")
        print(table(["", *ns], [[phase, *(gain(name, phase) for name in ns)]
                                for phase in PHASES]) + "\n")

    ours = [name for name in names if kinds[name] == "ours"]
    print("durahash: M/s (to the best durable peer; to the limit)\n")
    for some in ([n for n in ours if n in ENGINES], [n for n in ours if n not in ENGINES]):
        if some:
            print(part(some) + "\n")
    others = [name for name in ns if kinds[name] != "ours"]
    if others:
        print("Others: M/s\n")
        print(part(others) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", help="folder of checkouts")
    parser.add_argument("--boost", help="Boost 1.83 or later, a folder or an archive")
    parser.add_argument("--keys", type=int, default=8 * 2**20)
    parser.add_argument("--rounds", type=int, help="15, or as many as the keys allow")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", nargs="+", help="these alone")
    parser.add_argument("--preset", default="release", help="of the build")
    parser.add_argument("--json", help="every slice")
    asked = parser.parse_args()
    program = built(asked)
    with tempfile.TemporaryDirectory() as folder:  # TurboHash writes a log where it is started
        kinds = dict(line.split() for line in
                     subprocess.run([program, "--list"], capture_output=True, text=True,
                                    check=True, cwd=folder).stdout.splitlines())
        names = asked.table or [name for name in kinds
                                if asked.threads == 1 or name != "unordered-dense"]
        begin, load = time.time(), os.getloadavg()[0]
        done = subprocess.run([program, str(asked.keys), str(asked.rounds or 0), str(asked.threads),
                               str(asked.seed), *names], stdout=subprocess.PIPE, text=True,
                              check=False, cwd=folder,
                              env=os.environ | {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
    print()
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    ns = json.loads(done.stdout.splitlines()[-1])
    ns = {name: ns[name] for name in names}
    asked.rounds = len(ns[names[0]]["present"])
    print(heading(f"{asked.keys:,} keys, {asked.rounds} rounds, {asked.threads} thread(s), seed "
                  f"{asked.seed}, {time.time() - begin:.0f} s, load average at the start {load:.1f}"))
    report(kinds, ns)
    if asked.json:
        pathlib.Path(asked.json).write_text(
            json.dumps({"commit": commit(), "asked": vars(asked), "ns": ns}, indent=1) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
