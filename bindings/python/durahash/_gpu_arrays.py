"""Arrays that a device reads and writes: whose they are, where they lie, what is in them."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _gpu
from ._errors import InvalidArgumentError

# DLPack's code and bits of each kind of element.
_ELEMENTS = {
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
_NAMES = {coded: name for name, coded in _ELEMENTS.items()}
WORDS = ("int64", "uint64")
_ON_CPU, _ON_CUDA, _PINNED, _MANAGED = 1, 2, 3, 13  # DLPack's kinds of devices


def item_bytes(element: str) -> int:
    return _ELEMENTS[element][1] // 8


def _count(shape: Sequence[int]) -> int:
    made = 1
    for side in shape:
        made *= side
    return made


def element_of(dtype: Any, what: str = "") -> str:
    """Its name; of torch's, CuPy's and NumPy's dtypes, and of names. `what` begins the error."""
    text = str(dtype)
    name = text.removeprefix("torch.")
    if name not in _ELEMENTS:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            pass
    if name == "void16":  # of ml_dtypes, in the array interface
        name = "bfloat16"
    if name not in _ELEMENTS:
        begin = f"{what}: " if what else ""
        raise TypeError(f"{begin}{text} is no kind of element here: {', '.join(_ELEMENTS)}")
    return name


# ------------------------------------------------------------------------------- arrays of our own

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
        return _count(self.shape)

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
        row = _count(self.shape[1:]) * item_bytes(self._element)
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
        code, bits = _ELEMENTS[self._element]
        kind, number = self.__dlpack_device__()
        return _gpu.lend(self._block, self.address, list(self.shape), code, bits, kind, number)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_PINNED, 0) if self.pinned else (_ON_CUDA, self.device)

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
        values = _words(values)
    source = np.asarray(values)
    made = empty(source.shape, source.dtype if dtype is None else dtype, device=device, pinned=pinned)
    made.copy_from(source)
    return made


class Stream:
    """A stream of a device, for programs that have neither PyTorch nor CuPy. It does not wait for
    the default stream, nor that one for it. When it goes it waits for what it was asked."""

    __slots__ = ("_stream", "__weakref__")

    def __init__(self, device: Any = 0) -> None:
        self._stream = _gpu.Stream(device_number(device))

    @property
    def ptr(self) -> int:
        """A cudaStream_t."""
        return self._stream.address

    @property
    def device(self) -> int:
        """The number of its device."""
        return self._stream.device

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def synchronize(self) -> None:
        """Waits until all is done that it was asked for."""
        _gpu.wait(self.device, self.ptr)

    def __repr__(self) -> str:
        return f"<durahash.gpu.Stream {self.ptr:#x}, cuda:{self.device}>"


# ------------------------------------------------------------------------------ arrays of anybody's


