"""Arrays of our own, in memory that a device reads and writes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _gpu
from ._errors import InvalidArgumentError
from ._gpu_elements import ELEMENTS, count_of, element_of, item_bytes

ON_CUDA, PINNED = 2, 3  # DLPack's kinds of devices

_SPARE_BYTES = 64 << 20
_spare: dict[tuple[int, bool, int], list[_gpu.Memory]] = {}
_spare_now = 0


class _Block:
    """Memory that is used again: to pin and to free some waits for the device. But what others were
    lent, kernels of theirs may use still: that is freed, which waits for them."""

    __slots__ = ("memory", "kind", "is_lent")

    def __init__(self, count: int, device: int, pinned: bool) -> None:
        global _spare_now
        self.is_lent = False
        room = max(256, 1 << max(0, count - 1).bit_length())
        self.kind = (device, pinned, room)
        try:
            self.memory = _spare[self.kind].pop()
            _spare_now -= room
        except (KeyError, IndexError):
            self.memory = _gpu.Memory(room, device, pinned)

    def __del__(self) -> None:
        global _spare_now
        try:
            if not self.is_lent and _spare_now + self.kind[2] <= _SPARE_BYTES:
                _spare.setdefault(self.kind, []).append(self.memory)
                _spare_now += self.kind[2]
        except (AttributeError, TypeError):
            pass  # it was never made, or the interpreter ends


class Array:
    """An array in pinned memory of the host, or in a device's own, for programs that have neither
    PyTorch nor CuPy. `empty` and `array` make one; `Map` and `Table` answer with them.

    C-contiguous. Pinned ones are NumPy arrays over the same memory: `numpy()`, `np.asarray`. Both
    offer `__cuda_array_interface__` and `__dlpack__`. Neither waits for a stream: wait for the
    batch that writes an array before you look at it.
    """

    __slots__ = ("_block", "_element", "address", "device", "pinned", "shape", "__weakref__")

    def __init__(
        self, shape: Sequence[int], element: str, device: int, pinned: bool, of: Any = None, at: int = 0
    ) -> None:
        self.shape = tuple(int(side) for side in shape)
        if any(side < 0 for side in self.shape):
            raise InvalidArgumentError(f"no array has the shape {self.shape}")
        self._element, self.device, self.pinned = element, device, pinned
        self._block = _Block(self.nbytes, device, pinned) if of is None else of
        self.address: int = self._block.memory.address + at if of is None else at

    @property
    def dtype(self) -> Any:
        """NumPy's; of bfloat16, which NumPy lacks, the name."""
        return self._element if self._element == "bfloat16" else np.dtype(self._element)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return count_of(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * item_bytes(self._element)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without a dimension has no length")
        return self.shape[0]

    def __getitem__(self, part: slice) -> Array:
        """Rows from here to there, over the same memory."""
        if not isinstance(part, slice) or not self.shape:
            raise TypeError("slices of rows alone: a[2:5]; numpy() has all of NumPy's ways")
        begin, end, step = part.indices(self.shape[0])
        if step != 1:
            raise InvalidArgumentError("rows that lie one behind another: a step of 1")
        row = count_of(self.shape[1:]) * item_bytes(self._element)
        shape = (max(0, end - begin), *self.shape[1:])
        return Array(shape, self._element, self.device, self.pinned, self._block, self.address + begin * row)

    def _view(self) -> np.ndarray[Any, Any]:
        as_numpy = "uint16" if self._element == "bfloat16" else self._element
        if self.size == 0:
            return np.empty(self.shape, as_numpy)
        raw: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        raw._durahash_block = self._block  # NumPy keeps it, and it the memory
        view: np.ndarray[Any, Any] = np.frombuffer(raw, as_numpy, self.size)
        return view.reshape(self.shape)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Pinned: the same memory. A device's own: a copy. Elements bfloat16 are uint16."""
        if self.pinned:
            return self._view()
        as_numpy = "uint16" if self._element == "bfloat16" else self._element
        made = np.empty(self.shape, as_numpy)
        _gpu.copy(self.device, made.ctypes.data, self.address, self.nbytes)
        return made

    def copy_from(self, values: Any) -> None:
        """Stores these in it, with NumPy's rules of shapes; done when it returns."""
        if self.pinned:
            self._view()[...] = values
            return
        as_numpy = "uint16" if self._element == "bfloat16" else self._element
        source = np.empty(self.shape, as_numpy)
        source[...] = values
        _gpu.copy(self.device, self.address, source.ctypes.data, self.nbytes)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._block.is_lent = True
        typestr = "<V2" if self._element == "bfloat16" else np.dtype(self._element).str
        return {
            "data": (self.address if self.size else 0, False),
            "shape": self.shape,
            "strides": None,
            "typestr": typestr,
            "version": 3,
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False and not self.pinned:
            raise ValueError("what is in a device's memory is copied, to be a NumPy array")
        made = self.numpy()
        return np.array(made, dtype) if copy else np.asarray(made, dtype)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the array as it lies, and no copy")
        self._block.is_lent = True
        code, bits = ELEMENTS[self._element]
        kind, number = self.__dlpack_device__()
        return _gpu.lend(self._block, self.address, list(self.shape), code, bits, kind, number)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (PINNED, 0) if self.pinned else (ON_CUDA, self.device)

    def __repr__(self) -> str:
        where = "pinned" if self.pinned else f"cuda:{self.device}"
        return f"<durahash.gpu.Array {self.shape}, {self._element}, {where}>"


def device_number(device: Any) -> int:
    """Of a number, of "cuda:1", and of PyTorch's devices."""
    if isinstance(device, str) or hasattr(device, "type"):
        kind, _, number = str(device).partition(":")
        if kind == "cuda" and (number.isdigit() or not number):
            return int(number or 0)
    elif isinstance(device, int) and not isinstance(device, bool):
        return device
    raise InvalidArgumentError(f"{device!r} is no CUDA device: a number, or 'cuda:1'")


def device_name(device: Any = 0) -> str:
    """What its maker calls the CUDA device; raises what stands in the way of its use."""
    return _gpu.device_name(device_number(device))


def empty(shape: int | Sequence[int], dtype: Any = "uint64", *, device: Any = 0, pinned: bool = True) -> Array:
    """An array whose elements are whatever was there. `dtype`: NumPy's, or "bfloat16".

    `pinned`: memory of the host that the device reads over its bus, and so does every other one.
    False: the device's own. Raises `OutOfMemoryError`, or `UnusableError` where no device is.
    """
    sides = (shape,) if isinstance(shape, int) else shape
    return Array(sides, element_of(dtype), device_number(device), pinned)


def array(values: Any, dtype: Any = None, *, device: Any = 0, pinned: bool = True) -> Array:
    """An array with a copy of these: of anything that NumPy takes. Whole numbers that are no array
    are u64. Elements of "bfloat16" are given as their 16 bits."""
    if dtype is None and isinstance(values, (list, tuple, range, int)):
        values = words_of(values)
    source = np.asarray(values)
    made = empty(source.shape, source.dtype if dtype is None else dtype, device=device, pinned=pinned)
    made.copy_from(source)
    return made


def words_of(x: Any) -> np.ndarray[Any, Any]:
    """Of a list: whole numbers become u64."""
    whole = np.asarray(x)
    if whole.dtype.kind not in "iuO" and whole.size:
        return whole
    if whole.dtype.kind == "i" and whole.size and whole.min() < 0:
        raise OverflowError(f"a number is none of u64: 0 to {2**64 - 1}; an array of int64 is taken as its bits")
    return np.array(x, np.uint64)
