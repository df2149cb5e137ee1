"""What a call needs around the library's own: its arrays, its stream, and when they are free."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _gpu
from ._errors import InvalidArgumentError, NotFoundError, UnusableError, device_error_of
from ._gpu_arrays import Array, device_number
from ._gpu_elements import WORDS
from ._gpu_kinds import FOREIGN, OWN, Kind, Seen, kind_of
from ._gpu_streams import checked_stream, stream_address
from ._table import _MODES, CheckReport

OK, NOT_FOUND, EXISTS, MISMATCH, NO_SPACE, INVALID, DAMAGED = 0, 1, 2, 3, 4, 5, 10


class Arrays:
    """Those of one call. `waits`: it returns when its batch is done, so that what lies where the
    device does not reach may be copied."""

    def __init__(self, device: int, keys: Any, stream: Any, waits: bool) -> None:
        self.device, self.waits = device, waits
        self.kind, keys = kind_of(keys, "keys")
        self._keys = keys
        self._given = stream
        if stream is not None:
            self.stream = stream_address(stream, device)
        else:
            current = self.kind.current_stream(device)
            if current is None and self.kind is FOREIGN:
                offered = getattr(keys, "__cuda_array_interface__", None)
                current = offered.get("stream") if isinstance(offered, dict) else None
            self.stream = 0 if current is None else checked_stream(current)
        if _gpu.is_captured(device, self.stream):  # before anything is made, which the graph would have
            raise InvalidArgumentError(
                "the stream is being captured into a CUDA graph, which would look for the table where it is now: "
                "call this outside of the capture. The capture is still valid"
            )
        self.kept: list[Any] = []
        self._back: list[tuple[Seen, Array]] = []
        self._taken: list[tuple[str, Seen]] = []
        self.any_on_device = False

    def keys(self, elements: Sequence[str] = WORDS) -> Seen:
        return self.take(self._keys, "keys", elements)

    def take(
        self,
        x: Any,
        what: str,
        elements: Sequence[str],
        shape: Sequence[int] | None = None,
        writable: bool = False,
        anywhere: bool = False,
    ) -> Seen:
        """What the caller gives, once it is looked at; raises where it cannot be used.
        `anywhere`: the processor reads it."""
        kind, x = kind_of(x, what)
        if isinstance(x, np.ndarray) and not writable:
            x = _as_words(np.asarray(x, order="C"), elements)
        seen = kind.see(x, what, self.stream)
        if seen.element not in elements:
            raise TypeError(f"{what}: {' or '.join(elements)} is asked for, and this {kind.name} has {seen.element}")
        if shape is not None and seen.shape != tuple(shape):
            raise InvalidArgumentError(f"{what}: the shape {tuple(shape)} is asked for, and this one has {seen.shape}")
        if writable and seen.read_only:
            raise InvalidArgumentError(f"{what}: this {kind.name} is read-only, and would be written to")
        if seen.device is not None and seen.device != self.device:
            raise InvalidArgumentError(
                f"{what}: this {kind.name} is on cuda:{seen.device}, and the pool is open on cuda:{self.device}"
            )
        self.any_on_device |= not seen.in_host
        if self._given is None:  # else the caller sees to it
            wrote = kind.current_stream(self.device) if seen.stream is None else seen.stream
            if wrote is not None and checked_stream(wrote) != self.stream:
                _gpu.wait(self.device, checked_stream(wrote))
        if seen.in_host and not anywhere:
            seen = self._reached(seen, what, kind, writable)
        self.kept.append(seen.owner)
        self._taken.append((what, seen))
        return seen

    def _reached(self, seen: Seen, what: str, kind: Kind, writable: bool) -> Seen:
        """Itself where it is pinned; else a copy that is."""
        if _gpu.reaches(self.device, seen.address, seen.nbytes):
            return seen
        if not self.waits:
            raise InvalidArgumentError(
                f"{what}: this {kind.name} is in memory that the device does not reach, and would have to be copied "
                "and waited for: call the one that waits, or give pinned memory (gpu.array, tensor.pin_memory())"
            )
        copy = Array(seen.shape, seen.element, self.device, True)
        ctypes.memmove(copy.address, seen.address, seen.nbytes)
        self.kept.append(seen.owner)
        if writable:
            self._back.append((seen, copy))
        return OWN.see(copy, what)

    def make(self, shape: Sequence[int], element: str, zero: bool = False) -> tuple[Any, int]:
        """A new array of the kind of the keys, and its address."""
        made = self.kind.make(shape, element, self.device, self.stream, zero)
        self.kept.append(made)
        return made, OWN.see(made, "").address if isinstance(made, Array) else self.kind.see(made, "").address

    def into(self, out: Any, what: str, shape: Sequence[int], element: str) -> tuple[Any, int]:
        """The caller's array, or a new one of zeros where there is none."""
        if out is None:
            return self.make(shape, element, zero=True)
        twins = WORDS if element in WORDS else (element,)
        return out, self.take(out, what, twins, shape, writable=True).address

    def missed(self, count: int, wanted: bool) -> tuple[Any, Any, int, int]:
        """Indices, their number, and where both are."""
        if not wanted:
            return None, None, 0, 0
        indices, at_indices = self.make((max(count, 1),), "uint32")
        number, at_number = self.make((1,), "uint64")
        return indices, number, at_indices, at_number

    def settle(self) -> None:
        """Behind a wait: copies into what the device does not reach, and lets all arrays go."""
        for to, source in self._back:
            ctypes.memmove(to.address, source.address, source.nbytes)
        for each in (self._back, self.kept, self._taken):
            each.clear()
        self._keys = None

    def require(self, status: int, words: str = "", staged: str = "") -> None:
        """Raises what the library answered, with what is wrong. `staged`: of writes that wait for a
        commit, what that may be."""
        if status == OK:
            return
        if status == INVALID and not words:
            words = self._reason() or staged
        elif status == NO_SPACE and staged:
            words = words or staged
        raise device_error_of(status, words or _gpu.message(status))

    def _reason(self) -> str:
        for what, seen in self._taken:
            if not _gpu.reaches(self.device, seen.address, seen.nbytes):
                return f"{what}: cuda:{self.device} does not reach this array: is it on another device, or freed?"
            if what == "keys" and seen.address % 8 != 0:
                return "keys: this array is not aligned to 8 bytes"
        return ""


