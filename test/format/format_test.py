"""The reader that was written from docs/reference/format.md alone agrees with the tool, record by record."""
import base64
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import xxhash  # noqa: F401  (the reader needs it: Debian's python3-xxhash)
except ImportError:
    print("skipped: this Python has no xxhash module (Debian: python3-xxhash)")
    sys.exit(77)

import read_pool

TOOL = os.environ["DURAHASH"]


class PoolCase(unittest.TestCase):
    """A pool that the tool makes and a test reads."""
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

    def content(self):
        with open(self.pool, "rb") as file:
            return file.read()

    def read(self):
        return list(read_pool.records(self.content()))

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


class Format(PoolCase):
    def test_words(self):
        self.agree("u64", "u64", {0: 2**64 - 1, 2**64 - 1: 0, **{self.word(): self.word() for _ in range(5000)}})

    def test_bytes(self):
        self.agree("bytes", "bytes", {b"": b"", b"\0\xff": b"x" * 100_000, **{self.bytes(40): self.bytes(300) for _ in range(2000)}})

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


class Log(PoolCase):
    """A pool on a disk whose process was killed: its file alone is not whole."""

    def setUp(self):
        super().setUp()
        self.folder.cleanup()
        self.folder = tempfile.TemporaryDirectory(prefix="durahash-format-", dir=os.environ.get("DURAHASH_DISK_DIR") or "/var/tmp")
        self.addCleanup(self.folder.cleanup)
        self.pool = os.path.join(self.folder.name, "pool.dh")

    def load_and_kill(self, records):
        """A loader that is killed as it waits for more."""
        lines = "".join(json.dumps(self.line(k, v)) + "\n" for k, v in records.items())
        loader = subprocess.Popen([TOOL, "load", self.pool, "-", "--format", "jsonl"], stdin=subprocess.PIPE, text=True)
        loader.stdin.write(lines)
        loader.stdin.flush()
        size, quiet = -1, 0
        while quiet < 5:  # it has nothing to do any more
            time.sleep(0.1)
            now = os.stat(self.pool + "-log").st_mtime_ns if os.path.exists(self.pool + "-log") else 0
            quiet, size = (quiet + 1 if now == size and now else 0), now
        loader.send_signal(signal.SIGKILL)
        loader.wait()
        loader.stdin.close()

    def replay_agrees(self, key, value, engine, records):
        self.tool("create", self.pool, "--key", key, "--value", value, "--engine", engine, "--durability", "power")
        image = read_pool.read_files(self.pool)
        self.assertEqual(list(read_pool.records(image)), [], "it was closed")
        for part in records:  # the second one is killed behind a replay
            self.load_and_kill(part)
            image = read_pool.read_files(self.pool)
            self.assertNotEqual(image, self.content(), "nothing stood in the log")
            found = dict(read_pool.records(image))
            self.assertGreater(len(found), 0)
            self.assertEqual(found, dict(self.dumped()))

    def test_words(self):
        for engine in ("turbo", "cceh"):
            with self.subTest(engine=engine):
                self.setUp()
                self.replay_agrees("u64", "u64", engine, [{self.word(): self.word() for _ in range(n)} for n in (1000, 3000)])

    def test_bytes(self):
        self.replay_agrees("bytes", "bytes", "level", [{self.bytes(40): self.bytes(300) for _ in range(n)} for n in (500, 1000)])

    def test_a_foreign_log_is_noticed(self):
        self.replay_agrees("u64", "u64", "turbo", [{self.word(): self.word() for _ in range(3000)}])
        with open(self.pool + "-log", "r+b") as file:
            file.seek(16)
            file.write(b"another pool's..")
        with self.assertRaises(read_pool.Damaged):
            read_pool.read_files(self.pool)


