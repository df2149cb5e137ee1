#!/usr/bin/env python3
"""Power cuts in a guest machine on a disk that loses what was not flushed.

The disk image of a host keeps what a guest has written, flushed or not. Here the disk is served by nbdkit (losing_disk.py), which keeps writes in a cache
until the guest flushes them; at the cut each sector of the cache is old or new by lot. QEMU is killed with SIGKILL while `durahash load --acks`
works on eight pools at once: of all engines, words and bytes, four of the level power and four of power_buffered. Half of the moments are the host's, the
others a write or flush of the disk. The next machine mounts the file system, opens each pool, and its content is compared (logged_pools.py).

  disk_guest.py --bin build/check/bin [--cuts 200] [--seed S]     exit code 1 if a promise is broken, 2 if the guest itself fails
  disk_guest.py --bin build/check/bin --self-test                 leaves out what makes the disk keep things; exit code 1 unless it is noticed
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
import time

import disk_server
import guest
import image
import machine as machines
from boot import Boot
from disk_server import LosingDisk
from guest import Failed, Lane, progress, said, total, wait
from logged_pools import LAG, PRELUDE, SLACK, LoggedPool
from machine import GuestFailure
from pools import BrokenPromise, frames_of

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["virtio_pci", "virtio_mmio", "virtio_blk", "virtio_console", "ext4", "xfs"]
# A commit block of ext4's journal that is torn, new in its first sector and old in the next, makes the kernel refuse the journal; e2fsck goes without it.
MOUNT = r"""
until [ -b /dev/vda ]; do usleep 20000; done
if ! mount -t $(cat /file_system) /dev/vda /disk && [ $(cat /file_system) = ext4 ]; then
  e2fsck -fy /dev/vda
  say repaired
fi
grep -q " /disk " /proc/mounts || mounted /dev/vda /disk "" $(cat /file_system)
say mounted
"""
FILE_SYSTEMS = ["ext4", "xfs"]
DISK_MEGABYTES = 640
PORTS = 11
MEMORY = 768 << 20


# ------------------------------------------------------------------------------------------------------------------------------ lanes


class DiskLane(Lane):
    """One machine after the other on one disk."""

    def __init__(self, number, boot, folder, arguments, fault=None):
        self.number, self.boot, self.folder, self.arguments, self.fault = number, boot, folder, arguments, fault
        self.chance = random.Random(f"{arguments.seed} {number}")
        os.makedirs(folder)
        self.file_system = arguments.file_system or FILE_SYSTEMS[number % len(FILE_SYSTEMS)]
        self.media = LosingDisk(folder, DISK_MEGABYTES, self.file_system, self.chance)
        self.pools = [LoggedPool("power", port, self.chance) for port in range(1, 5)] + [LoggedPool("power_buffered", port, self.chance) for port in range(5, 9)]
        self.more_files = []
        self.machines = self.cuts = 0
        self.moments, self.disks, self.repaired = {}, [], 0
        self.boot_seconds = self.machine_seconds = 0.0

    def script(self):
        reading = [pool.reading_script() for pool in self.pools]
        lines = [PRELUDE, "{ :\n", *reading[::2], "} &\nreader=$!\n{ :\n", *reading[1::2], "}\nwait $reader\nsay working\n"]
        for pool in self.pools:
            pool.plan()
            lines.append(pool.working_script())
        return "".join(lines) + "wait\nsay idle\nsleep 1000\n"

    def start(self, script, files):
        mode = self.chance.choice(["random"] * 6 + ["dropped", "kept"])
        self.media.serve(mode, self.chance.choice(self.arguments.pace or ["none", "some", "some", "slow", "slow"]))
        return self.boot.start(self.folder, self.media, script, [*files, ("file_system", self.file_system.encode())], accelerator=self.arguments.accelerator,
                               memory_bytes=MEMORY, ports=PORTS)

    def read_and_work(self, machine, cut):
        super().read_and_work(machine, cut)
        self.repaired += "repaired" in frames_of(machine.received[0])

    def cut_at_work(self, machine):
        moment = self.chance.choice(MOMENTS)
        moment(self, machine, self.chance.choice(self.pools))
        machine.cut()
        self.disks.append(self.media.facts)
        return moment.__name__


# The moments to cut at. Each waits; the cut follows.


def at_a_request(lane, machine, pool):
    """The disk's own: in front of a write, in the middle of it, in front of a flush, or behind it with nobody told."""
    if lane.chance.random() < 0.75:  # else while pools are created, most likely
        while_loading(lane, machine, pool)
    lane.media.arm(int(2 ** lane.chance.uniform(0, 7)), machine.process.pid)
    until = time.monotonic() + 20
    while time.monotonic() < until and machine.listen(0.01):
        pass


