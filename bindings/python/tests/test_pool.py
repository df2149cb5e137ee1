"""Opening, closing, durability, errors, pickles."""
import asyncio
import gc
import os
import pickle
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import durahash


def test_modes(path):
    with pytest.raises(durahash.NotFoundError):
        durahash.open(path, "w")
    with pytest.raises(FileNotFoundError):
        durahash.open(path, "r")
    durahash.open(path, "x").close()
    with pytest.raises(durahash.ExistsError):
        durahash.open(path, "x")
    with durahash.open(path, "r") as t, durahash.open(path, read_only=True) as u:
        assert len(t) == len(u) == 0
        with pytest.raises(durahash.ReadOnlyError):
            t[b"k"] = b"v"
        with pytest.raises(durahash.ReadOnlyError):
            t.put_many([b"k"], [b"v"])
    with pytest.raises(ValueError):
        durahash.open(path, "q")
    with pytest.raises(ValueError, match="no such engine"):
        durahash.open(path, engine="b-tree")
    with pytest.raises(TypeError, match="no such option"):
        durahash.open(path, colour=3)


def test_what_is_no_pool_is_refused_with_a_sentence(path):
    with open(path, "wb") as f:
        f.write(b"not a pool" * 1000)
    with pytest.raises(durahash.UnusableError, match="pool.dh"):
        durahash.open(path)
    os.remove(path)
    with durahash.open(path, key="u64", value="u64"):
        with pytest.raises(durahash.Error, match="lock"):
            durahash.open(path)
    with pytest.raises(durahash.Error, match="engine"):
        durahash.open(path, engine="cceh")


def test_settings_and_capacity(path):
    with durahash.open(path, engine="cceh", settings={"probe": 8}, capacity=100_000) as t:
        assert t.info()["slots"] >= 100_000
    with pytest.raises(durahash.Error):
        durahash.open(path + "2", engine="cceh", settings={"no such setting": 8})


def test_a_closed_table_answers_everything_with_an_exception(path):
    t = durahash.open(path)
    t[b"k"] = b"v"
    it = iter(t)
    t.close()
    t.close()
    assert t.closed and "closed" in repr(t) and "closed" in t._repr_html_()
    for use in (lambda: t[b"k"], lambda: t.get(b"k"), lambda: len(t), lambda: list(t), lambda: b"k" in t,
                lambda: t.put(b"k", b"v"), lambda: t.insert(b"k", b"v"), lambda: t.erase(b"k"),
                lambda: t.get_many([b"k"]), lambda: t.get_many([]), lambda: t.put_many([b"k"], [b"v"]),
                lambda: t.contains_many([b"k"]), lambda: t.erase_many([b"k"]), lambda: next(it),
                t.info, t.stats, t.check, t.size, t.sync, t.compact, lambda: t.reserve(5), t.position,
                t.wait_durable, lambda: t.backup(path + "b"), lambda: asyncio.run(t.durable()),
                lambda: next(t.chunks()), lambda: t.setdefault(b"k", b""), lambda: t.compare_and_set(b"k", b"", b"")):
        with pytest.raises(durahash.ClosedError):
            use()
    with pytest.raises(ValueError):  # as a closed file
        t[b"k"] = b"v"


def test_an_object_that_was_never_opened_is_no_crash():
    t = durahash.Table.__new__(durahash.Table)
    for use in (lambda: t[1], lambda: len(t), lambda: 1 in t, lambda: t.__setitem__(1, 1)):
        with pytest.raises((ValueError, TypeError, AttributeError)):
            use()


def test_close_waits_for_batches_of_other_threads(path):
    t = durahash.open(path, key="u64", value="u64")
    keys = np.random.default_rng(1).integers(0, 2**64, 300_000, np.uint64)
    begun, ends = threading.Barrier(4), []

    def work():
        begun.wait()
        try:
            while True:
                t.put_many(keys, keys)
                t.get_many(keys)
                t[5] = 5
        except durahash.ClosedError:
            ends.append("closed")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait()
    time.sleep(0.2)
    t.close()
    for thread in threads:
        thread.join()
    assert ends == ["closed"] * 3
    with durahash.open(path) as again:
        assert again.check() and again.get_many(keys)[1].all()


def test_tables_are_opened_while_others_are_unpickled(path):
    """A WeakSet that grew while a pickle looked for its table in it ended with a RuntimeError."""
    stop, wrong = threading.Event(), []

    def opens():
        try:
            while not stop.is_set():
                kept = [durahash.open(None, medium="memory") for _ in range(8)]
                for each in kept:
                    each.close()
        except Exception as e:
            wrong.append(e)

    threads = [threading.Thread(target=opens) for _ in range(2)]
    often = sys.getswitchinterval()
    try:
        with durahash.open(path) as t:
            sent = pickle.dumps(t)
            sys.setswitchinterval(1e-6)
            for thread in threads:
                thread.start()
            ends = time.monotonic() + 1
            while time.monotonic() < ends:
                assert pickle.loads(sent) is t
    finally:
        sys.setswitchinterval(often)
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_threads_write_and_read(path):
    t = durahash.open(path, key="u64", value="u64")

    def work(n):
        for i in range(2000):
            t[n * 10_000 + i] = i
            t.fetch_add(0, 1)
            assert t[n * 10_000 + i] == i

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(t) == 8001 and t[0] == 8000 and t.check()


