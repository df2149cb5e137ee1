"""Faults for the guest's self-test, each planted where a broken program or medium would have it. They take the lane, and the script that its next machine is
to run, and answer with the script to run instead."""

import os
import shutil
import subprocess


def acknowledges_before_writing(lane, script):
    """A tool that says yes first and writes later."""
    return script.replace("say working\n", r"""
durahash() {
  [ $1 = load ] || { command durahash "$@"; return; }
  local name=$(basename $2 .dh) mount=$(basename $(dirname $2))
  {
    [ $mount = disk ] || until [ -s /tmp/flags-$mount-${name%-*}.frame ]; do usleep 10000; done
    usleep 100000
    sed 's/, "\(value\|erase\)".*/}/' /input/$mount-${name%-*}
  } &
  exec durahash load $2 - --format jsonl
}
say working
""", 1)


def acknowledges_before_syncing(lane, script):
    """A tool that says yes once it has written, and leaves the sync to the end."""
    return with_other_sync(script, "exec durahash load $2 - --format jsonl --acks --batch 64")


def syncs_the_root_alone(lane, script):
    """A sync that marks the pool clean while its records are still in the kernel's memory."""
    lane.more_files = [("root_alone.so", shared_library(f"{lane.folder}/root_alone", """
        #include <sys/syscall.h>
        #include <unistd.h>
        int msync(void* at, size_t bytes, int flags) { return bytes > 4096 ? 0 : (int)syscall(SYS_msync, at, bytes, flags); }
    """))]
    return with_other_sync(script, 'export LD_PRELOAD=/root_alone.so; exec durahash "$@"')


def with_other_sync(script, commands):
    """Runs these where the tool was to load with --sync."""
    return script.replace("say working\n", """
durahash() {
  case "$*" in
    "load "*" --sync "*) %s ;;
    "load "*) exec durahash "$@" ;;  # its process is looked at
    *) command durahash "$@" ;;
  esac
}
say working
""" % commands, 1)


def shared_library(path, source):
    subprocess.run(["c++", "-x", "c", "-shared", "-fPIC", "-O1", "-o", f"{path}.so", "-"], input=source.encode(), check=True)
    with open(f"{path}.so", "rb") as file:
        return file.read()


def mounts_without_dax(lane, script):
    return "umount /dax; mount -t ext4 -o dax=never /dev/pmem0 /dax\n" + script


def dax_forgets(lane, script):
    """The persistent memory holds what it held one machine ago."""
    return forget(lane, "pmem", script)


def disk_forgets(lane, script):
    return forget(lane, "disk", script)


def forget(lane, medium, script):
    path, older = f"{lane.folder}/{medium}.img", f"{lane.folder}/{medium}.older"
    if lane.machines > 2:
        os.replace(older, path)
    shutil.copy(path, older)
    return script


def disk_changes_bytes(lane, script):
    """Some bytes of values, in all places."""
    with open(lane.media.disk, "rb+") as disk:
        changed = disk.read().replace(b"v" * 30, b"v" * 29 + b"w")
        disk.seek(0)
        disk.write(changed)
    return script


# How each must be told: noticed for another reason is not noticed.
FAULTS = {
    acknowledges_before_writing: "no prefix of the operations|none of the .* states that were closed|which no sync left|synced and left so",
    acknowledges_before_syncing: "disk-synced-.*(which no sync left|synced and left so)",
    syncs_the_root_alone: "disk-synced-.*(which no sync left|synced and left so|refused without|(dump|info|check) of)",
    mounts_without_dax: "MAP_SYNC is not in force|this is not persistent memory|cannot make the log",
    dax_forgets: "dax-.*(no prefix of the operations|there is no|durahash info)",
    disk_forgets: "disk-.*(none of the .* states that were closed|which no sync left|there is no|was closed cleanly)",
    disk_changes_bytes: "disk-(synced-)?bytes: (check|salvage|dump|info|opens|was closed cleanly)",
}
