"""Streams of a device: our own, and the numbers of anybody's."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _gpu
from ._errors import InvalidArgumentError
from ._gpu_arrays import device_number


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
