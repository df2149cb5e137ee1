"""What keys and values are: numbers, rows of a NumPy dtype, bytes, text, or objects of a codec."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_U64, _I64, _F64, _FIXED, _BYTES, _TEXT, _CODED = range(7)


@dataclass(frozen=True)
class Codec:
    """How objects of any kind become bytes, and bytes objects again.

    `durahash.open(path, value=durahash.Codec(encode, decode))`. Equal keys must have equal bytes.
    """

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def as_array(given: Any) -> np.ndarray[Any, Any]:
    """An array over the same memory, where there is one: of the buffer protocol, of
    `__array__`, or of DLPack (tensors on the CPU)."""
    if not isinstance(given, np.ndarray) and not hasattr(given, "__array__"):
        if hasattr(given, "__dlpack__"):
            return np.from_dlpack(given)
    return np.asarray(given)


def flags(count: int) -> np.ndarray[Any, Any]:
    return np.empty(count, np.bool_)


def _raw(array: np.ndarray[Any, Any], width: int) -> np.ndarray[Any, Any]:
    """The bytes of each row."""
    if len(array) == 0 or width == 0:
        return np.empty((len(array), width), np.uint8)
    return array.reshape(len(array), -1).view(np.uint8)


class Form:
    """Of the extension's: see bindings/python/src/form.hpp."""

    kind: int
    width = 0
    format = ""
    shape: tuple[int, ...] = ()
    pool_kind = "bytes"  # of the library: u64 or bytes

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.spec == other.spec

    def __repr__(self) -> str:
        return repr(self.spec)

    @property
    def name(self) -> str:
        return str(self.spec)

    def encode(self, one: Any) -> bytes:
        raise NotImplementedError

    def decode(self, stored: bytes) -> Any:
        raise NotImplementedError

    def rows(self, many: Any) -> Any:
        raise NotImplementedError

    def empty(self, count: int) -> tuple[Any, Any]:
        raise TypeError(f"values of the form {self.name} make no array; out= takes one")

    def target(self, out: Any, count: int) -> Any:
        raise NotImplementedError


class Array(Form):
    """Numbers, and rows of one dtype and shape: a batch of them is an array."""

    dtype: np.dtype[Any]

    def _checked(self, array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
        if array.shape[1:] == self.shape and array.ndim == 1 + len(self.shape):
            return array
        if array.shape == (0,):  # an empty list
            return array.astype(self.dtype).reshape(0, *self.shape)
        wanted = ", ".join(["n", *map(str, self.shape)])
        raise ValueError(f"{what} must have the shape ({wanted}), and has {array.shape}")

    def empty(self, count: int) -> tuple[Any, Any]:
        made = np.empty((count, *self.shape), self.dtype)
        return made, _raw(made, self.width)

    def target(self, out: Any, count: int) -> Any:
        array = self._checked(as_array(out), "out")
        if array.dtype != self.dtype or len(array) != count:
            raise ValueError(
                f"out must be {count} rows of {self.dtype}, and has {len(array)} of {array.dtype}"
            )
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise ValueError("out must be writable and C-contiguous")
        return _raw(array, self.width)


class Number(Array):
    def __init__(self, spec: str, kind: int, dtype: str) -> None:
        super().__init__(spec)
        self.kind = kind
        self.dtype = np.dtype(dtype)
        self.width = 8
        self.pool_kind = "u64"

    def empty(self, count: int) -> tuple[Any, Any]:
        made = np.empty(count, self.dtype)
        return made, made

    def _of_list(self, many: Any) -> Any:
        array = np.asarray(many)
        if self.dtype.kind in "iu" and array.dtype.kind not in "iub":
            # those that NumPy has one integer type for no more; what is no integer is refused
            array = np.array([operator.index(one) for one in many], self.dtype)
        if self.dtype.kind == "f" and all(isinstance(one, int) for one in many):
            array = np.array(many, self.dtype)  # however large
        return array

    def rows(self, many: Any) -> Any:
        array = self._of_list(many) if isinstance(many, (list, tuple)) else as_array(many)
        array = self._checked(array, "a batch")
        if self.dtype.kind in "iu":
            if array.dtype.kind not in "iub":
                raise TypeError(f"integers are asked for, and these are {array.dtype}")
            low, high = np.iinfo(self.dtype).min, np.iinfo(self.dtype).max
            if len(array) and (int(array.min()) < low or int(array.max()) > high):
                raise OverflowError(f"a number is none of {self.name}: {low} to {high}")
        elif array.dtype.kind not in "fiub":
            raise TypeError(f"numbers are asked for, and these are {array.dtype}")
        return np.ascontiguousarray(array, self.dtype)


class Rows(Array):
    kind = _FIXED

    def __init__(self, dtype: np.dtype[Any]) -> None:
        if dtype.hasobject:
            raise TypeError(f"{dtype} holds references to objects, which a file cannot keep")
        if dtype.itemsize == 0:
            raise TypeError(f"{dtype} has no length: rows need one, such as S16")
        super().__init__(dtype)
        self.dtype, self.shape = dtype.base, dtype.shape
        self.width = dtype.itemsize
        self.pool_kind = "u64" if self.width == 8 else "bytes"
        try:
            row: Any = np.empty((1, *self.shape), self.dtype)
            self.format = memoryview(row).format
        except (ValueError, TypeError, BufferError):  # dates have no format
            self.format = ""

    @property
    def name(self) -> str:
        side = f" x {'x'.join(map(str, self.shape))}" if self.shape else ""
        return f"{self.dtype}{side}"

    def encode(self, one: Any) -> bytes:
        array = self._cast(as_array(one) if not isinstance(one, tuple) else one)
        if array.shape != self.shape:
            raise ValueError(f"a row must have the shape {self.shape}, and has {array.shape}")
        return array.tobytes()

    def decode(self, stored: bytes) -> Any:
        # A copy of its own, which may be written to.
        return np.frombuffer(stored, self.dtype).reshape(self.shape).copy()[()]

    def rows(self, many: Any) -> Any:
        array = many if isinstance(many, (list, tuple)) else as_array(many)
        if (
            self.dtype.kind == "V"
            and self.dtype.names is None
            and isinstance(array, np.ndarray)
            and array.ndim > 0
            and array.dtype != self.dtype
        ):  # plain bytes: any rows of as many
            array = np.ascontiguousarray(array)
            row = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
            if row != self.width:
                raise ValueError(f"rows have {self.width} bytes here, and these have {row}")
            return _raw(array, row)
        return _raw(np.ascontiguousarray(self._checked(self._cast(array), "rows")), self.width)

    def _cast(self, given: Any) -> np.ndarray[Any, Any]:
        if isinstance(given, np.ndarray):
            if given.dtype == self.dtype:
                return given
            return given.astype(self.dtype, casting="same_kind")
        return np.array(given, self.dtype)


class Bytes(Form):
    kind = _BYTES

    def rows(self, many: Any) -> Any:
        array = as_array(many)
        if array.dtype.kind in "OU" or array.ndim == 0:
            return array.tolist() if array.ndim else list(many)
        if array.dtype.kind == "S":
            if array.ndim != 1:
                raise ValueError("an array of bytes has one dimension")
            return np.ascontiguousarray(array) if array.itemsize else [b""] * len(array)
        if array.ndim == 1 and array.dtype.kind in "iufcb":
            raise TypeError("bytes are asked for: a list, an array of S or V, or rows of numbers")
        array = np.ascontiguousarray(array)
        return _raw(array, array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64)))

    def target(self, out: Any, count: int) -> Any:
        array = as_array(out)
        if len(array) != count or not array.flags.c_contiguous or not array.flags.writeable:
            raise ValueError(f"out must be {count} writable rows, C-contiguous")
        return array.reshape(count, -1).view(np.uint8) if count else array

    def empty(self, count: int) -> tuple[Any, Any]:
        raise TypeError("out= takes an array")


