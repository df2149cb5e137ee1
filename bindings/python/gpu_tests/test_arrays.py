"""Whose arrays are taken, and which are refused, with words, and nothing done."""
import ctypes

import numpy as np
import pytest

import durahash
import durahash.gpu as gpu
from conftest import DEVICE, REACHES_ALL, is_under_way, reaches_some, seen
from durahash import _gpu_arrays
from stand_ins import WithDLPack, WithInterface, cupy, on_device

WANTED = [1, 3, 1000]


@pytest.fixture
def m(path):
    with gpu.Map(path) as made:
        made.put(np.arange(100), np.arange(100) * 2)
        yield made


@pytest.fixture
def with_cupy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", cupy)
    return cupy


# -------------------------------------------------------------------------------- gpu.Array


def test_an_array_is_numpys_and_back():
    for pinned in (True, False):
        for dtype in ("uint64", "int64", "float32", "float16", "uint8", "bool", np.int32):
            values = np.arange(12).reshape(3, 4).astype(dtype)
            a = gpu.array(values, pinned=pinned)
            assert (a.shape, a.ndim, a.size, a.nbytes, len(a)) == ((3, 4), 2, 12, values.nbytes, 3)
            assert a.dtype == values.dtype and (a.numpy() == values).all() and (np.asarray(a) == values).all()
            assert (a[1:].numpy() == values[1:]).all() and a[1:].shape == (2, 4) and len(a[5:]) == 0
            a[:1].copy_from(0)
            assert not a.numpy()[0].any() and (a.numpy()[1:] == values[1:]).all()
    b = gpu.array(np.arange(4, dtype=np.uint16), "bfloat16")
    assert b.dtype == "bfloat16" and b.numpy().dtype == np.uint16 and "bfloat16" in repr(b)
    pinned = gpu.empty(4)
    pinned.numpy()[:] = 7
    assert np.asarray(pinned).tolist() == [7] * 4, "the same memory"
    assert gpu.array([1, 2]).dtype == np.uint64 and gpu.array([1.5]).dtype == np.float64


def test_memory_outlives_the_array_that_had_it_while_somebody_looks():
    view = gpu.array(np.arange(1000)).numpy()
    lent = np.from_dlpack(gpu.array(np.arange(1000)))
    part = gpu.array(np.arange(1000))[10:20]
    others = [gpu.array(np.full(1000, 9)) for _ in range(20)]
    assert view.sum() == lent.sum() == sum(range(1000)) and part.numpy().tolist() == list(range(10, 20))
    del others


def test_what_an_array_offers():
    a, d = gpu.array(np.arange(6).reshape(2, 3), "float32"), on_device([1, 2])
    offered = a.__cuda_array_interface__
    assert offered["shape"] == (2, 3) and offered["typestr"] == "<f4" and offered["data"] == (a.address, False)
    assert a.__dlpack_device__() == (3, 0) and d.__dlpack_device__() == (2, 0)
    with pytest.raises(BufferError):
        a.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        d.__dlpack__(dl_device=(1, 0))
    with pytest.raises(ValueError):
        d.__array__(copy=False)
    with pytest.raises(TypeError):
        a[0]
    with pytest.raises(ValueError):
        a[::2]
    with pytest.raises(TypeError, match="no kind of element"):
        gpu.empty(3, "complex128")
    with pytest.raises(ValueError):
        gpu.empty((3, -1))
    with pytest.raises(durahash.Error, match="no CUDA device 99"):
        gpu.empty(3, device=99)


def test_what_a_device_has_no_room_for_is_told():
    with pytest.raises(durahash.OutOfMemoryError, match="pinned memory"):
        gpu.empty(1 << 60, "uint8")
    with pytest.raises(durahash.OutOfMemoryError, match="memory left"):
        gpu.empty(1 << 60, "uint8", pinned=False)


def test_memory_that_was_freed_is_used_again():
    a = gpu.empty(1000)
    at = a.address
    del a
    assert gpu.empty(999).address == at, "pinning some takes long"


def test_a_batch_lends_its_arrays_to_nobody(m):
    keys, out = gpu.array(WANTED), gpu.empty(3)
    values, found = m.find(keys, out)
    m.put_async(keys, out)
    m.commit()
    assert not any(each._block.is_lent for each in (keys, out, found))


