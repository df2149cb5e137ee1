"""docs/tutorial.md shows what its commands print: those of the first pool to the letter, and of the killed
loader what does not depend on the moment."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source_dir, tool = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sections = dict(re.findall(r"^## \d\. (.*)\n((?:(?!^## ).*\n)*)", (source_dir / "docs/tutorial.md").read_text(), re.M))


def shown(section):
    """Commands, and what the document says that they print."""
    commands = []
    for block in re.findall(r"^```\n(.*?)^```$", sections[section], re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
    return commands


def run(folder, script):
    there = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=there, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout.splitlines()


def must(printed, expected, command):
    assert printed == expected, f"docs/tutorial.md: {command} prints {printed}, and not {expected}"


with tempfile.TemporaryDirectory(prefix="durahash-tutorial-", dir="/var/tmp") as folder:
    first = shown("A first pool")
    assert len(first) >= 5, "the section on a first pool has no commands"
    for command, expected in first:
        in_order = (lambda lines: lines) if "dump" not in command else sorted  # dump has no order
        must(in_order(run(folder, command)), in_order(expected), command)

    killed = shown("Kill a loader")
    make, create, load, kill, count, info, dump, compare = killed
    must(run(folder, make[0]), make[1], make[0])
    must(run(folder, create[0]), create[1], create[0])
    # killed when the first batches are acknowledged, however long that takes: millions are still to come
    told = run(folder, load[0] + "\nwhile ! [ -s acks.txt ]; do sleep 0.01; done\n" + kill[0].split("; ", 1)[1])
    must(told[-1:], kill[1], kill[0])
    acknowledged = int(run(folder, count[0])[0].split()[0])
    facts = run(folder, info[0])
    assert [line.split()[0] for line in facts] == [line.split()[0] for line in info[1]], facts
    must(facts[-1:], info[1][-1:], info[0])
    run(folder, dump[0])
    must([line.strip() for line in run(folder, compare[0])], compare[1], compare[0])

    check, again = shown("Check, and go on")
    told = run(folder, check[0])
    assert re.fullmatch(r"ids\.dh: ok, [\d,]+ records, checked in .*", told[0]), told
    must(told[1:], check[1][1:], check[0])
    assert int(re.search(r"ok, ([\d,]+) records", told[0])[1].replace(",", "")) >= acknowledged > 0, told
    assert re.fullmatch(r"3,000,000 records written in .*", run(folder, again[0])[0])
print(f"docs/tutorial.md shows what is printed; {acknowledged} records were acknowledged before the kill")
