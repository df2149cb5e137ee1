"""durahash: a hash map that is still there after `kill -9`.

    import durahash

    with durahash.open("users.dh") as users:                    # bytes to bytes, a mapping
        users[b"alice"] = b"42"

    ids = durahash.open("ids.dh", key="u64", value="u64")
    ids.put_many(keys, values)                                   # NumPy arrays, or tensors
    values, found = ids.get_many(keys)
"""

from ._core import engines
from ._errors import (
    BusyError,
    ClosedError,
    DamagedError,
    DiskError,
    Error,
    ExistsError,
    ForkedError,
    InvalidArgumentError,
    LockedError,
    NoSpaceError,
    NotFoundError,
    OutOfMemoryError,
    ReadOnlyError,
    UnusableError,
)
from ._files import Process, processes_with, remove
from ._forms import Codec
from ._table import CheckReport, Table, open

__version__ = "0.1.0"

__all__ = [
    "BusyError",
    "CheckReport",
    "ClosedError",
    "Codec",
    "DamagedError",
    "DiskError",
    "Error",
    "ExistsError",
    "ForkedError",
    "InvalidArgumentError",
    "LockedError",
    "NoSpaceError",
    "NotFoundError",
    "OutOfMemoryError",
    "Process",
    "ReadOnlyError",
    "Table",
    "UnusableError",
    "engines",
    "open",
    "processes_with",
    "remove",
]
