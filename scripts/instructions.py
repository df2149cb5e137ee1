#!/usr/bin/env python3
"""Counts the instructions of each operation of each engine under callgrind: with one compiler the same
on every run and machine, but for the pool's seed: rewrites make an erase of cceh vary by 10 %.

    scripts/instructions.py [--build DIR] [--engine E ...] [--kind words|bytes|c-words] [--level LEVEL]
                            [--folder DIR] [--json FILE] [--before FILE]
    scripts/instructions.py --check       # against bench/instructions/recorded.json
    scripts/instructions.py --record      # writes it
    scripts/instructions.py --reader      # of a writer with nobody reading, and with a reader
    scripts/instructions.py --scans ...   # of a record that is visited, by scans of those limits or all at once
    scripts/instructions.py --batches ... # in batches of four keys, and of one that comes again and again

200,000 records in memory, 100,000 operations, the caller's loop included. At the level memory, which
is the default, lines are written back as at the level power on persistent memory. With --level power
or power_buffered the pool lies in the folder DIR of a disk; counted is the thread that asks, and not
what others write for it. c-words are words through the C API and its shared library. `steady` inserts into a table that has room, `insert` into one that grows.
The other DIR (build/check) is a build tree; its `durahash_instructions` is built first.

One table meets insert, reads, updates and an erase, in this order; all else begins with a table of its own.

--reader counts on a file in DIR, at the level process or LEVEL, pools of one seed: each operation twice, alone
and while a process reads the pool beside it all the time. 1 where one takes more than 2 % and 2 more.

--before compares with what --json wrote earlier: the exit code is 1 where an operation takes more than
1 % and 2 instructions more. --check is for `make test`: 1 where one takes more than 5 % and 3 more than
recorded, in each of three counts; with another compiler than the recorded one's it says so, and counts nothing.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from engines import ENGINES

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = ROOT / "bench/instructions/recorded.json"
OPERATIONS = ["hit", "miss", "update", "insert", "steady", "erase",
              "batch-hit", "batch-miss", "batch-new", "batch-update"]
RUNS = ["insert,hit,miss,batch-hit,batch-miss,update,batch-update,erase", "steady", "batch-new"]
SCANS = ["scan-1", "scan-10", "scan-100", "each"]
BATCHES = ["few-hit", "few-update", "same-update"]  # of four keys; of one that comes again and again
PROGRAMS = {"words": "durahash_instructions", "bytes": "durahash_instructions",
            "c-words": "durahash_c_instructions"}
CALLGRIND = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no",
             "--toggle-collect=*measured*"]
CHECKED = [(kind, engine) for kind in ("words", "bytes") for engine in ENGINES]


def compiler():
    said = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout
    return said.splitlines()[0]


def begin(own, arguments, **pipes):
    """Starts a program under callgrind, with the files of both in the folder `own`."""
    command = [*CALLGRIND, f"--log-file={own}/log", f"--callgrind-out-file={own}/counts", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **pipes)


def counted(own, process, given=None):
    """Instructions of one operation, of each kind that the program does; to its end."""
    told, _ = process.communicate(given)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, process.args))}\n{told}{pathlib.Path(own, 'log').read_text()}")
    counts = []
    for n, done in enumerate(told.split(), 1):
        part = pathlib.Path(own, f"counts.{n}")
        instructions = int(re.search(r"^totals: (\d+)", part.read_text(), re.M)[1]) if part.exists() else 0
        if instructions == 0:
            sys.exit("nothing was counted: the program was compiled before valgrind was installed, and is to be again")
        counts.append(instructions / int(done))
    return counts


def count(program, engine, kind, operations, level, folder):
    """{operation: instructions of one} of a list with commas."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        counts = counted(own, begin(own, [program, engine, kind, operations, f"{own}/pool", level]))
    return dict(zip(operations.split(","), counts, strict=True))