def while_loading(lane, machine, pool):
    share = lane.chance.random()
    size = len(pool.planned[1].operations)
    wait(machine, lambda: machine.received[pool.port].count(b'"key"') >= share * size or said(machine, "closed", pool))
    guest.pause(machine, lane.chance.uniform(0, 0.005))


def while_opening(lane, machine, pool):
    guest.pause(machine, lane.chance.uniform(0, 1))


def once_closed(lane, machine, pool):
    wait(machine, lambda: said(machine, "closed", pool) or machine.received[pool.port].count(b'"key"') == len(pool.planned[1].operations))
    guest.pause(machine, lane.chance.choice([0, lane.chance.uniform(0, 0.1)]))


MOMENTS = [at_a_request] * 10 + [while_loading] * 4 + [while_opening, once_closed]


# ---------------------------------------------------------------------------------------------------------------------------- the run


class DiskRun(guest.Run):
    def __init__(self, arguments, boot, folder):
        self.arguments = arguments
        arguments.only_cuts = True
        super().__init__(arguments, boot, folder, DiskLane)

    def summary(self):
        seconds, lanes = time.monotonic() - self.started, self.lanes
        cuts, count = total(lanes, "cuts"), total(lanes, "machines")
        moments = {}
        for lane in lanes:
            for moment, times in lane.moments.items():
                moments[moment] = moments.get(moment, 0) + times
        disks = [disk for lane in lanes for disk in lane.disks]
        lost = [disk["sectors"] - disk["kept"] for disk in disks]
        lines = [f"power cuts          {cuts}, each under 8 pools at work: {', '.join(f'{times} {moment}' for moment, times in sorted(moments.items()))}",
                 f"                    {seconds:.0f} s in all, {total(lanes, 'machine_seconds') / count:.1f} s a machine, {self.arguments.lanes} at a time, "
                 f"{total(lanes, 'boot_seconds') / count:.1f} s of it until its file system is mounted",
                 f"file systems        {', '.join(f'{lane.file_system} {lane.cuts} cuts' for lane in lanes)}; e2fsck had to repair a journal {total(lanes, 'repaired')} times",
                 f"the disk's cache    {sum(n > 0 for n in lost)} cuts lost something of it: {sum(lost):,} of {sum(disk['sectors'] for disk in disks):,} sectors; "
                 f"{sum(disk['under way'] for disk in disks)} writes were under way; {sum(disk['flushes'] for disk in disks):,} flushes"]
        for level in ("power", "power_buffered"):
            every = self.pools_of_level(level)
            lines.append(f"{level:19} {total(every, 'cuts')} cuts, {total(every, 'acknowledged_in_all'):,} operations acknowledged, {total(every, 'records_compared'):,} records "
                         f"compared, {total(every, 'in_flight_kept'):,} in flight and kept, wrong: 0; {total(every, 'creations')} created under fire, "
                         f"{total(every, 'idle_cuts')} idle when cut" + (f"; {total(every, 'synced_cuts')} cuts with --sync" if level == "power_buffered" else ""))
            setups = {}
            for pool in every:
                for setup, times in pool.setups.items():
                    setups[setup] = setups.get(setup, 0) + times
            lines.append("                    " + ", ".join(f"{setup} {times}" for setup, times in sorted(setups.items())))
        return lines + self.ages()

    def ages(self):
        ages = sorted(age for pool in self.pools_of_level("power_buffered") for age in pool.ages)
        if not ages:
            return ["ages                none was measured"]
        behind = [age for age in ages if age.lost]
        quiet = [age for age in behind if not age.stolen]
        lines = [f"what was lost       {len(behind)} of {len(ages)} buffered pools lost acknowledged operations, {sum(age.lost for age in behind):,} in all"]
        for what, some in (("on processors that ran all the time", quiet), ("with time in which one did not", [age for age in behind if age.stolen])):
            if some:
                lines.append(f"                    {len(some)} {what}: the oldest acknowledged {some[-1].age / 1000:.1f} ms before the cut (median of the pools "
                             f"{some[len(some) // 2].age / 1000:.1f} ms), the disk's longest call since {some[-1].call / 1000:.1f} ms; older than {LAG // 1000} ms and the longest call: "
                             f"{sum(age.age > LAG + age.call for age in some)}, by {max(0, *(age.age - age.call - LAG for age in some)) / 1000:.1f} ms at most")
        lines.append(f"                    asserted: {LAG // 1000} ms, the two longest calls, the time in which a processor did not run, and {SLACK // 1000} ms for the guest's scheduler")
        return lines

    def pools_of_level(self, level):
        return [pool for lane in self.lanes for pool in lane.pools if pool.level == level]

    def shows_little(self):
        if self.arguments.cuts < 20:
            return None
        if not all(total(self.pools_of_level(level), "acknowledged_in_all") > 1000 for level in ("power", "power_buffered")):
            return "hardly anything was acknowledged"
        if sum(disk["sectors"] > disk["kept"] for lane in self.lanes for disk in lane.disks) * 4 < self.arguments.cuts:
            return "the disk hardly ever lost anything"
        if not any(age.lost for pool in self.pools_of_level("power_buffered") for age in pool.ages):
            return "no buffered pool lost anything"
        return None


