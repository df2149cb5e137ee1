#!/usr/bin/env python3
"""Plants every bug of bugs.py into a copy of the sources, builds the explorer with it, and sees that it is found.

    planted_test.py --build DIR [--only NAME] [--sample N [--draw D]] [--jobs N] [--seed S] [--rounds N]

DIR is a build tree of the project: the explorer's other objects are taken from there. Exit code 0 when every bug is found, 1 when one is not.
"""
import argparse
import concurrent.futures
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

from bugs import BUGS

ROOT = pathlib.Path(__file__).resolve().parents[3]


def planted_source(file, changes):
    text = (ROOT / file).read_text()
    for old, new in changes:
        if text.count(old) != 1:
            sys.exit(f"{file} holds this {text.count(old)} times, not once; bugs.py must follow the source:\n{old}")
        text = text.replace(old, new)
    return text


def run(command, seconds):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False)


def try_bug(bug, arguments, folder):
    name, _, _, only, file, changes = bug
    home = folder / name
    copy = home / file
    shutil.copytree(ROOT / "src", home / "src")
    copy.write_text(planted_source(file, changes))
    # An engine is instantiated in one file; all else is as in the build. crash/ is copied too, for its own folder comes first in an include.
    engine = next((e for e in ("cceh", "level", "gphash") if f"table/{e}/" in file), "gphash" if "src/gpu/" in file else "turbo")
    shutil.copytree(ROOT / "crash", home / "crash")
    program = home / "explore"
    compiled = home / "subject.o"
    flags = ["-std=c++20", "-O1", "-march=x86-64-v2", "-w", f"-I{home}/src", f"-I{home}", f"-I{ROOT}/include"]
    built = run([*shlex.split(arguments.compiler), *flags, "-c", str(home / f"crash/{engine}_subject.cpp"), "-o", str(compiled)], 600)
    if built.returncode == 0:
        libraries = [str(arguments.build / "lib/libdurahash_crash.a"), str(arguments.build / "lib/libdurahash.a")]
        built = run(["g++", "-o", str(program), str(arguments.main_object), str(compiled), *libraries, *arguments.libraries, "-lpthread"], 600)
    if built.returncode != 0:
        return name, False, "does not compile:\n" + built.stdout[-2000:]
    try:
        explored = run([str(program), engine, str(arguments.seed), str(arguments.rounds), "60", only], 900)
    except subprocess.TimeoutExpired:
        return name, False, "the exploration took too long"
    return name, explored.returncode == 0, explored.stdout.strip()


# Not found within five minutes: for make nightly, and not for a sample.
SLOW = {"cceh-a-sibling-is-open-too-early"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="this bug alone")
    parser.add_argument("--sample", type=int, help="so many of them, drawn anew in each run; that the others can be planted is seen all the same")
    parser.add_argument("--draw", type=int, default=random.randrange(1 << 32), help="draws the sample again")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--compiler", default="ccache g++" if shutil.which("ccache") else "g++")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    cache = (arguments.build / "CMakeCache.txt").read_text()
    arguments.libraries = ["-lpmem2"] if "\ndurahash_pmem2_FOUND:INTERNAL=1\n" in cache else []
    bugs = [bug for bug in BUGS if arguments.only in (None, bug[0])]
    if not bugs:
        sys.exit(f"no bug is called {arguments.only}")
    for bug in bugs:
        planted_source(bug[4], bug[5])
    if arguments.sample is not None and arguments.sample < len(bugs):
        bugs = [bug for bug in bugs if bug[0] not in SLOW]
        print(f"{arguments.sample} of {len(bugs)} planted bugs (again with --sample {arguments.sample} --draw {arguments.draw})", flush=True)
        bugs = random.Random(arguments.draw).sample(bugs, arguments.sample)
    missed = 0
    with tempfile.TemporaryDirectory(prefix="durahash-planted-") as made:
        folder = pathlib.Path(made)
        arguments.main_object = folder / "explore.o"
        main_source = pathlib.Path(__file__).parent / "explore.cpp"
        compiled = run(["g++", "-std=c++20", "-O1", f"-I{ROOT}", f"-I{ROOT}/include", f"-I{ROOT}/src", "-c", str(main_source), "-o", str(arguments.main_object)], 600)
        if compiled.returncode != 0:
            sys.exit(compiled.stdout)
        print(f"seed {arguments.seed}, at most {arguments.rounds} rounds")
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for name, found, told in pool.map(lambda bug: try_bug(bug, arguments, folder), bugs):
                missed += not found
                print(f"{'found ' if found else 'MISSED'}  {name}: {told}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} planted bugs found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
