"""A batch in steps, with a bar that tells of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._forms import slices

_SLICE = 1 << 18  # keys between two steps of a progress bar


def steps(count: int, progress: Any, what: str) -> Iterator[slice]:
    bar = _bar(count, progress, what)
    with bar:
        for part in slices(count, _SLICE):
            yield part
            bar.update(part.stop - part.start)


class _NoBar:
    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, _: int) -> None:
        pass


def _bar(count: int, progress: Any, what: str) -> Any:
    if callable(progress):
        return progress(total=count, desc=what)
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return _NoBar()
    return tqdm(total=count, desc=what, unit=" records", unit_scale=True)