# ----------------------------------------------------------------------------------------------------------------------------- faults


def leaves_out_both(lane, script):
    """RWF_DSYNC is taken from writes, fdatasync and fsync do nothing."""
    return leave_out("both", script)


def leaves_out_dsync(lane, script):
    return leave_out("dsync", script)


def leaves_out_sync(lane, script):
    """Of the pool's pages before the record, and of a group that wraps."""
    return leave_out("sync", script)


def writes_late(lane, script):
    """The log's thread rests before each write."""
    return leave_out("time", script)


def disk_lies(lane, script):
    """Every flush is answered, and none is done."""
    lane.media.lies = lane.machines >= 2
    return script


def leave_out(what, script):
    return script.replace("LD_PRELOAD=/shim.so", f"LEAVE_OUT={what} LD_PRELOAD=/shim.so")


LOST = "no prefix of the operations|acknowledged operations are there|check of|dump of"
FAULTS = {
    leaves_out_both: LOST,
    leaves_out_dsync: LOST,
    leaves_out_sync: LOST,
    writes_late: "acknowledged operations are there",
    disk_lies: LOST + "|there is no|before its file systems were mounted",
}


def self_test(arguments, boot, folder):
    missed = 0
    for fault, words in FAULTS.items():
        if arguments.fault and fault.__name__ != arguments.fault:
            continue
        lane = DiskLane(0, boot, f"{folder}/{fault.__name__}", arguments, fault)
        try:
            for _ in range(arguments.patience):
                lane.run_machine()
            missed += 1
            print(f"NOT NOTICED  {fault.__name__} by {arguments.patience} machines", flush=True)
        except (BrokenPromise, GuestFailure) as broken:
            told = re.search(words, str(broken)) is not None
            missed += not told
            print(f"{'noticed     ' if told else 'TOLD WRONGLY'} {fault.__name__}, by machine {lane.machines}: {str(broken)[:200]}", flush=True)
        shutil.rmtree(lane.folder)
    print(f"seed {arguments.seed}: " + ("every planted fault was noticed" if missed == 0 else f"{missed} faults were missed"))
    return 1 if missed else 0


# ------------------------------------------------------------------------------------------------------------------------------- main


def compiled(source, target, *how):
    subprocess.run(["cc", "-O1", "-o", target, *how, f"{HERE}/{source}"], check=True)
    return target


def main():
    arguments = parse(sys.argv[1:])
    try:
        kernel = guest.prepared(arguments, disk_server.HOST_PROGRAMS)
    except image.Missing as missing:
        print(f"guest: skipped: {missing}" if arguments.or_skip else f"guest: {missing}", file=sys.stderr)
        return 0 if arguments.or_skip else 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    atexit.register(end_all)
    print(f"guest               QEMU ({arguments.accelerator}, 2 CPUs), Linux {kernel.name()}, a disk of nbdkit that loses what was not flushed; seed {arguments.seed}", flush=True)
    with guest.work_folder() as folder:
        ticks = compiled("ticks.c", f"{folder}/ticks", "-static")
        boot = Boot(kernel, f"{arguments.bin}/durahash", MODULES, MOUNT, programs=[f"{arguments.bin}/create_pool", image.path_of("flock"), image.path_of("e2fsck"), ticks],
                    files=[(compiled("shim.c", f"{folder}/shim.so", "-shared", "-fPIC"), "shim.so")])
        if arguments.self_test:
            return self_test(arguments, boot, folder)
        run = DiskRun(arguments, boot, folder)
        try:
            run.run()
        except Failed as failed:
            print("\n".join(run.summary()))
            return guest.report_failure(failed, arguments)
        finally:
            end_all()
        progress("")
        print("\n".join(run.summary()))
        if why := run.shows_little():
            print(f"this run shows little: {why}", file=sys.stderr)
            return 1
        print("0 acknowledged operations lost that were promised, 0 wrong, 0 torn, 0 refused")
        return 0


def end_all():
    machines.kill_all()
    disk_server.kill_all()


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    guest.add_arguments(parser, cuts=200)
    parser.add_argument("--file-system", choices=FILE_SYSTEMS, help="[by turns]")
    parser.add_argument("--pace", action="append", choices=["none", "some", "slow", "stalls"], help="of the disk; may be repeated [none, some or slow]")
    parser.add_argument("--patience", type=int, default=20, help="machines that a planted fault has to be noticed in [20]")
    parser.add_argument("--fault", choices=[fault.__name__ for fault in FAULTS], help="of the self-test, this alone")
    return guest.settled(parser.parse_args(words))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        end_all()
        sys.exit(130)