class Owner(PoolCase):
    """A record of the owner written by the page alone is what the tool takes it for."""
    OFFSET = 8960

    def setUp(self):
        super().setUp()
        self.fill("u64", "u64", [(1, 2)])

    def set_owner(self, pid, other_run=False):
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = bytearray.fromhex(file.read().strip().replace("-", ""))
        boot[0] ^= other_run
        with open(f"/proc/{pid}/stat") as file:
            start = int(file.read().rpartition(")")[2].split()[22 - 3])
        record = struct.pack("<16sQQI20x", bytes(boot), pid, start, 1)
        record += struct.pack("<Q", xxhash.xxh3_64_intdigest(record))
        with open(self.pool, "r+b") as file:
            file.seek(self.OFFSET)
            file.write(record)
        self.assertEqual(read_pool.owner(self.content()), (bytes(boot), pid, start))

    def cleared(self):
        return self.content()[self.OFFSET:self.OFFSET + 64] == bytes(64)

    def test_nobody_owns_a_pool_of_the_processor(self):
        self.assertIsNone(read_pool.owner(self.content()))
        self.assertTrue(self.cleared())

    def test_a_process_that_lives_keeps_others_out(self):
        self.set_owner(os.getpid())
        before = self.content()
        refused = subprocess.run([TOOL, "put", self.pool, "3", "4"], capture_output=True, text=True)
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"process {os.getpid()} ", refused.stderr)
        self.assertEqual(self.content(), before)

    def test_one_that_is_gone_does_not(self):
        child = subprocess.Popen(["sleep", "1000"])
        self.set_owner(child.pid)
        child.kill()  # and is not waited for: a zombie has no files
        self.tool("put", self.pool, "3", "4")
        self.assertTrue(self.cleared())
        child.wait()
        self.assertEqual(sorted(self.read()), [(1, 2), (3, 4)])

    def test_nor_does_one_of_another_run_of_the_machine(self):
        self.set_owner(os.getpid(), other_run=True)
        self.tool("get", self.pool, "1")
        self.assertFalse(self.cleared())  # a reader changes nothing
        self.tool("put", self.pool, "3", "4")
        self.assertTrue(self.cleared())


class FormatOfTurboInShardsThatWereSplit(Format):
    engine = ("turbo", "--set", "shards=2", "--set", "shard_buckets=4")


class FormatOfCceh(Format):
    engine = ("cceh",)


class FormatOfCcehSplitInPlace(Format):
    engine = ("cceh", "--set", "copy_on_write=0", "--set", "segment=4")


