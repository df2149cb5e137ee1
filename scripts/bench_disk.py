#!/usr/bin/python3
"""durahash on a disk beside SQLite, LMDB and RocksDB: `make bench-disk`.

    scripts/bench_disk.py [--folder DIR] [--rounds N] [--seconds S] [--records N] [--shape words|bytes]
                          [--only NAME ...] [--preset release|check] [--json FILE] [--tiny]

Installs the peers (scripts/setup.sh peers), builds bench/peers/disk, and runs each store in a process
of its own on the same folder of one disk, in turns: round by round, each round in another order. A
process loads RECORDS, then runs its cells for SECONDS each, or until it has put a million new records.
`fill` puts 500,000 and closes: its bytes are all that the store wrote for them. Shown are medians of the
rounds; the JSON has every one. No time is asserted.

Settings, chosen in favour of each: bench/peers/disk/*_store.cpp says them. All stores get 64 MiB of log
between checkpoints; where a store has a group commit (durahash, RocksDB), its threads use it. A group
is one transaction where there are some; durahash's put_many is durable as a whole on return, and is
atomic per record.

`strict`: a put is on the disk when it returns. The others say what a loss of power takes; after kill -9
all of them have everything.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

RAW = ["dsync:512:1", "dsync:4096:1", "fdatasync:4096:1", "stream:1048576:1", "random:4096:1"]
STORES = [  # name, mode, what a loss of power takes
    ("durahash", "turbo-power", "strict"),
    ("durahash", "cceh-power", "strict"),
    ("sqlite", "FULL", "strict"),
    ("lmdb", "sync", "strict"),
    ("rocksdb", "sync", "strict"),
    ("rocksdb", "sync-tuned", "strict"),
    ("lmdb", "nometasync", "last transaction"),
    ("durahash", "turbo-power_buffered", "10 ms"),
    ("durahash", "cceh-power_buffered", "10 ms"),
    ("sqlite", "NORMAL", "since checkpoint"),
    ("rocksdb", "nosync", "30 s"),
    ("rocksdb", "nosync-tuned", "30 s"),
    ("lmdb", "nosync", "may break"),
    ("lmdb", "writemap", "may break"),
    ("durahash", "turbo-process", "may need salvage"),
]
PUTS = ["put:1:1", "put:1:4", "put:1:16", "put:1:64", "put:64:1", "put:1000:1", "put:10000:1",
        "put:1000:2"]
TITLES = {"put:1:1": "1 thread", "put:1:4": "4", "put:1:16": "16", "put:1:64": "64 threads",
          "put:64:1": "group of 64", "put:1000:1": "1000", "put:10000:1": "10000",
          "put:1000:2": "2 x 1000", "get:1:1": "get", "fill": "fill", "bytes": "bytes/put",
          "single": "bytes, single"}


def cells(tiny):
    """Of two processes: a fast store has a larger table than the others behind its puts."""
    return [PUTS, ["get:1:1", "fill:1000:%d" % (5000 if tiny else 500000)]]


def run(program, store, asked, which):
    """One process: its cells, and how busy the machine was before."""
    os.sync()  # what the one before has left in the page cache
    time.sleep(0.2)
    before = os.getloadavg()[0]
    command = [program, store[0], store[1], str(asked.scratch), asked.shape, str(asked.records),
               str(asked.seconds)] + which
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {"store": store[0], "mode": store[1], "load_average": before, "cells": found}


def rounds_of(asked, program):
    raw = ("raw", "disk", "")
    stores = [s for s in STORES
              if not asked.only or any(word in f"{s[0]} {s[1]}" for word in asked.only)]
    every = []
    for number in range(asked.rounds):
        turn = number * 4 % len(stores)
        for store in [raw] + stores[turn:] + stores[:turn]:
            if sys.stderr.isatty():
                print(f"\r\x1b[Kround {number + 1} of {asked.rounds}: {store[0]} {store[1]}",
                      end="", file=sys.stderr, flush=True)
            for which in [RAW] if store == raw else cells(asked.tiny):
                every.append({"round": number, **run(program, store, asked, which)})
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    return every


def figures(every, store, cell, field="per_second"):
    return [c[field] for one in every if (one["store"], one["mode"]) == store[:2]
            for c in one["cells"] if f"{c['cell']}:".startswith(cell + ":")]


def short(value):
    for size, unit in ((1e6, " M"), (1e3, " K")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def shown(values):
    """The median, and how far the rounds spread around it."""
    middle = statistics.median(values)
    if len(values) == 1:
        return short(middle)
    return f"{short(middle)} ({short(min(values))}-{short(max(values))})".replace(" M-", "-") \
        .replace(" K-", "-")


def table(head, rows):
    wide = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    line = lambda row: "| " + " | ".join(c.ljust(w) for c, w in zip(row, wide)) + " |"
    return "\n".join([line(head), "|" + "|".join("-" * (w + 2) for w in wide) + "|"] +
                     [line(row) for row in rows])


def report(asked, every):
    raw = ("raw", "disk")
    out = [f"Records of {asked.shape}, {asked.records:,} loaded, {asked.rounds} rounds, "
           f"{asked.seconds} s a cell; operations a second, median (least-most)", ""]
    kinds = {"dsync:512": "RWF_DSYNC, 512 bytes", "dsync:4096": "RWF_DSYNC, 4 KiB",
             "fdatasync:4096": "write and fdatasync, 4 KiB", "stream": "stream of 1 MiB writes",
             "random": "random 4 KiB, synced at the end"}
    out.append(table(["the disk by itself", "a second"],
                     [[what, shown(figures(every, raw, cell))] for cell, what in kinds.items()]))
    stores = [s for s in STORES if figures(every, s, "put:1:1")]
    for columns in (PUTS[:4], PUTS[4:]):
        out.append("")
        out.append(table(["store", "power takes"] + [TITLES[c] for c in columns],
                         [[f"{s[0]} {s[1]}", s[2]] + [shown(figures(every, s, c)) for c in columns]
                          for s in stores]))
    out.append("")
    out.append(table(
        ["store", "get", "fill and close", "bytes/put, fill", "bytes/put, single",
         "single put p50", "p99.9"],
        [[f"{s[0]} {s[1]}", shown(figures(every, s, "get")), shown(figures(every, s, "fill")),
          shown(figures(every, s, "fill", "disk_bytes_per_op")),
          shown(figures(every, s, "put:1:1", "disk_bytes_per_op"))] +
         [short(statistics.median(f[q] for f in figures(every, s, "put:1:1", "latency_ns")) / 1e3)
          + " us" for q in ("p50", "p999")] for s in stores]))
    out += ["", goals(every)]
    return "\n".join(out)


def goals(every):
    """Ratios within a round, then their median."""
    def per_round(one, other):
        return [a / b for a, b in zip(one, other)]
    rows = []
    dsync = figures(every, ("raw", "disk"), "dsync:4096")
    stream = [rate * (1 << 20) for rate in figures(every, ("raw", "disk"), "stream")]
    for engine in ("turbo", "cceh"):
        strict = ("durahash", engine + "-power")
        soon = ("durahash", engine + "-power_buffered")
        process = ("durahash", "turbo-process")
        if figures(every, strict, "put:1:1"):
            rows += [[engine, "strict single put / RWF_DSYNC of 4 KiB", ">= 0.9",
                      shown(per_round(figures(every, strict, "put:1:1"), dsync))],
                     [engine, "strict put_many of 1000, a second", ">= 2 M",
                      shown(figures(every, strict, "put:1000:1"))],
                     [engine, "strict, 64 threads, a second", ">= 150 K",
                      shown(figures(every, strict, "put:1:64"))]]
        if figures(every, soon, "put:1:1"):
            rows += [[engine, "power_buffered, 1 thread, a second", ">= 2.5 M",
                      shown(figures(every, soon, "put:1:1"))]]
            if figures(every, process, "put:1:1"):
                rows += [[engine, "turbo at process / power_buffered", "<= 1.5",
                          shown(per_round(figures(every, process, "put:1:1"),
                                          figures(every, soon, "put:1:1")))]]
            written = [a * b for a, b in zip(figures(every, soon, "fill"),
                                             figures(every, soon, "fill", "disk_bytes_per_op"))]
            rows += [[engine, "power_buffered, bytes written in fill / stream of 1 MiB", ">= 0.7",
                      shown(per_round(written, stream))]]
    return table(["engine", "goal", "wanted", "found"], rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=str(ROOT / "build"), help="on the disk to measure")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="a cell")
    parser.add_argument("--records", type=int, default=1000000, help="loaded first")
    parser.add_argument("--shape", choices=["words", "bytes"], default="words",
                        help="8 and 8 bytes, or 16 and 100")
    parser.add_argument("--only", nargs="*", default=[], help="stores whose name holds one of these")
    parser.add_argument("--preset", default="release", help="of the build")
    parser.add_argument("--json", help="every cell of every round")
    parser.add_argument("--tiny", action="store_true", help="does it run? no figure means anything")
    asked = parser.parse_args()
    if asked.tiny:
        asked.rounds, asked.seconds, asked.records = 1, 0.02, 2000
    asked.scratch = pathlib.Path(asked.folder) / f"bench-disk-{os.getpid()}"
    return asked


def main():
    asked = arguments()
    subprocess.run([ROOT / "scripts/setup.sh", "peers"], check=True)
    subprocess.run([ROOT / "scripts/build.sh", asked.preset, "durahash_disk_peers"], check=True)
    tree = ROOT / "build" if asked.preset == "release" else ROOT / "build" / asked.preset
    begin = time.time()
    try:
        every = rounds_of(asked, tree / "bin/durahash_disk_peers")
    finally:
        shutil.rmtree(asked.scratch, ignore_errors=True)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True, check=False).stdout.strip()
    loads = [one["load_average"] for one in every]
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, commit {commit}, {os.cpu_count()} processors, "
          f"Linux {platform.release()}, {time.time() - begin:.0f} s, "
          f"load average {min(loads):.1f} to {max(loads):.1f}")
    print(report(asked, every))
    if asked.json:
        settings = {k: v for k, v in vars(asked).items() if k != "scratch"}
        pathlib.Path(asked.json).write_text(
            json.dumps({"commit": commit, "asked": settings, "runs": every}, indent=1) + "\n")


if __name__ == "__main__":
    main()
