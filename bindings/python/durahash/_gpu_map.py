"""The map: u64 to u64, searched and written by a device."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import _gpu
from ._errors import Error, NoSpaceError
from ._gpu_calls import MISMATCH, OK, Arrays, Batch, Opened
from ._gpu_elements import WORDS
from ._gpu_kinds import kind_of
from ._gpu_streams import stream_address

_PUT, _INSERT, _UPDATE, _ERASE, _FIND_OR_INSERT, _ADD = range(6)
_LARGEST = (1 << 64) - 1
_STAGED = (
    "the writes of this batch are not taken: those of another stream, or max_staged of them, wait for a commit"
)


class ChangedError(Error, RuntimeError):
    """The table grew, or was made smaller, while its records were exported: begin again."""


@dataclass(frozen=True)
class Selection:
    """Records with a key and a value in these ranges, whose value has these bits: where
    `value & mask == bits`. All, if nothing is said."""

    key_min: int = 0
    key_max: int = _LARGEST
    value_min: int = 0
    value_max: int = _LARGEST
    mask: int = 0
    bits: int = 0

    def __post_init__(self) -> None:
        for name, number in vars(self).items():
            if not 0 <= operator.index(number) <= _LARGEST:
                raise OverflowError(f"{name}={number} is none of u64: 0 to {_LARGEST}")

    def _selected(self) -> _gpu.Selection:
        return _gpu.Selection(*map(operator.index, vars(self).values()))


class Map(Opened, _gpu.Map):
    """A pool of the engine gphash, u64 to u64, that a CUDA device searches and changes in place.
    `durahash.open(path)` opens the same file on the host, when this is closed.

    Arrays are PyTorch's, CuPy's, `gpu.Array`, or any with `__cuda_array_interface__` or
    `__dlpack__`: C-contiguous, int64 or uint64, whose 64 bits are the key or the value, of any
    shape. Answers are of the library, the shape and, if they are words, the dtype of `keys`; of a
    library that is none of these three they are gpu.Arrays. What is in the host's memory (NumPy,
    lists, tensors on the CPU) is taken by calls that wait: unless it is pinned the processor copies
    it to pinned memory, and back if it is written to.

    `stream`: a number, or an object with `cuda_stream`, `ptr` or `__cuda_stream__`. Left out: the
    current stream of PyTorch or CuPy, if keys are theirs; the one that `__cuda_array_interface__`
    names; the default stream.

    Calls whose names end with `_async` return a `Batch`, and wait for nothing. Their writes have
    room for what the table has slots for: `reserve` first, or see the answers (4: no_space). In a
    mirror, and at the level power, they are done by the next `commit`. The others wait, grow the
    table, and are durable when they return.

    Threads   any; writes take turns, finds go on beside them
    Fork      in a child everything raises `ForkedError`; start processes with `spawn`
    Crash     as `durahash.Table`: what was durable is there, each record whole
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        mode: str = "c",
        *,
        device: int | str = 0,
        place: str = "automatic",
        cache_percent: int = 0,
        cache_policy: str = "lfu",
        max_staged: int = 1 << 20,
        engine: str | None = None,
        durability: str | None = None,
        medium: str | None = None,
        capacity: int = 0,
        settings: Mapping[str, int] | None = None,
        max_bytes: int = 0,
        salvage: bool = False,
        **options: int,
    ) -> None:
        """Opens the pool, or makes it: as `durahash.open`, with the engine gphash and u64 to u64.

        `device`        the number of the CUDA device, or "cuda:1".
        `place`         "pool": the file's own pages, which the kernel must let be pinned (/dev/shm,
                        a memfd, device DAX); "host_mirror", "device_mirror": a copy;
                        "automatic": the pool, or where that cannot be, a mirror in the host.
        `cache_percent` of the buckets so many have copies in the device's memory, 0 to 90.
        `cache_policy`  which ones: "lfu", "lru" or "random".
        `max_staged`    where writes wait for a commit: operations between two of them.

        Raises what `durahash.open` does, and `DeviceError` where the device cannot be used.
        """
        given = {
            "mode": mode,
            "engine": engine,
            "durability": durability,
            "medium": medium,
            "capacity": capacity,
            "settings": dict(settings or {}),
            "max_bytes": max_bytes,
            "salvage": salvage,
            **options,
        }
        on = {
            "device": device,
            "place": place,
            "cache_percent": cache_percent,
            "cache_policy": cache_policy,
            "max_staged": max_staged,
        }
        self._streams: set[int] = set()  # of writes that no commit has followed
        self._start(path, given, on)

    def _shape(self) -> str:
        return "u64 -> u64"

    # ------------------------------------------------------------------------------------ finds

    def _search(self, keys: Any, out: Any, values_wanted: bool, missed: bool, stream: Any, waits: bool) -> Batch:
        arrays = Arrays(self.device, keys, stream, waits)
        k = arrays.keys()
        values, at_values = arrays.into(out, "out", k.shape, k.element) if values_wanted else (None, 0)
        answers, at_answers = arrays.make(k.shape, "uint8")
        indices, count, at_indices, at_count = arrays.missed(k.size, missed)
        status = self._find(k.size, k.address, at_values, at_answers, arrays.stream, at_indices, at_count)
        arrays.require(status, self._words(status, arrays.stream))
        batch = Batch(arrays, self._mark(arrays), answers, values)
        batch._missed = indices, count
        return batch.wait() if waits else batch

    def find(self, keys: Any, out: Any = None, *, missed: bool = False, stream: Any = None) -> Any:
        """The values of keys, and for each whether it is there; waits.

        `out` gets the values where it is given; those of keys that are not there stay as they are
        in it, and are 0 in a new array. With `missed` there is a third one: the places of
        keys that are not there, in no order.
        """
        batch = self._search(keys, out, True, missed, stream, True)
        return (batch.values, batch.ok, batch.missed) if missed else (batch.values, batch.ok)

    def contains(self, keys: Any, *, stream: Any = None) -> Any:
        """For each key whether it is there; waits."""
        return self._search(keys, None, False, False, stream, True).ok

    def find_async(
        self, keys: Any, out: Any = None, *, values: bool = True, missed: bool = False, stream: Any = None
    ) -> Batch:
        """As `find`, waiting for nothing; it sees what batches before it in its stream did, and of
        writes that wait for a commit none. With values=False it only says what is there."""
        return self._search(keys, out, values, missed, stream, False)

    # ----------------------------------------------------------------------------------- writes

    def _begin(self, what: int, keys: Any, values: Any, stream: Any, in_place: bool = False) -> Batch:
        arrays = Arrays(self.device, keys, stream, False)
        k = arrays.keys()
        v = None if values is None else arrays.take(values, "values", WORDS, k.shape, writable=in_place)
        answers, at_answers = arrays.make(k.shape, "uint8")
        status = self._write_async(
            what, k.size, k.address, 0 if v is None else v.address, at_answers, arrays.stream
        )
        arrays.require(status, self._words(status, arrays.stream), _STAGED)
        self._streams.add(arrays.stream)
        on = arrays.stream
        batch = Batch(arrays, self._mark(arrays), answers, values if in_place else None, lambda: self._commit_one(on))
        batch._is_write = True
        return batch

    def _do(self, what: int, keys: Any, values: Any, stream: Any, in_place: bool = False) -> Any:
        """Whether each was done, when all are durable."""
        arrays = Arrays(self.device, keys, stream, True)
        k = arrays.keys()
        v = None if values is None else arrays.take(values, "values", WORDS, k.shape, writable=in_place)
        answers, at_answers = arrays.make(k.shape, "uint8")
        status, words = self._write(
            what, k.size, k.address, 0 if v is None else v.address, at_answers, arrays.stream
        )
        try:
            arrays.require(status, words)
        except NoSpaceError as e:
            raise _with_answers(e, answers) from None
        arrays.settle()
        return arrays.kind.is_ok(answers)

    def put(self, keys: Any, values: Any, *, stream: Any = None) -> None:
        """Writes records: of a key that comes twice, one of the values. Durable when it returns.

        Raises `NoSpaceError` where neither pool nor file system has room: its `answers` tell which
        records are there (0) and which are not (4). Ends then, with what lies behind untried.
        """
        self._do(_PUT, keys, values, stream)

    def insert(self, keys: Any, values: Any, *, stream: Any = None) -> Any:
        """Writes records whose keys are not there; for each whether it was. As `put` otherwise."""
        return self._do(_INSERT, keys, values, stream)

    def update(self, keys: Any, values: Any, *, stream: Any = None) -> Any:
        """Writes records whose keys are there; for each whether it was. Durable when it returns."""
        return self._do(_UPDATE, keys, values, stream)

    def erase(self, keys: Any, *, stream: Any = None) -> Any:
        """Removes records; for each key whether it was there. Durable when it returns."""
        return self._do(_ERASE, keys, None, stream)

    def find_or_insert(self, keys: Any, values: Any, *, stream: Any = None) -> Any:
        """Inserts; the value of a key that was there takes the place of the one in `values`. For
        each whether it was inserted. As `put` otherwise."""
        return self._do(_FIND_OR_INSERT, keys, values, stream, True)

    def add(self, keys: Any, values: Any, *, stream: Any = None) -> None:
        """Adds to values, modulo 2^64; a key that is not there gets the value. Of a key that comes
        twice, each counts. As `put` otherwise."""
        self._do(_ADD, keys, values, stream)

    def put_async(self, keys: Any, values: Any, *, stream: Any = None) -> Batch:
        """As `put`, waiting for nothing, and without growth."""
        return self._begin(_PUT, keys, values, stream)

    def insert_async(self, keys: Any, values: Any, *, stream: Any = None) -> Batch:
        """As `insert`, waiting for nothing, and without growth."""
        return self._begin(_INSERT, keys, values, stream)

    def update_async(self, keys: Any, values: Any, *, stream: Any = None) -> Batch:
        """As `update`, waiting for nothing."""
        return self._begin(_UPDATE, keys, values, stream)

    def erase_async(self, keys: Any, *, stream: Any = None) -> Batch:
        """As `erase`, waiting for nothing."""
        return self._begin(_ERASE, keys, None, stream)

    def find_or_insert_async(self, keys: Any, values: Any, *, stream: Any = None) -> Batch:
        """As `find_or_insert`, waiting for nothing, and without growth."""
        return self._begin(_FIND_OR_INSERT, keys, values, stream, True)

    def add_async(self, keys: Any, values: Any, *, stream: Any = None) -> Batch:
        """As `add`, waiting for nothing, and without growth."""
        return self._begin(_ADD, keys, values, stream)

    def commit(self, stream: Any = None) -> None:
        """Waits for the stream; left out: for each that has writes since its last commit. All
        writes of it are durable then, and their answers final. Raises `DeviceError` where the
        device failed: nothing more is done then, and the pool is as a crash leaves it."""
        if stream is not None:
            return self._commit_one(stream_address(stream, self.device))
        for each in list(self._streams) or [0]:
            self._commit_one(each)

    def _commit_one(self, stream: int) -> None:
        self._streams.discard(stream)  # before: another thread's write behind the commit adds it again
        status, words = self._commit(stream)
        if status != OK:
            self._streams.add(stream)
            raise _gpu_error(status, words)
        self._pending.let_go()

    def _words(self, status: int, stream: int) -> str:
        """Of a failed device: why."""
        return str(self._commit(stream)[1]) if status == 9 else ""

    # ------------------------------------------------------------------------- many, by a condition

    def export(
        self, size: int = 1 << 16, *, where: Selection | None = None, like: Any = None, stream: Any = None
    ) -> Iterator[tuple[Any, Any]]:
        """All records, or those that are selected, at most `size` at a time: keys and values. In no
        order; each once, if nothing is written meanwhile.

        They are NumPy arrays; with `like`, arrays of the library and, if it is one of words, the
        dtype of that one. Waits for the device, and commits. Raises `ChangedError` if the table
        grew meanwhile, or was made smaller.
        """
        which, cursor = _selected(where or Selection()), _gpu.Cursor()
        size = max(32, int(size))
        while not cursor.done:
            arrays = Arrays(self.device, [] if like is None else like, stream, True)
            element = "uint64"
            if like is not None:
                kind, seen_of = kind_of(like, "like")
                element = kind.see(seen_of, "like").element
            element = element if element in WORDS else "uint64"
            keys, at_keys = arrays.make((size,), element)
            values, at_values = arrays.make((size,), element)
            status, count, words = self._export(cursor, which, size, at_keys, at_values, arrays.stream)
            if status == MISMATCH:
                raise ChangedError("the table grew, or was made smaller, since this export began: begin again")
            arrays.require(status, words)
            if count:
                yield arrays.kind.head(keys, count), arrays.kind.head(values, count)

    def erase_if(self, where: Selection, *, stream: Any = None) -> int:
        """Erases what is selected, and tells how many records that were. Durable when it returns;
        behind a crash each record is there or not."""
        which = _selected(where)
        status, erased, words = self._erase_if(which, 0 if stream is None else stream_address(stream, self.device))
        if status != OK:
            raise _gpu_error(status, words)
        return int(erased)

    def clear(self, *, stream: Any = None) -> None:
        """Erases all records. Their slots stay, until `compact`."""
        self.erase_if(Selection(), stream=stream)


def _selected(where: Any) -> _gpu.Selection:
    if not isinstance(where, Selection):
        raise TypeError(f"records are selected by a gpu.Selection, and not by a {type(where).__name__}")
    return where._selected()


def _with_answers(e: NoSpaceError, answers: Any) -> NoSpaceError:
    e.answers = answers  # type: ignore[attr-defined]
    return e


def _gpu_error(status: int, words: str) -> Error:
    from ._errors import device_error_of

    return device_error_of(status, words or _gpu.message(status))


