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
from ._gpu_arrays import ON_CUDA, PINNED, Array, words_of
from ._gpu_elements import NAMES, count_of, element_of, item_bytes

_ON_CPU, _MANAGED = 1, 13  # DLPack's kinds of devices


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
        return count_of(self.shape)

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
        capsule = x.__dlpack__() if kind == PINNED else x.__dlpack__(stream=for_stream or 1)
        lent = _gpu.Lent(capsule)
        code, bits, lanes = lent.element
        if lanes != 1 or (code, bits) not in NAMES:
            raise TypeError(f"{what}: DLPack's elements ({code}, {bits}, {lanes}) are no kind of element here")
        if not lent.contiguous:
            raise _refuse_strides(what, type(x).__name__, "a copy in C order")
        device = int(lent.device[1]) if kind == ON_CUDA else None
        return Seen(lent.address, tuple(lent.shape), NAMES[code, bits], device, False, lent)


def _lies_dense(shape: Sequence[int], strides: Sequence[int] | None, item: int) -> bool:
    if strides is None or count_of(shape) == 0:
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
        raw = OWN.make((count_of(shape) * item_bytes(element),), "uint8", device, on, zero).numpy()
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
        if kind in (ON_CUDA, PINNED, _MANAGED):
            return FOREIGN, x
        if kind != _ON_CPU:
            raise InvalidArgumentError(f"{what}: no CUDA device reaches an array on DLPack's device {kind}")
        return _NUMPY, np.from_dlpack(x)
    if isinstance(x, (list, tuple, range)):
        return _NUMPY, words_of(x)
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        return _NUMPY, np.asarray(x)
    with contextlib.suppress(TypeError):
        return _NUMPY, np.asarray(memoryview(x))
    raise TypeError(
        f"{what}: an array is asked for (PyTorch's, CuPy's, NumPy's, a gpu.Array, a list), and not {type(x).__name__}"
    )
