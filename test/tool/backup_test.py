"""durahash backup: the copy is a pool of its own, and the pool that is copied stays as it is."""
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import TOOL, ToolTest, run


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

    def writing(self, pool, records):
        """A process that has written so many and keeps the pool."""
        writer = subprocess.Popen([TOOL, "load", pool, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.stdin.close)
        writer.stdin.write(b"".join(b"%d\t%d\n" % (n, n) for n in range(records)))
        writer.stdin.flush()
        return writer

    def test_beside_a_writer_the_copy_grows_as_any_pool(self):
        """Records come in the order of their hashes. As many as this gphash refused, level at twice as many."""
        pool, copy, records = self.create("large.dh", "--engine", "gphash", "--key", "u64"), self.path("copy.dh"), 1_200_000
        self.writing(pool, records)
        self.succeeds("backup", pool, copy)
        self.assertGreater(self.info(copy)["records"], records - 100_000)
        self.succeeds("check", copy)

    def test_beside_another_users_writer_what_is_not_shown_is_refused(self):
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        os.chmod(self.folder, 0o755)
        try:
            if os.geteuid() != 0 or run("--version", **nobody).code != 0:
                self.skipTest("another user cannot run the tool")
        except PermissionError:
            self.skipTest("another user cannot run the tool")
        for engine in ("level", "gphash"):
            pool = self.create(f"{engine}.dh", "--engine", engine, "--key", "u64")
            os.chmod(pool, 0o644)
            self.writing(pool, 100_000)
            for command in (("info",), ("check",), ("dump",), ("metrics",)):
                with self.subTest(engine=engine, command=command):
                    self.fails(3, "processes of its user and its PID namespace", *command, pool, **nobody)

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
