"""Replicas: every effect arrives, a full synchronisation beside writers, and killed in the middle."""
import os
import signal
import threading
import time

import pytest
import redis

from model import assert_same, fill, keyspace_of, records_of
from running import FAULTY, MODULE

RECORDS = 40_000  # of each table that is synchronised


def await_sync(master, replica, seconds=40):
    end = time.monotonic() + seconds
    with master.client() as m, replica.client() as r:
        while time.monotonic() < end:
            facts = r.info("replication")
            if facts.get("master_link_status") == "up" and \
                    facts["slave_repl_offset"] == m.info("replication")["master_repl_offset"]:
                return
            time.sleep(0.02)
    raise AssertionError(f"no synchronisation:\n{replica.log()}")


def follow(replica, master):
    with replica.client() as r:
        r.replicaof("127.0.0.1", master.port)


QUICK = ("--repl-diskless-sync-delay", "0", "--repl-timeout", "20")


@pytest.fixture
def pair(make_server):
    master, replica = make_server(*QUICK), make_server(*QUICK)
    return master, replica


def test_every_effect_arrives(pair):
    master, replica = pair
    follow(replica, master)
    await_sync(master, replica)
    with master.client() as c, master.client(db=1) as other:
        fill(c, "t1"), fill(c, "t2"), fill(other, "t3"), fill(c, "t6")
        c.execute_command("DH.CREATE", "w", "ENGINE", "gphash", "KEYS", "u64", "VALUES", "u64")
        c.execute_command("DH.SET", "w", 1, 2)
        c.execute_command("DH.INCRBY", "w", 1, 5)
        c.execute_command("DH.INCRBY", "t1", "n", 5)
        c.execute_command("DH.INCRBY", "t1", "n", 5)
        c.execute_command("DH.CAS", "t1", "field 1", "t1 1", "swapped")
        c.execute_command("DH.CAS", "t1", "field 2", "wrong", "swapped")
        c.execute_command("DH.SET", "t1", "nx", "1", "NX")
        c.execute_command("DH.SET", "t1", "nx", "2", "NX")
        c.execute_command("DH.DEL", "t1", "field 5", "none")
        c.rename("t2", "t2 renamed")
        c.expire("t1", 1000)
        c.copy("t1", "t4")
        c.delete("t6")
        c.eval("redis.call('DH.INCRBY', 't5', 'n', 1) redis.call('DH.INCRBY', 't5', 'n', 1)", 0)
        with c.pipeline() as p:
            p.execute_command("DH.SET", "t5", "in multi", "1")
            p.rename("t5", "t7")
            p.execute()
        assert c.wait(1, 5000) == 1
        wanted = keyspace_of(master)
        assert_same(keyspace_of(replica), wanted)
        with replica.client() as r:
            for key in "t1", "t4", "w":
                digest = [x.execute_command("DEBUG", "DIGEST-VALUE", key) for x in (c, r)]
                assert digest[0] == digest[1]
    # What the replica was sent is in its catalog, too.
    replica.restart()
    assert_same(keyspace_of(replica), wanted)
    master.restart()
    assert_same(keyspace_of(master), wanted)


def test_a_replica_has_no_limits_of_its_own(make_server):
    """The master looks at its limits at times; what it took a replica must take."""
    master = make_server(*QUICK, "--loadmodule", MODULE, "--durahash.max-records", "1000",
                         "--durahash.max-tables", "4", module=None)
    replica = make_server(*QUICK, "--loadmodule", MODULE, "--durahash.max-records", "1000",
                          "--durahash.max-tables", "2", module=None)
    with master.client() as c, replica.client() as r:
        fill(c, "t1", 500), fill(c, "t1", 500, "more "), fill(c, "t2")
        follow(replica, master)
        await_sync(master, replica)
        for i in range(100):  # beyond the limit, and before the master's next look
            assert c.execute_command("DH.SET", "t1", f"beyond {i}", "1") == 1
        r.config_set("maxmemory-policy", "allkeys-lru")
        fill(c, "t3")
        c.copy("t3", "t4")
        c.execute_command("DH.DEL", "t1", "field 5")
        with pytest.raises(redis.ResponseError, match="max-tables"):
            fill(c, "t5")
        await_sync(master, replica)
        assert_same(keyspace_of(replica), keyspace_of(master))
        r.config_set("maxmemory-policy", "noeviction")
        r.replicaof("NO", "ONE")
        with pytest.raises(redis.ResponseError, match="max-tables"):
            fill(r, "t5")
        with pytest.raises(redis.ResponseError, match="max-records"):
            fill(r, "t1", 300, "after ")


