"""python -m durahash: a look into a pool, and small changes, where the tool is not installed.

Commands that are not here go to the tool `durahash`, where it is in PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from typing import Any

import durahash

from ._forms import Array, Bytes, Text, form_of

OWN = ("create", "info", "get", "put", "erase", "dump", "check", "backup")


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m durahash", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, what: str, *positional: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=what)
        made.add_argument("pool")
        for each in positional:
            made.add_argument(each)
        made.add_argument("--key", help="u64, i64, f64, bytes, str (default: what the pool has)")
        made.add_argument("--value", help="the same, or a NumPy dtype")
        return made

    create = command("create", "makes a pool")
    create.add_argument("--engine", choices=durahash.engines())
    create.add_argument("--durability", choices=["none", "process", "power", "power_buffered"])
    create.add_argument("--capacity", type=int, default=0)
    command("info", "facts of the pool").add_argument("--json", action="store_true")
    command("get", "the value of a key; exit code 1: there is none", "key_given")
    command("put", "writes a record", "key_given", "value_given")
    command("erase", "removes a record; exit code 1: there is none", "key_given")
    dump = command("dump", "all records, key and value with a tab between")
    dump.add_argument("--limit", type=int, default=-1)
    command("check", "verifies everything; exit code 1: it is damaged")
    command("backup", "copies the pool to a new file", "to")
    return parser


def given(form: Any, text: str) -> Any:
    if isinstance(form, Bytes):
        return os.fsencode(text)
    if isinstance(form, Text):
        return text
    if isinstance(form, Array) and not form.shape and form.dtype.names is None:
        kind = form.dtype.kind
        return int(text, 0) if kind in "iu" else float(text) if kind == "f" else os.fsencode(text)
    return json.loads(text)


def shown(one: Any) -> str:
    if isinstance(one, bytes):
        return os.fsdecode(one)
    return str(one.tolist()) if hasattr(one, "tolist") else str(one)


def run(asked: argparse.Namespace) -> int:
    what = asked.command
    how: dict[str, Any] = {name: getattr(asked, name) for name in ("key", "value")}
    if what == "create":
        how |= {"engine": asked.engine, "durability": asked.durability, "capacity": asked.capacity}
    mode = {"create": "x", "put": "w", "erase": "w"}.get(what, "r")
    with durahash.open(asked.pool, mode, **how) as table:
        if what in ("get", "put", "erase"):
            key = given(form_of(table.key), asked.key_given)
        if what == "create":
            print(f"created {table!r}")
        elif what == "get":
            value = table.get(key)
            if value is None:
                print(f"no such key: {asked.key_given}", file=sys.stderr)
                return 1
            print(shown(value))
        elif what == "put":
            table[key] = given(form_of(table.value), asked.value_given)
        elif what == "erase":
            return 0 if table.erase(key) else 1
        elif what == "dump":
            for count, (k, v) in enumerate(table.items()):
                if count == asked.limit:
                    break
                print(f"{shown(k)}\t{shown(v)}")
        elif what == "check":
            report = table.check()
            print(f"{asked.pool}: {'ok' if report else 'damaged'}, {report.records:,} records")
            print(*report.violations, sep="\n", end="\n" if report.violations else "")
            return 0 if report else 1
        elif what == "backup":
            table.backup(asked.to)
        else:
            facts = table.info()
            if asked.json:
                print(json.dumps(facts))
            else:
                for name, fact in facts.items():
                    print(f"{name:<22} {fact:,}" if isinstance(fact, int) else f"{name:<22} {fact}")
    return 0


def main() -> int:
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    tool = shutil.which("durahash")
    if command and not command.startswith("-") and command not in OWN and tool:
        os.execv(tool, [tool, *sys.argv[1:]])
    try:
        code = run(arguments().parse_args())
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except durahash.Error as e:
        print(f"python -m durahash: {e}", file=sys.stderr)
        return 2 if isinstance(e, durahash.InvalidArgumentError) else 3
    except (ValueError, OverflowError, TypeError) as e:
        print(f"python -m durahash: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
