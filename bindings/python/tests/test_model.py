"""A stateful model: whatever is done to a table and to a dict, they agree."""
import os
import shutil
import tempfile

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import durahash

LONG = bool(os.environ.get("DURAHASH_LONG"))


class Model(RuleBasedStateMachine):
    key: st.SearchStrategy
    value: st.SearchStrategy
    forms: dict

    def __init__(self):
        super().__init__()
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="durahash-model-", dir=shm)
        self.model = {}

    @initialize(engine=st.sampled_from(durahash.engines()))
    def make(self, engine):
        self.engine = engine
        self.table = durahash.open(f"{self.folder}/m.dh", engine=engine, **self.forms)

    def teardown(self):
        if hasattr(self, "table"):
            assert self.table.check().violations == []
            self.table.close()
        shutil.rmtree(self.folder)

    @rule(data=st.data())
    def put(self, data):
        k, v = data.draw(self.key), data.draw(self.value)
        self.table[k] = v
        self.model[k] = v

    @rule(data=st.data())
    def delete(self, data):
        k = data.draw(self.key)
        assert self.table.erase(k) == (self.model.pop(k, None) is not None)

    @rule(data=st.data())
    def get(self, data):
        k = data.draw(self.key)
        assert self.table.get(k) == self.model.get(k) and (k in self.table) == (k in self.model)

    @rule(data=st.data())
    def insert_and_replace(self, data):
        k, v, w = data.draw(self.key), data.draw(self.value), data.draw(self.value)
        assert self.table.insert(k, v) == (k not in self.model)
        self.model.setdefault(k, v)
        assert self.table.replace(k, w)
        self.model[k] = w
        assert not self.table.compare_and_set(k, v, v) or v == w
        assert self.table.compare_and_set(k, w, v)
        self.model[k] = v

    @rule(data=st.data())
    def put_many(self, data):
        pairs = data.draw(st.lists(st.tuples(self.key, self.value), max_size=150, unique_by=lambda p: p[0]))
        self.table.put_many([k for k, _ in pairs], [v for _, v in pairs])
        self.model.update(pairs)

    @rule(data=st.data())
    def get_and_erase_many(self, data):
        keys = data.draw(st.lists(self.key, max_size=100, unique=True))
        values, found = self.table.get_many(keys)
        assert found.tolist() == [k in self.model for k in keys]
        assert [v if f else None for v, f in zip(values, found)] == [self.model.get(k) for k in keys]
        assert self.table.contains_many(keys).tolist() == found.tolist()
        assert self.table.erase_many(keys).tolist() == found.tolist()
        for k in keys:
            self.model.pop(k, None)

    @rule(data=st.data())
    def pop_and_setdefault(self, data):
        k, v = data.draw(self.key), data.draw(self.value)
        assert self.table.pop(k, None) == self.model.pop(k, None)
        assert self.table.setdefault(k, v) == self.model.setdefault(k, v)

    @rule()
    def reopen(self):
        self.table.close()
        self.table = durahash.open(f"{self.folder}/m.dh", "w", **self.forms)

    @rule()
    def compact(self):
        self.table.compact()

    @invariant()
    def same(self):
        if hasattr(self, "table"):
            assert len(self.table) == len(self.model)
            assert dict(self.table.items()) == self.model


class Words(Model):
    key = st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1))
    value = st.integers(0, 2**64 - 1)
    forms = {"key": "u64", "value": "u64"}


class Text(Model):
    key = st.text(max_size=5)
    value = st.binary(max_size=300)
    forms = {"key": "str", "value": "bytes"}


class Signed(Model):
    key = st.integers(-20, 20)
    value = st.text(max_size=20)
    forms = {"key": "i64", "value": "str"}


bounds = settings(
    max_examples=300 if LONG else 12,
    stateful_step_count=60 if LONG else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    database=None,
)
for machine in (Words, Text, Signed):
    machine.TestCase.settings = bounds
TestWords, TestText, TestSigned = Words.TestCase, Text.TestCase, Signed.TestCase


def test_chunks_and_lists_agree():
    t = durahash.open(None, medium="memory", key="u64", value="u64")
    t.put_many(np.arange(1000), np.arange(1000))
    assert {k: v for ks, vs in t.chunks(10) for k, v in zip(ks.tolist(), vs.tolist())} == dict(t)