class Load:
    """Clients that grow, change and shrink tables until they are told to stop."""

    def __init__(self, server, keys, clients=2):
        self.server, self.keys, self.stopping, self.writes = server, keys, False, 0
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(clients)]

    def run(self, number):
        grown = 0
        with self.server.client() as c:
            while not self.stopping:
                with c.pipeline(transaction=False) as p:
                    for key in self.keys:
                        for i in range(40):
                            old = (self.writes * 7919 + i * 131) % RECORDS
                            p.execute_command("DH.SET", key, b"field %d" % old, b"w%d" % self.writes)
                            p.execute_command("DH.SET", key, b"new %d %d" % (number, grown + i), b"x" * 60)
                        p.execute_command("DH.DEL", key, *[b"field %d" % ((old + j) % RECORDS)
                                                           for j in range(30)])
                        p.execute_command("DH.INCRBY", key, "count", 1)
                    p.execute()
                grown += 40
                self.writes += 1

    def __enter__(self):
        for one in self.threads:
            one.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for one in self.threads:
            one.join()


def make_tables(server, engines):
    keys = []
    with server.client() as c:
        for engine in engines:
            key = f"of {engine}"
            c.execute_command("DH.CREATE", key, "ENGINE", engine)
            for first in range(0, RECORDS, 1000):
                flat = []
                for i in range(first, first + 1000):
                    flat += [b"field %d" % i, b"value %d" % i]
                c.execute_command("DH.SET", key, *flat)
            keys.append(key)
    return keys


def test_a_synchronisation_beside_growth_and_deletes(pair):
    from test_commands import ENGINES
    master, replica = pair
    keys = make_tables(master, ENGINES)
    with Load(master, keys) as load:
        time.sleep(0.1)
        before = load.writes
        follow(replica, master)
        await_link(replica)
        during = load.writes - before
        time.sleep(0.2)
    await_sync(master, replica)
    print(f"{during * 110 * len(keys)} operations beside the synchronisation")
    assert during > 0
    with master.client() as m, replica.client() as r:
        for key in keys:
            there, here = records_of(m, key), records_of(r, key)
            assert len(there) > RECORDS // 2 and here == there
            verdict = r.execute_command("DH.CHECK", key)
            verdict = verdict if isinstance(verdict, dict) else dict(zip(verdict[::2], verdict[1::2]))
            assert verdict[b"ok"] == 1, verdict
        assert master_children(master) == 0


def await_link(replica, seconds=40):
    end = time.monotonic() + seconds
    with replica.client() as r:
        while time.monotonic() < end:
            if r.info("replication").get("master_link_status") == "up":
                return
            time.sleep(0.01)
    raise AssertionError(f"no link:\n{replica.log()}")


def master_children(master):
    with master.client() as c:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            served = c.info("durahash")["durahash_children_served"]
            if served == 0:
                return 0
            time.sleep(0.02)
    return served


def test_a_replica_that_is_killed_in_the_middle_has_what_it_had(pair):
    master, replica = pair
    with replica.client() as r:
        fill(r, "old", 100), fill(r, "of turbo", 100)
        had = keyspace_of(replica)
    make_tables(master, ["turbo", "cceh"])
    with master.client() as c:
        c.config_set("rdb-key-save-delay", 300_000)  # microseconds: time for the kill
    follow(replica, master)
    await_pools(replica, 3)
    replica.restart()
    assert_same(keyspace_of(replica), had)
    assert len(replica.pools()) == 2
    with master.client() as c:
        c.config_set("rdb-key-save-delay", 0)
    follow(replica, master)
    await_sync(master, replica)
    wanted = keyspace_of(master)
    assert_same(keyspace_of(replica), wanted)
    replica.restart()
    assert_same(keyspace_of(replica), wanted)
    assert len(replica.pools()) == 2


