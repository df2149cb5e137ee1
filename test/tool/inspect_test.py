"""durahash inspect: what it says lies at an offset lies there, and it changes nothing."""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import unittest

from harness import TOOL, WORD_MAX, ToolTest, encode, run

SUPERBLOCKS, SELECTOR, ROOTS = (0, 4096), 8192, (8448, 8704)
ENGINE_ROOT = 16384


class Inspection(ToolTest):
    def inspect(self, pool, *arguments, code=0):
        answer = run("inspect", pool, "--json", *arguments)
        self.assertEqual(answer.code, code, answer)
        return json.loads(answer.out)

    def content(self, pool):
        with open(pool, "rb") as file:
            return file.read()

    def damage(self, pool, at, flip=0x10):
        with open(pool, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ flip]))

    @staticmethod
    def of_kind(parts, kind):
        return [part for part in parts if part["kind"] == kind]

    @staticmethod
    def root_in_force(shown):
        (root,) = [part for part in shown["parts"] if part["name"] == "root record in force"]
        return root["facts"]

    @staticmethod
    def slot_of_key(search):
        (slot,) = [part for part in search["parts"] if part["facts"].get("holds_key")]
        return slot


class EveryEngine:
    """What holds for each engine and kind of records; the classes below name them."""
    flags = ()
    words = True

    def setUp(self):
        super().setUp()
        kind = "u64" if self.words else "bytes"
        self.pool = self.create("pool.dh", "--key", kind, "--capacity", "100", *self.flags)
        chance = random.Random(5)
        if self.words:
            self.records = {0: WORD_MAX, WORD_MAX: 0}
            for _ in range(300):
                self.records[chance.getrandbits(64)] = chance.getrandbits(64)
        else:
            self.records = {self.key(n): b"value %d " % n * (n % 40) for n in range(300)}
        self.load(self.pool, self.records)
        self.erased = list(self.records)[50:60]
        for key in self.erased:
            self.succeeds("erase", self.pool, "--", key)
            del self.records[key]

    def key(self, n):
        return b"key %d" % n

    def test_counts_every_live_slot_and_all_space(self):
        before = hashlib.sha256(self.content(self.pool)).digest()
        all_of_it = self.inspect(self.pool)
        self.assertIsNone(all_of_it["refusal"])
        live = [g["count"] for g in all_of_it["groups"]
                if g["kind"] in ("slot", "escape slot") and g["state"] == "live"]
        self.assertEqual(sum(live), len(self.records))
        if not self.words:
            (records,) = [g for g in all_of_it["groups"] if g["kind"] == "record"]
            self.assertEqual(records["count"], len(self.records))
        info = self.info(self.pool)
        (heap,) = self.of_kind(all_of_it["parts"], "heap")
        self.assertTrue(heap["facts"]["known"])
        self.assertEqual(heap["offset"] + heap["facts"]["bytes_in_use"], info["live_bytes"])
        free = heap["facts"]["bytes_free"] + heap["facts"]["bytes_in_idle_cells"]
        self.assertEqual(free, info["free_bytes"])
        for block in self.of_kind(all_of_it["parts"], "superblock"):
            self.assertTrue(block["facts"]["checksum_holds"])
            self.assertEqual(block["facts"]["engine"], info["engine"])
            self.assertEqual(block["facts"]["hash_id"], 2)
        root = self.root_in_force(all_of_it)
        self.assertEqual((root["state"], root["records"]), ("clean", len(self.records)))
        self.assertEqual(hashlib.sha256(self.content(self.pool)).digest(), before)

    def test_a_key_leads_to_its_slot_and_the_slot_back(self):
        content = self.content(self.pool)
        chosen = [*list(self.records)[:2], *random.Random(6).sample(list(self.records), 12)]
        for key in chosen:
            search = self.inspect(self.pool, "--key", key)
            self.assertTrue(search["found"])
            slot = self.slot_of_key(search)
            self.assertEqual(slot["facts"]["state"], "live")
            self.look_at_the_record(content, key, slot, search)
            here = self.inspect(self.pool, "--at", slot["offset"])["parts"]
            sizes = [part["bytes"] for part in here]
            self.assertEqual(sizes, sorted(sizes, reverse=True))
            for part in here:
                self.assertIn(slot["offset"], range(part["offset"], part["offset"] + part["bytes"]))
            self.assertEqual({**here[-1]["facts"], "holds_key": True}, slot["facts"])

    def look_at_the_record(self, content, key, slot, search):
        if self.words:
            self.assertEqual(slot["facts"]["value"], self.records[key])
            return
        at = slot["facts"]["record"]
        (record,) = [p for p in self.of_kind(search["parts"], "record") if p["offset"] == at]
        (lengths,) = struct.unpack_from("<I", content, at)
        self.assertEqual(lengths >> 31, 1, "these records have short headers")
        key_bytes, value_bytes = lengths >> 24 & 127, lengths & (1 << 24) - 1
        self.assertEqual(record["bytes"], 8 + key_bytes + value_bytes)
        held = (key if key_bytes else b"") + self.records[key]
        self.assertEqual(content[at + 8:at + record["bytes"]], held)
        named = self.inspect(self.pool, "--at", at + record["bytes"] - 1)
        self.assertIn(("record", at), [(part["kind"], part["offset"]) for part in named["parts"]])
        (by,) = named["named_by"]
        self.assertLessEqual(by["offset"], record["named_by"])
        self.assertLess(record["named_by"], by["offset"] + by["bytes"])
        self.assertEqual(struct.unpack_from("<Q", content, record["named_by"]), (at,))

    def test_an_absent_key_has_a_way_and_no_slot(self):
        for key in [*self.erased[:3], 12345 if self.words else self.key(9999)]:
            search = self.inspect(self.pool, "--key", key, code=1)
            self.assertFalse(search["found"])
            self.assertEqual(search["parts"][0]["kind"], "search")
            self.assertFalse([part for part in search["parts"] if "holds_key" in part["facts"]])

    def test_every_offset_is_something_or_free(self):
        end = self.info(self.pool)["file_bytes"]
        (heap,) = self.of_kind(self.inspect(self.pool)["parts"], "heap")
        chance = random.Random(7)
        offsets = [chance.randrange(heap["offset"], end) for _ in range(25)]
        for at in [heap["offset"], end - 1, *offsets]:
            here = self.inspect(self.pool, "--at", hex(at))["parts"]
            self.assertTrue(self.of_kind(here, "slab") or self.of_kind(here, "extent"), here)
        (second,) = self.inspect(self.pool, "--at", SUPERBLOCKS[1])["parts"]
        self.assertEqual(second["kind"], "superblock")
        behind_the_owner = self.inspect(self.pool, "--at", 9100)
        self.assertEqual(behind_the_owner["parts"], [])
        self.fails(2, f"the pool ends at offset {end}", "inspect", self.pool, "--at", end)

    def test_arrays_are_named_by_words_that_name_them(self):
        key = list(self.records)[7]
        slot = self.slot_of_key(self.inspect(self.pool, "--key", key))
        place = self.inspect(self.pool, "--at", slot["offset"])
        named = [part for part in place["parts"] if "named_by" in part]
        self.assertEqual([part["kind"] for part in named], [self.array])
        (by,) = place["named_by"]
        self.assertEqual(by["kind"], self.namer)
        (word,) = struct.unpack_from("<Q", self.content(self.pool), named[0]["named_by"])
        self.assertEqual((word & (1 << 40) - 1) * 256, named[0]["offset"])

    def test_a_killed_pool_and_its_copy_are_shown_as_they_lie(self):
        load = [TOOL, "load", self.pool, "-", "--format", "jsonl", "--acks"]
        with subprocess.Popen(load, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as loader:
            key, value = (77, 78) if self.words else (self.key(400), b"late")
            loader.stdin.write(encode([(key, value)], "jsonl"))
            loader.stdin.flush()
            loader.stdout.readline()
            self.fails(3, "is in use|another process|open", "inspect", self.pool)
            loader.send_signal(signal.SIGKILL)
        copy = self.path("copy.dh")
        shutil.copy(self.pool, copy)
        self.assertEqual(run("info", copy).code, 3)  # a copy of an open pool
        for pool, mine in ((self.pool, True), (copy, False)):
            before = self.content(pool)
            root = self.root_in_force(self.inspect(pool))
            self.assertEqual(root["state"], "changing")
            self.assertEqual(root.get("written_to_this_file", mine), mine)
            self.assertTrue(self.inspect(pool, "--key", key)["found"])
            self.assertEqual(self.content(pool), before)

    def test_damage_anywhere_ends_in_an_answer(self):
        chance = random.Random(8)
        content = self.content(self.pool)
        used = [at for at in range(0, len(content), 64) if any(content[at:at + 64])]
        key = list(self.records)[3]
        for _ in range(12):
            damaged = bytearray(content)
            for _ in range(chance.choice([1, 10, 100])):
                damaged[chance.choice(used) + chance.randrange(64)] ^= 1 << chance.randrange(8)
            with open(self.pool, "wb") as file:
                file.write(damaged)
            at = chance.randrange(len(content))
            for arguments in ((), ("--at", at), ("--key", key)):
                answer = run("inspect", self.pool, "--json", *arguments)
                self.assertIn(answer.code, (0, 1, 3), answer)
                self.assertEqual(answer.err == b"", answer.code != 3, answer)
            self.assertEqual(self.content(self.pool), damaged)

    def test_text_is_for_people(self):
        text = self.succeeds("inspect", self.pool).out.decode()
        self.assertRegex(text, r"superblock: at 0, 184 bytes\n  checksum holds +yes\n")
        live = [int(count) for count in re.findall(r"(?m)^(?:escape )?slot, live +(\d+) ", text)]
        self.assertEqual(sum(live), len(self.records))
        key = list(self.records)[9]
        text = self.succeeds("inspect", self.pool, "--key", key).out.decode()
        self.assertRegex(text, r"  slot \d+ of bucket \d+ of .*: at \d+, \d+ bytes: live, ")
        self.assertRegex(text, "holds key yes\n")
        self.assertTrue(text.endswith("the key is there\n"))


class Turbo(EveryEngine, Inspection):
    flags = ("--engine", "turbo")
    array, namer = "array", "directory entry"


class TurboBytes(Turbo):
    words = False

    def test_a_damaged_record_is_told(self):
        key = list(self.records)[9]
        slot = self.slot_of_key(self.inspect(self.pool, "--key", key))
        self.damage(self.pool, slot["facts"]["record"] + 16 + len(key))
        search = self.inspect(self.pool, "--key", key)
        slot = self.slot_of_key(search)
        self.assertEqual(slot["facts"]["damaged"], "the record's checksum is wrong")


class Cceh(EveryEngine, Inspection):
    flags = ("--engine", "cceh", "--set", "segment=4")
    array, namer = "segment", "directory entry"

    def test_the_whole_directory_is_counted(self):
        shown = self.inspect(self.pool)
        (root,) = self.of_kind(shown["parts"], "root")
        entries = [g for g in shown["groups"] if g["kind"] == "directory entry"]
        self.assertEqual(entries[0]["count"], 2 ** root["facts"]["global_depth"])
        global_depth = root["facts"]["global_depth"]
        segments = [(int(g["state"].split()[-1]), g["count"])
                    for g in shown["groups"] if g["kind"] == "segment"]
        self.assertEqual(sum(count << global_depth - depth for depth, count in segments),
                         entries[0]["count"])


class CcehBytes(Cceh):
    words = False


class Level(EveryEngine, Inspection):
    flags = ("--engine", "level")
    array, namer = "level", "level word"


class LevelBytes(Level):
    words = False


class Gphash(EveryEngine, Inspection):
    flags = ("--engine", "gphash")
    array, namer = "level", "level word"


class GphashBytes(Gphash):
    words = False


class GphashKeysInTheBuckets(GphashBytes):
    flags = ("--engine", "gphash", "--set", "key_bytes=16")

    def key(self, n):
        return b"key %012d" % n

    def test_a_key_of_another_length_is_refused(self):
        self.fails(2, "takes no key of 3 bytes", "inspect", self.pool, "--key", "abc")


class Damaged(Inspection):
    """The fixed part is shown whatever becomes of the rest; the exit code says that the table was
    not."""

    def setUp(self):
        super().setUp()
        self.pool = self.create()
        self.load(self.pool, {b"key": b"value"})

    def refused(self, sentence, *arguments):
        answer = run("inspect", self.pool, "--json", *arguments)
        self.assertEqual(answer.code, 3, answer)
        self.assertIn(sentence, answer.err.decode())
        shown = json.loads(answer.out)
        self.assertIn(sentence, shown["refusal"])
        return shown

    def test_one_superblock(self):
        self.damage(self.pool, SUPERBLOCKS[0] + 50)
        blocks = self.of_kind(self.inspect(self.pool)["parts"], "superblock")
        self.assertEqual([block["facts"]["checksum_holds"] for block in blocks], [False, True])

    def test_both_superblocks(self):
        for at in SUPERBLOCKS:
            self.damage(self.pool, at + 50)
        shown = self.refused("its superblock is damaged")
        blocks = self.of_kind(shown["parts"], "superblock")
        self.assertEqual([block["facts"]["checksum_holds"] for block in blocks], [False, False])
        self.assertEqual(blocks[0]["facts"]["engine"], "turbo")
        self.assertEqual(shown["groups"], [])
        self.fails(3, "its superblock is damaged", "inspect", self.pool, "--key", "key")

    def test_the_root_record_in_force(self):
        (selector,) = struct.unpack_from("<Q", self.content(self.pool), SELECTOR)
        at = ROOTS[selector % 2]
        self.damage(self.pool, at + 8)
        shown = self.refused("is damaged (checksum or sequence)")
        roots = {part["offset"]: part for part in self.of_kind(shown["parts"], "root record")}
        self.assertEqual(roots[at]["name"], "root record in force")
        self.assertFalse(roots[at]["facts"]["checksum_holds"])
        here = self.refused("is damaged", "--at", at + 8)
        self.assertEqual([part["offset"] for part in here["parts"]], [at])
        self.assertEqual([part["kind"] for part in here["named_by"]], ["selector"])

    def test_the_table(self):
        for entry in range(ENGINE_ROOT, ENGINE_ROOT + 64):
            self.damage(self.pool, entry)
        self.refused("cannot use")

    def test_a_file_that_was_cut_off(self):
        os.truncate(self.pool, 65536 + 4096)
        self.refused("it was cut off")

    def test_what_is_no_pool(self):
        path = self.path("text")
        with open(path, "w") as file:
            file.write("text " * 10000)
        self.fails(3, "it is not a durahash pool", "inspect", path)
        with open(path, "w"):
            pass
        self.fails(3, "it is empty", "inspect", path)
        self.fails(3, "no such file.*durahash create", "inspect", self.path("absent"))


class Usage(Inspection):
    def test_offsets_and_keys_that_are_none(self):
        pool = self.create("pool.dh", "--key", "u64")
        self.fails(2, "is not an offset", "inspect", pool, "--at", "here")
        self.fails(2, "is not an offset", "inspect", pool, "--at", "")
        self.fails(2, "is not an offset", "inspect", pool, "--at", "-1")
        self.fails(2, "the pool ends at offset", "inspect", pool, "--at", str(WORD_MAX))
        self.fails(2, "is not a 64-bit number", "inspect", pool, "--key", "alice")
        self.fails(2, "excludes", "inspect", pool, "--key", "1", "--at", "1")
        self.fails(2, "the name of the pool is empty", "inspect", "")


if __name__ == "__main__":
    unittest.main()
