"""A table is a mutable mapping, with the answers of dict."""
import collections.abc
import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import durahash


def test_it_is_a_mutable_mapping_and_keeps_its_records(path):
    with durahash.open(path) as t:
        assert isinstance(t, collections.abc.MutableMapping)
        t[b"alice"] = b"42"
        t[b""] = b""
        assert t[b"alice"] == b"42" and t[b""] == b"" and len(t) == 2
        assert b"alice" in t and b"bob" not in t
        with pytest.raises(KeyError, match="bob"):
            t[b"bob"]
        with pytest.raises(KeyError):
            del t[b"bob"]
    with durahash.open(path, "w") as t:
        assert dict(t) == {b"alice": b"42", b"": b""}
        del t[b""]
        assert list(t) == [b"alice"]


def test_methods_of_a_mapping(path):
    t = durahash.open(path, key="str", value="u64")
    t.update({"a": 1, "b": 2}, c=3)
    t.update([("d", 4)])
    assert t == {"a": 1, "b": 2, "c": 3, "d": 4} and t != {"a": 1}
    assert t.get("a") == 1 and t.get("z") is None and t.get("z", -1) == -1
    assert sorted(t.keys()) == ["a", "b", "c", "d"] and sorted(t.values()) == [1, 2, 3, 4]
    assert ("a", 1) in t.items() and ("a", 2) not in t.items() and len(t.items()) == 4
    assert t.pop("a") == 1 and t.pop("a", None) is None
    with pytest.raises(KeyError):
        t.pop("a")
    assert t.setdefault("b", 9) == 2 and t.setdefault("e", 9) == 9 and t["e"] == 9
    key, value = t.popitem()
    assert key not in t and value in (2, 3, 4, 9)
    t.clear()
    assert len(t) == 0 and not t.check().violations
    with pytest.raises(KeyError):
        t.popitem()
    t |= {"x": 1}
    assert dict(t.items()) == {"x": 1}
    assert copy.copy(t) is t and copy.deepcopy(t) is t


def test_single_operations_say_whether_they_did_something(path):
    t = durahash.open(path, key="u64", value="i64")
    assert t.insert(1, -5) and not t.insert(1, 7) and t[1] == -5
    assert t.replace(1, 7) and not t.replace(2, 7) and 2 not in t
    assert t.compare_and_set(1, 7, 8) and not t.compare_and_set(1, 7, 9) and t[1] == 8
    assert not t.compare_and_set(3, 0, 1)
    assert t.fetch_add(1, -10) == 8 and t[1] == -2 and t.fetch_add(4) == 0 and t[4] == 1
    assert t.erase(1) and not t.erase(1)
    assert t.put(5, 6) is None and t[5] == 6
    with pytest.raises(TypeError):
        durahash.open(None, medium="memory").fetch_add(b"k")


@pytest.mark.parametrize("value", ["u64", "bytes"])
def test_of_several_threads_that_pop_a_key_one_has_it(path, value):
    t = durahash.open(path, key="u64", value=value)
    made = iter(range(1, 1 << 20))
    put, had = [], [[] for _ in range(4)]

    def pops(mine):
        for _ in range(500):
            number = next(made)
            if t.insert(1, number if value == "u64" else str(number).encode()):
                put.append(number)
            taken = t.pop(1, None)
            if taken is not None:
                mine.append(int(taken))

    threads = [threading.Thread(target=pops, args=(mine,)) for mine in had]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    had.append([int(v) for v in t.values()])
    assert sorted(sum(had, [])) == sorted(put) and len(put) > 100


def test_what_cannot_be_given_is_not_popped(path):
    t = durahash.open(path, key="u64", value=durahash.Codec(bytes, lambda b: b.decode()))
    t[1], t[2] = b"\xff", b"two"
    for pop in (lambda: t.pop(1), lambda: t.pop(1, None)):
        with pytest.raises(UnicodeDecodeError):
            pop()
        assert 1 in t and len(t) == 2
    assert t.pop(2) == "two" and len(t) == 1