@pytest.mark.parametrize("lend", [lambda a: a.__cuda_array_interface__, lambda a: a.__dlpack__()])
def test_memory_that_others_were_lent_is_freed(lend):
    """Kernels of theirs may use it still: the runtime waits for them when it frees memory."""
    spare = _gpu_arrays._spare
    kept = sum(map(len, spare.values()))
    a, b = gpu.empty(100_000), gpu.empty(100_000)
    lend(a)
    mine = sum(map(len, spare.values()))
    assert mine <= kept
    del a
    assert sum(map(len, spare.values())) == mine
    del b
    assert sum(map(len, spare.values())) == mine + 1


def test_devices_by_name():
    class Device:
        type, index = "cuda", 0

        def __str__(self):
            return "cuda:0"

    for device in (0, "cuda", "cuda:0", Device()):
        assert gpu.empty(3, device=device).device == 0 and gpu.Stream(device).device == 0
        assert gpu.device_name(device) == DEVICE
    for wrong in ("cpu", "cuda:x", True, 1.5, None):
        with pytest.raises(ValueError, match="is no CUDA device"):
            gpu.empty(3, device=wrong)


# ------------------------------------------------------------------------ arrays of anybody's


def test_answers_are_of_the_kind_of_the_keys(m, with_cupy):
    strided = np.repeat(np.array(WANTED), 2)[::2]
    for keys in (np.array(WANTED), WANTED, tuple(WANTED), np.array(WANTED, np.int32), memoryview(np.array(WANTED)), strided,
                 np.array(WANTED, ">u8")):
        values, found = m.find(keys)
        assert type(values) is np.ndarray and values.tolist() == [2, 6, 0] and found.tolist() == [True, True, False]
    assert m.find(np.array(WANTED, np.int32))[0].dtype == np.int64
    for keys in (gpu.array(WANTED), on_device(WANTED), WithInterface(WANTED), WithDLPack(WANTED),
                 WithDLPack(WANTED, pinned=True)):
        values, found, missed = m.find(keys, missed=True)
        assert isinstance(values, gpu.Array) and values.numpy().tolist() == [2, 6, 0]
        assert found.numpy().tolist() == [True, True, False] and missed.numpy().tolist() == [2]
    values, found, missed = m.find(cupy.array(WANTED, np.int64), missed=True)
    assert isinstance(values, cupy.ndarray) and values.get().tolist() == [2, 6, 0] and values.dtype == np.int64
    assert isinstance(found, cupy.ndarray) and found.get().tolist() == [True, True, False]
    assert isinstance(missed, cupy.ndarray) and missed.get().tolist() == [2]


def test_kinds_may_be_mixed(m, with_cupy):
    m.put(cupy.array(WANTED, np.uint64), WithInterface([7, 8, 9]))
    out = np.zeros(3, np.uint64)
    values, found = m.find(WithDLPack(WANTED), out)
    assert values is out and out.tolist() == [7, 8, 9] and found.numpy().all()


def test_shapes_are_kept(m):
    keys = np.arange(24).reshape(2, 3, 4)
    values, found = m.find(keys)
    assert (values == keys * 2).all() and found.shape == (2, 3, 4)
    one, there = m.find(np.array(5))
    assert one.shape == () and int(one) == 10 and bool(there)
    values, found = m.find(np.empty((0, 5), np.int64))
    assert values.shape == found.shape == (0, 5)
    assert m.find([])[0].tolist() == [] and m.find(gpu.empty(0), missed=True)[2].size == 0
    m.put(gpu.empty(0), gpu.empty(0))
    m.erase([])


def test_words_are_their_64_bits(m):
    m.put(np.array([-1, -2], np.int64), np.array([-3, 5], np.int64))
    assert m.find(np.array([2**64 - 1, 2**64 - 2], np.uint64))[0].tolist() == [2**64 - 3, 5]
    assert m.find(np.array([-1], np.int64))[0].tolist() == [-3]
    assert m.find([2**64 - 1])[0].tolist() == [2**64 - 3]


def strided():
    whole = on_device(np.arange(6).reshape(2, 3))
    return {"shape": (2, 2), "strides": (24, 8), "data": (whole.address, False)}


REFUSED = [
    (lambda: np.array([1.5]), TypeError, "int64 or uint64.*NumPy array has float64"),
    (lambda: on_device([1], np.int32), TypeError, "int64 or uint64.*has int32"),
    (lambda: WithInterface([1], np.float32), TypeError, "has float32"),
    (lambda: WithInterface([1, 2, 3, 4], **strided()), ValueError, "keys: this WithInterface is not contiguous"),
    (lambda: WithInterface([1], mask=on_device([1])), ValueError, "mask"),
    (lambda: object(), TypeError, "keys: an array is asked for.*not object"),
    (lambda: 5, TypeError, "keys: an array is asked for.*not int"),
    (lambda: {1: 2}, TypeError, "not dict"),
    (lambda: "abc", TypeError, "not str"),
    (lambda: ["a"], TypeError, "keys: <U1 is no kind of element"),
    (lambda: [5, -1], OverflowError, "none of u64.*an array of int64 is taken as its bits"),
    (lambda: [2**64], (OverflowError, TypeError), "large|object"),
]


