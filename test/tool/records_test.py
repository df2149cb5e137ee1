"""create, put, get, erase, info, check, compact: the happy paths and what they print."""

import json
import os
import pathlib
import unittest

from harness import KEY_BYTES_MAX, WORD_MAX, ToolTest, hostile_strings


class Records(ToolTest):
    def test_a_record_goes_in_comes_out_and_leaves(self):
        pool = self.create()
        self.assertEqual(self.succeeds("put", pool, "alice", "42").out, b"")
        self.assertEqual(self.succeeds("get", pool, "alice").out, b"42\n")
        self.succeeds("put", pool, "alice", "a longer value than before")
        self.assertEqual(self.succeeds("get", pool, "alice").out, b"a longer value than before\n")
        self.succeeds("erase", pool, "alice")
        self.fails(1, "'alice'.*not in the table", "get", pool, "alice")
        self.fails(1, "'alice'.*not in the table", "erase", pool, "alice")

    def test_every_argument_that_can_be_passed_is_a_key(self):
        pool = self.create()
        keys = [k for k in hostile_strings(1, 60) if b"\0" not in k and len(k) < 200]
        for key in keys:
            self.succeeds("put", pool, "--", key, b"v" + key)
        for key in keys:
            self.assertEqual(self.succeeds("get", pool, "--", key).out, b"v" + key + b"\n")
        self.assertEqual(self.info(pool)["records"], len(keys))

    def test_words_that_mean_something_to_the_parser_are_keys_too(self):
        pool = self.create()
        for word in ["put", "get", "[a,b]", "{}", "%%", "a=b", "-", "help", "/x", "--"]:
            self.succeeds("put", pool, "--", word, "v")
            self.assertEqual(self.succeeds("get", pool, "--", word).out, b"v\n")

    def test_u64_pools_take_decimal_and_hexadecimal(self):
        pool = self.create("ids.dh", "--key", "u64", "--value", "u64")
        for key, value in [("0", "0"), (str(WORD_MAX), str(WORD_MAX)), ("0xff", "0x10"), ("7", "007")]:
            self.succeeds("put", pool, key, value)
        self.assertEqual(self.succeeds("get", pool, "255").out, b"16\n")
        self.assertEqual(self.succeeds("get", pool, "0x7").out, b"7\n")
        self.assertEqual(self.succeeds("get", pool, "0xffffffffffffffff").out, b"%d\n" % WORD_MAX)
        self.succeeds("erase", pool, "0")
        self.assertEqual(self.info(pool)["records"], 3)

    def test_keys_and_values_may_be_of_different_kinds(self):
        pool = self.create("counts.dh", "--key", "bytes", "--value", "u64")
        self.succeeds("put", pool, "apples", "3")
        self.assertEqual(self.succeeds("get", pool, "apples").out, b"3\n")
        self.fails(2, "value 'three' is not a 64-bit number", "put", pool, "apples", "three")
        pool = self.create("names.dh", "--key", "u64", "--value", "bytes")
        self.succeeds("put", pool, "3", "apples")
        self.assertEqual(self.succeeds("get", pool, "3").out, b"apples\n")

    def test_put_reads_a_value_from_standard_input_and_get_raw_gives_it_back(self):
        pool = self.create()
        value = bytes(range(256)) * 5000
        self.succeeds("put", pool, "blob", "-", stdin=value)
        self.assertEqual(self.succeeds("get", "--raw", pool, "blob").out, value)
        self.succeeds("put", pool, "nothing", "-", stdin=b"")
        self.assertEqual(self.succeeds("get", "--raw", pool, "nothing").out, b"")

    def test_a_number_from_standard_input_may_end_its_line(self):
        pool = self.create("ids.dh", "--key", "u64", "--value", "u64")
        self.succeeds("put", pool, "1", "-", stdin=b"0x2a\n")
        self.assertEqual(self.succeeds("get", pool, "1", "--raw").out, b"42")

    def test_conditions_on_put(self):
        pool = self.create()
        self.fails(1, "not in the table", "put", "--if-present", pool, "k", "1")
        self.succeeds("put", "--if-absent", pool, "k", "1")
        self.fails(1, "already", "put", "--if-absent", pool, "k", "2")
        self.assertEqual(self.succeeds("get", pool, "k").out, b"1\n")
        self.succeeds("put", "--if-present", pool, "k", "3")
        self.assertEqual(self.succeeds("get", pool, "k").out, b"3\n")

    def test_the_longest_key_is_taken_and_one_byte_more_is_not(self):
        pool = self.create()
        longest = b"k" * KEY_BYTES_MAX
        self.succeeds("put", pool, longest, "v")
        self.assertEqual(self.succeeds("get", pool, longest).out, b"v\n")
        for command in (["put", pool, longest + b"k", "v"], ["get", pool, longest + b"k"], ["erase", pool, longest + b"k"]):
            self.fails(2, "65,537 bytes long; the longest key is 65,536", *command)
        self.assertEqual(self.info(pool)["records"], 1)