def _as_words(x: np.ndarray[Any, Any], elements: Sequence[str]) -> np.ndarray[Any, Any]:
    """Whole numbers of other widths, as NumPy's arrays have them, become words: they are copied
    anyway."""
    if tuple(elements) != WORDS or x.dtype.kind not in "iub" or x.dtype.itemsize == 8:
        return x.astype(x.dtype.newbyteorder("="), copy=False) if x.dtype.byteorder == ">" else x
    return x.astype(np.int64 if x.dtype.kind == "i" else np.uint64)


class Batch:
    """What a call that waits for nothing is about to do. Its arrays live as long as that takes,
    also where nobody keeps the batch.

    On a stream of PyTorch's or CuPy's their own work behind it sees what it did; `wait()` is for
    who looks with the processor, or from another stream.
    """

    def __init__(
        self, arrays: Arrays, mark: Any, answers: Any, values: Any = None, commit: Callable[[], None] | None = None
    ) -> None:
        self._arrays, self._mark, self._commit = arrays, mark, commit
        self._missed: tuple[Any, Any] = (None, None)
        self._is_write = False
        self.answers = answers  #: status codes of the keys, one byte each; 0: ok
        self.values = values  #: of finds, gathers, find_or_insert; None where there are none
        self.lengths: Any = None  #: of finds with lengths=True and of locates
        self.places: Any = None  #: of locates: addresses

    @property
    def stream(self) -> int:
        """The cudaStream_t that it is in."""
        return self._arrays.stream

    @property
    def done(self) -> bool:
        """Whether its stream has come so far; does not wait. Writes that wait for a commit are
        not final then."""
        return bool(self._mark.reached)

    def wait(self) -> Batch:
        """Waits; of writes until they are durable. Raises `DeviceError` where the device failed."""
        self._mark.wait() if self._commit is None else self._commit()
        self._arrays.settle()
        return self

    @property
    def ok(self) -> Any:
        """For each key whether its answer is ok. Waits; of finds not, where PyTorch or CuPy goes on
        in the stream of the batch."""
        if self._is_write or self._arrays.kind.current_stream(self._arrays.device) != self.stream:
            self.wait()
        return self._arrays.kind.is_ok(self.answers)

    @property
    def found(self) -> Any:
        """As `ok`: for each key whether it is there."""
        return self.ok

    @property
    def missed(self) -> Any:
        """The places in the batch of keys that are not there, in no order: of calls with
        missed=True. Waits."""
        indices, count = self._missed
        if count is None:
            raise InvalidArgumentError("ask for the list of missed keys first: missed=True")
        self.wait()
        return self._arrays.kind.head(indices, self._arrays.kind.number(count))

    def __repr__(self) -> str:
        return f"<durahash.gpu.Batch {'done' if self.done else 'under way'}, stream {self.stream:#x}>"


class Pending:
    """Arrays of batches that are under way, by stream."""

    def __init__(self) -> None:
        self._by_stream: dict[int, deque[tuple[Any, list[Any]]]] = {}
        self._lock = threading.Lock()

    def add(self, stream: int, mark: Any, kept: list[Any]) -> None:
        self.let_go()
        with self._lock:
            self._by_stream.setdefault(stream, deque()).append((mark, kept))

    def let_go(self) -> None:
        """Of batches that are done."""
        with self._lock:
            for name, batches in list(self._by_stream.items()):
                while batches and batches[0][0].reached:
                    batches.popleft()
                if not batches:
                    del self._by_stream[name]

    def clear(self) -> None:
        with self._lock:
            self._by_stream.clear()

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._by_stream.values()))