def count_with_reader(program, engine, kind, operation, level, folder, reads):
    """Instructions of one operation; and how many records a process found that read the pool beside
    it all the time, where `reads`."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        pool = f"{own}/pool"
        writer = begin(own, [program, engine, kind, operation, pool, level, "repeat"], stdin=subprocess.PIPE)
        if writer.stdout.readline() != "open\n":
            sys.exit(f"{engine} {kind} {operation}: the writer does not open its pool")
        found = 0
        if reads:
            reader = subprocess.Popen([program, engine, kind, "read", pool, level], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
            if reader.stdout.readline() != "open\n":
                sys.exit(f"{engine} {kind} {operation}: the reader does not open the pool")
        [instructions] = counted(own, writer, "\n")
        if reads:
            found = int(reader.communicate()[0])
        return instructions, found


def compare_with_reader(how):
    """Prints a table for each kind. Returns the operations that take more with a reader."""
    program = how.build / "bin/durahash_instructions"
    subprocess.run(["cmake", "--build", how.build, "--target", program.name], check=True,
                   stdout=subprocess.DEVNULL)
    alone, beside, records = {}, {}, 0
    level = "process" if how.level == "memory" else how.level
    for kind in ("words", "bytes"):
        for engine in how.engine:
            for operation in OPERATIONS:
                for into, reads in ((alone, False), (beside, True)):
                    counted, found = count_with_reader(program, engine, kind, operation,
                                                       level, how.folder, reads)
                    into.setdefault(kind, {}).setdefault(engine, {})[operation] = counted
                    records += found
                    if reads and found == 0:
                        sys.exit(f"{engine} {kind} {operation}: the reader found nothing")
    print(f"alone -> with a reader, which found {records:,} records")
    return compare(beside, alone, 1.02, 2)


def count_all(how, wanted, runs):
    """{kind: {engine: {operation: instructions}}} of pairs (kind, engine)."""
    subprocess.run(["cmake", "--build", how.build, "--target",
                    *sorted({PROGRAMS[kind] for kind, _ in wanted})],
                   check=True, stdout=subprocess.DEVNULL)
    each = [(kind, engine, run) for kind, engine in wanted for run in runs]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda one: count(how.build / "bin" / PROGRAMS[one[0]], one[1], one[0], one[2], how.level, how.folder),
                          each)
        for (kind, engine, _), counted_ones in zip(each, counts):
            found.setdefault(kind, {}).setdefault(engine, {}).update(counted_ones)
    for kind, engine in wanted:
        ones = found[kind][engine]
        found[kind][engine] = {name: round(ones[name], 1) for name in sorted(ones, key=in_order)}
    return found


def in_order(operation):
    return OPERATIONS.index(operation) if operation in OPERATIONS else len(OPERATIONS)


def too_many(now, was, share, least):
    return now > was * share and now > was + least


def counted_again(how, found, one):
    """The least of three counts: whether a table grows or rewrites while it is counted is up to the
    random seed of its pool."""
    kind, engine, operation = one
    [run] = (run for run in RUNS if operation in run.split(","))
    return min(found[kind][engine][operation],
               *(count(how.build / "bin" / PROGRAMS[kind], engine, kind, run, how.level,
                       how.folder)[operation] for _ in range(2)))


def compare(found, before, share, least):
    """Prints a table for each kind. Returns (kind, engine, operation) of what takes more than it may."""
    worse = []
    for kind, engines in found.items():
        operations = next(iter(engines.values()))
        print(f"{kind:8}" + "".join(f"{operation:>16}" for operation in operations))
        for engine, row in engines.items():
            cells = []
            for operation, now in row.items():
                was = before.get(kind, {}).get(engine, {}).get(operation)
                if was is not None and too_many(now, was, share, least):
                    worse.append((kind, engine, operation))
                cells.append(f"{now:.0f}" if was is None else f"{was:.0f} -> {now:.0f}")
            print(f"{engine:8}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/check"))
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--kind", choices=[*PROGRAMS], default="words")
    parser.add_argument("--level", choices=["memory", "process", "power", "power_buffered"],
                        default="memory")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--reader", action="store_true")
    parser.add_argument("--scans", action="store_true")
    parser.add_argument("--batches", action="store_true")
    how = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    if how.reader:
        worse = compare_with_reader(how)
        for one in worse:
            print(f"more instructions with a reader: {', '.join(one)}", file=sys.stderr)
        return 1 if worse else 0
    if how.check or how.record:
        recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
        if how.check and recorded.get("compiler") != compiler():
            print(f"not counted: recorded with {recorded.get('compiler')}, and this is {compiler()}")
            return 0
        found = count_all(how, CHECKED, RUNS)
        suspects = compare(found, recorded, 1.05, 3)
        if how.record:
            RECORDED.write_text(json.dumps({"compiler": compiler(), **found}, indent=1) + "\n")
            return 0
        worse = 0
        for one in suspects:
            was, now = recorded[one[0]][one[1]][one[2]], counted_again(how, found, one)
            print(f"{', '.join(one)}: counted again, at least {now:.0f}")
            if too_many(now, was, 1.05, 3):
                worse += 1
                print(f"more instructions than recorded: {', '.join(one)}: {was:.0f} -> {now:.0f}",
                      file=sys.stderr)
        return 1 if worse else 0
    found = count_all(how, [(how.kind, engine) for engine in how.engine],
                      SCANS if how.scans else BATCHES if how.batches else RUNS)
    before = json.loads(how.before.read_text()) if how.before else {}
    worse = compare(found, before, 1.01, 2)
    if how.json:
        how.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
