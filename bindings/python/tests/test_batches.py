"""Batches take whatever holds an array, and copy no more than they must."""
import array
import threading

import numpy as np
import pytest

import durahash


class OnlyDLPack:
    """As a tensor: no buffer, no __array__."""

    def __init__(self, of):
        self._of = of

    def __dlpack__(self, **how):
        return self._of.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._of.__dlpack_device__()

    def __len__(self):
        return len(self._of)


def words(path):
    return durahash.open(path, key="u64", value="u64")


@pytest.mark.parametrize(
    "form",
    [
        lambda k: k,
        lambda k: k.tolist(),
        lambda k: tuple(k.tolist()),
        lambda k: memoryview(k),
        lambda k: array.array("Q", k.tolist()),
        lambda k: OnlyDLPack(k),
        lambda k: np.stack([k, k], 1)[:, 0],
        lambda k: k.astype(">u8"),
        lambda k: k.astype(np.int32),
        lambda k: k.astype(np.int64),
    ],
)
def test_keys_of_every_kind(path, form):
    t = words(path)
    keys = np.arange(1, 5000, dtype=np.uint64)
    t.put_many(form(keys), form(keys))
    values, found = t.get_many(form(keys))
    assert values.dtype == np.uint64 and found.dtype == np.bool_
    assert found.all() and (values == keys).all() and len(t) == len(keys)
    assert t.contains_many(form(keys)).all()
    assert t.erase_many(form(keys)).all() and not t.erase_many(form(keys)).any()


@pytest.mark.parametrize("key", ["u64", "i64"])
@pytest.mark.parametrize("wrong", [[7.9], [1, 2.0], ["12"], [b"1"], [None], [[1, 2]]])
def test_a_list_of_what_is_no_integer_is_refused(path, key, wrong):
    t = durahash.open(path, key=key, value=key)
    t[7] = 7
    for call in (lambda: t.erase_many(wrong), lambda: t.put_many(wrong, [1] * len(wrong)),
                 lambda: t.put_many([1] * len(wrong), wrong), lambda: t.get_many(wrong)):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert dict(t.items()) == {7: 7}


def test_a_list_may_have_integers_that_numpy_has_no_one_type_for(path):
    t = words(path)
    t.put_many([2**64 - 1, 0, 2**63], [0, 2**63, 1])
    assert dict(t.items()) == {2**64 - 1: 0, 0: 2**63, 2**63: 1}
    for wrong in ([2**64], [2**63, -1], [-1]):
        with pytest.raises(OverflowError):
            t.put_many(wrong, [0] * len(wrong))
    t.put_many([], [])
    assert len(t) == 3


def test_a_list_of_floats_may_have_integers_and_no_text(path):
    t = durahash.open(path, key="u64", value="f64")
    t.put_many([1, 2, 3], [2**70, -1, 0])
    t.put_many([4, 5], [0.5, 2])
    assert dict(t.items()) == {1: 2.0**70, 2: -1.0, 3: 0.0, 4: 0.5, 5: 2.0}
    for wrong in (["12"], [None], [b"1"]):
        with pytest.raises(TypeError):
            t.put_many([1], wrong)
    assert t[1] == 2.0**70


def test_tensors_of_torch(path):
    torch = pytest.importorskip("torch")
    t = durahash.open(path, key="i64", value=(np.float32, 8))
    keys = torch.arange(100)
    rows = torch.rand(100, 8)
    t.put_many(keys, rows)
    out = torch.zeros(100, 8)
    t.get_many(keys, out=out)
    assert torch.equal(out, rows)


def test_tensors_of_another_library(path):
    strict = pytest.importorskip("array_api_strict")
    t = durahash.open(path, key="u64", value="f64")
    keys, values = strict.arange(50, dtype=strict.uint64), strict.arange(50, dtype=strict.float64)
    t.put_many(keys, values)
    assert t.get_many(keys)[0].tolist() == list(range(50))


