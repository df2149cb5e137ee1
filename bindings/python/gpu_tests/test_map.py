"""The map, against a dict."""
import os
import random
import threading

import numpy as np
import pytest

import durahash
import durahash.gpu as gpu
from conftest import is_under_way, seen
from stand_ins import on_device

PLACES = ["pool", "host_mirror", "device_mirror"]


@pytest.mark.parametrize("place", PLACES)
def test_every_operation_against_a_dict(path, place):
    seed = int(os.environ.get("DURAHASH_SEED", random.randrange(2**32)))
    print("DURAHASH_SEED =", seed)
    drawn = np.random.default_rng(seed)
    model = {}
    with gpu.Map(path, place=place) as m:
        assert m.place == place and m.device == 0 and m.durability == "process"
        for _ in range(6):
            keys = np.unique(drawn.integers(0, 400, 100, dtype=np.uint64))
            values = drawn.integers(0, 2**64, len(keys), dtype=np.uint64)
            there = np.array([int(k) in model for k in keys])
            before = np.array([model.get(int(k), 0) for k in keys], np.uint64)
            pairs = list(zip(keys.tolist(), values.tolist()))

            found_values, found = m.find(keys)
            assert (found == there).all() and (found_values == before).all()
            assert (m.contains(keys) == there).all()
            what = drawn.integers(0, 6)
            if what == 0:
                assert m.put(keys, values) is None
                model.update(pairs)
            elif what == 1:
                assert (m.insert(keys, values) == ~there).all()
                for k, v in pairs:
                    model.setdefault(k, v)
            elif what == 2:
                assert (m.update(keys, values) == there).all()
                model.update((k, v) for k, v in pairs if k in model)
            elif what == 3:
                assert (m.erase(keys[::2].copy()) == there[::2]).all()
                for k in keys[::2].tolist():
                    model.pop(k, None)
            elif what == 4:
                both = values.copy()
                assert (m.find_or_insert(keys, both) == ~there).all()
                assert (both == np.where(there, before, values)).all()
                for k, v in pairs:
                    model.setdefault(k, v)
            else:
                m.add(keys, values)
                model.update((k, (model.get(k, 0) + v) % 2**64) for k, v in pairs)
            assert len(m) == len(model)
        exported = {}
        for keys, values in m.export(64):
            exported.update(zip(keys.tolist(), values.tolist()))
        assert exported == model and m.check()
    with durahash.open(path) as host:  # the same file, by the processor
        assert dict(host.items()) == model


@pytest.mark.parametrize("place", PLACES)
def test_batches_wait_for_nothing_and_are_done_by_a_commit(path, place):
    with gpu.Map(path, place=place) as m:
        m.reserve(1000)
        keys, values = gpu.array(np.arange(100)), gpu.array(np.arange(100) + 7)
        put = m.put_async(keys, values)
        assert put.stream == 0 and "Batch" in repr(put)
        assert (put.ok.numpy()).all()  # waits, and commits
        found = m.find_async(keys)
        assert (found.wait().values.numpy() == values.numpy()).all() and found.done
        assert found.values.pinned and found.answers.dtype == np.uint8
        only_there = m.find_async(gpu.array([5, 500]), values=False)
        assert only_there.values is None and only_there.found.numpy().tolist() == [True, False]

        assert m.insert_async(gpu.array([5, 500]), gpu.array([1, 2])).ok.numpy().tolist() == [False, True]
        assert m.update_async(gpu.array([5, 501]), gpu.array([1, 2])).ok.numpy().tolist() == [True, False]
        assert m.erase_async(gpu.array([5, 501])).ok.numpy().tolist() == [True, False]
        held = gpu.array([70, 71])
        known = m.find_or_insert_async(gpu.array([6, 502]), held)
        assert known.ok.numpy().tolist() == [False, True] and held.numpy().tolist() == [13, 71]
        assert known.values is held
        m.add_async(gpu.array([6, 6]), gpu.array([10, 10]))
        m.commit()
        assert m.find([6])[0].tolist() == [33]
        assert m._streams == set()


def test_writes_of_a_batch_that_find_no_room_answer_so_and_those_that_wait_grow(path):
    with gpu.Map(path) as m:
        keys = gpu.array(np.arange(3000))
        batch = m.put_async(keys, keys)
        ok = batch.ok.numpy()
        assert not ok.all() and set(batch.answers.numpy().tolist()) == {0, 4}
        m.put(keys, keys)  # grows
        assert m.contains(keys).numpy().all() and len(m) == 3000 and m.info()["slots"] >= 3000


