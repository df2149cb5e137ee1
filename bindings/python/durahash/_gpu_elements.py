"""What an element of an array is: names, and DLPack's codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# DLPack's code and bits of each kind of element.
ELEMENTS = {
    "bool": (6, 8),
    "uint8": (1, 8),
    "int8": (0, 8),
    "uint16": (1, 16),
    "int16": (0, 16),
    "uint32": (1, 32),
    "int32": (0, 32),
    "uint64": (1, 64),
    "int64": (0, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float32": (2, 32),
    "float64": (2, 64),
}
NAMES = {coded: name for name, coded in ELEMENTS.items()}
WORDS = ("int64", "uint64")


def item_bytes(element: str) -> int:
    return ELEMENTS[element][1] // 8


def count_of(shape: Sequence[int]) -> int:
    made = 1
    for side in shape:
        made *= side
    return made


def element_of(dtype: Any, what: str = "") -> str:
    """Its name; of torch's, CuPy's and NumPy's dtypes, and of names. `what` begins the error."""
    text = str(dtype)
    name = text.removeprefix("torch.")
    if name not in ELEMENTS:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            pass
    if name == "void16":  # of ml_dtypes, in the array interface
        name = "bfloat16"
    if name not in ELEMENTS:
        begin = f"{what}: " if what else ""
        raise TypeError(f"{begin}{text} is no kind of element here: {', '.join(ELEMENTS)}")
    return name