class Text(Form):
    kind = _TEXT

    def rows(self, many: Any) -> Any:
        return many.tolist() if isinstance(many, np.ndarray) else list(many)

    def target(self, out: Any, count: int) -> Any:
        raise TypeError("out= is for numbers, rows and bytes")


class Coded(Form):
    kind = _CODED

    @property
    def name(self) -> str:
        return "objects of a codec"

    def encode(self, one: Any) -> bytes:
        return self.spec.encode(one)  # type: ignore[no-any-return]

    def decode(self, stored: bytes) -> Any:
        return self.spec.decode(stored)

    def rows(self, many: Any) -> Any:
        return many.tolist() if isinstance(many, np.ndarray) else list(many)

    def target(self, out: Any, count: int) -> Any:
        raise TypeError("out= is for numbers, rows and bytes")


def form_of(spec: Any) -> Form:
    """Of what a caller of `durahash.open` says: a name, a dtype, (dtype, shape), or a codec."""
    if isinstance(spec, Form):
        return spec
    if spec in ("u64", "i64", "f64") and isinstance(spec, str):
        kind, dtype = {"u64": (_U64, "=u8"), "i64": (_I64, "=i8"), "f64": (_F64, "=f8")}[spec]
        return Number(spec, kind, dtype)
    if isinstance(spec, str) and spec == "bytes" or spec is bytes:
        return Bytes("bytes")
    if isinstance(spec, str) and spec == "str" or spec is str:
        return Text("str")
    if isinstance(spec, Codec):
        return Coded(spec)
    try:
        dtype = np.dtype(spec)
    except TypeError:
        raise TypeError(
            f"{spec!r} is no form of keys or values: u64, i64, f64, bytes, str, "
            "a NumPy dtype, (dtype, shape), or a durahash.Codec"
        ) from None
    for name in ("u64", "i64", "f64"):
        number = form_of(name)
        assert isinstance(number, Number)
        if dtype == number.dtype:
            return number
    return Rows(dtype)


def slices(count: int, size: int) -> Sequence[slice]:
    return [slice(at, min(count, at + size)) for at in range(0, count, size)]