@pytest.mark.parametrize("value, first, change, last", [
    ("u64", 0, lambda n: n + 1, 800),
    ("str", "", lambda s: s + ".", "." * 800),
    ((np.uint32, 4), np.zeros(4, np.uint32), lambda row: np.add(row, 1, out=row), np.full(4, 800, np.uint32)),
    (durahash.Codec(pickle.dumps, pickle.loads), [0], lambda n: [n[0] + 1], [800]),
], ids=["words", "text", "rows changed in place", "objects"])
def test_update_with_loses_no_change_of_any_thread(path, value, first, change, last):
    t = durahash.open(path, key="u64", value=value)
    with pytest.raises(KeyError):
        t.update_with(1, change)
    t[1] = first

    def changes():
        for _ in range(200):
            t.update_with(1, change)

    threads = [threading.Thread(target=changes) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(t[1], last)
    with pytest.raises(ZeroDivisionError):
        t.update_with(1, lambda _: 1 // 0)
    assert np.array_equal(t[1], last)


@pytest.mark.parametrize("number", [0, 1, 2**63, 2**64 - 1])
def test_every_word_is_a_key_and_a_value(path, number):
    t = durahash.open(path, key="u64", value="u64")
    t[number] = number
    assert t[number] == number and list(t.items()) == [(number, number)]
    assert t[np.uint64(number)] == number


def test_what_is_not_of_the_form_is_refused(path):
    t = durahash.open(path, key="u64", value="u64")
    for wrong in (-1, 2**64):
        with pytest.raises(OverflowError):
            t[wrong] = 1
    for wrong in ("a", b"a", 1.5, None):
        with pytest.raises(TypeError):
            t[wrong]
    t.close()
    b = durahash.open(None, medium="memory")
    with pytest.raises(TypeError):
        b["text"] = b"x"
    with pytest.raises(TypeError):
        b[[1, 2]] = b"x"
    with pytest.raises(durahash.InvalidArgumentError):
        b[b"k" * 70000] = b""
    mutable = bytearray(b"abc")
    b[mutable] = memoryview(b"xyz")
    mutable[0] = 0
    assert b[b"abc"] == b"xyz"


def test_text_is_utf8(path):
    t = durahash.open(path, key="str", value="str")
    t["grüße \N{GRINNING FACE}"] = "ж" * 1000
    assert t["grüße \N{GRINNING FACE}"] == "ж" * 1000
    with pytest.raises(UnicodeEncodeError):
        t["\ud800"] = ""
    with pytest.raises(TypeError):
        t[b"bytes"]
    t.close()
    with durahash.open(path, value="bytes") as b:
        assert b["grüße \N{GRINNING FACE}".encode()] == ("ж" * 1000).encode()
        b["broken".encode()] = b"\xff"
    with durahash.open(path, key="str", value="str") as t, pytest.raises(UnicodeDecodeError):
        t["broken"]


def test_a_codec_makes_bytes_of_any_object(path):
    codec = durahash.Codec(pickle.dumps, pickle.loads)
    t = durahash.open(path, key="u64", value=codec)
    t[7] = {"any": [1, None]}
    t.put_many([8, 9], [(1,), "nine"])
    assert t[7] == {"any": [1, None]} and t.get_many([8, 9, 10])[0] == [(1,), "nine", None]
    assert dict(t) == {7: {"any": [1, None]}, 8: (1,), 9: "nine"}
    bad = durahash.open(None, medium="memory", value=durahash.Codec(lambda o: o, lambda b: b))
    with pytest.raises(TypeError):
        bad[b"k"] = 5


def test_rows_of_any_dtype(path):
    dtype = np.dtype([("id", "u4"), ("score", "f8"), ("name", "S8")])
    t = durahash.open(path, key="u64", value=dtype)
    t[1] = (7, 0.5, b"seven")
    assert t[1]["id"] == 7 and t[1]["name"] == b"seven" and t[1].dtype == dtype
    t.close()
    with durahash.open(path, key="u64", value=(np.uint8, 5)) as wrong:
        with pytest.raises(durahash.InvalidArgumentError, match="20 bytes"):
            wrong[1]
        with pytest.raises(durahash.InvalidArgumentError, match="item 0"):
            wrong.get_many(np.array([1], np.uint64))
        with pytest.raises(durahash.InvalidArgumentError, match="form"):
            next(wrong.chunks())
    e = durahash.open(None, medium="memory", key="str", value=(np.float32, (2, 3)))
    e["m"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert e["m"].shape == (2, 3) and e["m"][1, 2] == 5
    with pytest.raises(ValueError):
        e["m"] = np.zeros((3, 2), np.float32)
    for words in ("datetime64[ns]", "S8", np.dtype((np.float32, 2))):
        w = durahash.open(None, medium="memory", key="u64", value=words)
        one = np.zeros(1, words)
        w[3] = one[0]
        assert np.array_equal(w[3], one[0]) and w.info()["value"] == "u64"
    with pytest.raises(TypeError):
        durahash.open(None, medium="memory", value=object)
    with pytest.raises(TypeError):
        durahash.open(None, medium="memory", value="no such thing")


def test_forms_are_those_of_the_pool_where_none_is_given(path):
    durahash.open(path, key="u64", value="u64").close()
    with durahash.open(path) as t:
        assert (t.key, t.value) == ("u64", "u64")
        t[1] = 2
    with pytest.raises(durahash.Error):
        durahash.open(path, key="bytes")
    with durahash.open(path, key="i64", value="f64") as t:  # other views of the same words
        assert list(t) == [1]


@pytest.mark.parametrize("engine", durahash.engines())
def test_every_engine(path, engine):
    with durahash.open(path, engine=engine, capacity=1000) as t:
        t.update({str(n).encode(): str(n * n).encode() for n in range(3000)})
        assert len(t) == 3000 and t[b"77"] == b"5929"
        assert t.info()["engine"] == engine and t.check()
        assert len(set(t)) == 3000
        assert "engine" in t.info() and t.stats()["flushes"] == 0


def test_a_table_and_a_codec_that_leads_to_it_are_collected():
    def open_and_leave():
        t = durahash.open(None, medium="memory", value=durahash.Codec(bytes, lambda b: (b, t)))
        t[b"k"] = b"v"
        assert t[b"k"] == (b"v", t)
        return weakref.ref(t)

    gone = open_and_leave()
    gc.collect()
    assert gone() is None
