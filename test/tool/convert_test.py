"""durahash convert: a pool's records stay, and its level is the one that was asked for."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import ENGINES, TOOL, ToolTest

LEVELS = ("power", "power_buffered", "process", "none", "power", "process", "power_buffered")


def content(pool):
    with open(pool, "rb") as file:
        return file.read()


class Convert(ToolTest):
    def setUp(self):
        super().setUp()
        disk = tempfile.mkdtemp(prefix="durahash-convert-", dir=os.environ.get("DURAHASH_DISK_DIR", "/var/tmp"))
        self.addCleanup(shutil.rmtree, disk)
        self.disk = disk

    def refused(self, sentence, pool):
        before = content(pool)
        self.fails(3, sentence, "convert", pool, "--durability", "power")
        self.assertEqual(content(pool), before)

    def test_records_stay_at_every_level(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                pool = os.path.join(self.disk, f"{engine}.dh")
                self.succeeds("create", pool, "--engine", engine)
                records = {f"key{n}".encode(): f"value{n}".encode() for n in range(50)}
                self.load(pool, list(records.items()))
                for turn, level in enumerate(LEVELS):
                    self.succeeds("convert", pool, "--durability", level)
                    self.assertEqual(self.info(pool)["durability"], level)
                    self.succeeds("put", pool, "turn", str(turn))
                    log_bytes = os.path.getsize(pool + "-log") if level.startswith("power") else 0
                    self.assertEqual(self.info(pool)["log_file_bytes"], log_bytes)
                    self.assertEqual(os.path.exists(pool + "-log"), log_bytes != 0)
                    told = self.succeeds("info", pool).out.decode()
                    self.assertEqual(f"({log_bytes:,} bytes)" in told and "\nlog file " in told, log_bytes != 0)
                    records[b"turn"] = str(turn).encode()
                    self.assertEqual(self.dump(pool), records)
                    self.succeeds("check", pool)

    def test_a_pool_that_was_killed_is_recovered_first(self):
        pool = os.path.join(self.disk, "killed.dh")
        self.succeeds("create", pool)
        bytes_before = os.path.getsize(pool)
        loading = subprocess.Popen([TOOL, "load", pool, "-", "--format", "tsv"], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        loading.stdin.write(b"".join(b"key%d\tvalue\n" % n for n in range(100_000)))
        loading.stdin.flush()
        while os.path.getsize(pool) == bytes_before:
            self.assertIsNone(loading.poll())
            time.sleep(0.01)
        loading.send_signal(signal.SIGKILL)
        loading.wait()
        loading.stdin.close()
        self.refused("was not closed cleanly; `durahash compact", pool)
        self.succeeds("compact", pool)
        self.succeeds("convert", pool, "--durability", "power")

    def test_memory_survives_no_power_cut(self):
        if not self.folder.startswith("/dev/shm"):
            self.skipTest("there is no tmpfs")
        self.refused("tmpfs", self.create())

    def test_what_is_no_pool_is_refused(self):
        no_pool = os.path.join(self.disk, "text")
        with open(no_pool, "wb") as file:
            file.write(b"no pool" * 10000)
        self.refused("not a durahash pool", no_pool)


if __name__ == "__main__":
    unittest.main()
