#!/usr/bin/env python3
"""durahash beside what Python people keep mappings in: one run, interleaved, medians.

    bench/python/compare.py [--keys N] [--numbers N] [--rounds N] [--folder DIR] [--stores A,B]
                            [--json FILE]

It installs the others into build/python/bench-venv first (tkrzw: scripts/setup.sh python-peers, and
Debian's own python3), then measures in a process per store and round: put and get of single records, batches, bytes per record, and how long it takes from the
start of an opening to the first answer behind `kill -9`, with what is lost. Keys are 16 bytes and
values 100; a second part has 64-bit numbers. Each store has its quickest setting that outlives
kill -9, where it has one; the table says which. `CPU` stands for seconds of the processor: on a
machine that is busy otherwise they tell more than the clock's.
"""
import argparse
import importlib
import json
import os
import pathlib
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ["lmdb", "rocksdict", "diskcache"]  # tkrzw is a package of Debian: scripts/setup.sh python-peers
BATCH = 1000
BUCKETS = 200_000  # of tkrzw, which does not grow


class Dict:
    """A dict, which nothing outlives."""

    how = "in memory"
    keeps = False

    def open(self, path):
        self.d = {}

    def put(self, k, v):
        self.d[k] = v

    def get(self, k):
        return self.d.get(k)

    def put_many(self, ks, vs):
        self.d.update(zip(ks, vs))

    def get_many(self, ks):
        get = self.d.get
        return [get(k) for k in ks]

    def close(self):
        pass


class Durahash:
    how = "turbo, durability process"
    keeps = True

    def open(self, path):
        import durahash

        self.d = durahash.open(path)
        self.get = self.d.get
        self.put = self.d.__setitem__

    def put_many(self, ks, vs):
        self.d.put_many(ks, vs)

    def get_many(self, ks):
        return self.d.get_many(ks)[0]

    def close(self):
        self.d.close()


class Lmdb:
    how = "writemap, no sync, a transaction per operation"
    keeps = True

    def open(self, path):
        import lmdb

        self.d = lmdb.open(path, map_size=1 << 34, writemap=True, sync=False, metasync=False)

    def put(self, k, v):
        with self.d.begin(write=True) as t:
            t.put(k, v)

    def get(self, k):
        with self.d.begin(buffers=False) as t:
            return t.get(k)

    def put_many(self, ks, vs):
        with self.d.begin(write=True) as t:
            t.cursor().putmulti(list(zip(ks, vs)))

    def get_many(self, ks):
        with self.d.begin() as t:
            found = dict(t.cursor().getmulti(ks))
        return [found.get(k) for k in ks]

    def close(self):
        self.d.close()


class RocksDict:
    how = "raw mode, its log not synced"
    keeps = True

    def open(self, path):
        import rocksdict

        self.r = rocksdict
        self.d = rocksdict.Rdict(path, rocksdict.Options(raw_mode=True))
        self.get = self.d.get
        self.put = self.d.__setitem__

    def put_many(self, ks, vs):
        batch = self.r.WriteBatch(raw_mode=True)
        for k, v in zip(ks, vs):
            batch.put(k, v)
        self.d.write(batch)

    def get_many(self, ks):
        return self.d.get(list(ks))

    def close(self):
        self.d.close()


class Sqlite:
    how = "WAL, synchronous off"
    keeps = True

    def open(self, path):
        import sqlite3

        self.d = sqlite3.connect(path, isolation_level=None)
        self.d.execute("pragma journal_mode=wal")
        self.d.execute("pragma synchronous=off")
        self.d.execute("create table if not exists t (k blob primary key, v blob) without rowid")

    def put(self, k, v):
        self.d.execute("insert or replace into t values (?, ?)", (k, v))

    def get(self, k):
        row = self.d.execute("select v from t where k = ?", (k,)).fetchone()
        return row and row[0]

    def put_many(self, ks, vs):
        self.d.execute("begin")
        self.d.executemany("insert or replace into t values (?, ?)", zip(ks, vs))
        self.d.execute("commit")

    def get_many(self, ks):
        found = {}
        for at in range(0, len(ks), 500):
            part = ks[at : at + 500]
            marks = ",".join("?" * len(part))
            found.update(self.d.execute(f"select k, v from t where k in ({marks})", part))
        return [found.get(k) for k in ks]

    def close(self):
        self.d.close()


class DiskCache:
    how = "Cache, its defaults without eviction"
    keeps = True

    def open(self, path):
        import diskcache

        self.d = diskcache.Cache(path, eviction_policy="none", size_limit=1 << 40)
        self.put = self.d.set
        self.get = self.d.get

    def put_many(self, ks, vs):
        with self.d.transact():
            for k, v in zip(ks, vs):
                self.d.set(k, v)

    def get_many(self, ks):
        return [self.d.get(k) for k in ks]

    def close(self):
        self.d.close()


class Shelve:
    how = "dbm.gnu or what there is"
    keeps = False

    def open(self, path):
        import shelve

        self.d = shelve.open(path)

    def put(self, k, v):
        self.d[k.hex()] = v

    def get(self, k):
        return self.d.get(k.hex())

    def put_many(self, ks, vs):
        for k, v in zip(ks, vs):
            self.d[k.hex()] = v

    def get_many(self, ks):
        return [self.d.get(k.hex()) for k in ks]

    def close(self):
        self.d.close()