def test_a_replica_whose_catalog_is_full_has_what_it_had(make_server):
    """Its old tables go when the new ones have their rows, and not before."""
    if not os.path.exists(FAULTY):
        pytest.skip(f"{FAULTY} was not built")
    master = make_server(*QUICK)
    replica = make_server(*QUICK, module=FAULTY,
                          environment={"DURAHASH_FAULT": "the-catalog-refuses"})
    with replica.client() as r, master.client() as c:
        fill(r, "old", 100), fill(r, "t1", 20)
        had = keyspace_of(replica)
        fill(c, "t1", 500)
    replica.refuse_rows()
    follow(replica, master)
    assert replica.process.wait(20) == 1
    assert "did not take what was loaded" in replica.log()
    replica.refuse_rows(False)
    replica.start()
    assert_same(keyspace_of(replica), had)
    follow(replica, master)
    await_sync(master, replica)
    assert_same(keyspace_of(replica), keyspace_of(master))


def await_pools(server, count, seconds=6):
    end = time.monotonic() + seconds
    while len(server.pools()) < count:
        assert time.monotonic() < end, server.log()
        time.sleep(0.002)


def test_a_master_that_is_killed_in_the_middle_leaves_the_replica_what_it_had(pair):
    master, replica = pair
    with replica.client() as r:
        fill(r, "old", 100)
        had = keyspace_of(replica)
        if "valkey" in replica.program:  # it can load what it has not got whole
            r.config_set("repl-diskless-load", "flush-before-load")
    make_tables(master, ["turbo", "cceh"])
    wanted = keyspace_of(master)
    with master.client() as c:
        c.config_set("rdb-key-save-delay", 400_000)
    follow(replica, master)
    if "valkey" in replica.program:
        await_pools(replica, 2)
    else:
        child_of(master)
    master.kill()
    with replica.client() as r:
        end = time.monotonic() + 10
        while r.info("replication")["master_sync_in_progress"] and time.monotonic() < end:
            time.sleep(0.01)
    replica.restart()  # its keyspace may have been empty; its catalog was not
    assert_same(keyspace_of(replica), had)
    assert len(replica.pools()) == 1
    master.start()
    follow(replica, master)
    await_sync(master, replica)
    assert_same(keyspace_of(replica), wanted)
    assert_same(keyspace_of(master), wanted)


def child_of(server, seconds=10):
    """The process that writes the snapshot."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children") as f:
            if children := f.read().split():
                return int(children[0])
        time.sleep(0.001)
    raise AssertionError("no child")


def test_a_dead_child_holds_nothing(make_server):
    server = make_server()
    make_tables(server, ["turbo", "cceh"])
    with server.client() as c:
        c.config_set("rdb-key-save-delay", 1_000_000)
        c.bgsave()
        child = child_of(server)
        c.delete("of cceh")  # its pool stays until the child is gone
        assert c.info("durahash")["durahash_children_served"] == 1
        assert len(server.pools()) == 2
        os.kill(child, signal.SIGKILL)
        assert master_children(server) == 0
        end = time.monotonic() + 5
        while len(server.pools()) > 1 and time.monotonic() < end:
            time.sleep(0.01)
        assert len(server.pools()) == 1
        assert c.execute_command("DH.SET", "of turbo", "a", "1") == 1


def test_a_child_without_its_parent_leaves_no_file(make_server):
    """A snapshot that ends in the middle of a table is no snapshot."""
    server = make_server("--save", "3600 1")
    make_tables(server, ["turbo", "cceh"])
    with server.client() as c:
        c.bgsave()
    child = child_of(server)
    os.kill(child, signal.SIGSTOP)
    server.kill()
    os.kill(child, signal.SIGCONT)
    end = time.monotonic() + 10
    while runs(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not runs(child)
    assert not (server.folder / "dump.rdb").exists()
    server.start()
    with server.client() as c:
        assert c.execute_command("DH.LEN", "of cceh") == RECORDS


def test_a_child_that_gets_half_a_table_gives_up(make_server):
    """Half a table is no file, and no replica's contents. The module of the tests stops sending."""
    if not os.path.exists(FAULTY):
        pytest.skip(f"{FAULTY} was not built")
    chosen = os.environ.get("DURAHASH_FAULT", "none")
    fault = "a-parent-stops-sending" if chosen == "none" else chosen
    server = make_server(module=FAULTY, environment={"DURAHASH_FAULT": fault})
    make_tables(server, ["turbo"])
    with server.client() as c:
        c.bgsave()
        while c.info("persistence")["rdb_bgsave_in_progress"]:
            time.sleep(0.01)
        assert c.info("persistence")["rdb_last_bgsave_status"] == "err"
    assert not list(server.folder.glob("*.rdb")), "a file of a child that gave up"
    assert "was not sent whole" in server.log()


