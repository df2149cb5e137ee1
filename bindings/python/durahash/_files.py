"""Pools by their paths: who has one open, and its end."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import _core


class Process(NamedTuple):
    """A process that has a pool open."""

    id: int
    writes: bool  # has it to write to; else reads it
    started: float  # when the process began, in seconds since 1970; 0: not told
    command: str  # the process's name for itself


def processes_with(path: str | os.PathLike[str]) -> list[Process]:
    """The other processes that have the pool open now: the writer, and readers.

    Processes of other users are seen by root alone. Raises UnusableError where the file or /proc is not there.
    """
    return [
        Process(number, writes, float(started), command.decode(errors="replace"))
        for number, writes, started, command in _core.processes_with(os.fspath(path))
    ]


def remove(path: str | os.PathLike[str]) -> None:
    """Removes a pool's file; of one on a disk its log, too, and what a killed process left of it in /dev/shm.

    Raises UnusableError where no pool is there, LockedError where a process has it open: nothing is removed then.
    """
    _core.remove(os.fsdecode(path))