class Tkrzw:
    how = "HashDBM in place"
    keeps = True

    def open(self, path):
        import tkrzw

        self.d = tkrzw.DBM()
        self.d.Open(path + ".tkh", True, num_buckets=BUCKETS).OrDie()
        self.put = self.d.Set
        self.get = self.d.Get

    def put_many(self, ks, vs):
        put = self.d.Set
        for k, v in zip(ks, vs):
            put(k, v)

    def get_many(self, ks):
        get = self.d.Get
        return [get(k) for k in ks]

    def close(self):
        self.d.Close().OrDie()


STORES = {"dict": Dict, "durahash": Durahash, "py-lmdb": Lmdb, "rocksdict": RocksDict, "sqlite3": Sqlite,
          "diskcache": DiskCache, "shelve": Shelve, "tkrzw": Tkrzw}
MODULES = {"py-lmdb": "lmdb", "dict": "sys"}


def records(n, seed):
    r = random.Random(seed)
    keys = [r.randbytes(16) for _ in range(n)]
    return keys, [k * 6 + k[:4] for k in keys]


def bytes_at(path):
    found = [path] if os.path.isfile(path) else []
    folder, name = os.path.split(path)
    found += [p for p in pathlib.Path(folder).rglob("*") if p.is_file() and str(p) != path]
    return sum(os.stat(p).st_blocks * 512 for p in found)


def timed(run, n):
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return {"wall": n / (time.perf_counter() - wall), "cpu": n / max(1e-9, time.process_time() - cpu)}


def measure(store, folder, n, seed):
    """In a process of its own: what a store does with n records."""
    keys, values = records(n, seed)
    shuffled = keys[:]
    random.Random(seed + 1).shuffle(shuffled)
    d, path, made = STORES[store](), os.path.join(folder, "data"), {}
    d.open(path)

    def puts():
        put = d.put
        for k, v in zip(keys, values):
            put(k, v)

    def gets():
        get = d.get
        for k in shuffled:
            get(k)

    def batches(run):
        def all_of_them():
            for at in range(0, n, BATCH):
                run(at)

        return all_of_them

    made["set"] = timed(puts, n)
    made["get"] = timed(gets, n)
    made["put_many"] = timed(batches(lambda at: d.put_many(keys[at : at + BATCH], values[at : at + BATCH])), n)
    made["get_many"] = timed(batches(lambda at: d.get_many(shuffled[at : at + BATCH])), n)
    wrong = sum(d.get(k) != v for k, v in zip(keys[::97], values[::97]))
    assert wrong == 0, f"{store}: {wrong} values are not those that were put"
    d.close()
    made["bytes"] = bytes_at(path) / n if store != "dict" else None
    print(json.dumps(made), flush=True)


