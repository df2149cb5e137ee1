"""The losing disk as the harness sees it: formatted once, served by nbdkit while a machine runs, cut with it."""

import json
import os
import signal
import subprocess
import time

from image import HOST_PROGRAMS as GUEST_PROGRAMS, path_of
from machine import GuestFailure, MEGABYTE, with_sbin

PLUGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "losing_disk.py")
HOST_PROGRAMS = [*GUEST_PROGRAMS, "nbdkit", "mkfs.xfs", "cc", "flock", "e2fsck"]
FORMATS = {
    "ext4": ["mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-J", "size=8", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K", "-s", "size=4096"],
}
# What the disk never tears. xfs does not repair a block of its own of which the first 512 bytes are new and others old: it takes the place in its log from
# there, and does not replay what is older.
SECTORS = {"ext4": 512, "xfs": 4096}

servers = set()  # every one that must not outlive this process


class LosingDisk:
    """What survives. A machine has no persistent memory beside it."""

    pmem_bytes = 0

    def __init__(self, folder, megabytes, file_system, chance):
        self.folder, self.file_system, self.chance = folder, file_system, chance
        self.disk = f"{folder}/disk.img"
        self.socket, self.armed, self.report = f"{folder}/disk.socket", f"{folder}/armed", f"{folder}/report.json"
        self.server, self.facts, self.lies = None, {}, False
        with open(self.disk, "wb") as file:
            file.truncate(megabytes * MEGABYTE)
        subprocess.run([*FORMATS[file_system], self.disk], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=with_sbin())

    def serve(self, mode, pace):
        """From here on until `take_from`."""
        for path in (self.armed, self.report, self.socket):
            if os.path.exists(path):
                os.unlink(path)
        self.complaints = open(f"{self.folder}/nbdkit.log", "wb")
        self.server = subprocess.Popen(
            [path_of("nbdkit"), "--foreground", "--exit-with-parent", "--unix", self.socket, "python", PLUGIN, f"disk={self.disk}", f"seed={self.chance.getrandbits(32)}",
             f"sector={SECTORS[self.file_system]}", f"mode={mode}", f"pace={pace}", f"armed={self.armed}", f"report={self.report}", *(["lies=1"] if self.lies else [])],
            stdin=subprocess.DEVNULL, stdout=self.complaints, stderr=self.complaints, start_new_session=True)
        servers.add(self)
        until = time.monotonic() + 20
        while not os.path.exists(self.socket):
            if self.server.poll() is not None or time.monotonic() > until:
                raise GuestFailure("nbdkit does not start:\n" + self.last_words())
            time.sleep(0.01)

    def arm(self, requests, process):
        """The power goes so many writes and flushes from now on, and QEMU is killed with it."""
        with open(self.armed + ".part", "w") as file:
            file.write(f"{requests} {process}")
        os.rename(self.armed + ".part", self.armed)

    def files(self):
        return [self.disk]

    def drive(self):
        return f"file=nbd+unix:///?socket={self.socket}"

    def put_into(self, ram):
        pass

    def take_from(self, ram):
        """QEMU is gone: the disk loses its power, too."""
        self.server.send_signal(signal.SIGTERM)
        code = self.server.wait(timeout=60)
        servers.discard(self)
        self.complaints.close()
        if code != 0 or not os.path.exists(self.report):
            raise GuestFailure(f"nbdkit ends with {code}:\n" + self.last_words())
        with open(self.report) as file:
            self.facts = json.load(file)

    def last_words(self):
        with open(f"{self.folder}/nbdkit.log", "rb") as file:
            return file.read().decode(errors="replace")[-3000:]


def kill_all():
    for disk in list(servers):
        disk.server.kill()
        disk.server.wait()
        servers.discard(disk)
