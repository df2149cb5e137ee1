"""The tables that are open in this process, until it ends."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from ._table import Table

_open_tables: dict[int, weakref.ref[Table]] = {}  # by id()


def note_open(table: Table) -> None:
    number, tables = id(table), _open_tables
    tables[number] = weakref.ref(table, lambda _: tables.pop(number, None))


def open_tables() -> list[Table]:
    """Those that are open now. The list of a dict's values is made at once: threads open and lose
    tables meanwhile, and a WeakSet's iteration ends with an error then."""
    return [table for each in list(_open_tables.values()) if (table := each()) is not None]


@atexit.register
def _close_all() -> None:
    """Before the interpreter ends: no thread of a pool may need it afterwards."""
    if threading.active_count() > 1:  # what a daemon thread has is in use, and not leaked
        _core.ignore_leaks()
    _core.interpreter_ends(False)
    for table in open_tables():
        if not table.closed and not table._forked:
            try:
                table.close()
            except Exception as e:  # the others must be closed, too
                print(f"durahash: {table.path} was not closed cleanly: {e}", file=sys.stderr)
    _core.interpreter_ends(True)
