#!/usr/bin/env python3
"""What weak memory order of aarch64 lets happen, by herd7 and its model of that architecture: each
*.litmus here has a verdict, Never or Sometimes, in its comment. Those with `without` in their name
lack one instruction, and show that it is needed. docs/explanation/weak-memory.md tells which line of
ours each stands for.

    test/litmus/litmus_test.py [TEST...]

77 where there is no herd7 (https://github.com/herd/herdtools7).
"""
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    herd = shutil.which("herd7")
    if herd is None:
        print("litmus_test: no herd7 is here")
        return 77
    tests = [HERE / f"{name}.litmus" for name in sys.argv[1:]] or sorted(HERE.glob("*.litmus"))
    wrong = 0
    for test in tests:
        wanted = re.search(r"^\(\* (Never|Sometimes)\.", test.read_text(), re.M)[1]
        done = subprocess.run([herd, test], capture_output=True, text=True, check=False)
        said = re.search(r"^Observation \S+ (\w+) (\d+) (\d+)", done.stdout, re.M)
        if said is None:
            print(f"{test.stem}: herd7 says nothing: {done.stdout}{done.stderr}")
            wrong += 1
            continue
        print(f"{test.stem}: {said[1]}, {int(said[2]) + int(said[3])} executions")
        if said[1] != wanted:
            print(f"{test.stem}: {wanted} was wanted\n{done.stdout}")
            wrong += 1
    return 1 if wrong or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
