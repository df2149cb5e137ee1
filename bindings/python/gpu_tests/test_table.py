"""Rows: found, located, added and written by the device."""
import ctypes
import threading

import numpy as np
import pytest

import durahash
import durahash.gpu as gpu
from conftest import REACHES_ALL, is_under_way, seen
from stand_ins import WithDLPack, WithInterface, cupy, on_device

PLACES = ["pool", "host_mirror", "device_mirror"]


def rows_of(count, width=8, dtype=np.float32):
    return np.random.default_rng(count).standard_normal((count, width)).astype(dtype)


def bfloat16(values):
    """The upper half of each float32, rounded to the nearest."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("place", PLACES)
def test_rows_are_written_found_and_removed(path, place):
    rows = rows_of(300)
    keys = np.arange(300)
    with gpu.Table(path, value=(np.float32, 8), place=place) as t:
        assert t.place == place and t.row == ("float32", (8,)) and t.key_bytes == 8
        assert t.put(keys[:200], rows[:200]) is None and len(t) == 200  # grows
        assert t.insert(keys[198:202], rows[198:202]).tolist() == [False, False, True, True]
        assert t.update([0, 5000], np.zeros((2, 8))).tolist() == [True, False]
        assert t.erase([1, 5000]).tolist() == [True, False]
        wanted = np.array([[0, 1, 2], [201, 202, 199]])
        found_rows, found, missed = t.find(wanted, missed=True)
        assert found_rows.shape == (2, 3, 8) and found.tolist() == [[True, False, True], [True, False, True]]
        assert (found_rows[found] == np.array([rows[0] * 0, rows[2], rows[201], rows[199]])).all()
        assert not found_rows[~found].any() and sorted(missed.tolist()) == [1, 4]
        assert (t.contains(wanted) == found).all() and t.check() and len(t) == 201
    with durahash.open(path, value=(np.float32, 8)) as host:  # the same file, by the processor
        values, there = host.get_many(np.arange(300, dtype=np.uint64))
        assert there.sum() == 201 and (values[2:200] == rows[2:200]).all()


def test_copies_of_hot_buckets(path):
    keys, rows = np.arange(500), rows_of(500)
    with gpu.Table(path, value=(np.float32, 8), place="pool", cache_percent=50, cache_policy="lru") as t:
        t.put(keys, rows)
        t.find(keys[:64])
        t.load_cache()
        assert t.cache()["loads"] == 1 and t.cache()["copies"] > 0
        t.put(keys[:100], rows[100:200])  # by the device
        t.put(keys[100:102], rows[:2])  # by the processor
        values, found = t.find(keys)
        assert found.all() and (values[:102] == np.concatenate([rows[100:200], rows[:2]])).all()
        assert t.cache()["hits"] > 0
    with pytest.raises(durahash.InvalidArgumentError, match="pool itself"):
        gpu.Table(path, value=(np.float32, 8), place="device_mirror", cache_percent=50)


@pytest.mark.parametrize("keys_of", [np.array, gpu.array, on_device, WithInterface, WithDLPack])
def test_arrays_of_any_kind(path, keys_of):
    rows = rows_of(5)
    with gpu.Table(path, value=(np.float32, 8)) as t:
        t.put(keys_of(np.arange(5)), keys_of(rows, np.float32))
        values, found = t.find(keys_of(np.array([4, 9])))
        assert (np.asarray(values)[0] == rows[4]).all() and np.asarray(found).tolist() == [True, False]
        out = keys_of(np.full((2, 8), 3, np.float32), np.float32)
        got, _ = t.find(keys_of(np.array([4, 9])), out)
        assert got is out
        looked = out if isinstance(out, np.ndarray) else seen(getattr(out, "memory", out))
        assert (looked == np.array([rows[4], np.full(8, 3)], np.float32)).all()
        assert np.asarray(t.erase(keys_of(np.array([4, 9])))).tolist() == [True, False]


def test_cupys(path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", cupy)
    rows = rows_of(5, 4, np.float16)
    with gpu.Table(path, value=("float16", 4)) as t:
        t.put(cupy.array(np.arange(5)), cupy.array(rows))
        values, found = t.gather(cupy.array(np.array([0, 1])), cupy.array(np.array([0, 2])), dtype="float32")
        assert isinstance(values, cupy.ndarray) and values.dtype == np.float32 and found.get().all()
        assert np.allclose(values.get()[0], rows[:2].astype(np.float32).sum(axis=0))


@pytest.mark.usefixtures("garbage_is_gone")
def test_batches_wait_for_nothing(path):
    rows = rows_of(100)
    with gpu.Table(path, value=(np.float32, 8)) as t:
        t.put(np.arange(100), rows)
        made = gpu.Stream()
        batch = t.find_async(gpu.array([3, 500, 7]), missed=True, lengths=True, stream=made)
        assert is_under_way(batch) and batch.stream == made.ptr
        assert batch.found.numpy().tolist() == [True, False, True] and batch.missed.numpy().tolist() == [1]
        assert (batch.values.numpy()[[0, 2]] == rows[[3, 7]]).all()
        assert batch.lengths.numpy()[[0, 2]].tolist() == [32, 32]
        t.find_async(gpu.array([1]), stream=made)
        t.wait(made)
        assert t.find_async(gpu.array([3, 500]), values=False).found.numpy().tolist() == [True, False]
        if not REACHES_ALL:
            with pytest.raises(durahash.InvalidArgumentError, match="does not reach"):
                t.find_async(np.array([3]))


def test_where_rows_lie(path):
    rows = rows_of(10)
    with gpu.Table(path, value=(np.float32, 8)) as t:
        t.put(np.arange(10), rows)
        batch = t.locate_async(gpu.array([4, 99])).wait()
        at, none = batch.places.numpy().tolist()
        assert none == 0 and batch.lengths.numpy()[0] == 32 and batch.answers.numpy().tolist() == [0, 1]
        there = np.frombuffer((ctypes.c_uint8 * 32).from_address(at), np.float32)
        assert (there == rows[4]).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_rows_are_added_as_by_the_processor(path, dtype, pooling):
    drawn = np.random.default_rng(3)
    numbers = rows_of(50, 40)
    stored = bfloat16(numbers) if dtype == "bfloat16" else numbers.astype(dtype)
    exact = (stored.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else stored.astype(np.float32)
    with gpu.Table(path, value=(dtype, 40)) as t:
        assert t.row == (dtype, (40,))
        t.put(np.arange(50), gpu.array(stored, dtype))
        keys = drawn.integers(0, 60, 200)
        offsets = np.array([0, 3, 3, 60, 64, 200])
        pooled, found, missed = t.gather(keys, offsets, pooling=pooling, dtype="float32", missed=True)
        assert pooled.dtype == np.float32 and (found == (keys < 50)).all()
        assert sorted(missed.tolist()) == np.flatnonzero(keys >= 50).tolist()
        for bag, (begin, end) in enumerate(zip(offsets, offsets[1:])):
            there = [k for k in keys[begin:end] if k < 50]
            wanted = np.zeros(40, np.float32)
            for k in there:
                wanted += exact[k]
            if pooling == "mean" and there:
                wanted /= np.float32(len(there))
            assert (pooled[bag] == wanted).all(), bag
        as_stored, _ = t.gather(keys, offsets, pooling=pooling)
        assert np.asarray(as_stored).dtype == (np.uint16 if dtype == "bfloat16" else np.dtype(dtype))
        each, found = t.gather(gpu.array([1, 55]), dtype="float32")
        assert (each.numpy()[0] == exact[1]).all() and not each.numpy()[1].any()
        batch = t.gather_async(gpu.array(keys), gpu.array(offsets), pooling=pooling, dtype="float32")
        assert (batch.wait().values.numpy() == pooled).all()


def test_keys_of_a_length(path):
    rows = rows_of(20)
    names = np.array([f"key-{n:012}" for n in range(20)], "S16")
    with gpu.Table(path, key="S16", value=(np.float32, 8)) as t:
        assert t.key_bytes == 16 and "16 bytes -> float32 x 8" in repr(t)
        t.put(names, rows)
        values, found = t.find(names[[3, 4]])
        assert (values == rows[[3, 4]]).all() and found.all()
        as_bytes = names.view(np.uint8).reshape(20, 16)
        assert t.contains(as_bytes).all() and t.contains(gpu.array(as_bytes)).numpy().all()
        as_words = as_bytes.view(np.uint64)
        assert as_words.shape == (20, 2) and t.contains(as_words).all()
        for wrong in (np.arange(4), np.zeros((3, 8), np.uint8)):
            with pytest.raises(durahash.InvalidArgumentError, match="each has 16 bytes here"):
                t.find(wrong)
    with pytest.raises(durahash.InvalidArgumentError, match="keys of this pool have 16 bytes"):
        gpu.Table(path, key="S24", value=(np.float32, 8), settings={"key_bytes": 0})
    with gpu.Table(path, value=(np.float32, 8)) as t:
        assert t.key_bytes == 16 and len(t) == 20


def test_rows_of_bytes_and_of_any_length(path):
    with durahash.open(path, key="u64", value="bytes", engine="gphash") as host:
        host[1], host[2] = b"0123456789", b"abc"
    with gpu.Table(path) as t:
        assert t.row is None and "u64 -> rows" in repr(t)
        out = np.zeros((3, 4), np.uint8)
        batch = t.find_async(gpu.array([1, 2, 3]), gpu.array(out), lengths=True).wait()
        assert batch.lengths.numpy()[:2].tolist() == [10, 3] and batch.answers.numpy().tolist() == [0, 0, 1]
        assert batch.values.numpy()[0].tobytes() == b"0123" and batch.values.numpy()[1].tobytes() == b"abc\0"
        with pytest.raises(durahash.InvalidArgumentError, match="another length.*answers") as e:
            t.find([1, 2, 3], out)
        assert e.value.answers.tolist() == [3, 3, 1]
        with pytest.raises(durahash.InvalidArgumentError, match="say what a row is"):
            t.find([1])
        with pytest.raises(durahash.InvalidArgumentError, match="say what a row is"):
            t.gather([1])
        with pytest.raises(durahash.InvalidArgumentError, match="must begin with"):
            t.find([1], np.zeros((2, 4), np.uint8))
        t.put([5, 6], np.array([[1, 2], [3, 4]], np.int16))
        assert t.find([6], np.zeros((1, 2), np.int16))[0].tolist() == [[3, 4]]
    with gpu.Table(path, value=("u1", 4)) as t:
        assert t.find([5])[0].tobytes() == np.array([1, 2], np.int16).tobytes()


def test_a_row_of_another_length_is_told(path):
    with gpu.Table(path, value=(np.float32, 8)) as t:
        t.put([1], np.ones((1, 8)))
    with gpu.Table(path, value=(np.float32, 6)) as t:
        with pytest.raises(durahash.InvalidArgumentError, match="another length"):
            t.find([1])
        for offsets in (None, [0, 1]):
            with pytest.raises(durahash.InvalidArgumentError, match="another length"):
                t.gather([1], offsets)
        assert t.gather([1, 7], [0, 0])[1].tolist() == [True, True], "no bag has them"


REFUSED = [
    ({"value": "bytes"}, TypeError, "no row for a device"),
    ({"value": np.dtype([("a", "u4"), ("b", "f4")])}, TypeError, "no row for a device"),
    ({"key": "str"}, TypeError, "keys of one length"),
    ({"key": "bytes"}, TypeError, "keys of one length"),
    ({"mode": "w"}, durahash.NotFoundError, "no such file"),
    ({"engine": "cceh"}, durahash.InvalidArgumentError, "gphash"),
    ({"place": "there"}, ValueError, "no such place"),
    ({"device": 93}, durahash.InvalidArgumentError, "no CUDA device 93"),
]


@pytest.mark.parametrize("how, kind, words", REFUSED, ids=lambda x: str(x)[:40])
def test_options_that_do_not_fit(path, how, kind, words):
    with pytest.raises(kind, match=words):
        gpu.Table(path, **how)


def test_arguments_that_do_not_fit(path):
    with gpu.Table(path, value=("float16", 4)) as t:
        t.put([1], np.ones((1, 4)))
        for use, kind, words in [
            (lambda: t.put([1], np.ones((1, 5))), ValueError, r"rows: the shape \(1, 4\) is asked for"),
            (lambda: t.put([1], gpu.array(np.ones((1, 4), np.float32))), TypeError, "rows: float16 is asked for"),
            (lambda: t.put(np.array([1.0]), np.ones((1, 4))), TypeError, "keys: int64 or uint64"),
            (lambda: t.find([1], np.ones((1, 4), np.float32)), TypeError, "out: float16 is asked for"),
            (lambda: t.gather([1], [0.5, 1]), TypeError, "offsets: int64 or uint64"),
            (lambda: t.gather([1], [[0, 1]]), ValueError, "offsets: one dimension"),
            (lambda: t.gather([1], []), ValueError, "one element more than there are bags"),
            (lambda: t.gather([1], pooling="max"), ValueError, "no such pooling: 'max'"),
            (lambda: t.gather([1], dtype="int32"), TypeError, "and not int32"),
            (lambda: t.insert([1]), TypeError, "rows"),
        ]:
            with pytest.raises(kind, match=words):
                use()
        assert t.find([1])[0].tolist() == [[1, 1, 1, 1]]
    for use in (lambda: t.find([1]), lambda: t.put([1], np.ones((1, 4))), lambda: t.gather([1]), lambda: len(t), t.info,
                t.check, t.stats, t.sync, t.compact, lambda: t.reserve(1), lambda: t.wait(),
                lambda: t.locate_async(gpu.array([1]))):
        with pytest.raises(durahash.ClosedError):
            use()
    with gpu.Table(path, value=("i8", 4)) as t:
        with pytest.raises(durahash.InvalidArgumentError, match="float32, float16, bfloat16 can be added"):
            t.gather([1])


def test_a_pool_that_is_opened_to_be_read(path):
    with gpu.Table(path, value=("float32", 4)) as t:
        t.put([1], np.ones((1, 4)))
    with gpu.Table(path, "r", value=("float32", 4)) as t:
        assert t.find([1])[0].tolist() == [[1, 1, 1, 1]]
        with pytest.raises(durahash.ReadOnlyError):
            t.put([2], np.ones((1, 4)))
    with pytest.raises(durahash.InvalidArgumentError, match="beside a writer"):
        gpu.Table(path, "b", value=("float32", 4))


def test_a_full_pool_tells_which_rows_are_there(path):
    with gpu.Table(path, value=("u1", 1000), max_bytes=1 << 20) as t:
        keys = np.arange(2000)
        with pytest.raises(durahash.NoSpaceError) as e:
            t.put(keys, np.ones((2000, 1000), np.uint8))
        there = e.value.answers == 0
        assert 0 < there.sum() < 2000 and (t.contains(keys) == there).all() and t.check()


def test_threads_find_whole_rows_while_another_one_writes(path):
    with gpu.Table(path, value=("uint64", 16)) as t:
        keys = np.arange(40)
        t.put(keys, np.zeros((40, 16), np.uint64))
        wrong, rounds = [], []

        def look():
            stream = gpu.Stream()
            for _ in range(8):
                rows, found = t.find(keys, stream=stream)
                if not found.all() or (rows != rows[:, :1]).any():
                    wrong.append(rows)
            rounds.append(1)

        threads = [threading.Thread(target=look) for _ in range(3)]
        for each in threads:
            each.start()
        for n in range(1, 12):
            t.put(keys, np.full((40, 16), n, np.uint64))
            t.put(keys + 100 * n, np.full((40, 16), n, np.uint64))  # grows
        for each in threads:
            each.join()
        assert wrong == [] and rounds == [1] * 3 and len(t) == 40 * 12 and t.check()