def test_a_full_pool_tells_which_records_are_there(path):
    with gpu.Map(path, max_bytes=1 << 20) as m:
        keys = np.arange(200_000, dtype=np.uint64)
        with pytest.raises(durahash.NoSpaceError) as e:
            for begin in range(0, len(keys), 4096):
                part = keys[begin : begin + 4096]
                m.put(part, part)
        answers = e.value.answers
        assert set(np.unique(answers)) == {0, 4} and m.check()
        assert (m.contains(part) == (answers == 0)).all()
        assert m.contains(keys[:begin]).all(), "what was there before is still there"


def test_missed_keys_are_listed(path):
    with gpu.Map(path) as m:
        m.put(np.arange(50), np.arange(50))
        keys = np.arange(25, 125).reshape(4, 25)
        values, found, missed = m.find(keys, missed=True)
        assert values.shape == found.shape == (4, 25)
        assert sorted(missed.tolist()) == np.flatnonzero(~found.reshape(-1)).tolist() == list(range(25, 100))
        none = m.find([1, 2], missed=True)[2]
        assert none.tolist() == []
        batch = m.find_async(gpu.array([1, 2]))
        with pytest.raises(durahash.InvalidArgumentError, match="missed=True"):
            batch.missed
        assert m.find_async(gpu.array([1, 99]), missed=True).missed.numpy().tolist() == [1]


def test_out_gets_the_values_and_keeps_those_of_missed_keys(path):
    with gpu.Map(path) as m:
        m.put([1, 2], [10, 20])
        for out in (np.full(3, 5, np.uint64), gpu.array([5, 5, 5]), on_device([5, 5, 5])):
            values, found = m.find([1, 3, 2], out)
            assert values is out
            assert (seen(out) if isinstance(out, gpu.Array) else out).tolist() == [10, 5, 20]


def test_export_and_erase_by_a_condition(path):
    with gpu.Map(path) as m:
        keys = np.arange(1000, dtype=np.uint64)
        m.put(keys, keys % 8)
        odd = gpu.Selection(key_min=100, key_max=499, mask=1, bits=1)
        exported = np.concatenate([k for k, _ in m.export(64, where=odd)])
        assert sorted(exported.tolist()) == list(range(101, 500, 2))
        like = [k for k, _ in m.export(64, where=odd, like=gpu.array(np.zeros(1, np.int64)))]
        assert all(isinstance(k, gpu.Array) and k.dtype == np.int64 for k in like)
        assert repr(odd).startswith("Selection(key_min=100, key_max=499")
        for wrong, kind in [({"key_min": -1}, OverflowError), ({"bits": 2**64}, OverflowError), ({"mask": 1.5}, TypeError)]:
            with pytest.raises(kind):
                gpu.Selection(**wrong)
        with pytest.raises(TypeError, match="selected by a gpu.Selection, and not by a int"):
            m.erase_if(5)
        assert m.erase_if(odd) == 200 and len(m) == 800 and m.erase_if(odd) == 0
        assert m.erase_if(gpu.Selection(value_min=7)) == 75
        going_on = m.export(32)
        next(going_on)
        m.reserve(100_000)
        with pytest.raises(gpu.ChangedError):
            list(going_on)
        m.clear()
        assert len(m) == 0 and list(m.export()) == []


def test_copies_of_hot_buckets(path):
    with gpu.Map(path, place="host_mirror", cache_percent=40, cache_policy="lru") as m:
        keys = np.arange(2000, dtype=np.uint64)
        m.put(keys, keys)
        m.find(keys[:64])
        m.load_cache()
        assert m.cache()["loads"] >= 1 and m.cache()["copies"] > 0
        assert (m.find(keys)[0] == keys).all()


def test_what_the_pool_is_and_its_care(path):
    with gpu.Map(path, capacity=10_000) as m:
        assert m.info()["slots"] >= 10_000 and m.info()["device"] == "cuda:0" and m.info()["engine"] == "gphash"
        m.put(np.arange(100), np.arange(100))
        m.compact()
        m.sync()
        assert m.info()["slots"] < 10_000 and m.check() == (True, 100, [])
        assert m.stats()["in_top"] > 0 and m.salvage_report() == []
        assert repr(m) == f"<durahash.gpu.Map '{path}', u64 -> u64, cuda:0, pool, process>"
        assert m and len(m) == 100
    assert repr(m) == f"<durahash.gpu.Map '{path}', closed>"
    with gpu.Map(None, medium="memory", device="cuda:0") as m:
        m.put([1], [2])
        assert "memory" in repr(m) and len(m) == 1


