"""What keys(), values() and items() of a table give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._table import Table

MISSING: Any = object()


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not MISSING and np.array_equal(one, other)
    return bool(one == other)


class KeysView:
    """As that of dict; it asks the table each time."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._table)

    def __contains__(self, key: Any) -> bool:
        return key in self._table

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._table!r})"


class ValuesView(KeysView):
    def __iter__(self) -> Iterator[Any]:
        for _, values in self._table._lists():
            yield from values

    def __contains__(self, value: Any) -> bool:
        return any(same(each, value) for each in self)


class ItemsView(KeysView):
    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for keys, values in self._table._lists():
            yield from zip(keys, values)

    def __contains__(self, item: Any) -> bool:
        key, value = item
        return same(self._table.get(key, MISSING), value)
