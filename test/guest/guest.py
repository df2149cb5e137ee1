#!/usr/bin/env python3
"""Conformance, kill -9 and power cuts in a guest machine with a real DAX file system.

A QEMU guest mounts ext4 -o dax on a region of its memory, and plain ext4 on a virtio disk. First the conformance suite and the kill -9 torture run on the
medium pmem. Then the power is cut: QEMU is killed with SIGKILL while `durahash load --acks` works on six pools at once, and the next machine finds what
the region and the disk hold. Acknowledgements reach this process through virtio ports as they are made.

  - On DAX every acknowledged operation has its effect, whatever the moment; of the batch in flight each operation all or nothing; `check` is clean.
    MAP_SYNC must be in force, by the kernel's own word, in every single machine.
  - On the disk a pool is whole as of its last clean close, or it is refused with the sentence that says why, and `check --salvage` serves nothing torn.
  - Where it is loaded with --sync, acknowledgements come behind a sync. A pool that opens has all that was acknowledged, and is as a sync left it; one that
    had all its input synced, and waited for more, does open.
  - A pool exists once its `durahash create` has returned.

  guest.py --bin build/bin [--cuts 50] [--seed S]     exit code 1 if a promise is broken, 2 if the guest itself fails
  guest.py --bin build/bin --self-test                plants faults; exit code 1 unless every one is noticed
"""

import argparse
import atexit
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import image
import machine as machines
import pools
from boot import Boot
from conformance import Conformance
from faults import FAULTS
from machine import GuestFailure, Machine, Media
from pools import BrokenPromise, DaxPool, DiskPool, SyncedPool, frames_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOUNT = """
mounted /dev/pmem0 /dax "-o dax=always" ext4
mounted /dev/vda /disk "" ext4
say mounted
"""


# ------------------------------------------------------------------------------------------------------------------------- power cuts


class Lane:
    """One machine after the other on the same media: read and judge what the cut before left, work, cut."""

    def __init__(self, number, boot, folder, arguments, fault=None):
        self.number, self.boot, self.folder, self.arguments, self.fault = number, boot, folder, arguments, fault
        self.chance = random.Random(f"{arguments.seed} {number}")
        os.makedirs(folder)
        self.media = Media(folder, 96 << 20, 160 << 20)
        self.pools = [DaxPool("u64", 1, self.chance), DaxPool("bytes", 2, self.chance),
                      DiskPool("u64", 3, self.chance), DiskPool("bytes", 4, self.chance),
                      SyncedPool("u64", 5, self.chance), SyncedPool("bytes", 6, self.chance)]
        self.more_files = []  # that a fault needs
        self.machines = self.cuts = 0  # cuts: those behind which all was read, or soon will be
        self.moments = {}
        self.boot_seconds = self.machine_seconds = 0.0

    def script(self):
        eager = self.chance.random() < 0.5
        lines = ["echo 5 >/proc/sys/vm/dirty_writeback_centisecs; echo 5 >/proc/sys/vm/dirty_expire_centisecs\n" if eager else ""]
        lines += [pool.reading_script() for pool in self.pools]
        lines.append("say working\n")
        for pool in self.pools:
            pool.plan()
            lines.append(pool.working_script())
        return "".join(lines) + "wait\nsay idle\nsleep 1000\n"

    def run_machine(self, cut=True):
        """Raises BrokenPromise, with the media as they were before this machine kept beside them."""
        machines.keep(self.media.files(), f"{self.folder}/before")
        script = self.script()
        if self.fault:
            script = self.fault(self, script)
        machine = self.start(script, [*self.more_files, *((f"input/{pool.name}", pool.input()) for pool in self.pools)])
        self.machines += 1
        try:
            self.read_and_work(machine, cut)
        finally:
            if machine in machines.running:
                machine.cut()
            self.machine_seconds += time.monotonic() - machine.started

    def start(self, script, files):
        return self.boot.start(self.folder, self.media, script, files, accelerator=self.arguments.accelerator)

    def read_and_work(self, machine, cut):
        says = lambda word: word in frames_of(machine.received[0])
        machine.wait_until(lambda: says("mounted"), 60, "its file systems were mounted")
        self.boot_seconds += time.monotonic() - machine.started
        early = cut and self.chance.random() < 0.08
        if early and self.cut_while_read(machine):
            return
        machine.wait_until(lambda: early or says("working"), 120, "all pools were read")
        frames = frames_of(machine.received[0])
        for pool in self.pools:
            pool.judge(frames)
            pool.begin_work()
        if not cut:
            return machine.cut()
        self.count("while_opening" if early else self.cut_at_work(machine))
        for pool in self.pools:
            pool.hear(machine)

    def cut_at_work(self, machine):
        moment = self.chance.choice(MOMENTS)
        moment(self, machine, self.chance.choice(self.pools))
        machine.cut()
        return moment.__name__

    def cut_while_read(self, machine):
        """False where the machine was faster, as one that has nothing to read is: the work had begun."""
        pause(machine, self.chance.uniform(0, 1))
        machine.cut()
        if "working" in frames_of(machine.received[0]):
            return False
        self.count("while_read")
        for pool in self.pools:
            pool.cut_while_read()
        return True

    def count(self, moment):
        self.cuts += 1
        name = moment.replace("_", " ")
        self.moments[name] = self.moments.get(name, 0) + 1