class Seen(NamedTuple):
    """Where an array lies, and what is in it."""

    address: int
    shape: tuple[int, ...]
    element: str
    device: int | None  # None: in the host's memory, or nobody tells
    in_host: bool  # perhaps where no device reaches
    owner: Any  # what keeps it
    stream: int | None = None  # in which it was written, if it says so
    read_only: bool = False

    @property
    def size(self) -> int:
        return _count(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * item_bytes(self.element)


def _refuse_strides(what: str, name: str, how: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{what}: this {name} is not contiguous; {how} makes a copy that is")


class Kind:
    """A library's arrays."""

    name = ""
    in_host = False

    def see(self, x: Any, what: str, for_stream: int = 0) -> Seen:
        raise NotImplementedError

    def make(self, shape: Sequence[int], element: str, device: int, on: int | None, zero: bool) -> Any:
        """On `on`, a stream; of zeros, if they are asked for."""
        raise NotImplementedError

    def current_stream(self, device: int) -> int | None:
        """None: it has none."""
        return None

    def is_ok(self, answers: Any) -> Any:
        """Whether each is 0: for answers that are final."""
        return answers == 0

    def worst(self, answers: Any) -> int:
        return 0 if 0 in tuple(answers.shape) else int(answers.max())

    def head(self, x: Any, count: int) -> Any:
        return x[:count]

    def number(self, x: Any) -> int:
        """The one that this array has."""
        return int(x[0])


class _Own(Kind):
    name = "gpu.Array"

    def see(self, x: Any, what: str, for_stream: int = 0) -> Seen:
        return Seen(x.address, x.shape, x._element, None if x.pinned else x.device, False, x)

    def make(self, shape: Sequence[int], element: str, device: int, on: int | None, zero: bool) -> Array:
        made = Array(shape, element, device, True)
        if zero:
            ctypes.memset(made.address, 0, made.nbytes)
        return made

    def is_ok(self, answers: Array) -> Array:
        made = Array(answers.shape, "bool", answers.device, True)
        np.equal(answers.numpy(), 0, out=made.numpy())
        return made

    def worst(self, answers: Array) -> int:
        return int(answers.numpy().max()) if answers.size else 0

    def number(self, x: Array) -> int:
        return int(x.numpy()[0])


class _Foreign(_Own):
    """Of any library that has one of the two protocols. Its answers are arrays of our own."""

    name = "array"

    def see(self, x: Any, what: str, for_stream: int = 0) -> Seen:
        offered = getattr(x, "__cuda_array_interface__", None)
        if offered is None:
            return self._lent(x, what, for_stream)
        if offered.get("mask") is not None:
            raise InvalidArgumentError(f"{what}: an array with a mask is none that a device can use")
        element, shape = element_of(offered["typestr"], what), tuple(offered["shape"])
        if not _lies_dense(shape, offered.get("strides"), item_bytes(element)):
            raise _refuse_strides(what, type(x).__name__, "a copy in C order")
        address, read_only = offered["data"]
        return Seen(int(address or 0), shape, element, None, False, x, offered.get("stream"), bool(read_only))

    def _lent(self, x: Any, what: str, for_stream: int) -> Seen:
        kind = int(x.__dlpack_device__()[0])
        # 1 is how DLPack calls the default stream
        capsule = x.__dlpack__() if kind == _PINNED else x.__dlpack__(stream=for_stream or 1)
        lent = _gpu.Lent(capsule)
        code, bits, lanes = lent.element
        if lanes != 1 or (code, bits) not in _NAMES:
            raise TypeError(f"{what}: DLPack's elements ({code}, {bits}, {lanes}) are no kind of element here")
        if not lent.contiguous:
            raise _refuse_strides(what, type(x).__name__, "a copy in C order")
        device = int(lent.device[1]) if kind == _ON_CUDA else None
        return Seen(lent.address, tuple(lent.shape), _NAMES[code, bits], device, False, lent)


def _lies_dense(shape: Sequence[int], strides: Sequence[int] | None, item: int) -> bool:
    if strides is None or _count(shape) == 0:
        return True
    wanted = item
    for side, stride in zip(reversed(shape), reversed(strides)):
        if side != 1 and stride != wanted:
            return False
        wanted *= side
    return True


class _NumPy(Kind):
    name = "NumPy array"
    in_host = True

    def see(self, x: Any, what: str, for_stream: int = 0) -> Seen:
        if x.dtype.kind in "SV" and x.dtype.names is None and x.dtype.subdtype is None:
            x = np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
        if not x.flags.c_contiguous:
            raise _refuse_strides(what, "NumPy array", "np.ascontiguousarray")
        element = element_of(x.dtype, what)
        return Seen(x.ctypes.data, x.shape, element, None, True, x, None, not x.flags.writeable)

    def make(self, shape: Sequence[int], element: str, device: int, on: int | None, zero: bool) -> Any:
        return OWN.make(shape, element, device, on, zero).numpy()


class _Torch(Kind):
    name = "tensor"

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def see(self, x: Any, what: str, for_stream: int = 0) -> Seen:
        on = x.device.type
        if on not in ("cuda", "cpu"):
            raise InvalidArgumentError(f"{what}: this tensor is on {x.device}, and no CUDA device reaches that")
        if x.layout != self._torch.strided:
            raise InvalidArgumentError(f"{what}: this tensor is sparse; to_dense() makes one that is not")
        if not x.is_contiguous():
            raise _refuse_strides(what, "tensor", ".contiguous()")
        where = (x.device.index or 0) if on == "cuda" else None
        return Seen(x.data_ptr(), tuple(x.shape), element_of(x.dtype, what), where, on == "cpu", x)

    def _dtype(self, element: str) -> Any:
        # what PyTorch lacks before 2.3 has the same bits as another
        return getattr(self._torch, {"uint32": "int32", "uint64": "int64", "uint16": "int16"}.get(element, element))

    def make(self, shape: Sequence[int], element: str, device: int, on: int | None, zero: bool) -> Any:
        cuda = self._torch.cuda
        there = contextlib.nullcontext()
        if on is not None and on != cuda.current_stream(device).cuda_stream:
            # else it might be memory that the current stream has not done with
            there = cuda.stream(cuda.ExternalStream(on, device=device))
        with there:
            how = self._torch.zeros if zero else self._torch.empty
            return how(tuple(shape), dtype=self._dtype(element), device=f"cuda:{device}")

    def current_stream(self, device: int) -> int | None:
        return int(self._torch.cuda.current_stream(device).cuda_stream)


class _TorchInHost(_Torch):
    name = "tensor on the CPU"
    in_host = True

    def make(self, shape: Sequence[int], element: str, device: int, on: int | None, zero: bool) -> Any:
        dtype = self._dtype(element)
        raw = OWN.make((_count(shape) * item_bytes(element),), "uint8", device, on, zero).numpy()
        if raw.size == 0:
            return self._torch.empty(tuple(shape), dtype=dtype)
        return self._torch.from_numpy(raw).view(dtype).reshape(tuple(shape))

    def current_stream(self, device: int) -> int | None:
        return None


class _CuPy(Kind):
    name = "CuPy array"

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def see(self, x: Any, what: str, for_stream: int = 0) -> Seen:
        if not x.flags.c_contiguous:
            raise _refuse_strides(what, "CuPy array", "cupy.ascontiguousarray")
        return Seen(int(x.data.ptr), tuple(x.shape), element_of(x.dtype, what), int(x.device.id), False, x)

    def make(self, shape: Sequence[int], element: str, device: int, on: int | None, zero: bool) -> Any:
        cuda = self._cupy.cuda
        with cuda.Device(device):
            there: Any = contextlib.nullcontext()
            if on is not None and on != cuda.get_current_stream().ptr:
                there = cuda.ExternalStream(on)
            with there:
                return (self._cupy.zeros if zero else self._cupy.empty)(tuple(shape), element)

    def current_stream(self, device: int) -> int | None:
        with self._cupy.cuda.Device(device):
            return int(self._cupy.cuda.get_current_stream().ptr)


OWN, FOREIGN, _NUMPY = _Own(), _Foreign(), _NumPy()


def _words(x: Any) -> np.ndarray[Any, Any]:
    """Of a list: whole numbers become u64."""
    whole = np.asarray(x)
    if whole.dtype.kind not in "iuO" and whole.size:
        return whole
    if whole.dtype.kind == "i" and whole.size and whole.min() < 0:
        raise OverflowError(f"a number is none of u64: 0 to {2**64 - 1}; an array of int64 is taken as its bits")
    return np.array(x, np.uint64)


def kind_of(x: Any, what: str) -> tuple[Kind, Any]:
    """Whose array it is, and the array: lists become one of NumPy's. Imports nobody's library."""
    if isinstance(x, Array):
        return OWN, x
    torch: Any = sys.modules.get("torch")
    tensor: Any = getattr(torch, "Tensor", None)
    if tensor is not None and isinstance(x, tensor):
        x = x.detach()
        return (_TorchInHost(torch) if x.device.type == "cpu" else _Torch(torch)), x
    cupy: Any = sys.modules.get("cupy")
    ndarray: Any = getattr(cupy, "ndarray", None)
    if ndarray is not None and isinstance(x, ndarray):
        return _CuPy(cupy), x
    if isinstance(x, np.ndarray):
        return _NUMPY, x
    if hasattr(x, "__cuda_array_interface__"):
        return FOREIGN, x
    if hasattr(x, "__dlpack_device__"):
        kind = int(x.__dlpack_device__()[0])
        if kind in (_ON_CUDA, _PINNED, _MANAGED):
            return FOREIGN, x
        if kind != _ON_CPU:
            raise InvalidArgumentError(f"{what}: no CUDA device reaches an array on DLPack's device {kind}")
        return _NUMPY, np.from_dlpack(x)
    if isinstance(x, (list, tuple, range)):
        return _NUMPY, _words(x)
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        return _NUMPY, np.asarray(x)
    with contextlib.suppress(TypeError):
        return _NUMPY, np.asarray(memoryview(x))
    raise TypeError(
        f"{what}: an array is asked for (PyTorch's, CuPy's, NumPy's, a gpu.Array, a list), and not {type(x).__name__}"
    )


# -------------------------------------------------------------------------------------- streams


def stream_address(stream: Any, device: int) -> int:
    """A cudaStream_t as a number: of a number, of a stream of PyTorch, CuPy, or of ours, or of
    whoever has `__cuda_stream__`."""
    if isinstance(stream, bool):
        raise TypeError("a stream is no bool")
    made: Any = None
    for name in ("cuda_stream", "ptr"):
        made = getattr(stream, name, None) if made is None else made
    if isinstance(stream, (int, np.integer)):
        made = int(stream)
    elif made is None and hasattr(stream, "__cuda_stream__"):
        told = stream.__cuda_stream__
        made = (told() if callable(told) else told)[1]
    if made is None:
        raise TypeError(
            f"a {type(stream).__name__} is no stream: a number (a cudaStream_t), or an object with "
            "cuda_stream, ptr or __cuda_stream__"
        )
    for name in ("device_index", "device_id"):
        number = getattr(stream, name, None)
        if isinstance(number, int) and number >= 0 and number != device:
            raise InvalidArgumentError(f"the stream is of cuda:{number}, and the pool is open on cuda:{device}")
    return checked_stream(int(made))


def checked_stream(address: int) -> int:
    if address < 0:
        raise InvalidArgumentError(f"{address} is no stream")
    if address == 2:
        raise InvalidArgumentError(
            "the default stream of each thread has no name that other threads know; use a stream of your own"
        )
    return 0 if address == 1 else address  # both are the default stream
