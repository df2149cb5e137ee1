#!/usr/bin/python3
"""durahash and LMDB with readers in other processes: `make bench-readers`.

    scripts/bench_readers.py [--folder DIR] [--rounds N] [--seconds S] [--records N] [--store NAME ...]
                             [--preset release|check] [--json FILE]

Installs LMDB (scripts/setup.sh lmdb), builds bench/peers/readers, and runs cell after cell, each in
processes of their own, the stores in turns, round by round. Records are two words. Each put survives
the death of the process on return: durahash's level process, LMDB's MDB_WRITEMAP | MDB_NOSYNC with a
transaction a put. An engine's name may have a level behind it: turbo:power, with a --folder on a disk.
Shown are medians of the rounds; no time is asserted.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

from bench_report import commit, heading, table
from engines import ENGINES

ROOT = pathlib.Path(__file__).resolve().parent.parent
CELLS = [*(f"reading:{n}" for n in range(5)), "waiting:4", "stopped:1", "killed:1", "copying:1",
         "opening:1"]


def short(number):
    for unit, of in ((1e6, " M"), (1e3, " K")):
        if number >= unit:
            return f"{number / unit:.3g}{of}"
    return f"{number:.3g}"


def measured(program, asked, store, cell):
    folder = pathlib.Path(asked.folder) / f"bench-readers-{os.getpid()}"
    done = subprocess.run([program, store, cell, folder, str(asked.records), str(asked.seconds)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{store} {cell}: {done.stderr}")
    return json.loads(done.stdout)


def report(asked, runs):
    def median(store, cell, what):
        return statistics.median(run[store][cell][what] for run in runs)

    def ratio(store, cell, other, what):
        return statistics.median(run[store][cell][what] / run[store][other][what] for run in runs)

    def growth(store, cell):
        grown = statistics.median(run[store][cell]["file_bytes_after"] -
                                  run[store][cell]["file_bytes_before"] for run in runs)
        return "0" if grown == 0 else f"{grown / 2**20:+.1f} MiB"

    reads = [[store] + [short(median(store, f"reading:{n}", "reads_per_second"))
                        for n in range(1, 5)] for store in asked.store]
    print("Reads a second of all reader processes, beside a writer that never waits:\n")
    print(table(["store", "1 reader", "2", "3", "4"], reads))
    writes = [[store, short(median(store, "reading:0", "writes_per_second")),
               *(f"{ratio(store, cell, 'reading:0', 'writes_per_second'):.2f}"
                 for cell in (*(f"reading:{n}" for n in range(1, 5)), "waiting:4"))]
              for store in asked.store]
    print("\nPuts a second of the writer alone; then its share of that beside readers:\n")
    print(table(["store", "alone", "1 reader", "2", "3", "4", "4 that wait"], writes))
    stale = [[store, growth(store, "reading:0"), growth(store, "stopped:1"),
              growth(store, "killed:1"),
              f"{median(store, 'copying:1', 'seconds') * 1000:.0f} ms", growth(store, "copying:1"),
              f"{ratio(store, 'copying:1', 'reading:0', 'writes_per_second'):.2f}",
              f"{1e6 / median(store, 'opening:1', 'reads_per_second'):.0f} us"]
             for store in asked.store]
    print(f"\nWhat the file grows by in {asked.seconds} s without readers; in {asked.records // 10:,} "
          "puts beside a\nreader that was stopped, or killed, in a read; beside a copy. Then a copy's time,"
          " the writer's\nshare meanwhile, and the time to open, read once and close:\n")
    print(table(["store", "no reader", "stopped", "killed", "a copy", "copy's growth",
                 "writer's share", "open and close"], stale))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="a cell")
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--store", nargs="+", default=[*ENGINES, "lmdb"])
    parser.add_argument("--preset", default="release", help="of the build")
    parser.add_argument("--json", help="every cell of every round")
    asked = parser.parse_args()
    subprocess.run([ROOT / "scripts/setup.sh", "lmdb"], check=True)
    subprocess.run([ROOT / "scripts/build.sh", asked.preset, "durahash_reader_peers"], check=True)
    tree = ROOT / "build" if asked.preset == "release" else ROOT / "build" / asked.preset
    begin, runs, loads = time.time(), [], []
    for n in range(asked.rounds):
        runs.append({store: {} for store in asked.store})
        for cell in CELLS:
            for store in asked.store if n % 2 == 0 else reversed(asked.store):
                loads.append(os.getloadavg()[0])
                runs[-1][store][cell] = measured(tree / "bin/durahash_reader_peers", asked, store,
                                                 cell)
    print(heading(f"{asked.records:,} records, {asked.rounds} rounds, {time.time() - begin:.0f} s, "
                  f"load average {min(loads):.1f} to {max(loads):.1f}"))
    report(asked, runs)
    if asked.json:
        pathlib.Path(asked.json).write_text(
            json.dumps({"commit": commit(), "asked": vars(asked), "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
