"""What durahash.gpu and durahash.torch ask of PyTorch, with tensors "on cuda:0" in the interpreter's
memory: for tests where PyTorch is not installed. It has no autograd: tests set `.grad`."""
import contextlib
import types

import numpy as np

import durahash.gpu as gpu
from conftest import seen
from durahash import _gpu


class _Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


_DTYPES = {name: _Dtype(name) for name in ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")}
globals().update({("bool_" if name == "bool" else name): made for name, made in _DTYPES.items()})
strided = object()


def _name(dtype):
    return dtype.name if isinstance(dtype, _Dtype) else np.dtype(dtype).name


class Tensor:
    layout, requires_grad, grad, is_leaf = strided, False, None, True

    def __init__(self, memory, number=0):
        self.memory, self.shape = memory, tuple(memory.shape)
        self.dtype = _DTYPES[memory._element]
        self.device = types.SimpleNamespace(type="cuda", index=number)

    @property
    def x(self):
        """As NumPy has it; bfloat16 as float32. What PyTorch does comes behind what its stream was
        asked for."""
        _gpu.wait(0, cuda.current_stream(0).cuda_stream)
        if self.dtype is _DTYPES["bfloat16"]:
            bits = self.memory.numpy()
            return (bits.astype(np.uint32) << 16).view(np.float32)
        return seen(self.memory)

    def numpy(self):
        return self.x.copy()

    def tolist(self):
        return self.x.tolist()

    def data_ptr(self):
        return self.memory.address

    def is_contiguous(self):
        return True

    def contiguous(self):
        return self

    def detach(self):
        return self

    def clone(self):
        return tensor(self.numpy(), self.dtype)

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def dim(self):
        return len(self.shape)

    def numel(self):
        return self.x.size

    def __len__(self):
        return self.shape[0]

    def reshape(self, *shape):
        return tensor(self.x.reshape(shape[0] if isinstance(shape[0], tuple) else shape), self.dtype)

    def to(self, *what):
        dtypes = [each for each in what if isinstance(each, _Dtype)]
        return tensor(self.x, dtypes[0]) if dtypes else self

    def unsqueeze(self, at):
        return tensor(np.expand_dims(self.x, at), self.dtype)

    def max(self):
        return self.x.max()

    def sum(self):
        return tensor(self.x.sum())

    def all(self):
        return self.x.all()

    def any(self):
        return self.x.any()

    def clamp(self, min):
        return tensor(np.maximum(self.x, min), self.dtype)

    def index_add(self, at, index, source):
        made = self.x.copy()
        assert at == 0
        np.add.at(made, index.x, source.x)
        return tensor(made, self.dtype)

    def __getitem__(self, at):
        at = tuple(each.x if isinstance(each, Tensor) else each for each in at) if isinstance(at, tuple) else at
        return tensor(self.x[at.x if isinstance(at, Tensor) else at], self.dtype)

    def __invert__(self):
        return tensor(~self.x)

    def __int__(self):
        return int(self.x)

    def __eq__(self, other):
        return tensor(self.x == (other.x if isinstance(other, Tensor) else other))

    __hash__ = None


def _arithmetic(name):
    def of(self, other):
        return tensor(getattr(self.x, name)(other.x if isinstance(other, Tensor) else other), self.dtype)

    return of


for _each in ("add", "sub", "mul", "truediv", "radd", "rsub", "rmul"):
    setattr(Tensor, f"__{_each}__", _arithmetic(f"__{_each}__"))


def tensor(values, dtype=None, device=None):
    values = np.asarray(values)
    if dtype is not None and _name(dtype) == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        values = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        made = gpu.empty(values.shape, "bfloat16", pinned=False)
    else:
        values = values.astype(values.dtype if dtype is None else _name(dtype))
        made = gpu.empty(values.shape, values.dtype, pinned=False)
    made.copy_from(values)
    return Tensor(made)


made_on = []  # the stream that was current


def empty(shape, dtype=None, device=None):
    made_on.append(cuda.current_stream(0).cuda_stream)
    assert device == "cuda:0"
    return Tensor(gpu.empty(shape, _name(dtype or _DTYPES["float32"]), pinned=False))


def zeros(shape, dtype=None, device=None):
    made = empty(shape, dtype, "cuda:0")
    made.memory.copy_from(0)
    return made


as_tensor = tensor


def full(shape, value, dtype=None, device=None):
    return tensor(np.full(shape, value), dtype)


def arange(count, dtype=None, device=None):
    return tensor(np.arange(count), dtype or _DTYPES["int64"])


def ones(shape, dtype=None, device=None):
    return full(shape, 1, dtype or _DTYPES["float32"])


def cat(tensors):
    return tensor(np.concatenate([each.x for each in tensors]), tensors[0].dtype)


def where(which, one, other):
    return tensor(np.where(which.x, one.x, other.x), one.dtype)


def ones_like(x):
    return tensor(np.ones_like(x.x), x.dtype)


def searchsorted(ordered, values, right=False):
    return tensor(np.searchsorted(ordered.x, values.x, "right" if right else "left"))


def unique(x, return_inverse=False):
    found, inverse = np.unique(x.x, return_inverse=True)
    return tensor(found), tensor(inverse.reshape(x.shape))


def is_grad_enabled():
    return True


no_grad = contextlib.nullcontext


class cuda:
    class Stream:
        def __init__(self, cuda_stream):
            self.cuda_stream, self.device_index = cuda_stream, 0

        def __enter__(self):
            cuda._streams.append(self)

        def __exit__(self, *_):
            cuda._streams.pop()

    _streams: list = []

    @staticmethod
    def ExternalStream(ptr, device=None):
        return cuda.Stream(ptr)

    @staticmethod
    def current_stream(device):
        return cuda._streams[-1]

    @staticmethod
    def stream(made):
        return made


cuda._streams.append(cuda.Stream(0))


class nn:
    class Module:
        def __init__(self):
            self.training = True

        def register_buffer(self, name, value, persistent=True):
            setattr(self, name, value)

        def __call__(self, *given, **named):
            return self.forward(*given, **named)

        def train(self, mode=True):
            self.training = mode
            return self

        def eval(self):
            return self.train(False)

        def zero_grad(self, set_to_none=True):
            pass

        def __repr__(self):
            return f"{type(self).__name__}({self.extra_repr()})"


def module():
    """As `import torch` gives it."""
    made = types.ModuleType("torch")
    made.__dict__.update({name: what for name, what in globals().items() if not name.startswith("_")})
    made.bool = _DTYPES["bool"]
    return made