def test_at_the_level_power_a_commit_makes_it_durable(path):
    with gpu.Map(None, medium="memory", durability="power") as m:
        assert m.durability == "power"
        m.reserve(100)
        batch = m.put_async(gpu.array([1, 2]), gpu.array([3, 4]))
        assert not m.find_async(gpu.array([1])).found.numpy().any(), "staged, and not to be seen"
        assert batch.ok.numpy().all()
        assert m.find_async(gpu.array([1])).found.numpy().all()


class Interrupted(gpu.Map):
    """Does something once, when the device is done with a commit and commit() is not."""

    meanwhile = None

    def _commit(self, stream):
        answer = super()._commit(stream)
        what, self.meanwhile = self.meanwhile, None
        if what is not None:
            thread = threading.Thread(target=what)
            thread.start()
            thread.join()
        return answer


@pytest.mark.parametrize("of_one_stream", [True, False])
def test_a_write_behind_another_threads_commit_is_done_by_the_next_one(of_one_stream):
    """commit() forgot the stream after it had waited, and with it what was written meanwhile."""
    with Interrupted(None, medium="memory", durability="power") as m:
        m.reserve(100)
        made = gpu.Stream()
        m.put_async(gpu.array([1]), gpu.array([3]), stream=made)
        m.meanwhile = lambda: m.put_async(gpu.array([2]), gpu.array([4]), stream=made)
        m.commit(made) if of_one_stream else m.commit()
        assert m._streams == {made.ptr} and not m.find_async(gpu.array([2])).found.numpy().any()
        m.commit()
        assert m.find_async(gpu.array([1, 2])).found.numpy().all() and m._streams == set()


def test_a_stream_whose_commit_fails_is_not_forgotten():
    class Failing(gpu.Map):
        fails = False

        def _commit(self, stream):
            return (9, "it fails") if self.fails else super()._commit(stream)

    with Failing(None, medium="memory", durability="power") as m:
        m.reserve(100)
        made = gpu.Stream()
        m.put_async(gpu.array([1]), gpu.array([3]), stream=made)
        m.fails = True
        with pytest.raises(gpu.DeviceError, match="it fails"):
            m.commit()
        assert m._streams == {made.ptr}
        m.fails = False
        m.commit()
        assert m._streams == set() and m.find_async(gpu.array([1])).found.numpy().all()


def test_closed(path):
    m = gpu.Map(path)
    m.put([1], [2])
    m.close()
    m.close()
    a = gpu.array([1])
    for use in (lambda: m.find([1]), lambda: m.find_async(a), lambda: m.put([1], [1]), lambda: m.put_async(a, a),
                lambda: m.commit(), lambda: len(m), m.info, m.stats, m.check, m.compact, m.sync, m.load_cache, m.cache,
                lambda: m.erase_if(gpu.Selection()), lambda: list(m.export()), lambda: m.reserve(5), lambda: m.place,
                m.salvage_report):
        with pytest.raises(durahash.ClosedError):
            use()
    assert m.closed


@pytest.mark.parametrize("place", PLACES)
def test_a_map_that_goes_with_a_batch_under_way_is_closed_first(path, place):
    m = gpu.Map(path, place=place)
    m.reserve(1000)
    keys = gpu.array(np.arange(500))
    m.put_async(keys, keys)
    del keys, m
    with durahash.open(path) as host:
        assert len(host) == 500 and host.check()


@pytest.mark.usefixtures("garbage_is_gone")
def test_arrays_of_a_batch_live_until_it_is_done(path):
    import gc
    import weakref

    with gpu.Map(path) as m:
        m.reserve(4000)
        keys, values = gpu.array(np.arange(1500)), gpu.array(np.arange(1500))
        gone = weakref.ref(keys), weakref.ref(values)
        batch = m.put_async(keys, values)
        assert is_under_way(batch)
        del keys, values, batch
        gc.collect()
        assert gone[0]() is not None and gone[1]() is not None, "the device still reads them"
        m.commit()
        gc.collect()
        assert gone[0]() is None and gone[1]() is None
        keys = gpu.array(np.arange(10))
        gone = weakref.ref(keys)
        waited = m.find_async(keys).wait()
        m.find(keys)
        del keys
        m.find_async(gpu.array([1]))  # those that are done are let go with the next one
        assert gone() is None and waited.found.numpy().all()
        assert m.contains(np.arange(1500)).all()