@pytest.mark.parametrize("keys, kind, words", REFUSED, ids=range(len(REFUSED)))
def test_keys_that_are_none(m, keys, kind, words):
    with pytest.raises(kind, match=words):
        m.find(keys())
    with pytest.raises(kind):
        m.erase(keys())
    assert len(m) == 100


def test_values_that_do_not_fit(m):
    keys = gpu.array([1, 2, 3])
    for values, words in [
        (gpu.array([1, 2]), r"values: the shape \(3,\) is asked for, and this one has \(2,\)"),
        (gpu.array([[1, 2, 3]]), "shape"),
        (gpu.array([1, 2, 3], "float64"), "values: int64 or uint64 is asked for"),
        (np.arange(3), "memory that the device does not reach.*pin_memory"),
    ][: 3 if REACHES_ALL else 4]:
        with pytest.raises((ValueError, TypeError), match=words):
            m.put_async(keys, values)
    read_only = np.zeros(3, np.uint64)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="out: this NumPy array is read-only"):
        m.find(keys, read_only)
    with pytest.raises(ValueError, match="values: this NumPy array is read-only"):
        m.find_or_insert(keys, read_only)
    locked = WithInterface([0, 0, 0])
    locked.__cuda_array_interface__["data"] = (locked.memory.address, True)
    with pytest.raises(ValueError, match="read-only"):
        m.find(keys, locked)
    with pytest.raises(ValueError, match="not contiguous; np.ascontiguousarray"):
        m.find(keys, np.zeros((3, 2), np.uint64)[:, 0])
    assert m.find(keys)[0].numpy().tolist() == [2, 4, 6], "nothing was done"


def test_arrays_on_another_device_are_refused(m, with_cupy):
    keys = cupy.array(WANTED, np.int64)
    keys.device = cupy.cuda.Device(1)
    with pytest.raises(ValueError, match="keys: this CuPy array is on cuda:1, and the pool is open on cuda:0"):
        m.find_async(keys)


@reaches_some
def test_what_the_device_does_not_reach_is_named(m):
    """Of memory that says that it is the device's: the library asks."""
    elsewhere = (ctypes.c_uint64 * 4)()
    lying = WithInterface([1, 2, 3, 4])
    lying.__cuda_array_interface__["data"] = (ctypes.addressof(elsewhere), False)
    with pytest.raises(ValueError, match="keys: cuda:0 does not reach this array"):
        m.find_async(lying)
    with pytest.raises(ValueError, match="values: cuda:0 does not reach this array"):
        m.put(gpu.array([1, 2, 3, 4]), lying)
    assert m.find([1])[0].tolist() == [2] and len(m) == 100


def test_what_the_host_has_is_copied_and_a_pinned_view_is_not(m):
    keys = gpu.array(WANTED)
    batch = m.find_async(keys.numpy())  # pinned, so that nothing is copied
    assert type(batch.wait().values) is np.ndarray and batch.values.tolist() == [2, 6, 0]
    both = np.array([50, 60], np.uint64)
    m.find_or_insert([1, 5000], both)
    assert both.tolist() == [2, 60]


# ------------------------------------------------------------------------------------ streams


def test_the_stream_is_the_librarys_current_one(m, with_cupy):
    made = gpu.Stream()
    cupy.ndarray.made_on.clear()
    with cupy.cuda.Stream(made.ptr):
        keys = cupy.array(WANTED, np.int64)
        assert m.find_async(keys).stream == made.ptr
        assert set(cupy.ndarray.made_on) == {made.ptr}
        assert m.find_async(keys, stream=0).stream == 0
        assert cupy.ndarray.made_on[-1] == 0, "memory of a stream is made in that stream"
    assert m.find_async(keys).stream == 0
    assert m.find_async(gpu.array(WANTED)).stream == 0


