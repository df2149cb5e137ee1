"""The table: rows that a device looks up, adds and writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _gpu
from ._errors import InvalidArgumentError, NoSpaceError
from ._forms import Number, Rows, form_of
from ._gpu_calls import DAMAGED, MISMATCH, NOT_FOUND, OK, Arrays, Batch, Opened
from ._gpu_elements import ELEMENTS, WORDS, element_of, item_bytes
from ._gpu_kinds import Seen
from ._gpu_map import _gpu_error, _with_answers
from ._gpu_streams import stream_address

_PUT, _INSERT, _UPDATE, _ERASE = range(4)
_NUMBERS = ("float32", "float16", "bfloat16")  # as gpu::element has them
_ALL = tuple(ELEMENTS)


def _row_of(value: Any) -> tuple[str, tuple[int, ...]] | None:
    """Element and shape of a row."""
    if value is None:
        return None
    element, side = value if isinstance(value, tuple) and len(value) == 2 else (value, ())
    if str(element).removeprefix("torch.") == "bfloat16":
        shape: tuple[int, ...] = (side,) if isinstance(side, int) else tuple(side)
        return "bfloat16", shape
    if str(element).startswith("torch."):
        value = (element_of(element), side)
    form = form_of(value)
    if isinstance(form, (Rows, Number)):
        try:
            return element_of(form.dtype), form.shape
        except TypeError:
            pass
    raise TypeError(
        f"{value!r} is no row for a device: a dtype of numbers and a width, such as ('float16', 64); "
        "of bytes ('u1', 100)"
    )


class Table(Opened, _gpu.Table):
    """A pool of rows, of the engine gphash, that a CUDA device looks up and writes.
    `durahash.open(path, value=...)` opens the same file on the host, when this is closed.

    Keys are u64, as those of `Map`, or of one length in bytes: arrays of uint8 whose last dimension
    that is. Rows have the dtype and shape that `value` says, and stand behind the shape of the
    keys. For arrays and streams see `Map`; arrays of writes may be in any memory.

    Threads   any; writes wait for the finds under way, and those for them
    Fork      in a child everything raises `ForkedError`; start processes with `spawn`
    Crash     as `durahash.Table`: each write is durable when its call returns
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        mode: str = "c",
        *,
        key: Any = None,
        value: Any = None,
        device: int | str = 0,
        place: str = "automatic",
        cache_percent: int = 0,
        cache_policy: str = "lfu",
        engine: str | None = None,
        durability: str | None = None,
        medium: str | None = None,
        capacity: int = 0,
        settings: Mapping[str, int] | None = None,
        max_bytes: int = 0,
        salvage: bool = False,
        **options: int,
    ) -> None:
        """Opens the pool, or makes it: as `durahash.open`, with the engine gphash.

        `key`    "u64", or a dtype of bytes such as "S16"; left out: what the pool has, u64 in a new
                 one.
        `value`  what a row is: a dtype and a width or a shape, such as ("float16", 64) or
                 ("bfloat16", 64). Left out: `out=` says it with each find.
        `device`, `place`   as of `Map`. A mirror is a copy of the whole pool.
        `cache_percent`, `cache_policy`   as of `Map`; for the pool itself, not for mirrors.

        Raises what `durahash.open` does, and `DeviceError` where the device cannot be used.
        """
        settings = dict(settings or {})
        kind = None
        key_bytes = 8
        if key is not None:
            form = form_of(key)
            if isinstance(form, Number) and form.spec != "f64":
                kind = "u64"
            elif isinstance(form, Rows):
                kind, key_bytes = "bytes", form.width
                settings.setdefault("key_bytes", form.width)
            else:
                raise TypeError(f"a device looks up keys of one length: 'u64', or 'S16' and the like, and no {key!r}")
        self._row = _row_of(value)
        given = {
            "mode": mode,
            "engine": engine,
            "key": kind,
            "value": None,
            "durability": durability,
            "medium": medium,
            "capacity": capacity,
            "settings": settings,
            "max_bytes": max_bytes,
            "salvage": salvage,
            **options,
        }
        copies = {"cache_percent": cache_percent, "cache_policy": cache_policy}
        self._start(path, given, {"device": device, "place": place, **copies})
        self._key_size = self._key_bytes()
        if key is not None and self._key_size != key_bytes:
            self.close()
            raise InvalidArgumentError(
                f"{self.path}: keys of this pool have {self._key_size} bytes, and {key!r} has {key_bytes}"
            )

    def _shape(self) -> str:
        keys = "u64" if self._key_size == 8 else f"{self._key_size} bytes"
        if self._row is None:
            return f"{keys} -> rows"
        element, shape = self._row
        return f"{keys} -> {element}" + "".join(f" x {side}" for side in shape)

    @property
    def row(self) -> tuple[str, tuple[int, ...]] | None:
        """What a row is: the name of its dtype, and its shape; None if nobody said."""
        return self._row

    @property
    def key_bytes(self) -> int:
        """How long its keys are."""
        return self._key_size

    # ---------------------------------------------------------------------------------- arrays

    def _keys(self, arrays: Arrays, anywhere: bool = False) -> tuple[Seen, tuple[int, ...]]:
        """And the shape of what has one element for each."""
        size = self._key_size
        allowed = (*WORDS, "uint8") if size % 8 == 0 else ("uint8",)
        elements = WORDS if size == 8 and not _has_bytes(arrays) else allowed
        seen = arrays.take(arrays._keys, "keys", elements, anywhere=anywhere)
        if size == 8 and seen.element in WORDS:
            return seen, seen.shape
        if not seen.shape or seen.shape[-1] * item_bytes(seen.element) != size:
            raise InvalidArgumentError(
                f"keys: each has {size} bytes here, which the last dimension must be; this array has the shape "
                f"{seen.shape} of {seen.element}"
            )
        return seen, seen.shape[:-1]

    def _wanted_row(self) -> tuple[str, tuple[int, ...]]:
        if self._row is None:
            raise InvalidArgumentError("say what a row is: value=('float16', 64) when the table is opened, or out=")
        return self._row

    def _out(self, arrays: Arrays, out: Any, shape: tuple[int, ...]) -> tuple[Any, int, int]:
        """An array of rows, its address, and the bytes of a row."""
        if out is None or self._row is not None:
            element, sides = self._wanted_row()
            made, at = arrays.into(out, "out", (*shape, *sides), element)
            return made, at, item_bytes(element) * int(np.prod(sides, dtype=np.int64))
        seen = arrays.take(out, "out", _ALL, writable=True)
        if seen.shape[: len(shape)] != shape:
            raise InvalidArgumentError(f"out: its shape must begin with {shape}, and it has {seen.shape}")
        sides = seen.shape[len(shape) :]
        return out, seen.address, item_bytes(seen.element) * int(np.prod(sides, dtype=np.int64))

    def _settle(self, batch: Batch) -> Batch:
        """Waits, and raises where an answer is neither ok nor not_found."""
        batch.wait()
        worst = batch._arrays.kind.worst(batch.answers)
        if worst == MISMATCH:
            raise _with_its_answers(
                InvalidArgumentError("a row that is asked for has another length than these rows: see its answers (3)"),
                batch.answers,
            )
        if worst > NOT_FOUND:
            raise _with_its_answers(_gpu_error(DAMAGED if worst == DAMAGED else worst, ""), batch.answers)
        return batch

    def _commit(self, stream: int) -> None:
        status, words = self._wait(stream)
        if status != OK:
            raise _gpu_error(status, words)

    def _batch(self, arrays: Arrays, status: int, answers: Any, values: Any, missed: tuple[Any, Any]) -> Batch:
        words = str(self._wait(arrays.stream)[1]) if status == 9 else ""
        arrays.require(status, words)
        on = arrays.stream
        batch = Batch(arrays, self._mark(arrays), answers, values, lambda: self._commit(on))
        batch._missed = missed
        return batch

    # ------------------------------------------------------------------------------------ finds

    def _look_up(
        self, keys: Any, out: Any, values: bool, lengths: bool, missed: bool, stream: Any, waits: bool
    ) -> Batch:
        arrays = Arrays(self.device, keys, stream, waits)
        k, shape = self._keys(arrays)
        count = int(np.prod(shape, dtype=np.int64))
        rows, at_rows, row_bytes = self._out(arrays, out, shape) if values else (None, 0, 0)
        answers, at_answers = arrays.make(shape, "uint8")
        told, at_lengths = arrays.make(shape, "uint32") if lengths or not values else (None, 0)
        indices, number, at_indices, at_number = arrays.missed(count, missed)
        status = self._find(
            count, k.address, at_rows, row_bytes, at_answers, arrays.stream, at_lengths, at_indices, at_number
        )
        batch = self._batch(arrays, status, answers, rows, (indices, number))
        batch.lengths = told
        return batch

    def find_async(
        self,
        keys: Any,
        out: Any = None,
        *,
        values: bool = True,
        lengths: bool = False,
        missed: bool = False,
        stream: Any = None,
    ) -> Batch:
        """As `find`, waiting for nothing but a write that is under way. Answers: 0, ok; 1, not
        found; 3, a row of another length; 10, damaged. With `lengths` rows may have any length in
        bytes, which `batch.lengths` tells; of longer ones there is the first part."""
        return self._look_up(keys, out, values, lengths, missed, stream, False)

    def find(self, keys: Any, out: Any = None, *, missed: bool = False, stream: Any = None) -> Any:
        """The rows of keys, and for each whether it is there; waits.

        `out` gets the rows where it is given; those of keys that are not there stay as they are in
        it, and are 0 in a new array. With `missed` there is a third one: the places of keys
        that are not there, in no order. Raises `InvalidArgumentError` where a row has another
        length, `DamagedError` where one is damaged; their `answers` tell which.
        """
        batch = self._settle(self._look_up(keys, out, True, False, missed, stream, True))
        return (batch.values, batch.ok, batch.missed) if missed else (batch.values, batch.ok)

    def contains(self, keys: Any, *, stream: Any = None) -> Any:
        """For each key whether it is there; waits."""
        return self._settle(self._look_up(keys, None, False, False, False, stream, True)).ok

    def locate_async(self, keys: Any, *, missed: bool = False, stream: Any = None) -> Batch:
        """Where rows lie, for kernels of one's own: `batch.places` are addresses that the device
        reads, 0 of a key that is not there; `batch.lengths` are bytes. They hold for kernels of
        this stream that come before anything but a find is called."""
        arrays = Arrays(self.device, keys, stream, False)
        k, shape = self._keys(arrays)
        count = int(np.prod(shape, dtype=np.int64))
        places, at_places = arrays.make(shape, "uint64")
        lengths, at_lengths = arrays.make(shape, "uint32")
        answers, at_answers = arrays.make(shape, "uint8")
        indices, number, at_indices, at_number = arrays.missed(count, missed)
        status = self._locate(
            count, k.address, at_places, at_lengths, at_answers, arrays.stream, at_indices, at_number
        )
        batch = self._batch(arrays, status, answers, None, (indices, number))
        batch.places, batch.lengths = places, lengths
        return batch

    def _bags(
        self, keys: Any, offsets: Any, pooling: str, dtype: Any, out: Any, missed: bool, stream: Any, waits: bool
    ) -> Batch:
        element, sides = self._wanted_row()
        if element not in _NUMBERS or not sides:
            raise InvalidArgumentError(f"rows of {', '.join(_NUMBERS)} can be added, and not {self._shape()}")
        if pooling not in ("sum", "mean"):
            raise ValueError(f"no such pooling: {pooling!r} (sum, mean)")
        to = element if dtype is None else element_of(dtype)
        if to not in _NUMBERS:
            raise TypeError(f"sums are {', '.join(_NUMBERS)}, and not {to}")
        arrays = Arrays(self.device, keys, stream, waits)
        k, shape = self._keys(arrays)
        count = int(np.prod(shape, dtype=np.int64))
        bags, at_offsets, bagged = 0, 0, shape
        if offsets is not None:
            o = arrays.take(offsets, "offsets", WORDS)
            if len(o.shape) != 1 or o.shape[0] == 0:
                raise InvalidArgumentError(
                    f"offsets: one dimension, with one element more than there are bags, and not the shape {o.shape}"
                )
            bags, at_offsets, bagged = o.shape[0] - 1, o.address, (o.shape[0] - 1,)
        rows, at_rows = arrays.into(out, "out", (*bagged, *sides), to)
        answers, at_answers = arrays.make(shape, "uint8", zero=True)  # a key that no bag has gets none
        indices, number, at_indices, at_number = arrays.missed(count, missed)
        width = int(np.prod(sides, dtype=np.int64))
        status = self._gather(
            count,
            k.address,
            width,
            _NUMBERS.index(element),
            _NUMBERS.index(to),
            pooling == "mean",
            bags,
            at_offsets,
            at_rows,
            at_answers,
            arrays.stream,
            at_indices,
            at_number,
        )
        return self._batch(arrays, status, answers, rows, (indices, number))

    def gather_async(
        self,
        keys: Any,
        offsets: Any = None,
        *,
        pooling: str = "sum",
        dtype: Any = None,
        out: Any = None,
        missed: bool = False,
        stream: Any = None,
    ) -> Batch:
        """As `gather`, waiting for nothing but a write that is under way."""
        return self._bags(keys, offsets, pooling, dtype, out, missed, stream, False)

    def gather(
        self,
        keys: Any,
        offsets: Any = None,
        *,
        pooling: str = "sum",
        dtype: Any = None,
        out: Any = None,
        missed: bool = False,
        stream: Any = None,
    ) -> Any:
        """The sum or mean of the rows of each bag of keys, and for each key whether it is there;
        waits.

        Bag b has the keys from offsets[b] on, and none from offsets[b + 1] on: there is one offset
        more than there are bags, int64 or uint64. Without offsets each key is a bag, so that rows
        change their dtype alone. Rows are float32, float16 or bfloat16, added as float32 in the
        order of the keys; `dtype` is that of the sums, the rows' own if nothing is said. Keys that
        are not there add nothing, and do not count for a mean. A bag without any is zero. A key
        that no bag has is looked up for none, and counts as there. With `missed` there is a third one, as of `find`.
        Raises as `find` does.
        """
        batch = self._settle(self._bags(keys, offsets, pooling, dtype, out, missed, stream, True))
        return (batch.values, batch.ok, batch.missed) if missed else (batch.values, batch.ok)

    # ----------------------------------------------------------------------------------- writes

    def _do(self, what: int, keys: Any, rows: Any, stream: Any) -> Any:
        arrays = Arrays(self.device, keys, stream, True)
        k, shape = self._keys(arrays, anywhere=True)
        count = int(np.prod(shape, dtype=np.int64))
        at_rows, row_bytes = 0, 0
        if what != _ERASE:
            if self._row is not None:
                element, sides = self._row
                rows = _as_elements(rows, element)
                twins = {"bfloat16": ("bfloat16", "uint16")}.get(element, (element,))
                r = arrays.take(rows, "rows", twins, (*shape, *sides), anywhere=True)
            else:
                r = arrays.take(rows, "rows", _ALL, anywhere=True)
                if r.shape[: len(shape)] != shape:
                    raise InvalidArgumentError(f"rows: their shape must begin with {shape}, and it is {r.shape}")
            at_rows, row_bytes = r.address, r.nbytes // count if count else 0
        if arrays.any_on_device:
            _gpu.wait(self.device, arrays.stream)  # they are read at once
        answers, at_answers = arrays.make(shape, "uint8")
        status = self._write(what, count, k.address, at_rows, row_bytes, at_answers)
        words = str(self._wait(arrays.stream)[1]) if status == 9 else ""
        arrays.require(status, words)
        worst = arrays.kind.worst(answers)
        if worst > 2:
            e = _gpu_error(worst, "")
            raise _with_answers(e, answers) if isinstance(e, NoSpaceError) else _with_its_answers(e, answers)
        return arrays.kind.is_ok(answers)

    def put(self, keys: Any, rows: Any, *, stream: Any = None) -> None:
        """Writes rows; of a key that comes twice the last one. Durable when it returns. Waits for
        `stream`, which the rows may come from, and for finds.

        Raises `NoSpaceError` where neither pool nor file system has room: its `answers` tell which
        rows are there (0) and which are not (4).
        """
        self._do(_PUT, keys, rows, stream)

    def insert(self, keys: Any, rows: Any, *, stream: Any = None) -> Any:
        """Writes rows whose keys are not there; for each whether it was. As `put` otherwise."""
        return self._do(_INSERT, keys, rows, stream)

    def update(self, keys: Any, rows: Any, *, stream: Any = None) -> Any:
        """Writes rows whose keys are there; for each whether it was. As `put` otherwise."""
        return self._do(_UPDATE, keys, rows, stream)

    def erase(self, keys: Any, *, stream: Any = None) -> Any:
        """Removes rows; for each key whether it was there. As `put` otherwise."""
        return self._do(_ERASE, keys, None, stream)

    def wait(self, stream: Any = None) -> None:
        """Waits for the finds of a stream, the default one if nothing is said. Raises `DeviceError`
        where the device failed."""
        self._commit(0 if stream is None else stream_address(stream, self.device))


def _has_bytes(arrays: Arrays) -> bool:
    given = arrays._keys
    return str(getattr(given, "dtype", "")).removeprefix("torch.") == "uint8" or (
        isinstance(given, np.ndarray) and given.dtype.kind in "SV"
    )


def _as_elements(rows: Any, element: str) -> Any:
    """Numbers of the host in a list, or as NumPy has them, become elements of the table."""
    if isinstance(rows, (list, tuple)) and element != "bfloat16":
        return np.array(rows, element)
    if isinstance(rows, np.ndarray) and element != "bfloat16" and rows.dtype.name != element:
        return rows.astype(element, casting="same_kind")
    return rows


def _with_its_answers(e: Any, answers: Any) -> Any:
    e.answers = answers
    return e
