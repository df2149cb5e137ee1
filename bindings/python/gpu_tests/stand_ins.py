"""Objects that look to durahash.gpu as arrays of other libraries do, over the interpreter's memory."""
import numpy as np

import durahash.gpu as gpu
from conftest import seen


def on_device(values, dtype=None):
    return gpu.array(np.asarray(values, dtype or np.uint64), pinned=False)


class WithInterface:
    """`__cuda_array_interface__` alone, as Numba's arrays have it."""

    def __init__(self, values, dtype=None, stream=None, **changed):
        self.memory = on_device(values, dtype)
        offered = {"stream": stream, **changed}
        self.__cuda_array_interface__ = {**self.memory.__cuda_array_interface__, **offered}

    def numpy(self):
        return seen(self.memory)


class WithDLPack:
    """DLPack alone."""

    def __init__(self, values, dtype=None, pinned=False):
        self.memory = gpu.array(np.asarray(values, dtype or np.uint64), pinned=pinned)
        self.asked_for = []

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()

    def __dlpack__(self, *, stream=None):
        self.asked_for.append(stream)
        return self.memory.__dlpack__()


# ---------------------------------------------------------------------------------------- CuPy


class cupy:
    """What durahash.gpu asks of CuPy."""

    class cuda:
        class Stream:
            def __init__(self, ptr):
                self.ptr = ptr

            def __enter__(self):
                cupy.cuda._streams.append(self)

            def __exit__(self, *_):
                cupy.cuda._streams.pop()

        ExternalStream = Stream
        _streams: list = []

        class Device:
            def __init__(self, number):
                self.id = number

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

        @staticmethod
        def get_current_stream():
            return cupy.cuda._streams[-1]

    class ndarray:
        made_on: list = []

        def __init__(self, memory, device=0):
            self.memory, self.shape, self.dtype, self.size = memory, memory.shape, memory.dtype, memory.size
            self.flags = seen(memory).flags
            self.data = type("MemoryPointer", (), {"ptr": memory.address})
            self.device = cupy.cuda.Device(device)

        def __eq__(self, other):
            return cupy.array(seen(self.memory) == other, bool)

        def __getitem__(self, part):
            return cupy.array(seen(self.memory)[part])

        def __int__(self):
            return int(seen(self.memory))

        def max(self):
            return seen(self.memory).max()

        def reshape(self, *shape):
            return cupy.array(seen(self.memory).reshape(*shape))

        def get(self):
            return seen(self.memory).copy()

        __hash__ = None

    @staticmethod
    def array(values, dtype=None):
        values = np.asarray(values, dtype)
        return cupy.ndarray(gpu.array(values, values.dtype, pinned=False))

    @staticmethod
    def empty(shape, dtype):
        cupy.ndarray.made_on.append(cupy.cuda.get_current_stream().ptr)
        return cupy.ndarray(gpu.empty(shape, dtype, pinned=False))

    @staticmethod
    def zeros(shape, dtype):
        made = cupy.empty(shape, dtype)
        made.memory.copy_from(0)
        return made


cupy.cuda._streams.append(cupy.cuda.Stream(0))
