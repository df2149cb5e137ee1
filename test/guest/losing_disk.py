"""A disk that loses what was not flushed: a plugin of nbdkit, which serves it to QEMU.

Writes are kept in a cache, and reads see them. A flush brings to the file the writes that were answered before it came, and no other. At the cut each
sector of the cache is old or new, by itself and by lot; where it was written several times, as after any of them. Then all is over: what the file holds is
what the next machine finds.

  disk=FILE seed=N  mode=random|dropped|kept    what becomes of the cache at the cut
  sector=512|4096                               what is never torn
  pace=none|some|slow|stalls                    how long a request takes, so that several are under way at once
  armed=FILE                                    holds two numbers once it is there: how many writes and flushes later the power is cut, and which process
                                                is killed at that: QEMU
  report=FILE                                   what was lost, as JSON
  lies=1                                        a flush is answered, and nothing is flushed (a fault for the self-test)
"""

import io
import json
import mmap
import os
import random
import signal
import threading
import time

import nbdkit

API_VERSION = 2
settings = {}
disk = None


class Write:
    def __init__(self, offset, data):
        self.offset, self.data, self.answered = offset, data, False


class Disk:
    def __init__(self):
        self.chance = random.Random(settings["seed"])
        self.sector = int(settings["sector"])
        self.file = os.open(settings["disk"], os.O_RDWR)
        self.size = os.fstat(self.file).st_size
        self.now = mmap.mmap(self.file, self.size, access=mmap.ACCESS_COPY)  # the file below, the cache above
        self.lock = threading.Lock()
        self.cache, self.number = {}, 0  # by number: in the order in which they came
        self.left = None                 # writes and flushes until the cut, once it is armed
        self.dead = False
        self.facts = {"writes": 0, "flushes": 0, "cut": "by the host", "in cache": 0, "under way": 0, "sectors": 0, "kept": 0, "most versions": 0}

    # ------------------------------------------------------------------------------------------- requests

    def write(self, offset, data):
        with self.lock:
            self.maybe_cut("before a write")
            write = Write(offset, data)
            self.cache[self.number] = write
            self.number += 1
            self.now[offset : offset + len(data)] = data
            self.facts["writes"] += 1
            self.maybe_cut("in a write")
        self.pause()
        write.answered = True

    def flush(self):
        with self.lock:
            covered = [number for number, write in self.cache.items() if write.answered]
            self.maybe_cut("before a flush")
        self.pause()
        with self.lock:
            self.refuse_when_dead()
            self.facts["flushes"] += 1
            if "lies" in settings:
                return
            for number in covered:  # another flush may have been faster
                if write := self.cache.pop(number, None):
                    os.pwrite(self.file, write.data, write.offset)
            self.maybe_cut("behind a flush")

    def pause(self):
        pace, lot = settings.get("pace", "none"), random.random()
        if pace == "some":
            time.sleep(0.0002 if lot < 0.98 else 0.003)
        elif pace == "slow":
            time.sleep(0.001 if lot < 0.9 else 0.012)
        elif pace == "stalls":
            time.sleep(0.030)

    # -------------------------------------------------------------------------------------------- the cut

    def refuse_when_dead(self):
        if self.dead:
            raise OSError("the power is gone")

    def maybe_cut(self, when):
        """At the armed moment: QEMU, and with it the guest's processors, stop with the disk."""
        self.refuse_when_dead()
        if self.left is None and os.path.exists(settings.get("armed", "")):
            with io.open(settings["armed"]) as file:
                requests, self.client = map(int, file.read().split())
            self.left = 2 * requests + self.chance.randrange(2)  # each request passes here twice
        if self.left is None:
            return
        self.left -= 1
        if self.left <= 0:
            self.dead = True
            os.kill(self.client, signal.SIGKILL)
            self.facts["cut"] = when
            raise OSError("the power is cut")

    def cut(self):
        with self.lock:
            self.dead = True
            sectors = {}  # the pieces of each, in the order in which they came
            for write in self.cache.values():
                for offset, piece in self.pieces(write):
                    sectors.setdefault(offset // self.sector, []).append((offset, piece))
            # Some cuts find a cache that was nearly written back, others one that was hardly begun.
            share = {"dropped": 0, "kept": 1}.get(settings["mode"], self.chance.choice([0.02, 0.3, 0.5, 0.7, 0.98]))
            kept = 0
            for pieces in sectors.values():
                if self.chance.random() < share:
                    for offset, piece in pieces[: len(pieces) if share == 1 else self.chance.randint(1, len(pieces))]:
                        os.pwrite(self.file, piece, offset)
                    kept += 1
            os.close(self.file)
            self.facts |= {"in cache": len(self.cache), "under way": sum(not write.answered for write in self.cache.values()), "sectors": len(sectors), "kept": kept,
                           "most versions": max(map(len, sectors.values()), default=0)}

    def pieces(self, write):
        """Of one sector each."""
        at, end = write.offset, write.offset + len(write.data)
        while at < end:
            next_at = min(end, (at // self.sector + 1) * self.sector)
            yield at, write.data[at - write.offset : next_at - write.offset]
            at = next_at


# -------------------------------------------------------------------------------------------------------------- what nbdkit calls


def config(key, value):
    settings[key] = value


def thread_model():
    return nbdkit.THREAD_MODEL_PARALLEL


def get_ready():
    global disk
    disk = Disk()


def open(readonly):  # noqa: A001
    return 1


def get_size(h):
    return disk.size


def can_write(h):
    return True


def can_flush(h):
    return True


def can_fua(h):
    return nbdkit.FUA_EMULATE  # by a flush behind it


def can_trim(h):
    return False


def can_zero(h):
    return False


def pread(h, buffer, offset, flags):
    with disk.lock:
        disk.refuse_when_dead()
        buffer[:] = disk.now[offset : offset + len(buffer)]


def pwrite(h, buffer, offset, flags):
    disk.write(offset, bytes(buffer))


def flush(h, flags):
    disk.flush()


def cleanup():
    """Nobody is connected any more."""
    disk.cut()
    with io.open(settings["report"], "w") as file:  # `open` is nbdkit's name here
        json.dump(disk.facts, file)
