"""What is shown without a power cut: that the medium is what it claims to be, the conformance suite, and the kill -9 torture on it."""

import os
import re
import shutil

import image
from machine import Media
from pools import BrokenPromise, frames_of, require_sync

HERE = os.path.dirname(os.path.abspath(__file__))
SUITES = ["Batches", "Limits", "FullPools", "Closing", "Reopening", "Scans", "ReopenedScans", "Facts", "Space", "FileSpace", "Operations"]
LONG_SUITES = [*SUITES, "Kill", "DamagedPool", "FullDisk", "Model", "LongModel", "Stress"]
TORTURE_IMPORTS = ["argparse", "json", "os", "random", "shutil", "subprocess", "sys", "tempfile", "time"]
HOUR = 3600

# A pool that holds still, once new and once grown over many units of its mapping, for the kernel to say how it is mapped.
SHOW_MAPPING = r"""
answer created durahash create /dax/shown.dh --key u64 --value u64 --durability power
mkfifo /tmp/records
durahash load /dax/shown.dh - --format csv --acks </tmp/records >/tmp/acks &
holder=$!
exec 3>/tmp/records
answer flags-new show_sync $holder /dax/shown.dh
awk 'BEGIN { for (i = 0; i < 300000; i++) print i "," i }' >&3
until [ "$(tail -n 1 /tmp/acks)" = 299999 ]; do usleep 50000; done
answer flags-grown show_sync $holder /dax/shown.dh
exec 3>&-
wait $holder
answer info durahash info /dax/shown.dh --json
answer on-tmpfs durahash create /tmp/refused.dh --durability power
answer on-disk durahash create /disk/logged.dh --durability power
answer medium-on-disk durahash info /disk/logged.dh --json
rm /dax/shown.dh
"""


def programs(store_test):
    """The suite, and as much of Python as the torture needs."""
    archive = image.Archive()
    archive.add_program(store_test, "bin/store_test")
    interpreter, files = image.python_files(TORTURE_IMPORTS)
    archive.add_program(interpreter, interpreter)
    for path in files:
        archive.add_program(path, path) if path.endswith(".so") else archive.add_file(path)
    archive.add_folder(os.path.join(os.path.dirname(os.__file__), "lib-dynload"))
    archive.add_file(os.path.join(HERE, "..", "tool", "torture.py"), "torture.py")
    return interpreter, archive.bytes()


class Conformance:
    """One machine. `run` returns the lines of its summary, or raises BrokenPromise."""

    def __init__(self, boot, store_test, folder, seed, accelerator, long, rounds):
        self.boot, self.store_test, self.folder, self.seed, self.accelerator = boot, store_test, folder, seed, accelerator
        self.suites = LONG_SUITES if long else SUITES
        self.rounds = rounds

    def run(self):
        os.makedirs(self.folder)
        media = Media(self.folder, 384 << 20, 192 << 20)  # a log takes 64 MiB of the disk
        interpreter, more = programs(self.store_test)
        filters = ":".join(f"*/{suite}.*/*_pmem_*" for suite in self.suites)
        script = SHOW_MAPPING + (
            f"export DURAHASH_PMEM_DIR=/dax DURAHASH_DISK_DIR=/disk DURAHASH_SHM_DIR=/tmp DURAHASH=/bin/durahash\n"
            f"answer suite store_test --seed={self.seed & 0xFFFFFFFF} --gtest_filter='{filters}' --gtest_brief=1\n"
            f"answer torture {interpreter} -E -S /torture.py --folder /dax --durability power --rounds {self.rounds} --seed {self.seed}\n"
            f"say done\nsleep 1000\n")
        machine = self.boot.start(self.folder, media, script, more=more, accelerator=self.accelerator, memory_bytes=1536 << 20)
        try:
            machine.wait_until(lambda: b"done 0 0 0\n" in machine.received[0][-100:], HOUR, "the suite and the torture were done")
        finally:
            machine.cut()
        return self.judge(frames_of(machine.received[0]))

    def judge(self, frames):
        def text(name):
            code, out, err = frames[name]
            return code, (out + err).decode(errors="replace")

        require_sync("a new pool", text("flags-new")[1])
        require_sync("a grown pool", text("flags-grown")[1])
        if '"medium": "pmem"' not in text("info")[1]:
            raise BrokenPromise("info does not say medium pmem: " + text("info")[1])
        code, words = text("on-tmpfs")
        if code == 0 or "its file system is memory" not in words:
            raise BrokenPromise(f"durability power was not refused on tmpfs: {code} {words}")
        if text("on-disk")[0] != 0 or '"medium": "disk"' not in text("medium-on-disk")[1]:
            raise BrokenPromise(f"durability power on the plain disk is not the medium disk's: {text('on-disk')} {text('medium-on-disk')}")
        code, words = text("suite")
        passed = re.search(r"PASSED  \] (\d+) test", words)
        if code != 0 or not passed or int(passed.group(1)) == 0:
            raise BrokenPromise(f"the conformance suite ends with exit code {code}:\n{words[-4000:]}")
        skipped = re.search(r"SKIPPED \] (\d+) test", words)
        torture_code, torture_words = text("torture")
        if torture_code != 0 or " kills, 0 acknowledged operations lost" not in torture_words:
            raise BrokenPromise(f"the torture ends with exit code {torture_code}:\n{torture_words[-4000:]}")
        return ["MAP_SYNC            in force (VmFlags sf) on a new pool and on a grown one; durability power is refused on tmpfs, and the medium disk's on the plain disk",
                f"conformance         {passed.group(1)} tests on medium pmem passed" + (f", {skipped.group(1)} do not apply" if skipped else ""),
                f"kill -9 torture     {torture_words.strip().splitlines()[-1]}"]
