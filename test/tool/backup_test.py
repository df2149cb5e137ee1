"""durahash backup: the copy is a pool of its own, and the pool that is copied stays as it is."""
import os
import shutil
import tempfile
import unittest

from harness import ToolTest


def content(pool):
    with open(pool, "rb") as file:
        return file.read()


class Backup(ToolTest):
    def setUp(self):
        super().setUp()
        self.disk = tempfile.mkdtemp(prefix="durahash-backup-", dir=os.environ.get("DURAHASH_DISK_DIR", "/var/tmp"))
        self.addCleanup(shutil.rmtree, self.disk)

    def test_the_copy_has_records_and_level(self):
        records = {f"key{n}".encode(): f"value{n}".encode() for n in range(500)}
        for level in ("process", "power", "power_buffered", "none"):
            with self.subTest(level=level):
                pool, copy = (os.path.join(self.disk, f"{level}{end}") for end in (".dh", "-copy.dh"))
                self.succeeds("create", pool, "--durability", level)
                self.load(pool, list(records.items()))
                before = content(pool)
                said = self.succeeds("backup", pool, copy).out
                self.assertIn(b"500 records", said)
                self.assertEqual(content(pool), before)
                self.assertEqual(self.info(copy)["durability"], level)
                self.succeeds("check", copy)
                self.assertEqual(self.dump(copy), records)
                self.succeeds("put", copy, "another", "one")
                self.assertEqual(self.dump(pool), records)

    def test_tmpfs_survives_no_power_cut(self):
        if not self.folder.startswith("/dev/shm"):
            self.skipTest("there is no tmpfs")
        pool, copy = os.path.join(self.disk, "pool.dh"), self.path("copy.dh")
        self.succeeds("create", pool, "--durability", "power")
        self.succeeds("put", pool, "a", "b")
        self.succeeds("backup", pool, copy)
        self.assertEqual(self.info(copy)["durability"], "process")
        self.assertEqual(self.dump(copy), {b"a": b"b"})

    def test_nothing_is_overwritten(self):
        pool = self.create()
        self.fails(3, "it exists", "backup", pool, pool)
        self.fails(3, "cannot back up to .*no/folder", "backup", pool, self.path("no/folder"))
        self.fails(3, "no such file", "backup", self.path("none.dh"), self.path("copy.dh"))
        self.assertFalse(os.path.exists(self.path("copy.dh")))
        self.fails(2, "the name of the pool is empty", "backup", pool, "")


if __name__ == "__main__":
    unittest.main()