def test_a_server_without_a_thread_for_a_child_goes_on(make_server):
    """The child gives up, nobody is served, and the server still hears signals."""
    if not os.path.exists(FAULTY):
        pytest.skip(f"{FAULTY} was not built")
    server = make_server(module=FAULTY, environment={"DURAHASH_FAULT": "no-thread-can-be-made"})
    with server.client() as c:
        fill(c, "t")
        c.bgsave()
        while c.info("persistence")["rdb_bgsave_in_progress"]:
            time.sleep(0.01)
        assert c.info("persistence")["rdb_last_bgsave_status"] == "err"
        assert c.info("durahash")["durahash_children_served"] == 0
        assert c.execute_command("DH.SET", "t", "after", "1") == 1
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=20) == 0


def runs(process):
    try:
        with open(f"/proc/{process}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_snapshot_keeps_a_table_that_is_deleted_meanwhile(make_server):
    """The file is of the time of the fork, as far as tables are in it at all."""
    server = make_server("--save", "3600 1")
    make_tables(server, ["turbo"])
    with server.client() as c:
        before = records_of(c, "of turbo")
        c.config_set("rdb-key-save-delay", 300_000)
        c.bgsave()
        child_of(server)
        c.delete("of turbo")
        while c.info("persistence")["rdb_bgsave_in_progress"]:
            time.sleep(0.02)
        assert c.info("persistence")["rdb_last_bgsave_status"] == "ok"
    server.kill()
    for p in (server.folder / "durahash").iterdir():
        p.unlink()
    server.start()
    with server.client() as c:
        assert records_of(c, "of turbo") == before


def test_writers_do_not_wait_for_a_snapshot(make_server):
    """A child that is stopped, and reads nothing, holds up no command."""
    server = make_server()
    make_tables(server, ["turbo", "level"])
    with server.client() as c:
        c.bgsave()
        child = child_of(server)
        os.kill(child, signal.SIGSTOP)
        try:
            for i in range(3000):
                assert c.execute_command("DH.SET", "of level", b"more %d" % i, "x") == 1
            assert c.execute_command("DH.LEN", "of level") == RECORDS + 3000
        finally:
            os.kill(child, signal.SIGCONT)
        while c.info("persistence")["rdb_bgsave_in_progress"]:
            time.sleep(0.01)
        assert c.info("persistence")["rdb_last_bgsave_status"] == "ok"


def test_a_promoted_replica_keeps_what_it_has(pair):
    master, replica = pair
    with replica.client() as r:
        fill(r, "gone", 10)
    with master.client() as c:
        fill(c, "t1", 500)
        c.expire("t1", 1000)
        wanted = keyspace_of(master)
    follow(replica, master)
    await_sync(master, replica)
    master.kill()
    with replica.client() as r:
        r.replicaof("NO", "ONE")
        assert r.execute_command("DH.SET", "t1", "after", "1") == 1
        wanted[0, b"t1"][0][b"after"] = b"1"
    replica.restart()
    assert_same(keyspace_of(replica), wanted)
