"""The reader that was written from docs/format.md alone agrees with the tool, record by record."""
import base64
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import xxhash  # noqa: F401  (the reader needs it: Debian's python3-xxhash)
except ImportError:
    print("skipped: this Python has no xxhash module (Debian: python3-xxhash)")
    sys.exit(77)

import read_pool

TOOL = os.environ["DURAHASH"]


class Format(unittest.TestCase):
    engine = ("turbo",)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="durahash-format-")
        self.addCleanup(self.folder.cleanup)
        self.pool = os.path.join(self.folder.name, "pool.dh")
        self.random = random.Random(1)

    def tool(self, *arguments, text=""):
        return subprocess.run([TOOL, *arguments], input=text, capture_output=True, text=True, check=True).stdout

    def fill(self, key, value, records):
        self.tool("create", self.pool, "--key", key, "--value", value, "--engine", *self.engine)
        lines = "".join(json.dumps(self.line(k, v)) + "\n" for k, v in records)
        self.tool("load", self.pool, "-", "--format", "jsonl", text=lines)

    @staticmethod
    def line(key, value):
        shown = lambda name, x: {f"{name}_base64": base64.b64encode(x).decode()} if isinstance(x, bytes) else {name: x}
        return {**shown("key", key), **shown("value", value)}

    def dumped(self):
        for line in self.tool("dump", self.pool, "--format", "jsonl").splitlines():
            record = json.loads(line)
            yield tuple(self.field(record, name) for name in ("key", "value"))

    @staticmethod
    def field(record, name):
        if f"{name}_base64" in record:
            return base64.b64decode(record[f"{name}_base64"])
        return record[name].encode() if isinstance(record[name], str) else record[name]

    def read(self):
        with open(self.pool, "rb") as file:
            return list(read_pool.records(file.read()))

    def word(self):
        return self.random.getrandbits(64)

    def bytes(self, most):
        return self.random.randbytes(self.random.randrange(most))

    def agree(self, key, value, records):
        self.fill(key, value, records.items())
        found = self.read()
        self.assertEqual(len(found), len(records))
        self.assertEqual(dict(found), records)
        self.assertEqual(dict(found), dict(self.dumped()))

    def test_words(self):
        self.agree("u64", "u64", {0: 2**64 - 1, 2**64 - 1: 0, **{self.word(): self.word() for _ in range(20000)}})

    def test_bytes(self):
        self.agree("bytes", "bytes", {b"": b"", b"\0\xff": b"x" * 100_000, **{self.bytes(40): self.bytes(300) for _ in range(5000)}})

    def test_words_to_bytes(self):
        self.agree("u64", "bytes", {self.word(): self.bytes(50) for _ in range(3000)})

    def test_bytes_to_words(self):
        self.agree("bytes", "u64", {self.bytes(50): self.word() for _ in range(3000)})

    def test_after_erases_and_compaction(self):
        records = {self.word(): self.word() for _ in range(5000)}
        self.fill("u64", "u64", records.items())
        for key in list(records)[:50]:
            self.tool("erase", self.pool, str(key))
            del records[key]
        self.tool("compact", self.pool)
        self.assertEqual(dict(self.read()), records)

    def test_a_flipped_bit_is_noticed(self):
        self.fill("bytes", "bytes", [(b"key", b"value")])
        with open(self.pool, "r+b") as file:
            at = file.read().index(b"keyvalue") + 4
            file.seek(at)
            file.write(b"X")
        with self.assertRaises(read_pool.Damaged):
            self.read()

    def test_the_root_in_force_is_the_one_the_selector_names(self):
        self.fill("u64", "u64", [(1, 2)])
        with open(self.pool, "r+b") as file:
            file.seek(8192)
            (selector,) = struct.unpack("<Q", file.read(8))
            file.seek(8448 + 256 * ((selector + 1) % 2))
            file.write(b"\xff" * 80)  # the other one does not matter
        self.assertEqual(self.read(), [(1, 2)])


class FormatOfCceh(Format):
    engine = ("cceh",)


class FormatOfCcehSplitInPlace(Format):
    engine = ("cceh", "--set", "copy_on_write=0", "--set", "segment=4")


if __name__ == "__main__":
    unittest.main()
