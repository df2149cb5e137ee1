"""Pools that older commits made (test/format/golden, scripts/golden_pools.py) are read, checked and
written, as they are."""
import base64
import json
import lzma
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import xxhash  # the roots of pools are stamped anew (Debian's python3-xxhash)
except ImportError:
    print("skipped: this Python has no xxhash module (Debian: python3-xxhash)")
    sys.exit(77)

import read_pool

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from engines import ENGINES  # noqa: E402

TOOL = os.environ["DURAHASH"]
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
CLEAN, CHANGING = 1, 2
POWER = 2
SELECTOR, ROOTS, ROOT_BYTES = 8192, 8448, 80
SUPERBLOCKS = (0, 4096)


def unpacked(generation, name):
    with lzma.open(os.path.join(GOLDEN, generation, name)) as file:
        return file.read()


def field(line, name):
    if f"{name}_base64" in line:
        return base64.b64decode(line[f"{name}_base64"])
    return line[name].encode() if isinstance(line[name], str) else line[name]


def records_of(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return {field(line, "key"): field(line, "value") for line in lines}


def shown(name, x):
    return {f"{name}_base64": base64.b64encode(x).decode()} if isinstance(x, bytes) else {name: x}


def root_in_force(pool):
    """Where it is, and its state."""
    (selector,) = struct.unpack_from("<Q", pool, SELECTOR)
    at = ROOTS + 256 * (selector % 2)
    return at, struct.unpack_from("<I", pool, at + 32)[0]


def as_killed_here(pool, mark):
    """The pool as its writer would have left it, killed in this run of the machine, in the file with
    this mark."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = bytes.fromhex(file.read().strip().replace("-", ""))
    at, _ = root_in_force(pool)
    root = bytearray(pool[at:at + ROOT_BYTES])
    root[16:32] = boot
    root[36:40] = mark
    root[72:80] = struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(root[:72])))
    return pool[:at] + bytes(root) + pool[at + ROOT_BYTES:]


class GoldenPool:
    """One pool of one generation. The classes below are made of this, one for each."""
    generation = name = facts = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="durahash-golden-")
        self.addCleanup(folder.cleanup)
        self.pool = os.path.join(folder.name, "pool.dh")
        self.golden = unpacked(self.generation, self.name + ".xz")
        self.records = records_of(unpacked(self.generation, self.facts["records"]))
        self.changing = self.facts["state"] == "changing"
        self.put_file(self.golden)

    def put_file(self, content):
        with open(self.pool, "wb") as file:
            file.write(content)

    def content(self):
        with open(self.pool, "rb") as file:
            return file.read()

    def run_tool(self, *arguments, text=b""):
        return subprocess.run([TOOL, *arguments], input=text, capture_output=True, check=False)

    def tool(self, *arguments, text=b""):
        done = self.run_tool(*arguments, text=text)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def load(self, *changes):
        text = "".join(json.dumps(change) + "\n" for change in changes)
        self.tool("load", self.pool, "-", "--format", "jsonl", text=text.encode())

    def holds(self, records):
        """By an iteration, by the reader that knows docs/reference/format.md alone, and some by a search."""
        self.assertEqual(records_of(self.tool("dump", self.pool, "--format", "jsonl")), records)
        found = list(read_pool.records(self.content()))
        self.assertEqual(len(found), len(records))
        self.assertEqual(dict(found), records)
        self.assertEqual(self.facts_of("check"),
                         {"ok": True, "records": len(records), "violations": []})

    def facts_of(self, command):
        return json.loads(self.tool(command, self.pool, "--json"))

    def searches_find(self, records):
        for key, value in records.items():
            word = key if isinstance(key, bytes) else str(key).encode()
            if b"\0" in word:
                continue  # no argument of a program holds one
            expected = value if isinstance(value, bytes) else str(value).encode()
            self.assertEqual(self.tool("get", "--raw", self.pool, "--", word), expected)

    def usable(self):
        """What this run of the machine takes as it is: a clean pool, or what a killed writer left
        in this run."""
        if self.changing:
            os.unlink(self.pool)
            self.tool("create", self.pool)  # its root knows the file's mark, and the file stays
            made = self.content()
            at, _ = root_in_force(made)
            self.put_file(as_killed_here(self.golden, made[at + 36:at + 40]))
        return self.content()

    def test_state(self):
        self.assertEqual(root_in_force(self.golden)[1], CHANGING if self.changing else CLEAN)

    def test_reading_finds_every_record_and_changes_no_byte(self):
        before = self.usable()
        self.holds(self.records)
        self.searches_find(dict(random.Random(1).sample(list(self.records.items()), 3)))
        self.assertEqual(self.facts_of("info")["clean"], not self.changing)
        self.assertEqual(self.content(), before)

    def test_a_pool_that_was_being_written_is_refused_elsewhere_and_salvage_keeps_all(self):
        if not self.changing:
            return
        for command, *rest in (["get", "1"], ["dump"], ["put", "1", "1"], ["check"]):
            done = self.run_tool(command, self.pool, *rest)
            self.assertEqual(done.returncode, 3, command)
            self.assertIn(b"check --salvage", done.stderr)
        self.assertEqual(self.content(), self.golden)
        said = self.tool("check", "--salvage", self.pool)
        self.assertIn(f"kept {len(self.records)} records, dropped 0".encode(), said)
        self.holds(self.records)

    def test_inspect_shows_every_record_of_the_pool_as_it_lies(self):
        shown = self.facts_of("inspect")
        live = [group["count"] for group in shown["groups"]
                if group["kind"] in ("slot", "escape slot") and group["state"] == "live"]
        self.assertEqual((shown["refusal"], sum(live)), (None, len(self.records)))
        self.assertEqual(self.content(), self.golden)

    def test_a_pool_of_power_durability_differs_in_one_byte_and_needs_persistent_memory(self):
        if self.changing:
            return
        power = bytearray(self.golden)
        for at in SUPERBLOCKS:
            power[at + 43] = POWER
            sum_of_block = xxhash.xxh3_64_intdigest(bytes(power[at:at + 176]))
            power[at + 176:at + 184] = struct.pack("<Q", sum_of_block)
        self.assertEqual(dict(read_pool.records(bytes(power))), self.records)
        self.put_file(power)
        for command, *rest in (["put", "1", "1"], ["check"], ["dump"]):
            done = self.run_tool(command, self.pool, *rest)
            self.assertEqual(done.returncode, 3, done)
            self.assertIn(b"persistent memory", done.stderr)
        self.assertEqual(self.content(), power)

    def test_writing_changes_what_was_asked_and_says_nothing_new_of_the_pool(self):
        self.usable()
        chance = random.Random(2)
        keys = list(self.records)
        erased, updated = keys[::3], keys[1::3]
        new = [self.new_key(n, chance) for n in range(1500)]
        puts = {key: self.new_value(chance) for key in [*updated, *new]}
        self.load(*({**shown("key", k), **shown("value", v)} for k, v in puts.items()),
                  *({**shown("key", k), "erase": True} for k in erased))
        left = {**{k: v for k, v in self.records.items() if k not in set(erased)}, **puts}
        self.assertEqual(root_in_force(self.content())[1], CLEAN)
        self.holds(left)
        self.searches_find(dict(chance.sample(list(left.items()), 3)))
        self.load(*({**shown("key", k), "erase": True} for k in left))
        self.tool("compact", self.pool)
        self.holds({})
        for at in SUPERBLOCKS:  # the version, the feature bits, the settings, the seeds
            self.assertEqual(self.content()[at:at + 184], self.golden[at:at + 184])

    def new_key(self, n, chance):
        key = next(iter(self.records))
        if isinstance(key, int):
            return chance.getrandbits(64)
        keyed = self.facts["records"].startswith("keyed")
        return b"new " + n.to_bytes(4, "big") * 3 if keyed else b"new key %d" % n

    def new_value(self, chance):
        words = isinstance(next(iter(self.records.values())), int)
        return chance.getrandbits(64) if words else chance.randbytes(chance.randrange(200))


class EveryEngineAndKindIsThere(unittest.TestCase):
    def test_it(self):
        names = {name for _, name, _ in all_golden()}
        for engine in ENGINES:
            for kind in ("words", "bytes"):
                for state in ("clean", "changing"):
                    self.assertIn(f"{engine}-{kind}-{state}", names)


def all_golden():
    for generation in sorted(os.listdir(GOLDEN)):
        with open(os.path.join(GOLDEN, generation, "manifest.json")) as file:
            for name, facts in json.load(file).items():
                yield generation, name, facts


def load_tests(loader, tests, _):
    for generation, name, facts in all_golden():
        case = type(f"Golden_{generation}_{name}", (GoldenPool, unittest.TestCase),
                    {"generation": generation, "name": name, "facts": facts})
        tests.addTests(loader.loadTestsFromTestCase(case))
    return tests


if __name__ == "__main__":
    unittest.main()