def test_compact_reserve_sync_backup(path):
    t = durahash.open(path, key="u64", value="u64")
    keys = np.arange(50_000, dtype=np.uint64)
    t.reserve(50_000)
    t.put_many(keys, keys)
    t.erase_many(keys[100:])
    before = t.info()["file_bytes"]
    t.compact()
    t.sync()
    assert t.info()["file_bytes"] < before and t.size() == 100
    t.backup(path + "copy")
    with pytest.raises(durahash.ExistsError):
        t.backup(path + "copy")
    with durahash.open(path + "copy") as copy:
        assert copy == t and copy.info()["clean"]


def test_durability_on_a_disk(disk):
    for level in ("power", "power_buffered"):
        t = durahash.open(disk / f"{level}.dh", key="u64", value="u64", durability=level)
        t[1] = 1
        position = t.put(2, 2, wait=False)
        assert position > 0 and t.position() >= position
        t.wait_durable(position)
        assert t.durable_position() >= position
        later = t.put_many(np.arange(100), np.arange(100), wait=False)

        async def wait():
            await asyncio.wait_for(t.durable(later), 30)
            await t.durable()
            assert t.durable_position() >= later

        asyncio.run(wait())
        t.put_many(np.arange(100, 200), np.arange(100))
        if level == "power":
            assert t.durable_position() >= t.position()
        t.close()
    assert durahash.open(disk / "power.dh").info()["durability"] == "power"


def test_an_async_wait_that_nobody_waits_for_any_more(disk):
    t = durahash.open(disk / "a.dh", durability="power_buffered", lag_milliseconds=50)

    async def give_up():
        waiting = asyncio.ensure_future(t.durable(t.put(b"k", b"v", wait=False)))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(give_up())  # the loop is closed before the disk answers
    t.close()


def test_in_memory():
    t = durahash.open(None, medium="memory", key="u64", value="u64")
    t[1] = 2
    assert dict(t) == {1: 2} and "memory" in repr(t)
    with pytest.raises(TypeError):
        pickle.dumps(t)
    with pytest.raises(durahash.InvalidArgumentError):
        durahash.open(None)


def test_a_pickle_is_the_open_table_or_opens_it(path):
    t = durahash.open(path, "x", key="u64", value=(np.float32, 4))
    t[1] = [1, 2, 3, 4]
    stored = pickle.dumps(t)
    assert pickle.loads(stored) is t
    t.close()
    again = pickle.loads(stored)
    assert again is not t and again[1].tolist() == [1, 2, 3, 4]
    again.close()
    reader = pickle.loads(pickle.dumps(durahash.open(path, "r", key="u64", value=(np.float32, 4))))
    with pytest.raises(durahash.ReadOnlyError):
        reader[2] = [0, 0, 0, 0]


def test_reopen_with_other_options(path):
    t = durahash.open(path, "x")
    t[b"k"] = b"v"
    t.close()
    with t.reopen(read_only=True) as r:
        assert r[b"k"] == b"v"
        with pytest.raises(durahash.ReadOnlyError):
            r[b"k"] = b"w"


def test_tables_are_freed(path):
    t = durahash.open(path)
    gone = weakref.ref(t)
    t[b"k"] = b"v"
    del t
    gc.collect()
    assert gone() is None
    durahash.open(path).close()  # it was closed, so that it is not locked


def test_nothing_leaks(path):
    t = durahash.open(path, key="str", value="bytes")
    u = durahash.open(None, medium="memory", key="u64", value=(np.float32, 4))
    c = durahash.open(None, medium="memory", value=durahash.Codec(pickle.dumps, pickle.loads))
    names = [f"n{i}" for i in range(300)]
    values = [bytes([i % 256]) * 20 for i in range(300)]
    rows = np.zeros((300, 4), np.float32)

    def everything():
        t.put_many(names, values)
        t.get_many(names + ["absent"])
        list(t.items())
        u.put_many(range_of, rows)
        u.get_many(range_of, out=rows)
        list(u.chunks())
        c[b"k"] = [1, 2, 3]
        c.get(b"k"), c.get(b"none"), c.erase(b"k")
        for wrong in (lambda: t["none"], lambda: t[b"x"], lambda: t.put_many(["a"], [5]),
                      lambda: u.get_many(range_of, out=rows[:5]), lambda: c[b"none"],
                      lambda: u.put_many(range_of, rows[:, :2]), lambda: t.fetch_add("a")):
            try:
                wrong()
            except (KeyError, TypeError, ValueError):
                pass
        t.info(), t.stats(), t.check()

    range_of = np.arange(300, dtype=np.uint64)
    references = [sys.getrefcount(o) for o in (t, u, c, names, values, rows, range_of, names[0], values[0])]
    for _ in range(3):
        everything()
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(30):
        everything()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 100
    assert [sys.getrefcount(o) for o in (t, u, c, names, values, rows, range_of, names[0], values[0])] == references


def test_a_picture_for_notebooks(path):
    t = durahash.open(path, key="u64", value="u64")
    t[1] = 1
    page = t._repr_html_()
    assert "<svg" in page and "kill -9" in page and "turbo" in page and path in page
    assert repr(t) == f"<durahash.Table '{path}', u64 -> u64, turbo, process>"


def test_remove(path):
    with durahash.open(path, key="u64", value="u64") as t:
        t[1] = 1
        with pytest.raises(durahash.LockedError, match="locked"):
            durahash.remove(path)
        assert t[1] == 1
    durahash.remove(path)
    assert not os.path.exists(path)
    with pytest.raises(durahash.UnusableError):
        durahash.remove(path)
