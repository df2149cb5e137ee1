"""The picture of a table for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ._errors import ClosedError, ForkedError

if TYPE_CHECKING:
    from ._table import Table

_SURVIVES = {
    "none": ("nothing", "#b91c1c"),
    "process": ("kill -9; a power cut after sync() or close()", "#b45309"),
    "power_buffered": ("kill -9; a power cut, but for the last moments", "#15803d"),
    "power": ("kill -9 and a power cut", "#15803d"),
}


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _meter(share: float, colour: str) -> str:
    width = max(0.0, min(1.0, share)) * 160
    return (
        '<svg width="160" height="10" role="img" style="vertical-align:middle">'
        '<rect width="160" height="10" rx="3" fill="#e5e7eb"/>'
        f'<rect width="{width:.1f}" height="10" rx="3" fill="{colour}"/></svg>'
    )


def html_of(table: Table) -> str:
    try:
        facts: dict[str, Any] = table.info()
    except (ClosedError, ForkedError):
        return f"<pre>{escape(repr(table))}</pre>"
    survives, colour = _SURVIVES[facts["durability"]]
    load, file = facts["load_factor"], facts["file_bytes"]
    live = facts["live_bytes"] / file if file else 0.0
    rows = [
        ("keys &rarr; values", escape(f"{table._key.name} → {table._value.name}")),
        ("records", f"{facts['records']:,}"),
        ("load", f"{_meter(load, '#2563eb')} {load:.2f} of {facts['slots']:,} slots"),
        ("file", f"{_meter(live, '#2563eb')} {_bytes(facts['live_bytes'])} of {_bytes(file)} in use"),
        ("survives", f'<span style="color:{colour}">&#9679;</span> {survives}'),
        ("engine", f"{facts['engine']} on {facts['medium']}, durability {facts['durability']}"),
    ]
    body = "".join(
        f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{cell}</td></tr>'
        for name, cell in rows
    )
    title = escape("memory" if table.path is None else table.path)
    return f"<table><caption><code>{title}</code></caption>{body}</table>"