class FormatOfLevel(Format):
    engine = ("level",)
    slots, bucket_bytes, header_bytes = 7, 128, 16
    ROOT, DESKS = 16384, 16384 + 256
    DESK = DESKS + 3 * 64  # any will do

    def levels(self):
        """The levels by the root's words, and which is marked."""
        with open(self.pool, "rb") as file:
            return read_pool.level_words(os.pread(file.fileno(), 256, self.ROOT), 0)

    def kill_while(self, resizing, *command):
        """Kills the command at a moment when `resizing(levels, marked)`. Returns whether it was still so then."""
        with subprocess.Popen([TOOL, *command], stderr=subprocess.DEVNULL) as running:
            while running.poll() is None:
                if resizing(*self.levels()):
                    running.kill()
                    break
        return running.returncode == -signal.SIGKILL and resizing(*self.levels())

    def agree_after_the_kill(self, sent):
        found = self.read()
        self.assertEqual(len(found), len(dict(found)))
        self.assertLessEqual(dict(found).items(), sent.items())
        self.assertEqual(sorted(found), sorted(self.dumped()))
        self.tool("put", self.pool, "1", "1")  # the first writer recovers
        self.assertEqual(dict(self.read()), {**dict(found), 1: 1})
        self.assertEqual(sorted(self.read()), sorted(self.dumped()))
        self.tool("check", self.pool)

    def test_killed_while_it_grows(self):
        records = {self.word(): self.word() for _ in range(100_000)}
        source = os.path.join(self.folder.name, "input")
        with open(source, "w") as file:
            file.writelines(json.dumps(self.line(k, v)) + "\n" for k, v in records.items())
        killed = 0
        for attempt in range(30):
            self.fill("u64", "u64", list(records.items())[:1000 * attempt])
            if self.kill_while(lambda levels, marked: len(levels) > 2 and max(levels) > 8, "load", self.pool, source, "--format", "jsonl"):
                self.agree_after_the_kill(records)
                killed += 1
                if killed == 3:
                    return
            os.unlink(self.pool)
        self.assertGreater(killed, 0, "no kill came while there were three levels")

    def test_killed_while_it_shrinks(self):
        records = {self.word(): self.word() for _ in range(5000)}
        self.fill("u64", "u64", records.items())
        kept = dict(list(records.items())[:200])
        erase = lambda keys: "".join(json.dumps({"key": key, "erase": True}) + "\n" for key in keys)
        self.tool("load", self.pool, "-", "--format", "jsonl", text=erase(records.keys() - kept.keys()))
        with subprocess.Popen([TOOL, "load", self.pool, "-", "--format", "jsonl", "--acks", "--batch", "16"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as load:
            for _ in range(5000):  # writes, until one looks whether the table is too large; each empties one bucket of hundreds
                keys = [self.word() for _ in range(16)]
                print("".join(json.dumps(self.line(key, 0)) + "\n" for key in keys) + erase(keys), file=load.stdin, end="", flush=True)
                for _ in range(32):
                    load.stdout.readline()
                if self.levels()[1] is not None:
                    break
            load.kill()
        self.assertEqual(self.levels()[1], max(self.levels()[0]), "the largest level is not being drained")
        self.agree_after_the_kill(kept)
        self.assertEqual(dict(self.read()), {**kept, 1: 1})

    def change(self, *stores):
        with open(self.pool, "r+b") as file:
            for at, content in stores:
                file.seek(at)
                file.write(content)

    def slot_at(self, bucket, slot):
        return bucket + self.header_bytes + 16 * slot

    def slots_in_use(self, pool):
        """Their buckets' offsets, log2 and numbers, and the slots."""
        for log2, offset in self.levels()[0].items():
            for number in range(1 << log2):
                bucket = offset + self.bucket_bytes * number
                for slot in range(self.slots):
                    if pool[bucket + slot // 8] >> slot % 8 & 1:
                        yield bucket, log2, number, slot

    def moving(self):
        """A record that has another bucket in its level with room: its bucket, and the stores with which a movement puts it into the other, too."""
        pool = self.content()
        word = lambda at: struct.unpack_from("<Q", pool, at)[0]
        _, _, _, flip, multiply, spread, _, _ = read_pool.superblock(pool)
        for bucket, log2, number, slot in self.slots_in_use(pool):
            hashed = read_pool.hash_of_word(word(self.slot_at(bucket, slot)), flip, multiply, spread)
            both, tag, its_class = read_pool.LevelPlaces(pool, flip, multiply).of(hashed)
            (other,) = [p for p in both if p >> 64 - log2 != number]
            there = bucket + self.bucket_bytes * ((other >> 64 - log2) - number)
            above = self.levels()[0].get(log2 + 1)
            for free in range(self.slots):
                if word(there) >> free & 1:
                    continue
                stores = [(self.slot_at(there, free), pool[self.slot_at(bucket, slot):][:16]), (there + 8 + free, bytes([tag])),
                          (there, struct.pack("<Q", word(there) | 1 << free))]
                if above:
                    above += self.bucket_bytes * (other >> 63 - log2)
                    stores.append((above, struct.pack("<Q", word(above) | 1 << 14 + its_class)))
                return bucket, stores
        self.fail("every bucket is full")

    def test_a_record_that_a_movement_left_twice_counts_once(self):
        records = {self.word(): self.word() for _ in range(200)}
        self.fill("u64", "u64", records.items())
        bucket, stores = self.moving()
        self.change((self.DESKS, bytes(16 * 64)), *stores)
        with self.assertRaises(read_pool.Damaged):  # no intent says so
            self.read()
        self.change((self.DESK, struct.pack("<Q", bucket)))
        found = self.read()
        self.assertEqual(len(found), 200)
        self.assertEqual(dict(found), records)
        self.assertEqual(sorted(found), sorted(self.dumped()))
        self.tool("put", self.pool, "1", "1")
        self.change((self.DESK, bytes(8)))  # it is there once now
        self.assertEqual(dict(self.read()), {**records, 1: 1})
        self.tool("check", self.pool)

    def test_a_logged_update_is_finished_by_the_next_writer(self):
        records = {self.word(): self.word() for _ in range(200)}
        self.fill("u64", "u64", records.items())
        pool = self.content()
        bucket, _, _, slot = next(self.slots_in_use(pool))
        at = self.slot_at(bucket, slot)
        (key,) = struct.unpack_from("<Q", pool, at)
        log = [at, key, self.word()]
        mix = 0
        for word, factor in zip(log, (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)):
            mix = (mix ^ word) * factor & read_pool.ALL_ONES
        self.change((self.DESK + 8, struct.pack("<4Q", *log, mix | 1)))
        self.assertEqual(dict(self.read()), records)
        self.assertEqual(dict(self.dumped()), records)
        self.tool("put", self.pool, "1", "1")
        self.assertEqual(dict(self.read()), {**records, key: log[2], 1: 1})
        self.assertEqual(dict(self.read()), dict(self.dumped()))


class FormatOfLevelInTwoSlots(FormatOfLevel):
    engine = ("level", "--set", "slots=2")
    slots, bucket_bytes = 2, 64


class FormatOfLevelInFourSlots(FormatOfLevel):
    engine = ("level", "--set", "slots=4")
    slots = 4


class FormatOfLevelInFourteenSlots(FormatOfLevel):
    engine = ("level", "--set", "slots=14")
    slots, bucket_bytes, header_bytes = 14, 256, 32


class FormatOfGphash(Format):
    engine = ("gphash",)

    def test_keys_without_a_fingerprint(self):
        self.fill("u64", "u64", [(1, 1)])
        pool = self.content()
        mixture = read_pool.GphashMixture(*struct.unpack_from("<QQ", pool, 48))
        records = {mixture.key_of(mixed): self.word() for mixed in range(10)}
        for key, value in records.items():
            self.tool("put", self.pool, str(key), str(value))
        self.assertEqual(dict(self.read()), {**records, 1: records.get(1, 1)})
        self.assertEqual(sorted(self.read()), sorted(self.dumped()))
        self.tool("check", self.pool)


class FormatOfGphashInOneLevel(FormatOfGphash):
    engine = ("gphash", "--set", "levels=1", "--set", "slots=16")


class FormatOfGphashWithFourPlaces(FormatOfGphash):
    engine = ("gphash", "--set", "levels=4", "--set", "hashes=4", "--set", "slots=2")


class FormatOfGphashWithKeysInTheBuckets(PoolCase):
    key_bytes = 32

    @property
    def engine(self):
        return "gphash", "--set", f"key_bytes={self.key_bytes}"

    def keys(self, count):
        return [bytes(self.key_bytes), *(self.random.randbytes(self.key_bytes) for _ in range(count))]

    def test_bytes(self):
        self.agree("bytes", "bytes", {key: self.bytes(4097) for key in self.keys(3000)})

    def test_bytes_to_words(self):
        self.agree("bytes", "u64", {key: self.word() for key in self.keys(3000)})

    def test_after_erases_and_compaction(self):
        records = {key: b"value of " + key for key in self.keys(5000)}
        self.fill("bytes", "bytes", records.items())
        gone = list(records)[:4000]
        lines = "".join(json.dumps({"key_base64": base64.b64encode(key).decode(), "erase": True}) + "\n" for key in gone)
        self.tool("load", self.pool, "-", "--format", "jsonl", text=lines)
        for key in gone:
            del records[key]
        self.tool("compact", self.pool)
        self.assertEqual(dict(self.read()), records)
        self.tool("check", self.pool)

    def test_a_flipped_bit_of_a_key_or_a_value_is_noticed_and_salvaged(self):
        records = {key: self.random.randbytes(50) for key in self.keys(20)}  # so few that no level is left behind, with copies of them
        for which in range(2):
            self.fill("bytes", "bytes", records.items())
            victim = list(records.items())[10 + which]
            with open(self.pool, "r+b") as file:
                file.seek(file.read().index(victim[which]) + 7)
                file.write(bytes([victim[which][7] ^ 16]))
            with self.assertRaises(read_pool.Damaged):
                self.read()
            self.assertNotEqual(subprocess.run([TOOL, "check", self.pool], capture_output=True, check=False).returncode, 0)
            subprocess.run([TOOL, "check", "--salvage", self.pool], capture_output=True, check=False)
            self.assertEqual(dict(self.read()), {key: value for key, value in records.items() if key != victim[0]})
            os.unlink(self.pool)

    def test_a_whole_record_of_another_key_is_noticed(self):
        """As a torn file has it: the bucket is old, and the heap's cell another key's by now."""
        keys = self.keys(2)
        self.fill("bytes", "bytes", [(key, b"value") for key in keys])
        with open(self.pool, "r+b") as file:
            pool = file.read()
            places = [pool.index(key) for key in keys[1:]]
            slots = [self.value_word_of(pool, at) for at in places]
            (value,) = struct.unpack_from("<Q", pool, slots[1])
            file.seek(slots[0])
            file.write(struct.pack("<Q", value))
        with self.assertRaises(read_pool.Damaged):
            self.read()
        found = subprocess.run([TOOL, "check", self.pool], capture_output=True, text=True, check=False)
        self.assertIn("is damaged (checksum)", found.stdout + found.stderr)

    def value_word_of(self, pool, key_at):
        """Of the slot whose key lies there: buckets of 8 slots."""
        for slot in range(8):
            at = key_at - 128 - self.key_bytes * slot
            state = struct.unpack_from("<Q", pool, at + 8 * slot)[0]
            if state == read_pool.xxhash.xxh3_64_intdigest(pool[key_at:key_at + self.key_bytes], seed=struct.unpack_from("<Q", pool, 48)[0]):
                return at + 64 + 8 * slot
        self.fail("the key lies in no slot")


class FormatOfGphashWithShortKeysInTheBuckets(FormatOfGphashWithKeysInTheBuckets):
    key_bytes = 8


class FormatOfGphashWithLongKeysInTheBuckets(FormatOfGphashWithKeysInTheBuckets):
    key_bytes = 128


if __name__ == "__main__":
    unittest.main()
