"""The exceptions: all are durahash.Error, and where Python has a kind of its own, that, too."""

from __future__ import annotations


class Error(Exception):
    """What the library refuses or cannot do."""


class InvalidArgumentError(Error, ValueError):
    """A key, value or option that this pool does not take."""


class ExistsError(Error, FileExistsError):
    """`mode="x"`, or a backup, where there is a file already."""


class NoSpaceError(Error, OSError):
    """Neither the pool nor its file system has room. Reads and erases still work."""


class ReadOnlyError(Error, PermissionError):
    """A write to a pool that was opened for reading only."""


class ClosedError(Error, ValueError):
    """An operation of a table that was closed."""


class ForkedError(Error, RuntimeError):
    """The table belongs to a parent of this process. `reopen()` opens it here."""


class UnusableError(Error):
    """The pool cannot be opened. The message says what is wrong, and where."""


class LockedError(UnusableError, BlockingIOError):
    """Another process, or this one, has the pool open. It may be free in a moment."""


class NotFoundError(UnusableError, FileNotFoundError):
    """There is no file to open."""


class DiskError(Error, OSError):
    """The operating system refused a read or a write."""


class DeviceError(DiskError):
    """The device, its driver, or the operating system refused or failed: of durahash.gpu."""


class DamagedError(Error):
    """Bytes of the pool contradict its format; `check()` lists them."""


class BusyError(Error, TimeoutError):
    """A reader beside a writer was disturbed for a second; try again."""


class OutOfMemoryError(Error, MemoryError):
    """The process has no memory for it."""


# The numbers of durahash::status.
_BY_STATUS: dict[int, type[Error]] = {
    2: ExistsError,
    4: NoSpaceError,
    5: InvalidArgumentError,
    6: ReadOnlyError,
    7: ClosedError,
    8: UnusableError,
    9: DiskError,
    10: DamagedError,
    11: OutOfMemoryError,
    12: ForkedError,
    13: BusyError,
    14: LockedError,
}


def error_of(status: int, message: str) -> Error:
    """Called by the extension."""
    return _BY_STATUS.get(status, Error)(message)


def device_error_of(status: int, message: str) -> Error:
    """Called by the extension for a device."""
    return DeviceError(message) if _BY_STATUS.get(status) is DiskError else error_of(status, message)
