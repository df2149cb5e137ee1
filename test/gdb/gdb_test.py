"""scripts/gdb/durahash.py prints what lies in a pool as docs/reference/format.md has it."""
import os
import shutil
import subprocess
import sys
import unittest

if shutil.which("gdb") is None:
    print("skipped: there is no gdb (Debian: gdb)")
    sys.exit(77)

SUBJECT, PRINTERS = os.environ["SUBJECT"], os.environ["PRINTERS"]


def bucket(engine, words):
    return f"*(durahash::{engine}::bucket*)subject::{words}"


WORDS = {
    "((durahash::cceh::slot*)subject::cceh_bucket)->key": "0xfeed",
    "((durahash::turbo::bucket*)subject::turbo_bucket)->meta":
        "valid 0 1 4, deleted 4, change 7",
    "*(durahash::level::bucket_state*)&subject::level_state":
        "tokens 0 2, classes below 0 3, change 9",
    "*(durahash::gphash::geometry*)&subject::geometry": "bottom level 2^4, bank 1",
}
OFFSETS = {
    "subject::bucket_offset": "durahash::turbo::bucket at offset 4096",
    "subject::no_offset": "no durahash::turbo::bucket",
    "subject::place": "offset 65536, exponent 3",
    "subject::torn_place": "offset 65792, exponent 3, check bits WRONG",
    "subject::shard": "2^3 buckets at 65536, generation 5",
    "subject::no_array": "no array, generation 0",
    "subject::mirror": "offset 65536, exponent 3, generation 5",
}
BUCKETS = {
    bucket("turbo", "turbo_bucket"):
        "2 live, 1 deleted, ends paths = {meta = valid 0 1 4, deleted 4, change 7, "
        "slot 0 = key 0, value 2, tag 0x11, "
        "slot 1 = key 0xabcdef, value 0xffffffffffffffff, tag 0x22, "
        "slot 4 = key 0, value 0, tag 0x44, deleted}",
    bucket("cceh", "cceh_bucket"):
        "2 filled, ends paths = {slot 0 = key 0xfeed, value 0x11, slot 1 = removed, "
        "slot 2 = empty, slot 3 = key 3, value 0x14}",
    f"({bucket('turbo', 'full_bucket')}).meta":
        "valid 0 1 2 3 4 5 6 7 8 9 10 11 12, deleted none, change 0",
    "((durahash::gphash::slot*)subject::gphash_slots)[0]": "fingerprint 0x1234, value 5",
    "((durahash::gphash::slot*)subject::gphash_slots)[1]": "claimed",
    "((durahash::gphash::slot*)subject::gphash_slots)[2]": "empty",
    "*(durahash::level::intent*)subject::level_intent":
        "moving from bucket at 81920, logged: slot at 1000, key 2, value 3",
    "*(durahash::level::intent*)subject::unlogged_intent": "moving nothing, nothing logged",
}


class Printers(unittest.TestCase):
    def say(self, expected):
        shown = [word for expression in expected
                 for word in ("-ex", f"output {expression}", "-ex", "echo \\n")]
        done = subprocess.run(["gdb", "-nx", "-batch", "-x", PRINTERS, *shown, SUBJECT],
                              capture_output=True, text=True, timeout=100, check=True)
        self.assertEqual(dict(zip(expected, done.stdout.splitlines())), expected, done.stderr)

    def test_words(self):
        self.say(WORDS)

    def test_offsets(self):
        self.say(OFFSETS)

    def test_buckets_and_slots(self):
        self.say(BUCKETS)


if __name__ == "__main__":
    unittest.main()