class Opened:
    """What Map and Table share: how they are opened and closed, and what they tell. Before it, in
    the order of bases, stands a class of the extension's."""

    path: str | None
    device: int
    _is_open = False

    def _start(self, path: Any, given: dict[str, Any], device: Mapping[str, Any]) -> None:
        """As `durahash.open` takes them; what is None or empty is left to the library."""
        if given["mode"] not in _MODES:
            raise ValueError(f"no such mode: {given['mode']!r} (c, w, x, r, b)")
        self.path = None if path is None else os.path.abspath(os.fsdecode(path))
        self.device = device_number(device["device"])
        self._pending = Pending()
        options = {name: v for name, v in given.items() if v not in (None, False, 0, {}) or name == "lag_milliseconds"}
        options["mode"] = _MODES[given["mode"]]
        try:
            super().__init__(self.path or "", options, {**device, "device": self.device})  # type: ignore[call-arg]
        except UnusableError as e:
            if given["mode"] in "wrb" and self.path is not None and not os.path.exists(self.path):
                raise NotFoundError(*e.args) from None
            raise
        self._is_open = True
        number = id(self)
        _opened[number] = weakref.ref(self, lambda _: _opened.pop(number, None))

    def _mark(self, arrays: Arrays) -> Any:
        """Behind what was just begun: until it is reached the arrays are kept. Who waits for it has
        them until then."""
        mark = _gpu.Mark(self.device, arrays.stream)
        if not arrays.waits:
            self._pending.add(arrays.stream, mark, arrays.kept)
        return mark

    @property
    def place(self) -> str:
        """Where the device works: "pool", "host_mirror" or "device_mirror"."""
        return self._place()  # type: ignore[attr-defined, no-any-return]

    @property
    def durability(self) -> str:
        """What a write's answer promises: "process" or "power"."""
        return self._durability()  # type: ignore[attr-defined, no-any-return]

    def info(self) -> dict[str, Any]:
        """Facts of the pool, as `durahash.Table.info`, and of the device: `device`, `place`."""
        return {**self._info(), "device": f"cuda:{self.device}", "place": self.place}  # type: ignore[attr-defined]

    def load_cache(self) -> None:
        """Copies the buckets that finds have looked at most into the device's memory, in place of
        others; does nothing where there is no cache. May be called beside finds and writes."""
        status = self._load_cache()  # type: ignore[attr-defined]
        if status != OK:
            raise device_error_of(status, _gpu.message(status))

    def check(self) -> CheckReport:
        """Verifies everything, by the processor."""
        return CheckReport(*self._check())  # type: ignore[attr-defined]

    def close(self) -> None:
        """Waits for what is under way, commits, and closes. Once more: does nothing."""
        super().close()  # type: ignore[misc]
        self._pending.clear()

    def __len__(self) -> int:
        """How many records there are; waits for the device."""
        return self.size()  # type: ignore[attr-defined, no-any-return]

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # arrays of batches that are under way go behind the device's last look at them
        if self._is_open and len(self._pending) and not self._forked:  # type: ignore[attr-defined]
            try:
                self.close()
            except Exception as e:
                print(f"durahash: {self.path} was not closed cleanly: {e}", file=sys.stderr)

    def __reduce__(self) -> Any:
        raise TypeError("a pool that is open on a device cannot be pickled: open it where it is needed")

    def __repr__(self) -> str:
        name = f"durahash.gpu.{type(self).__name__}"
        if not self._is_open:
            return f"<{name}, never opened>"
        where = "memory" if self.path is None else repr(self.path)
        if self._forked:  # type: ignore[attr-defined]
            return f"<{name} {where}, forked>"
        if self.closed:  # type: ignore[attr-defined]
            return f"<{name} {where}, closed>"
        return f"<{name} {where}, {self._shape()}, cuda:{self.device}, {self.place}, {self.durability}>"

    def _shape(self) -> str:
        raise NotImplementedError


_opened: dict[int, weakref.ref[Any]] = {}


@atexit.register
def _close_all() -> None:
    """Before the interpreter ends: no thread may need it, nor the device, afterwards."""
    if threading.active_count() > 1:  # what a daemon thread has is in use, and not leaked
        _gpu.ignore_leaks()
    _gpu.interpreter_ends(False)
    for each in list(_opened.values()):
        pool = each()
        if pool is not None and not pool.closed and not pool._forked:
            try:
                pool.close()
            except Exception as e:  # the others must be closed, too
                print(f"durahash: {pool.path} was not closed cleanly: {e}", file=sys.stderr)
    _gpu.interpreter_ends(True)

