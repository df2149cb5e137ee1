#!/usr/bin/env python3
"""Counts the instructions of each operation of each engine under callgrind: with one compiler the same
on every run and machine.

    scripts/instructions.py [--build DIR] [--engine E ...] [--kind words|bytes]
                            [--level LEVEL] [--folder DIR] [--json FILE] [--before FILE]

200,000 records in memory at the level process, 100,000 operations, the caller's loop included. With
--level power or power_buffered the pool lies in the folder DIR of a disk; counted is the thread that
asks, and not what others write for it. The other DIR
(build/check) is a build tree; its `durahash_instructions` is built first. --before compares with what
--json wrote earlier: the exit code is 1 where an operation takes more than 1 % and 2 instructions more.
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

ENGINES = ["turbo", "cceh", "level", "gphash"]
OPERATIONS = ["hit", "miss", "update", "insert", "erase",
              "batch-hit", "batch-miss", "batch-new", "batch-update"]


def count(program, engine, kind, operation, how):
    """Instructions of one operation."""
    with tempfile.TemporaryDirectory(dir=how.folder) as folder:
        log = os.path.join(folder, "log")
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no",
                   "--toggle-collect=*measured*", "--callgrind-out-file=/dev/null",
                   f"--log-file={log}", program, engine, kind, operation,
                   os.path.join(folder, "pool"), how.level]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = pathlib.Path(log).read_text()
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}{told}")
    return int(re.search(r"Collected : (\d+)", told)[1]) / int(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/check"))
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--kind", choices=["words", "bytes"], default="words")
    parser.add_argument("--level", choices=["process", "power", "power_buffered"],
                        default="process")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    how = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    subprocess.run(["cmake", "--build", how.build, "--target", "durahash_instructions"],
                   check=True, stdout=subprocess.DEVNULL)
    program = how.build / "bin/durahash_instructions"
    wanted = [(engine, operation) for engine in how.engine for operation in OPERATIONS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda one: count(program, one[0], how.kind, one[1], how), wanted)
        found = {engine: {} for engine in how.engine}
        for (engine, operation), instructions in zip(wanted, counts):
            found[engine][operation] = round(instructions, 1)
    before = json.loads(how.before.read_text()) if how.before else {}
    worse = False
    print(f"{how.kind:8}" + "".join(f"{operation:>16}" for operation in OPERATIONS))
    for engine, row in found.items():
        cells = []
        for operation, now in row.items():
            was = before.get(engine, {}).get(operation)
            worse |= was is not None and now > was * 1.01 and now > was + 2
            cells.append(f"{now:.0f}" if was is None else f"{was:.0f} -> {now:.0f}")
        print(f"{engine:8}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    if how.json:
        how.json.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