class Pools(ToolTest):
    def test_create_says_what_it_made_and_makes_it_private(self):
        answer = self.succeeds("create", self.path("a.dh"), "--key", "u64", "--capacity", "10k")
        self.assertRegex(answer.err.decode(), "created .*a.dh: engine turbo, u64 keys, u64 values, durability process")
        self.assertEqual(os.stat(self.path("a.dh")).st_mode & 0o777, 0o600)

    def test_capacity_is_room_for_so_many(self):
        few, many = self.create("few.dh", "--key", "u64"), self.create("many.dh", "--key", "u64", "--capacity", "100k")
        records = {i * 2**40: i for i in range(2000)}
        self.load(few, records)
        self.load(many, records)
        self.assertGreaterEqual(self.info(many)["slots"], 100_000)
        self.assertLess(self.info(few)["slots"], 100_000)

    def test_create_never_overwrites(self):
        pool = self.create()
        self.succeeds("put", pool, "k", "v")
        self.fails(3, "exist", "create", pool)
        letter = pathlib.Path(self.path("letter.txt"))
        letter.write_text("dear")
        self.fails(3, "exist", "create", self.path("letter.txt"))
        self.assertEqual(letter.read_text(), "dear")
        self.assertEqual(self.succeeds("get", pool, "k").out, b"v\n")

    def test_info_json_has_every_field_of_the_contract(self):
        pool = self.create("p.dh", "--key", "bytes", "--value", "u64")
        self.succeeds("put", pool, "k", "1")
        facts = self.info(pool)
        types = {"engine": str, "key": str, "value": str, "durability": str, "records": int, "slots": int, "load_factor": float,
                 "file_bytes": int, "live_bytes": int, "free_bytes": int, "format_version": int, "clean": bool}
        for field, kind in types.items():
            self.assertIsInstance(facts[field], kind, field)
        self.assertEqual([facts[f] for f in ("engine", "key", "value", "durability", "records", "clean")],
                         ["turbo", "bytes", "u64", "process", 1, True])
        self.assertAlmostEqual(facts["load_factor"], facts["records"] / facts["slots"])
        self.assertEqual(facts["file_bytes"], os.stat(pool).st_size)
        self.assertLessEqual(facts["live_bytes"] + facts["free_bytes"], facts["file_bytes"])

    def test_info_for_people(self):
        pool = self.create()
        text = self.succeeds("info", pool).out.decode()
        for line in ["engine +turbo", "records +0", "last closed +cleanly"]:
            self.assertRegex(text, line)

    def test_info_stats_adds_the_engine_s_figures(self):
        pool = self.create()
        self.assertNotIn("stats", self.info(pool))
        figures = json.loads(self.succeeds("info", pool, "--stats", "--json").out)["stats"]
        self.assertTrue(figures and all(isinstance(f, (int, float)) for f in figures.values()), figures)

    def test_check(self):
        pool = self.create()
        self.load(pool, {b"k%d" % i: b"v" for i in range(1000)})
        self.assertRegex(self.succeeds("check", pool).out.decode(), "pool.dh: ok, 1,000 records, checked in ")
        self.assertEqual(json.loads(self.succeeds("check", pool, "--json").out), {"ok": True, "records": 1000, "violations": []})
        salvaged = json.loads(self.succeeds("check", pool, "--json", "--salvage").out)
        self.assertEqual((salvaged["ok"], salvaged["records"]), (True, 1000))
        self.assertIsInstance(salvaged["salvage"], list)

    def test_compact_gives_room_back_and_keeps_every_record(self):
        pool = self.create()
        self.load(pool, {b"k%d" % i: b"v" * 500 for i in range(20_000)})
        self.succeeds("load", pool, "-", "--erase", stdin=b"".join(b"k%d\n" % i for i in range(19_000)))
        before = os.stat(pool).st_size
        answer = self.succeeds("compact", pool)
        self.assertRegex(answer.out.decode(), r"MiB -> .*\(\d+ -> \d+ bytes\), 1,000 records")
        self.assertLess(os.stat(pool).st_size, before / 4)
        self.assertEqual(self.dump(pool), {b"k%d" % i: b"v" * 500 for i in range(19_000, 20_000)})
        self.succeeds("check", pool)


if __name__ == "__main__":
    unittest.main()