def test_absent_keys_are_zero_or_left_as_they_are(path):
    t = words(path)
    t[2] = 20
    keys = np.array([1, 2, 3], np.uint64)
    values, found = t.get_many(keys)
    assert values.tolist() == [0, 20, 0] and found.tolist() == [False, True, False]
    out, there = np.full(3, 9, np.uint64), np.zeros(3, bool)
    same, also = t.get_many(keys, out=out, found=there)
    assert same is out and also is there
    assert out.tolist() == [9, 20, 9] and there.tolist() == [False, True, False]


def test_out_must_fit(path):
    t = words(path)
    keys = np.arange(4, dtype=np.uint64)
    frozen = np.zeros(4, np.uint64)
    frozen.flags.writeable = False
    for out in (np.zeros(3, np.uint64), np.zeros(4, np.int64), np.zeros((4, 1), np.uint64), frozen,
                np.zeros(8, np.uint64)[::2]):
        with pytest.raises(ValueError):
            t.get_many(keys, out=out)
    with pytest.raises(ValueError):
        t.get_many(keys, found=np.zeros(3, bool))
    with pytest.raises(ValueError):
        t.put_many(keys, keys[:3])
    with pytest.raises(OverflowError):
        t.put_many(np.array([-1]), np.array([1]))
    with pytest.raises(TypeError):
        t.put_many(np.array([1.5]), np.array([1]))
    with pytest.raises(TypeError):
        t.get_many("abc")
    with pytest.raises((TypeError, ValueError)):
        t.get_many(5)
    assert len(t) == 0


def test_embedding_rows(path):
    t = durahash.open(path, key="u64", value=(np.float32, 64), capacity=5000)
    rng = np.random.default_rng(7)
    keys = rng.permutation(5000).astype(np.uint64)
    rows = rng.random((5000, 64), np.float32)
    t.put_many(keys, rows)
    got, found = t.get_many(keys[::-1])
    assert found.all() and np.array_equal(got, rows[::-1])
    out = np.full((3, 64), 0.5, np.float32)
    _, found = t.get_many([int(keys[0]), 10**9, int(keys[1])], out=out)
    assert found.tolist() == [True, False, True] and (out[1] == 0.5).all()
    assert np.array_equal(out[0], rows[0])
    assert np.array_equal(t[int(keys[5])], rows[5])
    t.put_many(keys[:2], rows[:2].astype(np.float64))  # same kind: converted
    with pytest.raises(TypeError):
        t.put_many(keys[:2], rows[:2].astype(np.complex64))
    with pytest.raises(ValueError):
        t.put_many(keys[:2], rows[:2, :32])
    seen = {}
    for k, v in t.chunks(1000):
        assert v.shape == (len(k), 64) and v.dtype == np.float32
        seen.update(zip(k.tolist(), v))
    assert len(seen) == 5000 and np.array_equal(seen[int(keys[9])], rows[9])


def test_structured_rows_and_keys_of_128_bits(path):
    dtype = np.dtype([("block", "u4"), ("node", "u2"), ("tier", "u1"), ("pad", "u1"), ("at", "u8")])
    t = durahash.open(path, key=(np.uint64, 2), value=dtype)
    keys = np.random.default_rng(3).integers(0, 2**64, (2000, 2), np.uint64)
    values = np.zeros(2000, dtype)
    values["block"] = np.arange(2000)
    t.put_many(keys, values)
    got, found = t.get_many(keys)
    assert found.all() and (got == values).all() and got.dtype == dtype
    assert t[keys[7]]["block"] == 7 and keys[7] in t
    assert t.erase_many(keys[:10]).all() and len(t) == 1990
    t.close()
    with durahash.open(path, key="V16", value=dtype) as v:  # the same bytes, without a type
        assert v.get_many(keys)[1].sum() == 1990
        assert v.get_many(keys.view("V16")[:, 0])[1].sum() == 1990