def test_streams_by_any_name(m):
    made, keys = gpu.Stream(), gpu.array(WANTED)

    class Of:
        def __init__(self, **names):
            self.__dict__.update(names)

    class Method:
        def __cuda_stream__(self):
            return 0, made.ptr

    for stream in (made, made.ptr, Of(cuda_stream=made.ptr), Of(ptr=made.ptr), Of(__cuda_stream__=(0, made.ptr)), Method()):
        batch = m.find_async(keys, stream=stream)
        assert batch.stream == made.ptr and batch.wait().values.numpy().tolist() == [2, 6, 0]
    assert m.find_async(keys, stream=1).stream == 0, "1 is the default stream's other name"
    made.synchronize()
    assert made.device == 0 and made.__cuda_stream__() == (0, made.ptr) and "Stream" in repr(made)
    for wrong, kind, words in [("s", TypeError, "a str is no stream"), (True, TypeError, "bool"), (-5, ValueError, "-5"),
                               (2, ValueError, "each thread"), (Of(cuda_stream=0, device_index=3), ValueError, "cuda:3")]:
        with pytest.raises(kind, match=words):
            m.find_async(keys, stream=wrong)
    with pytest.raises(durahash.Error, match="no CUDA device 95"):
        gpu.Stream(95)


def test_the_stream_that_an_array_names(m):
    made = gpu.Stream()
    assert m.find_async(WithInterface(WANTED, stream=made.ptr)).stream == made.ptr
    assert m.find_async(WithInterface(WANTED, stream=1)).stream == 0
    assert m.find_async(WithInterface(WANTED, stream=made.ptr), stream=0).stream == 0
    lent = WithDLPack(WANTED)
    m.find_async(lent, stream=made)
    assert made.ptr in lent.asked_for, "who lends waits in that stream"
    pinned = WithDLPack(WANTED, pinned=True)
    m.find_async(pinned, stream=made)
    assert pinned.asked_for[-1] is None


@pytest.mark.usefixtures("garbage_is_gone")
def test_an_array_of_another_stream_is_waited_for(m, path):
    """What that stream was asked for is done before the batch begins."""
    made = gpu.Stream()
    keys = gpu.array(np.arange(100))
    slow = m.find_async(keys, stream=made)
    out = np.zeros(3, np.uint64)
    assert is_under_way(slow)
    m.put(np.array(WANTED), WithInterface([4, 5, 6], stream=made.ptr))
    assert slow.done and m.find(np.array(WANTED), out)[0].tolist() == [4, 5, 6]


def test_a_stream_that_is_captured_is_refused_and_the_capture_stays_valid(m, runtime, with_cupy):
    made, keys = gpu.Stream(), gpu.array(WANTED)
    answer = ctypes.c_void_p
    assert runtime.cudaStreamBeginCapture(answer(made.ptr), 0) == 0
    for use in (lambda: m.find_async(keys, stream=made), lambda: m.put_async(keys, keys, stream=made),
                lambda: m.put(keys, keys, stream=made), lambda: m.commit(made), lambda: m.find(keys, stream=made)):
        with pytest.raises(durahash.InvalidArgumentError, match="captured into a CUDA graph"):
            use()
    with cupy.cuda.Stream(made.ptr):
        cupy.ndarray.made_on.clear()
        with pytest.raises(durahash.InvalidArgumentError, match="captured into a CUDA graph"):
            m.find_async(cupy.array(WANTED, np.int64))
        assert cupy.ndarray.made_on == [], "a graph would have had it"
    graph = ctypes.c_void_p()
    assert runtime.cudaStreamEndCapture(answer(made.ptr), ctypes.byref(graph)) == 0
    assert graph.value == 1, "nothing is in it"
    assert m.find_async(keys, stream=made).wait().values.numpy().tolist() == [2, 6, 0]


def test_staged_writes_of_another_stream_are_refused_with_words(path):
    one, other, keys = gpu.Stream(), gpu.Stream(), gpu.array(WANTED)
    with gpu.Map(path, place="host_mirror", max_staged=4) as m:
        m.put_async(keys, keys, stream=one)
        with pytest.raises(durahash.InvalidArgumentError, match="another stream.*wait for a commit"):
            m.put_async(keys, keys, stream=other)
        with pytest.raises(durahash.NoSpaceError, match="max_staged.*wait for a commit"):
            m.put_async(keys, keys, stream=one)
        m.commit()
        assert m.put_async(keys, keys, stream=other).ok.numpy().all()
        many = np.arange(50)
        m.put(many, many)
        assert m.update(many, many + 1).all() and m.find(many)[0].tolist() == (many + 1).tolist(), "in parts"
        assert m.erase(many[10:]).all() and len(m) == 11
        assert m.erase(keys, stream=one).numpy().all()