# The moments to cut at. Each waits; the cut follows.


def pause(machine, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        machine.listen(max(0, min(0.001, until - time.monotonic())))


def while_loading(lane, machine, pool):
    enough = lane.chance.randrange(1, 13 * len(pool.work.operations))
    wait(machine, lambda: len(machine.received[pool.port]) >= enough or said(machine, "closed", pool))
    pause(machine, lane.chance.uniform(0, 0.002))


def while_opening(lane, machine, pool):
    pause(machine, lane.chance.uniform(0, 1))


def once_created(lane, machine, pool):
    if pool.exists == "no":
        wait(machine, lambda: said(machine, "created", pool))
    else:
        while_opening(lane, machine, pool)


def while_closing(lane, machine, pool):
    wait(machine, lambda: acknowledged(machine, pool) >= len(pool.work.operations) or said(machine, "closed", pool))
    pause(machine, lane.chance.uniform(0, 0.1))


def once_closed(lane, machine, pool):
    wait(machine, lambda: said(machine, "closed", pool))
    pause(machine, lane.chance.choice([0, lane.chance.uniform(0, 0.2)]))


def while_idle(lane, machine, _):
    """All that was fed is synced, and the loader waits for more."""
    pool = a_synced_pool(lane)
    end = lane.chance.choice(pool.ends)
    wait(machine, lambda: acknowledged(machine, pool) >= end)
    pause(machine, lane.chance.choice([0, 0, lane.chance.uniform(0, 0.3)]))


def once_synced(lane, machine, _):
    """A sync has returned, and the next records are being written."""
    pool = a_synced_pool(lane)
    enough = lane.chance.randrange(1, len(pool.work.operations) + 1)
    wait(machine, lambda: acknowledged(machine, pool) >= enough)
    pause(machine, lane.chance.choice([0, lane.chance.uniform(0, 0.02)]))


def a_synced_pool(lane):
    return lane.chance.choice([pool for pool in lane.pools if isinstance(pool, SyncedPool)])


def acknowledged(machine, pool):
    return machine.received[pool.port].count(b"\n")


def wait(machine, condition):
    """A guest that is slow today is cut all the same."""
    until = time.monotonic() + 20
    while not condition() and time.monotonic() < until:
        if not machine.listen(0.01):
            raise GuestFailure("the guest ended by itself:\n" + machine.last_words())


def said(machine, what, pool):
    return f"{what}-{pool.name} ".encode() in machine.received[0]


MOMENTS = [while_loading] * 6 + [while_idle] * 3 + [once_synced] * 2 + [while_opening, once_created, while_closing, once_closed]


# -------------------------------------------------------------------------------------------------------------------------- the run


class Run:
    """Everything at once: the conformance machine, and lanes that share the number of cuts between them."""

    def __init__(self, arguments, boot, folder, lane=Lane):
        self.arguments = arguments
        self.started = time.monotonic()
        self.lock = threading.Lock()
        self.cuts_left = arguments.cuts
        self.failure = None  # the first; what follows from stopping the rest is not told
        self.lanes = [lane(number, boot, f"{folder}/lane{number}", arguments) for number in range(arguments.lanes)]
        self.conformance = None if arguments.only_cuts else Conformance(
            boot, f"{arguments.bin}/store_test", f"{folder}/conformance", arguments.seed, arguments.accelerator, arguments.long, arguments.kills)
        self.conformance_lines = []

    def take_a_cut(self):
        with self.lock:
            if self.cuts_left == 0 or self.failure:
                return False
            self.cuts_left -= 1
            return True

    def work(self, lane):
        while self.take_a_cut():
            lane.run_machine()
            progress(f"{self.arguments.cuts - self.cuts_left} of {self.arguments.cuts} power cuts")
        if not self.failure:
            lane.run_machine(cut=False)

    def conform(self):
        self.conformance_lines = self.conformance.run()
        print("\n".join(self.conformance_lines), flush=True)

    def guarded(self, what, where):
        try:
            what()
        except Exception as problem:
            with self.lock:
                if self.failure is None:
                    self.failure = (problem, where)
            machines.kill_all()

    def run(self):
        threads = [threading.Thread(target=self.guarded, args=(lambda lane=lane: self.work(lane), lane.folder), daemon=True) for lane in self.lanes]
        if self.conformance:
            threads.append(threading.Thread(target=self.guarded, args=(self.conform, self.conformance.folder), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # join without a limit would not hear ^C
                thread.join(0.5)
        if self.failure:
            raise Failed(*self.failure)

    # ---------------------------------------------------------------------------------------- the summary

    def summary(self):
        seconds = time.monotonic() - self.started
        cuts, count = sum(lane.cuts for lane in self.lanes), sum(lane.machines for lane in self.lanes)
        moments = {}
        for lane in self.lanes:
            for moment, times in lane.moments.items():
                moments[moment] = moments.get(moment, 0) + times
        boot_seconds, machine_seconds = total(self.lanes, "boot_seconds") / count, total(self.lanes, "machine_seconds") / count
        lines = [*self.conformance_lines,
                 f"power cuts          {cuts}, each under 6 pools at work: {', '.join(f'{times} {moment}' for moment, times in sorted(moments.items()))}",
                 f"                    {seconds:.0f} s in all, {machine_seconds:.1f} s a machine, {self.arguments.lanes} at a time, {boot_seconds:.1f} s of it until its file systems are mounted"]
        for kind in pools.KINDS:
            every = self.pools_of("dax", kind)
            lines.append(f"on DAX, {kind:5}       {total(every, 'cuts')} cuts, {total(every, 'acknowledged_in_all'):,} operations acknowledged, "
                         f"{total(every, 'records_compared'):,} records compared, {total(every, 'in_flight_kept')} in flight and kept, wrong: 0; "
                         f"{total(every, 'creations')} created under fire, {total(every, 'mappings_seen')} mappings with MAP_SYNC; "
                         f"largest pool {max(pool.largest_bytes for pool in every):,} bytes")
        for kind in pools.KINDS:
            every = self.pools_of("disk", kind)
            kept, lost = total(every, "kept_by_salvage"), total(every, "lost_to_salvage")
            lines.append(f"on disk, {kind:5}      {total(every, 'cuts')} cuts, {total(every, 'acknowledged_in_all'):,} operations acknowledged: opened whole "
                         f"{total(every, 'opened')}, refused {total(every, 'refused')} (salvage kept {kept:,} of {kept + lost:,} records), wrong: 0; "
                         f"largest pool {max(pool.largest_bytes for pool in every):,} bytes")
        for kind in pools.KINDS:
            every = self.pools_of("disk", f"synced-{kind}")
            kept, lost = total(every, "kept_by_salvage"), total(every, "lost_to_salvage")
            lines.append(f"synced, {kind:5}       {total(every, 'cuts')} cuts, {total(every, 'acknowledged_in_all'):,} operations acknowledged behind a sync: opened whole "
                         f"{total(every, 'opened')}, {total(every, 'synced_and_opened')} of them with new acknowledgements and {total(every, 'idle_cuts')} while the loader waited; "
                         f"refused {total(every, 'refused')} (salvage kept {kept:,} of {kept + lost:,} synced records); {total(every, 'records_compared'):,} records compared, wrong: 0")
        return lines

    def pools_of(self, mount, kind):
        return [pool for lane in self.lanes for pool in lane.pools if pool.name == f"{mount}-{kind}"]

    def shows_little(self):
        """What a run of this length should have met and did not."""
        every = [pool for lane in self.lanes for pool in lane.pools]
        disk = [pool for pool in every if pool.mount == "disk"]
        if self.arguments.cuts < 20:
            return None
        if not all(total(self.pools_of("dax", kind), "acknowledged_in_all") > 1000 for kind in pools.KINDS):
            return "hardly anything was acknowledged on DAX"
        if total(disk, "refused") == 0 or total(disk, "opened") == 0:
            return "the disk's pools were never refused, or never opened"
        if not all(total(self.pools_of("disk", f"synced-{kind}"), figure) for kind in pools.KINDS for figure in ("idle_cuts", "synced_and_opened", "refused")):
            return "synced pools never waited when the cut came, or were never refused"
        return None


def total(every, figure):
    return sum(getattr(pool, figure) for pool in every)


class Failed(Exception):
    def __init__(self, problem, folder):
        super().__init__(str(problem))
        self.problem, self.folder = problem, folder


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def report_failure(failed, arguments):
    """What was found, and where it can be looked at."""
    folder = os.path.join(tempfile.gettempdir(), f"durahash-guest-{arguments.seed}")
    names = ["console.log", "qemu.log", "nbdkit.log", "report.json", "pmem.img", "disk.img", "before/pmem.img", "before/disk.img"]
    for name in names:
        machines.keep([f"{failed.folder}/{name}"], os.path.dirname(f"{folder}/{name}"))
    broken = isinstance(failed.problem, BrokenPromise)
    print(f"\n{'BROKEN' if broken else 'the guest failed'}: {failed.problem}\nthe media, as they are and as they were one machine before (before/): {folder}\nseed {arguments.seed}",
          file=sys.stderr)
    if not broken and not isinstance(failed.problem, GuestFailure):
        raise failed.problem
    return 1 if broken else 2


# --------------------------------------------------------------------------------------------------------------------------- self-test


def self_test(arguments, boot, folder):
    missed = 0
    for fault, words in FAULTS.items():
        lane = Lane(0, boot, f"{folder}/{fault.__name__}", arguments, fault)
        try:
            for _ in range(12):
                lane.run_machine()
            missed += 1
            print(f"NOT NOTICED  {fault.__name__}", flush=True)
        except BrokenPromise as broken:
            told = re.search(words, str(broken)) is not None
            missed += not told
            print(f"{'noticed     ' if told else 'TOLD WRONGLY'} {fault.__name__}, by machine {lane.machines}: {str(broken)[:160]}", flush=True)
    print(f"seed {arguments.seed}: " + ("every planted fault was noticed" if missed == 0 else f"{missed} faults were missed"))
    return 1 if missed else 0


# -------------------------------------------------------------------------------------------------------------------------------- main


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser, cuts=50)
    parser.add_argument("--kills", type=int, default=24, help="rounds of the kill -9 torture [24]")
    parser.add_argument("--long", action="store_true", help="the whole of store_test on pmem, with its model, stress and damage tests")
    parser.add_argument("--only-cuts", action="store_true", help="no conformance, no torture")
    return settled(parser.parse_args(words))


def add_arguments(parser, cuts):
    parser.add_argument("--bin", default=f"{ROOT}/build/bin", help="where the programs are [build/bin]")
    parser.add_argument("--cuts", type=int, default=cuts, help=f"power cuts [{cuts}]")
    parser.add_argument("--seed", type=int, help="[random]")
    parser.add_argument("--lanes", type=int, default=2, help="machines at a time [2]")
    parser.add_argument("--accelerator", default="tcg", help="QEMU's -accel [tcg]")
    parser.add_argument("--kernel", default=f"{ROOT}/build/guest", help="where the kernel is unpacked [build/guest]")
    parser.add_argument("--or-skip", action="store_true", help="where something is missing, say so, and leave with exit code 0")
    parser.add_argument("--self-test", action="store_true")


def settled(arguments):
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().getrandbits(32)
    return arguments


def prepared(arguments, programs=image.HOST_PROGRAMS):
    """The kernel; raises image.Missing."""
    missing = [name for name in programs if not image.path_of(name)]
    if missing:
        raise image.Missing(f"{', '.join(missing)} not installed (scripts/setup.sh guest)")
    if arguments.or_skip and not os.path.isdir(f"{arguments.kernel}/kernel"):
        raise image.Missing("its kernel was not fetched yet (make guest)")
    return image.fetch_kernel(arguments.kernel)


def work_folder():
    """Memory, where there is enough."""
    roots = [root for root in ("/dev/shm",) if os.access(root, os.W_OK) and shutil.disk_usage(root).free > 4 << 30]
    return tempfile.TemporaryDirectory(prefix="durahash-guest-", dir=roots[0] if roots else "/var/tmp")


def main():
    arguments = parse(sys.argv[1:])
    try:
        kernel = prepared(arguments)
    except image.Missing as missing:
        print(f"guest: skipped: {missing}" if arguments.or_skip else f"guest: {missing}", file=sys.stderr)
        return 0 if arguments.or_skip else 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    atexit.register(machines.kill_all)
    version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    print(f"guest               {version} ({arguments.accelerator}, 2 CPUs), Linux {kernel.name()}, ext4 -o dax and ext4 on virtio; seed {arguments.seed}", flush=True)
    with work_folder() as folder:
        boot = Boot(kernel, f"{arguments.bin}/durahash", image.MODULES, MOUNT)
        if arguments.self_test:
            return self_test(arguments, boot, folder)
        run = Run(arguments, boot, folder)
        try:
            run.run()
        except Failed as failed:
            return report_failure(failed, arguments)
        finally:
            machines.kill_all()
        progress("")
        print("\n".join(run.summary()[len(run.conformance_lines):]))
        if why := run.shows_little():
            print(f"this run shows little: {why}", file=sys.stderr)
            return 1
        print("0 acknowledged operations lost, 0 wrong, 0 torn")
        return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        machines.kill_all()
        sys.exit(130)