def test_bytes_in_lists_and_arrays(path):
    t = durahash.open(path)
    t.put_many([b"a", b"bb", bytearray(b"ccc")], [b"1", b"22", memoryview(b"333")])
    assert t.get_many([b"bb", b"no", b"ccc"])[0] == [b"22", None, b"333"]
    assert t.get_many(np.array([b"a", b"bb", b"no"]))[0] == [b"1", b"22", None]  # zeros end them
    assert t.get_many(np.array([b"a", b"bb"], object))[0] == [b"1", b"22"]
    hashes = np.random.default_rng(1).integers(0, 256, (100, 32), np.uint8)
    t.put_many(hashes, hashes[:, ::-1])
    out = np.zeros((100, 32), np.uint8)
    _, found = t.get_many(hashes, out=out)
    assert found.all() and np.array_equal(out, hashes[:, ::-1])
    assert t[hashes[3].tobytes()] == hashes[3, ::-1].tobytes()
    with pytest.raises(durahash.InvalidArgumentError, match="length"):
        t.get_many([b"a", b"bb"], out=np.zeros((2, 32), np.uint8))
    with pytest.raises(TypeError):
        t.put_many([b"a", "b"], [b"1", b"2"])
    with pytest.raises(TypeError):
        t.get_many(np.array([1, 2]))
    keys, values = zip(*[(k, v) for ks, vs in t.chunks() for k, v in zip(ks, vs)])
    assert set(zip(keys, values)) == set(t.items()) and len(keys) == 103


def test_text_batches(path):
    t = durahash.open(path, key="str", value="str")
    names = [f"name{n}" for n in range(10000)]
    t.put_many(names, names)
    assert t.get_many(np.array(["name1", "none"]))[0] == ["name1", None]
    assert t.get_many(names)[0] == names


def test_empty_batches(path):
    for value in ("u64", (np.float32, 4), "bytes"):
        t = durahash.open(None, medium="memory", key="u64", value=value)
        values, found = t.get_many([])
        assert len(values) == 0 and len(found) == 0
        assert t.put_many([], []) == 0 and len(t.erase_many([])) == 0
        assert list(t) == [] and list(t.chunks()) == []


def test_a_failed_batch_says_which_item(path):
    t = durahash.open(path)
    with pytest.raises(durahash.InvalidArgumentError, match="item 1 of 3"):
        t.put_many([b"a", b"k" * 70000, b"c"], [b"1", b"2", b"3"])
    assert dict(t) == {b"a": b"1", b"c": b"3"}  # the others were written


def test_a_full_pool_is_an_exception_and_reads_go_on(path):
    t = durahash.open(path, key="u64", value="u64", max_bytes=1 << 20)
    keys = np.arange(200_000, dtype=np.uint64)
    with pytest.raises(durahash.NoSpaceError) as full:
        t.put_many(keys, keys)
    assert isinstance(full.value, (durahash.Error, OSError))
    values, found = t.get_many(keys)
    assert 1000 < found.sum() < 200_000 and (values[found] == keys[found]).all()
    assert t.erase_many(keys).sum() == found.sum() and t.check()


def test_progress_gives_the_same_answers(path):
    t = words(path)
    keys = np.arange(600_000, dtype=np.uint64)
    bars = []

    class Bar:
        def __init__(self, total, desc):
            self.total, self.done = total, 0
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, n):
            self.done += n

    t.put_many(keys, keys, progress=Bar)
    values, found = t.get_many(keys + 1, progress=Bar)
    assert found.sum() == 599_999 and values[-1] == 0 and (values[:-1] == keys[1:]).all()
    assert t.erase_many(keys, progress=Bar).all()
    assert [b.done for b in bars] == [600_000] * 3
    t.get_many(keys[:10], progress=True)  # tqdm, where it is


def test_batches_let_other_threads_run(path):
    """A thread that counts goes on while another one is within a batch."""
    t = words(path)
    keys = np.random.default_rng(1).integers(0, 2**64, 1_000_000, np.uint64)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        for _ in range(3):
            t.put_many(keys, keys)
        assert counted[0] > before + 1000
    finally:
        stop.set()
        thread.join()


def test_records_are_whole_though_the_array_changes_meanwhile(path):
    t = durahash.open(path, key="u64", value=(np.uint64, 16), capacity=2000)
    keys = np.arange(2000, dtype=np.uint64)
    rows = np.zeros((2000, 16), np.uint64)
    stop = threading.Event()

    def change():
        while not stop.is_set():
            rows[...] += 1

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(50):
        t.put_many(keys, rows)
    stop.set()
    thread.join()
    assert t.check().violations == []
