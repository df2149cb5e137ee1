#!/usr/bin/env python3
"""clang-tidy over our sources, as a build tree compiles them; .clang-tidy has the checks.

    scripts/tidy.py [--build DIR] [--sample N] [FILE ...]

The other DIR (build/dev) is a build tree that compiles each source alone. Without files: all of
src, tool, bench, bindings, explorer, fuzz and test. --sample N takes N of them, drawn by the environment's DURAHASH_SEED, or a seed
that is printed.
Exit code: 0 where clang-tidy has nothing to say, else 1.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tool", "bench", "bindings", "explorer", "fuzz", "test")


def commands_of(build):
    """{file: its entry}. clang reads no precompiled header of gcc's, and knows none of its warnings."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"]).resolve()
        if file.suffix not in (".cpp", ".c") or not file.is_relative_to(ROOT):
            continue
        if file.relative_to(ROOT).parts[0] in FOLDERS:
            command = re.sub(r"-Winvalid-pch|-include \S*cmake_pch\S*", "", entry["command"])
            found[file] = {**entry, "command": command + " -Wno-unknown-warning-option"}
    return found


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev")
    parse.add_argument("--sample", type=int)
    parse.add_argument("files", nargs="*", type=pathlib.Path)
    how = parse.parse_args()
    commands = commands_of(how.build)
    files = [file.resolve() for file in how.files] or sorted(commands)
    if how.sample is not None:
        seed = os.environ.get("DURAHASH_SEED") or str(int(time.time()))
        files = random.Random(seed).sample(files, min(how.sample, len(files)))
        print(f"seed {seed} (again with DURAHASH_SEED={seed})", flush=True)
    own = how.build / "tidy"
    own.mkdir(exist_ok=True)
    (own / "compile_commands.json").write_text(json.dumps(list(commands.values())))

    def check(file):
        done = subprocess.run(["clang-tidy", "-quiet", "-p", own, file], cwd=ROOT, check=False,
                              capture_output=True, text=True)
        return file, done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)

    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
        for file, code, text in pool.map(check, files):
            if code != 0:
                wrong += 1
                print(f"{file.relative_to(ROOT)}:\n{text}", flush=True)
    print(f"{len(files)} of {len(commands)} files checked, {wrong} with findings")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
