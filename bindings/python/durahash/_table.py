"""The table: a mapping over the extension's Pool."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._errors import (
    ClosedError,
    ForkedError,
    InvalidArgumentError,
    NotFoundError,
    UnusableError,
    error_of,
)
from ._forms import Array, Form, form_of
from ._open_tables import note_open, open_tables
from ._progress import steps
from ._views import MISSING, ItemsView, KeysView, ValuesView, same

_MODES = {"c": 0, "x": 1, "w": 2, "r": 3, "b": 4}
_CHUNK = 8192  # records of one scan: a scan sorts what it finds, so that few of them are dear


class CheckReport(NamedTuple):
    """What `Table.check` found. True where nothing is wrong."""

    ok: bool
    records: int
    violations: list[str]

    def __bool__(self) -> bool:
        return self.ok


def open(
    path: str | os.PathLike[str] | None,
    mode: str = "c",
    *,
    engine: str | None = None,
    key: Any = None,
    value: Any = None,
    durability: str | None = None,
    medium: str | None = None,
    capacity: int = 0,
    read_only: bool = False,
    settings: Mapping[str, int] | None = None,
    max_bytes: int = 0,
    salvage: bool = False,
    **options: int,
) -> Table:
    """Opens the pool at `path`, or makes it: a persistent mapping.

    `mode`        "c" open, or make it; "w" open; "x" make it; "r" open for reading only; "b" read
                  beside a process that writes (docs/explanation/readers.md).
    `key`, `value` "u64", "i64", "f64", "bytes", "str", a NumPy dtype, (dtype, shape), or a
                  `Codec`. Left out: what the pool has; bytes where it is made.
    `engine`, `durability`, `medium`, `settings`, `max_bytes`, `salvage`, and `address_space_bytes`,
                  `lag_milliseconds`, `log_bytes`: see docs/reference/options.md.
    `path`        None, with medium="memory": a table that ends with the process.

    Raises `UnusableError`, with a sentence that says why, where the pool cannot be used, and
    `LockedError`, which is one, where a process has it open; `NotFoundError`, `ExistsError`,
    `InvalidArgumentError` where the arguments do not fit it.
    """
    if mode not in _MODES:
        raise ValueError(f"no such mode: {mode!r} (c, w, x, r, b)")
    given: dict[str, Any] = {
        "mode": "r" if read_only else mode,
        "engine": engine,
        "key": key,
        "value": value,
        "durability": durability,
        "medium": medium,
        "capacity": capacity,
        "settings": dict(settings or {}),
        "max_bytes": max_bytes,
        "salvage": salvage,
        **options,
    }
    given = {k: v for k, v in given.items() if v is not None and v is not False}
    return Table(None if path is None else os.fsdecode(path), given)


def _library_options(given: Mapping[str, Any], key: Form | None, value: Form | None) -> dict[str, Any]:
    made = {name: v for name, v in given.items() if v not in (0, {}) or name == "lag_milliseconds"}
    made["mode"] = _MODES[given["mode"]]
    made.pop("key", None)
    made.pop("value", None)
    if key is not None:
        made["key"] = key.pool_kind
    if value is not None:
        made["value"] = value.pool_kind
    return made


class Table(_core.Pool):
    """An open pool. `durahash.open` makes one.

    A mapping that keeps its records in a file: what a call has written when it returns survives
    what the pool's durability level names. All methods may be called by any thread; each record
    is written as a whole. Batches, scans and waits let other threads run.

    Iteration is in no order. It gives each record once that is there from begin to end; records
    that come or go meanwhile may be seen or not.
    """

    path: str | None

    def __init__(self, path: str | None, given: dict[str, Any]) -> None:
        key = form_of(given["key"]) if "key" in given else None
        value = form_of(given["value"]) if "value" in given else None
        path = None if path is None else os.path.abspath(path) if path else path
        self.path, self._given = path, given
        if (key is None or value is None) and path is not None and os.path.exists(path):
            key, value = self._forms_of_pool(path, given, key, value)
        key, value = key or form_of("bytes"), value or form_of("bytes")
        self._key, self._value = key, value
        try:
            super().__init__(path, _library_options(given, key, value), key, value)
        except UnusableError as e:
            if given["mode"] in "wrb" and path is not None and not os.path.exists(path):
                raise NotFoundError(*e.args) from None
            raise
        note_open(self)

    @staticmethod
    def _forms_of_pool(
        path: str, given: Mapping[str, Any], key: Form | None, value: Form | None
    ) -> tuple[Form, Form]:
        """What the pool has where the caller does not say."""
        facts = _core.kinds_of(path)
        if facts is None:  # no pool, or one that will not open: the opening says why
            facts = ("bytes", "bytes")
        return key or form_of(facts[0]), value or form_of(facts[1])

    # ------------------------------------------------------------------------ a mapping

    def __iter__(self) -> Iterator[Any]:
        for keys, _ in self._lists():
            yield from keys

    def _lists(self) -> Iterator[tuple[list[Any], list[Any]]]:
        position, done = 0, False
        while not done:
            position, done, keys, values = self._scan(position, _CHUNK, False)
            yield keys, values

    def keys(self) -> KeysView:
        return KeysView(self)

    def values(self) -> ValuesView:
        return ValuesView(self)

    def items(self) -> ItemsView:
        return ItemsView(self)

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        """Removes a record and gives its value, as one operation: of several threads that pop a key
        one has it."""
        taken = self._take(key, default)
        if taken is MISSING:
            raise KeyError(key)
        return taken

    def popitem(self) -> tuple[Any, Any]:
        """Removes some record, as pop does."""
        position, done = 0, False
        while not done:
            position, done, keys, _ = self._scan(position, 1, False)
            for key in keys:
                taken = self._take(key, MISSING)
                if taken is not MISSING:
                    return key, taken
        raise KeyError("the table is empty")

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of the key; the default, which is inserted, where there is none. Atomic."""
        while True:
            found = self.get(key, MISSING)
            if found is not MISSING:
                return found
            if self.insert(key, default):
                return default

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Puts the records of a mapping or of pairs, in batches."""
        pairs: Iterable[tuple[Any, Any]]
        if isinstance(other, (Mapping, Table)):
            pairs = other.items()
        elif hasattr(other, "keys"):
            pairs = ((key, other[key]) for key in other.keys())
        else:
            pairs = other
        keys: list[Any] = []
        values: list[Any] = []
        for key, value in pairs:
            keys.append(key)
            values.append(value)
            if len(keys) == _CHUNK:
                self._put_lists(keys, values)
                keys, values = [], []
        keys += more.keys()
        values += more.values()
        self._put_lists(keys, values)

    def _put_lists(self, keys: list[Any], values: list[Any]) -> None:
        if keys:
            # Rows become one array at once; a column of scalars is converted as a list.
            super().put_many(keys, values)

    def clear(self) -> None:
        """Removes all records that are there now."""
        position, done = 0, False
        while not done:
            position, done, keys, _ = self._scan(position, _CHUNK, True)
            super().erase_many(keys)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, (Mapping, Table)):
            return NotImplemented
        if len(self) != len(other):
            return False
        return all(same(other.get(key, MISSING), value) for key, value in self.items())

    __hash__ = object.__hash__  # by identity: a table changes

    def __ior__(self, other: Any) -> Table:
        self.update(other)
        return self

    # ------------------------------------------------------------------------ batches

    def get_many(
        self, keys: Any, out: Any = None, found: Any = None, *, progress: Any = None
    ) -> tuple[Any, Any]:
        """The values of many keys, and for each whether it is there.

        Values of numbers and rows are one array, whose rows of absent keys are zero; `out` is
        filled instead where it is given, and its rows of absent keys stay as they are. Other
        values are a list, with None. `keys` may be any array, tensor on the CPU, or list.
        `progress`: True, or a function that makes a bar as tqdm does.
        """
        if not progress:
            return super().get_many(keys, out, found)
        if out is None and isinstance(self._value, Array):
            out = self._value.empty(len(keys))[0]
            out[...] = np.zeros((), out.dtype)
        if found is None:
            found = np.empty(len(keys), np.bool_)
        values: list[Any] = []
        for part in steps(len(keys), progress, "get"):
            to = None if out is None else out[part]
            got, _ = super().get_many(keys[part], to, found[part])
            if out is None:
                values += got
        return (values if out is None else out), found

    def put_many(
        self, keys: Any, values: Any, wait: bool = True, *, progress: Any = None
    ) -> int:
        """Writes many records; a later one of the same key wins. Each is atomic, all are durable
        on return. `wait=False`: they are when `durable()` of the position that is returned is."""
        if not progress:
            return super().put_many(keys, values, wait)
        position = 0
        for part in steps(len(keys), progress, "put"):
            position = max(position, super().put_many(keys[part], values[part], wait))
        return position

    def erase_many(self, keys: Any, erased: Any = None, *, progress: Any = None) -> Any:
        """Removes many records; for each key whether it was there."""
        if not progress:
            return super().erase_many(keys, erased)
        if erased is None:
            erased = np.empty(len(keys), np.bool_)
        for part in steps(len(keys), progress, "erase"):
            super().erase_many(keys[part], erased[part])
        return erased

    def chunks(self, size: int = 65536) -> Iterator[tuple[Any, Any]]:
        """All records, about `size` at a time: keys and values, arrays where they can be."""
        position, done = 0, False
        while not done:
            position, done, keys, values = self._scan(position, max(1, size), True)
            if len(keys):
                yield keys, values

    # ------------------------------------------------------------------------ the pool

    def info(self) -> dict[str, Any]:
        """Facts of the pool: the fields of `durahash info --json`, but `processes` and `log_file_bytes`.
        After a crash it waits until the records are counted."""
        return self._info()

    def check(self) -> CheckReport:
        """Verifies everything; writers wait while their part is read."""
        return CheckReport(*self._check())

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copies the pool, as it is at one moment, to a new file, while others go on. With
        `mode="b"` each record is as it was at some moment of the copy."""
        self._backup(os.fsdecode(path))

    def wait_durable(self, position: int | None = None) -> None:
        """Waits until what was written before `position` survives a loss of power, at the levels
        that promise it. Left out: all that has returned."""
        self._wait_durable(self.position() if position is None else position)

    async def durable(self, position: int | None = None) -> None:
        """As `wait_durable`, for asyncio: no thread waits."""
        if position is None:
            position = self.position()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def settle(status: int) -> None:
            if done.cancelled():
                return
            if status == 0:
                done.set_result(None)
            else:
                done.set_exception(error_of(status, _core.message(status)))

        def call(status: int) -> None:  # in a thread of the pool
            try:
                loop.call_soon_threadsafe(settle, status)
            except RuntimeError:
                pass  # the loop was closed: nobody waits

        self._when_durable(position, call)
        await done

    def reopen(self, **changes: Any) -> Table:
        """Opens the pool anew, in a child process for example, with the options of this table."""
        given = {**self._given, **changes}
        if given["mode"] == "x":
            given["mode"] = "w"
        if given.pop("read_only", False):
            given["mode"] = "r"
        return Table(self.path, given)

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise TypeError("a table in memory cannot be pickled: nobody else can open it")
        given = {**self._given, "key": self._key.spec, "value": self._value.spec}
        if given["mode"] == "x":
            given["mode"] = "w"
        return _unpickled, (self.path, given)

    def __copy__(self) -> Table:
        return self

    def __deepcopy__(self, _: object) -> Table:
        return self

    @property
    def key(self) -> Any:
        """What its keys are, as `durahash.open` takes it."""
        return self._key.spec

    @property
    def value(self) -> Any:
        """What its values are."""
        return self._value.spec

    def __repr__(self) -> str:
        where = "memory" if self.path is None else repr(self.path)
        try:
            engine, _, _, durability = self._kinds()
        except (ClosedError, ForkedError) as e:
            return f"<durahash.Table {where}, {'closed' if isinstance(e, ClosedError) else 'forked'}>"
        return f"<durahash.Table {where}, {self._key.name} -> {self._value.name}, {engine}, {durability}>"

    def _repr_html_(self) -> str:
        from ._html import html_of

        return html_of(self)


MutableMapping.register(Table)


def _unpickled(path: str, given: dict[str, Any]) -> Table:
    """The table of this process that has the file open; else it is opened."""
    for table in open_tables():
        if table.path == path and not table.closed and not table._forked:
            if (table._key, table._value) == (form_of(given["key"]), form_of(given["value"])):
                return table
            raise InvalidArgumentError(f"{path} is open here, with other forms of keys or values")
    return Table(path, given)
