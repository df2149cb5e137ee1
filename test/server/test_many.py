"""Many small tables in one server, and many clients at once."""
import random
import threading
import time

import pytest
import redis

from test_client import PartitionedTable
from model import assert_same, fill, keyspace_of
from running import MODULE

TABLES = 1000
MEGABYTE = 1_000_000


def facts_of_process(server):
    with open(f"/proc/{server.process.pid}/status") as f:
        facts = dict(line.split(":", 1) for line in f)
    return int(facts["VmRSS"].split()[0]) * 1024, int(facts["Threads"])


def in_pipelines(client, commands):
    for first in range(0, len(commands), 250):
        with client.pipeline(transaction=False) as p:
            for command in commands[first:first + 250]:
                p.execute_command(*command)
            p.execute()


def test_a_thousand_small_tables_are_cheap(server):
    with server.client() as c:
        _, threads_before = facts_of_process(server)
        in_pipelines(c, [("DH.CREATE", f"t{i}") for i in range(TABLES)])
        files = [(server.folder / "durahash" / name).stat() for name in server.pools()]
        of_empty_ones = max(max(f.st_size, f.st_blocks * 512) for f in files)
        in_pipelines(c, [("DH.SET", f"t{i}", "a", i) for i in range(TABLES)])
        resident, threads = facts_of_process(server)
        total = sum(p.stat().st_blocks * 512 for p in (server.folder / "durahash").glob("*.dh"))
        server.restart()
        assert c.execute_command("DH.GET", f"t{TABLES - 1}", "a") == b"%d" % (TABLES - 1)
        assert sum(c.execute_command("DH.LEN", f"t{i}") for i in range(TABLES)) == TABLES
        resident_again, threads_again = facts_of_process(server)
    print(f"{TABLES} tables of one record: {resident / MEGABYTE:.0f} MB resident, {threads} threads; "
          f"behind a kill {resident_again / MEGABYTE:.0f} MB, {threads_again} threads; "
          f"files of {total / TABLES / 1024:.0f} KiB, of empty ones {of_empty_ones / 1024:.0f}")
    assert of_empty_ones <= 64 << 10
    assert max(resident, resident_again) <= 100 * MEGABYTE
    assert max(threads, threads_again) <= threads_before + 3


def test_partitions_that_several_machines_make_at_once_are_made_once(server):
    made, failures = [], []

    def make():
        try:
            with server.client() as c:
                made.append(PartitionedTable(c, "t", partitions=40).create(engine="cceh"))
        except Exception as why:  # told below
            failures.append(str(why))

    machines = [threading.Thread(target=make) for _ in range(8)]
    for one in machines:
        one.start()
    for one in machines:
        one.join()
    assert not failures and sum(made) == 40
    assert len(server.pools()) == 40


SECONDS = 1.5
NAMES = [f"t{i}" for i in range(6)]


class Storm:
    """Clients that do all there is with the same few keys, at once."""

    def __init__(self, server, seed):
        self.server, self.stopping, self.failures, self.done = server, False, [], 0
        self.threads = [threading.Thread(target=self.run, args=(random.Random(seed + n),))
                        for n in range(6)]

    def run(self, chance):
        databases = [self.server.client(db=n, single_connection_client=True) for n in range(2)]
        try:
            while not self.stopping:
                try:
                    self.act(chance, chance.choice(databases))
                except redis.ResponseError as why:
                    if not any(word in str(why) for word in EXPECTED):
                        raise
                self.done += 1
        except (redis.ConnectionError, redis.TimeoutError):
            if not self.stopping:
                self.failures.append("the server went away")
        except Exception as why:  # told by who joins
            self.failures.append(f"{type(why).__name__}: {why}")

    @staticmethod
    def act(chance, c):
        run, one, other = c.execute_command, chance.choice(NAMES), chance.choice(NAMES)
        what = chance.randrange(100)
        if what < 40:
            run("DH.SET", one, chance.randrange(300), chance.randrange(1 << 30))
        elif what < 50:
            run("DH.SET", one, *[chance.randrange(3000) for _ in range(200)])
        elif what < 55:
            run("DH.DEL", one, *[chance.randrange(300) for _ in range(20)])
        elif what < 60:
            run("DH.INCRBY", one, "n", 1)
        elif what < 65:
            run("DH.SCAN", one, 0, "COUNT", 1000)
        elif what < 70:
            run("DH.CHECK", one)
        elif what < 73:
            run("DH.LEN", one)
        elif what < 78:
            c.rename(one, other)
        elif what < 82:
            c.copy(one, other, replace=True)
        elif what < 86:
            c.delete(one) if chance.random() < 0.5 else c.unlink(one)
        elif what < 89:
            c.pexpire(one, chance.choice([1, 20, 100_000]))
        elif what < 91:
            c.swapdb(0, 1)
        elif what < 92:
            c.flushdb(asynchronous=chance.random() < 0.5)
        elif what < 94:
            c.move(one, 1)
        elif what < 96:
            contents = c.dump(one)
            if contents:
                c.restore(other, 0, contents, replace=True)
        elif what < 98:
            c.bgsave()
        else:
            c.info("durahash")

    def __enter__(self):
        for one in self.threads:
            one.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for one in self.threads:
            one.join()


def nothing_expires(*clients):
    """From here on: else a key goes between two looks at it."""
    for one in clients:
        for name in NAMES:
            one.persist(name)


# What may be answered to one whose key another client has just taken away, and by a busy server.
EXPECTED = ("no such key", "save already in progress", "Background", "are the same")


@pytest.mark.parametrize("level", ["process", "power_buffered", "power"])
def test_clients_that_do_all_there_is_at_once_leave_nothing_behind(make_server, chance, level,
                                                                  monkeypatch):
    """Children, the module's thread and the event loop have the same tables. At the end, and behind
    a kill in the middle, each table is whole, each pool has its key, and each key its pool."""
    import tempfile

    import running
    if level != "process":
        monkeypatch.setattr(running, "FOLDERS", tempfile.gettempdir())
    try:
        server = make_server("--loadmodule", MODULE, "--durahash.durability", level, module=None,
                             spares=2)
    except RuntimeError as why:
        if "tmpfs" in str(why):
            pytest.skip("the folder for temporary files is no disk")
        raise
    with Storm(server, chance.randrange(1 << 30)) as storm:
        time.sleep(SECONDS)
    assert not storm.failures, storm.failures
    print(f"{storm.done} commands of six clients")
    with server.client() as c, server.client(db=1) as d:
        fill(c, "last", 5)
        nothing_expires(c, d)
        wanted = keyspace_of(server)
    server.restart()
    assert_same(keyspace_of(server), wanted)
    with Storm(server, chance.randrange(1 << 30)) as storm:
        time.sleep(0.5)
        storm.stopping = True
        server.kill()
    server.settings[-1] = "0"  # no spares, which belong to no key
    server.start()
    with server.client() as c, server.client(db=1) as d:
        nothing_expires(c, d)
        for one in c, d:
            for name in one.keys():
                verdict = one.execute_command("DH.CHECK", name)
                verdict = verdict if isinstance(verdict, dict) else \
                    dict(zip(verdict[::2], verdict[1::2]))
                assert verdict[b"ok"] == 1, verdict
        assert len(server.pools()) == c.dbsize() + d.dbsize()
        assert c.info("durahash")["durahash_diagnostics_total"] == 0