def write_and_die(store, folder, n, seed):
    keys, values = records(n, seed)
    d = STORES[store]()
    d.open(os.path.join(folder, "data"))
    for k, v in zip(keys, values):
        d.put(k, v)
    print("written", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def reopen(store, folder, n, seed):
    keys, values = records(n, seed)
    importlib.import_module(MODULES.get(store, store))
    d = STORES[store]()
    began = time.perf_counter()
    try:
        d.open(os.path.join(folder, "data"))
        d.get(keys[0])
        took = time.perf_counter() - began
        lost = sum(d.get(k) != v for k, v in zip(keys, values))
    except Exception as e:  # a store that cannot be opened has lost all
        print(json.dumps({"ms": None, "lost": n, "why": repr(e)[:80]}))
        return
    print(json.dumps({"ms": took * 1e3, "lost": lost}), flush=True)


def numbers(what, folder, n, seed):
    """Arrays of 64-bit numbers, rows of 64 floats, single numbers."""
    import numpy as np

    import durahash

    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, n, np.uint64)
    asked, made = rng.permutation(keys), {}
    if what == "numbers":
        d = durahash.open(os.path.join(folder, "n.dh"), key="u64", value="u64", capacity=n)
        d.put_many(keys, keys)  # memory is warm from here on
        made["put_many"] = timed(lambda: d.put_many(asked, asked), n)
        made["get_many"] = timed(lambda: d.get_many(asked), n)
        few = asked[: n // 4].tolist()

        def gets():
            for k in few:
                d[k]

        def sets():
            for k in few:
                d[k] = k

        made["get"], made["set"] = timed(gets, len(few)), timed(sets, len(few))
    else:
        m = n // 4
        rows = rng.random((m, 64), np.float32)
        d = durahash.open(os.path.join(folder, "n.dh"), key="u64", value=(np.float32, 64), capacity=m)
        d.put_many(keys[:m], rows)
        out = np.zeros_like(rows)
        order = rng.permutation(m)
        wanted, sorted_rows = keys[:m][order], rows[order]
        made["put_many"] = timed(lambda: d.put_many(wanted, sorted_rows), m)
        made["get_many"] = timed(lambda: d.get_many(wanted, out=out), m)
        assert (out == sorted_rows).all()
    d.close()
    print(json.dumps(made), flush=True)


# ------------------------------------------------------------------------------------- the parent


def install(stores):
    venv = ROOT / "build/python/bench-venv"
    python = venv / "bin/python"
    subprocess.run([ROOT / "scripts/setup.sh", "python", "python-peers"], check=True)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "numpy"], check=True)
    for module in PEERS:
        have = subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
        if not have:
            got = subprocess.run([python, "-m", "pip", "install", "-q", module], capture_output=True, text=True)
            if got.returncode != 0:
                print(f"{module} cannot be installed: {got.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    package = os.environ.get("PYTHONPATH") or str(ROOT / "build/check/bindings/python")
    env = {**os.environ, "PYTHONPATH": package}
    there = [s for s in stores
             if subprocess.run([python, "-c", f"import {MODULES.get(s, s)}"], env=env).returncode == 0]
    return python, env, there


def run_part(python, env, *arguments):
    done = subprocess.run([python, __file__, *map(str, arguments)], env=env, capture_output=True, text=True)
    if done.returncode not in (0, -signal.SIGKILL):
        sys.exit(f"{arguments}: {done.stderr}")
    return done.stdout


def median_of(rounds, *path):
    found = []
    for each in rounds:
        for step in path:
            each = each[step]
        found.append(each)
    return statistics.median(found) if None not in found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--numbers", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stores", default=",".join(STORES))
    parser.add_argument("--json")
    asked = parser.parse_args()
    python, env, stores = install(asked.stores.split(","))
    results = {s: [] for s in stores}
    kills, own = {s: [] for s in stores if s != "dict"}, {"numbers": [], "rows": []}
    for round in range(asked.rounds):
        for store in random.Random(asked.seed + round).sample(stores, len(stores)):
            folder = tempfile.mkdtemp(prefix="durahash-compare-", dir=asked.folder)
            try:
                results[store].append(json.loads(run_part(python, env, "--part", "measure", store, folder,
                                                          asked.keys, asked.seed + round)))
            finally:
                shutil.rmtree(folder)
            if store == "dict":
                continue
            folder = tempfile.mkdtemp(prefix="durahash-compare-", dir=asked.folder)
            try:
                given = (store, folder, asked.keys, asked.seed + round)
                assert run_part(python, env, "--part", "write_and_die", *given) == "written\n"
                kills[store].append(json.loads(run_part(python, env, "--part", "reopen", *given)))
            finally:
                shutil.rmtree(folder)
        for what in own if "durahash" in stores else ():
            folder = tempfile.mkdtemp(prefix="durahash-compare-", dir=asked.folder)
            try:
                own[what].append(json.loads(run_part(python, env, "--part", "numbers", what, folder,
                                                     asked.numbers, asked.seed + round)))
            finally:
                shutil.rmtree(folder)
        if asked.json:
            pathlib.Path(asked.json).write_text(json.dumps({"stores": results, "kills": kills, "own": own}))
        print(f"round {round + 1} of {asked.rounds} is done", file=sys.stderr)

    def k(value):
        return f"{value / 1e3:,.0f}" if value is not None else "-"

    print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.0f}, {asked.keys:,} records of 16 + 100 bytes, {asked.rounds} rounds, "
          f"seed {asked.seed}, {asked.folder}\n")
    print("Thousands of records per second of the processor (of the clock):\n")
    print("| store | set | get | put, 1000 at once | get, 1000 at once | bytes a record | reopened after kill -9, ms | lost of them |")
    print("|---|---|---|---|---|---|---|---|")
    for s in stores:
        cells = [f"{k(median_of(results[s], op, 'cpu'))} ({k(median_of(results[s], op, 'wall'))})"
                 for op in ("set", "get", "put_many", "get_many")]
        size = median_of(results[s], "bytes")
        after = kills.get(s)
        ms = median_of(after, "ms") if after else None
        lost = f"{max(r['lost'] for r in after):,}" if after else "all"
        print(f"| {s}: {STORES[s].how} | {' | '.join(cells)} | {'-' if size is None else f'{size:.0f}'} | "
              f"{'-' if ms is None else f'{ms:.1f}'} | {lost} |")
    if own["numbers"]:
        print(f"\ndurahash, {asked.numbers:,} 64-bit numbers; rows of 64 float32, a quarter as many. "
              "Millions per second of the processor (of the clock):\n")
        print("| | get | set | get_many | put_many |\n|---|---|---|---|---|")
        for what, label in (("numbers", "64-bit numbers"), ("rows", "rows of 64 float32")):
            cells = [f"{median_of(own[what], op, 'cpu') / 1e6:.2f} ({median_of(own[what], op, 'wall') / 1e6:.2f})"
                     if op in own[what][0] else "-" for op in ("get", "set", "get_many", "put_many")]
            print(f"| {label} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        name, *given = sys.argv[2:]
        {"measure": measure, "write_and_die": write_and_die, "reopen": reopen, "numbers": numbers}[name](
            given[0], given[1], int(given[2]), int(given[3]))
    else:
        main()
