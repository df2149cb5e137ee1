#!/usr/bin/env python3
"""Makes a generation of golden pools: small, of all engines and kinds, as one commit writes them.

    golden_pools.py TOOL GENERATION     TOOL: the `durahash` of that commit; GENERATION: its name

test/format/golden/GENERATION then holds the pools (xz), the records that each has, and a manifest.
test/format/golden_test.py reads, checks and writes every generation with the tool of today. Make a
new one before a change of the pool's format, from the commit before it, and keep the old ones:

    git worktree add /tmp/before COMMIT && cd /tmp/before && scripts/build.sh release durahash_tool
    scripts/golden_pools.py /tmp/before/build/bin/durahash COMMIT
"""
import base64
import json
import lzma
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from engines import ENGINES

GOLDEN = Path(__file__).resolve().parent.parent / "test" / "format" / "golden"
ALL_ONES = 2**64 - 1
KINDS = {"words": ("u64", "u64"), "bytes": ("bytes", "bytes"), "keyed": ("bytes", "bytes"),
         "word-to-bytes": ("u64", "bytes"), "bytes-to-word": ("bytes", "u64")}


class Records:
    """What the pools of a kind hold, and how they came to it: updates and erases leave something
    behind, too."""

    def __init__(self, kind):
        chance = random.Random(kind)
        key_kind, value_kind = KINDS[kind]

        def key(n):
            if key_kind == "u64":
                return (0, ALL_ONES, 1, 2)[n] if n < 4 else chance.getrandbits(64)
            if kind == "keyed":
                return n.to_bytes(4, "big") * 4
            return (b"", b"\0\xff", b"k" * 300)[n] if n < 3 else b"key %d " % n + b"/" * (n % 29)

        def value(n):
            if value_kind == "u64":
                return (ALL_ONES, 0)[n] if n < 2 else chance.getrandbits(64)
            return (b"", b"\xff\0", b"v" * 40_000)[n] if n < 3 else b"value %d " % n * (n % 17)

        keys = [key(n) for n in range(140)]
        self.first = [(k, value(n + 1000)) for n, k in enumerate(keys)]
        self.second = [(k, value(n)) for n, k in enumerate(keys)][:90]
        self.erased = keys[90:]
        self.left = self.second


def line(key, value=None):
    fields = {"key": key, "erase": True} if value is None else {"key": key, "value": value}
    shown = {}
    for name, field in fields.items():
        if isinstance(field, bytes):
            try:
                shown[name] = field.decode()
            except UnicodeDecodeError:
                shown[name + "_base64"] = base64.b64encode(field).decode()
        else:
            shown[name] = field
    return json.dumps(shown) + "\n"


def lines(pairs=(), erased=()):
    return [line(*pair) for pair in pairs] + [line(key) for key in erased]


class Pool:
    """One pool: how it is made, and how its writer ends."""

    def __init__(self, engine, kind, state, *settings):
        self.engine, self.kind, self.state = engine, kind, state
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.name = "-".join([engine, kind, *(s.replace("=", "") for s in settings), state])

    def make(self, tool, path, records):
        key, value = KINDS[self.kind]
        run(tool, "create", path, "--engine", self.engine, "--key", key, "--value", value,
            "--capacity", "64", *self.settings)
        load = [tool, "load", path, "-", "--format", "jsonl"]
        run(*load, text="".join(lines(records.first)))
        work = lines(records.second, records.erased)
        if self.state == "clean":
            run(*load, text="".join(work))
            return
        sync = ["--sync", "16"] if self.state == "synced" else []
        with subprocess.Popen([*load, "--acks", *sync], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as loader:
            loader.stdin.write("".join(work).encode())
            loader.stdin.flush()
            for _ in work:
                loader.stdout.readline()
            loader.kill()


def packed(path, content):
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def run(*words, text=""):
    subprocess.run(words, input=text, text=True, capture_output=True, check=True)


def all_pools():
    for engine in ENGINES:
        for kind in ("words", "bytes"):
            for state in ("clean", "changing"):
                yield Pool(engine, kind, state)
        yield Pool(engine, "bytes", "synced")
    yield Pool("turbo", "word-to-bytes", "clean")
    yield Pool("cceh", "bytes-to-word", "clean")
    yield Pool("level", "word-to-bytes", "changing")
    yield Pool("gphash", "bytes-to-word", "changing")
    yield Pool("turbo", "words", "clean", "in_place=1")
    yield Pool("turbo", "words", "changing", "shards=2", "shard_buckets=1")
    yield Pool("turbo", "bytes", "clean", "shards=2", "shard_buckets=1")
    yield Pool("cceh", "words", "changing", "copy_on_write=0", "segment=4")
    yield Pool("level", "words", "changing", "slots=4")
    yield Pool("level", "bytes", "clean", "slots=14")
    yield Pool("gphash", "words", "clean", "levels=4", "hashes=4", "slots=2")
    yield Pool("gphash", "keyed", "clean", "key_bytes=16")
    yield Pool("gphash", "keyed", "changing", "key_bytes=16")


def main(tool, generation):
    folder = GOLDEN / generation
    folder.mkdir(parents=True)
    history = {kind: Records(kind) for kind in KINDS}
    for kind, records in history.items():
        packed(folder / f"{kind}.jsonl.xz", "".join(lines(records.left)).encode())
    pools = {}
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        for pool in all_pools():
            path = Path(scratch) / pool.name
            pool.make(tool, str(path), history[pool.kind])
            packed(folder / f"{pool.name}.xz", path.read_bytes())
            pools[pool.name] = {"engine": pool.engine, "records": f"{pool.kind}.jsonl.xz",
                                "state": pool.state}
    (folder / "manifest.json").write_text(json.dumps(pools, indent=1) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{folder}: {len(pools)} pools, {size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