def test_threads_find_while_another_one_writes(path):
    with gpu.Map(path) as m:
        keys = np.arange(400, dtype=np.uint64)
        m.put(keys, keys)
        wrong, rounds = [], [0] * 3

        def look(number):
            stream = gpu.Stream()
            for _ in range(5):
                values, found = m.find(keys, stream=stream)
                if not (found.all() and (values % 1000 == keys).all()):
                    wrong.append(number)
                rounds[number] += 1

        threads = [threading.Thread(target=look, args=(n,)) for n in range(3)]
        for each in threads:
            each.start()
        for n in range(4):
            m.put(keys, keys + 1000 * n)
            m.put(keys + 10_000 * (n + 1), keys)
        for each in threads:
            each.join()
        assert wrong == [] and rounds == [5] * 3 and m.check() and len(m) == 2000


def test_a_close_beside_threads_ends_their_finds_with_closed(path):
    m = gpu.Map(path)
    m.put(np.arange(300), np.arange(300))
    began, said = threading.Event(), []

    def look():
        try:
            while True:
                assert m.find(np.arange(300))[1].all()
                began.set()
        except durahash.ClosedError:
            said.append("closed")

    threads = [threading.Thread(target=look) for _ in range(2)]
    for each in threads:
        each.start()
    began.wait()
    m.close()
    for each in threads:
        each.join()
    assert said == ["closed", "closed"]


REFUSED = [
    ({"mode": "q"}, ValueError, "no such mode"),
    ({"mode": "r"}, durahash.InvalidArgumentError, "read_only"),
    ({"mode": "w"}, durahash.NotFoundError, "pool.dh"),
    ({"engine": "turbo"}, durahash.InvalidArgumentError, "gphash"),
    ({"engine": "none"}, ValueError, "no such engine: 'none'"),
    ({"place": "moon"}, ValueError, "no such place: 'moon'.*device_mirror"),
    ({"cache_policy": "best"}, ValueError, "no such cache_policy.*random"),
    ({"cache_percent": 91}, durahash.InvalidArgumentError, "from 0 to 90"),
    ({"cache_percent": 10, "place": "device_mirror"}, durahash.InvalidArgumentError, "needs no copies"),
    ({"max_staged": 0}, durahash.InvalidArgumentError, "max_staged"),
    ({"device": 97}, durahash.InvalidArgumentError, "no CUDA device 97: this machine has [0-9]"),
    ({"durability": "maybe"}, ValueError, "no such durability"),
    ({"color": 3}, TypeError, "no such option: color"),
    ({"capacity": "5"}, TypeError, "capacity must be a whole number.*is '5'"),
    ({"max_staged": -1}, TypeError, "max_staged must be a whole number"),
    ({"device": "cpu"}, ValueError, "is no CUDA device"),
    ({"place": None}, TypeError, "place must be a str"),
    ({"settings": {"colour": 1}}, durahash.Error, "colour"),
]


@pytest.mark.parametrize("how, kind, words", REFUSED, ids=lambda x: str(x)[:40])
def test_options_that_do_not_fit_are_refused_with_words(path, how, kind, words):
    with pytest.raises(kind, match=words):
        gpu.Map(path, **how)


def test_a_map_that_was_never_opened_says_so(path):
    with pytest.raises(durahash.Error):
        gpu.Map(path, "w")
    assert "never opened" in repr(gpu.Map.__new__(gpu.Map))


def test_pools_that_do_not_fit_are_refused_with_words(path, folder):
    durahash.open(path, key="u64", value="u64", engine="turbo").close()
    with pytest.raises(durahash.Error, match="gphash"):
        gpu.Map(path)
    rows = str(folder / "rows.dh")
    durahash.open(rows, key="u64", value="bytes", engine="gphash").close()
    with pytest.raises(durahash.Error):
        gpu.Map(rows)
    mine = str(folder / "mine.dh")
    gpu.Map(mine).close()
    with pytest.raises(durahash.InvalidArgumentError, match="beside a writer"):
        gpu.Map(mine, "b")
    with gpu.Map(mine):
        with pytest.raises(durahash.UnusableError):
            gpu.Map(mine)
        with pytest.raises(durahash.UnusableError):
            durahash.open(mine)
        with pytest.raises(durahash.ExistsError):
            gpu.Map(mine, "x")
