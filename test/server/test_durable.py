"""Tables that survive a loss of power: an answer waits for the disk, and other clients do not."""
import os
import tempfile
import threading
import time
from pathlib import Path

import pytest
import redis

import forgetful
import running
from model import assert_same, fill, keyspace_of
from running import FAULTY, MODULE
from test_answered import ACTS
from test_replication import await_sync, follow
from waits import Pings, await_spares


@pytest.fixture(params=["power", "power_buffered"])
def durable(make_server, request, monkeypatch):
    monkeypatch.setattr(running, "FOLDERS", tempfile.gettempdir())
    try:
        made = make_server("--loadmodule", MODULE, "--durahash.durability", request.param,
                           module=None)
    except RuntimeError as why:
        if "tmpfs" in str(why):
            pytest.skip("the folder for temporary files is no disk")
        raise
    made.level = request.param
    return made


def test_answers_wait_for_the_disk_and_all_is_there_behind_a_kill(durable):
    with durable.client() as c:
        run = c.execute_command
        fill(c, "t", 200)
        run("DH.INCRBY", "t", "n", 4)
        assert run("DH.CAS", "t", "field 1", "t 1", "new") == 1
        assert run("DH.DEL", "t", "field 2") == 1
        assert run("DH.SET", "t", "field 3", "x", "NX") is None
        assert run("DH.GET", "t", "field 1") == b"new"
        assert run("DH.MGET", "t", "field 1", "field 2") == [b"new", None]
        assert run("DH.EXISTS", "t", "field 1") == 1
        assert run("DH.WAITDISK", "t", 5000) == 1
        c.rename("t", "t2")
        c.expire("t2", 1000)
        wanted = keyspace_of(durable)
        assert sorted(durable.pools()) and len(durable.pools()) == 1
    durable.restart()
    assert_same(keyspace_of(durable), wanted)
    with durable.client() as c:
        assert c.delete("t2") == 1
        end = time.monotonic() + 5
        while any(len(p.name) > 32 for p in (durable.folder / "durahash").iterdir()):
            assert time.monotonic() < end, "files of a table that is gone"
            time.sleep(0.01)


def test_a_transaction_or_a_script_does_not_promise_less(durable):
    with durable.client() as c:
        c.execute_command("DH.SET", "t", "a", "1")
        if durable.level == "power_buffered":  # nothing waits there
            assert c.eval("return redis.call('DH.SET', 't', 'a', '2')", 0) == 1
            return
        with pytest.raises(redis.ResponseError, match="MULTI or a script"):
            c.eval("return redis.call('DH.SET', 't', 'a', '2')", 0)
        with c.pipeline() as p:
            p.execute_command("DH.SET", "t", "a", "2")
            p.execute_command("DH.GET", "t", "a")
            answers = p.execute(raise_on_error=False)
        assert isinstance(answers[0], redis.ResponseError) and answers[1] == b"1"
        assert c.eval("return redis.call('DH.GET', 't', 'a')", 0) == b"1"


def test_clients_share_the_disk(durable):
    """Sixteen clients write at once; each is answered, and one sync serves several."""
    failures = []

    def write(number):
        with durable.client() as c:
            for i in range(30):
                if c.execute_command("DH.SET", "t", f"{number} {i}", i) != 1:
                    failures.append((number, i))

    with durable.client() as c:
        c.execute_command("DH.CREATE", "t")
        clients = [threading.Thread(target=write, args=(n,)) for n in range(16)]
        for one in clients:
            one.start()
        slowest = 0.0
        while any(one.is_alive() for one in clients):
            began = time.monotonic()
            c.ping()
            slowest = max(slowest, time.monotonic() - began)
        for one in clients:
            one.join()
        assert c.execute_command("DH.LEN", "t") == 480
    print(f"slowest PING beside them: {1000 * slowest:.1f} ms")
    assert not failures


def test_a_table_does_not_outlive_its_catalog(server):
    with server.client() as c:
        with pytest.raises(redis.ResponseError, match="durahash.durability"):
            c.execute_command("DH.CREATE", "t", "DURABILITY", "power")


def test_a_client_that_goes_while_it_waits_does_no_harm(durable):
    with durable.client() as c:
        fill(c, "t", 10)
        for i in range(50):
            gone = durable.client(single_connection_client=True)
            gone.ping()
            gone.connection.send_command("DH.SET", "t", f"of {i}", "x")
            gone.connection.disconnect()
        time.sleep(0.1)
        assert c.execute_command("DH.SET", "t", "after", "1") == 1
        assert c.execute_command("DH.WAITDISK", "t", 0) == 1


@pytest.fixture
def make_forgetful(make_server, monkeypatch):
    """Makes servers of a level whose disk forgets; each with what it notes for that."""
    if not (forgetful.PRELOADED.exists() and os.path.exists(FAULTY)):
        pytest.skip(f"{forgetful.PRELOADED} or {FAULTY} was not built")
    monkeypatch.setattr(running, "FOLDERS", tempfile.gettempdir())
    notes = []

    def make(level, spares=0, **variables):
        undo = tempfile.NamedTemporaryFile(prefix="durahash-undo-", dir="/dev/shm")
        notes.append(undo)
        try:
            server = make_server("--loadmodule", FAULTY, "--durahash.durability", level, module=None,
                                 spares=spares, environment={"DURAHASH_FAULT": "none", **os.environ,
                                              **forgetful.environment(undo.name), **variables})
        except RuntimeError as why:
            if "tmpfs" in str(why):
                pytest.skip("the folder for temporary files is no disk")
            raise
        return server, undo.name

    yield make
    for undo in notes:
        undo.close()


class ForgetsAll:
    """In the place of chance: nothing stays that nobody has waited for."""

    def random(self):
        return 0.0


def lose_power(server, undo, chance):
    server.kill()
    server.forget_rings()
    forgetful.cut_power(server.folder / "durahash", undo, chance)
    server.start()


def test_names_that_were_answered_survive_a_loss_of_power(make_forgetful, chance):
    server, undo = make_forgetful("power", spares=chance.choice([0, 1, 4]))
    some = ACTS if os.environ.get("DURAHASH_LONG") else chance.sample(sorted(ACTS), 5)
    print(f"{sorted(some)}")
    for act in some:
        if act in ("in_a_transaction", "in_a_script"):
            continue  # no answer can wait there
        with server.client() as c, server.client(db=1) as other:
            c.flushall()
            fill(c, "t1"), fill(c, "u", 7), fill(other, "elsewhere", 20)
            c.pexpire("u", 800_000)
            ACTS[act](c, other)
            wanted = {k: v for k, v in keyspace_of(server).items() if isinstance(v[0], dict)}
        lose_power(server, undo, chance.choice([chance, ForgetsAll(), ForgetsAll()]))
        try:
            assert_same(keyspace_of(server), wanted)
        except AssertionError as why:
            raise AssertionError(f"{act}: {why}") from why


WAIT = 0.1  # for the slow disk, each time


def test_nobody_but_its_client_waits_for_a_name(make_forgetful, program):
    """On Valkey 9. Redis has no way to let one client wait for what its own command did: there a
    turn of the event loop waits once."""
    server, _ = make_forgetful("power", DURAHASH_POWER_CUT_SLOW_MS=str(int(1000 * WAIT)))
    with server.client() as c, Pings(server) as pings:

        def takes_its_time(step):
            began = time.monotonic()
            step()
            assert time.monotonic() - began >= WAIT, "answered before the disk had it"

        for _ in range(5):  # a busy machine is silent, too, but not each time
            c.execute_command("DH.SET", "t", "a", "1")
            silences = [pings.longest_silence_beside(lambda: takes_its_time(step)) for step in (
                lambda: c.rename("t", "u"), lambda: c.expire("u", 1000), lambda: c.delete("u"))]
            flush = pings.longest_silence_beside(c.flushall)
            others_wait = "valkey" in program and min(silences) >= 0.95 * WAIT
            others_wait_twice = max(*silences, flush) >= 1.8 * WAIT
            if not others_wait and not others_wait_twice:
                break
    print(f"the longest time without a PING beside each: {[round(s, 3) for s in silences]} s, "
          f"beside FLUSHALL {flush:.3f} s")
    assert not others_wait and not others_wait_twice


@pytest.mark.parametrize("level", ["process", "power"])
def test_nobody_waits_while_a_table_is_made(make_forgetful, level):
    """To make a pool takes four to ten waits for the disk. It is there already; who makes several one
    after another waits, and nobody else does."""
    server, _ = make_forgetful(level, spares=2, DURAHASH_POWER_CUT_SLOW_MS=str(int(1000 * WAIT)))
    with server.client() as c, Pings(server) as pings:
        run = c.execute_command

        def in_turn(n):
            with c.pipeline(transaction=False) as p:
                for i in range(3):
                    p.execute_command("DH.SET", f"many {n} {i}", "a", "1")
                assert p.execute() == [1] * 3

        await_spares(c, 2)
        run("DH.SET", "t", "a", "1")
        contents = c.dump("t")
        grows = 3 if level == "power" else 0  # the file, for a first record; the catalog's at times
        silences = {}
        for name, waits, step in (
                ("DH.CREATE", grows, lambda n: run("DH.CREATE", f"new {n}")),
                ("DH.SET", grows, lambda n: run("DH.SET", f"newer {n}", "a", "1")),
                ("DH.INCRBY", grows, lambda n: run("DH.INCRBY", f"newest {n}", "a", "1")),
                ("a pipeline", grows, in_turn),
                ("COPY", grows + 3, lambda n: c.copy("t", f"copied {n}")),
                ("RESTORE", grows + 3, lambda n: c.restore(f"restored {n}", 0, contents))):
            for n in range(3):  # a busy machine is silent at times; what is waited for is, each time
                await_spares(c, 2)
                silences[name] = pings.longest_silence_beside(lambda: step(n))
                if silences[name] < (waits + 0.9) * WAIT:
                    break
            else:
                raise AssertionError(f"others waited for {name}: {silences[name]}")
        wanted = keyspace_of(server)
    print(f"{level}: the longest time without a PING: "
          f"{ {name: round(s, 3) for name, s in silences.items()} } s")
    server.restart()
    assert_same(keyspace_of(server), wanted)


def test_who_writes_to_a_new_table_waits_for_its_name_too(make_forgetful):
    """Else a loss of power takes the table, and with it what was answered. The table's own level
    asks for nothing here, so that all that is waited for is the name."""
    server, _ = make_forgetful("power", spares=2, DURAHASH_POWER_CUT_SLOW_MS=str(int(1000 * WAIT)))
    kind = "DURABILITY", "process"
    with server.client() as c, server.client(single_connection_client=True) as maker:
        c.execute_command("DH.CREATE", "first of its kind", *kind)
        await_spares(c, 4)
        maker.connection.send_command("DH.CREATE", "t", *kind)
        end = time.monotonic() + 5
        while not c.exists("t") and time.monotonic() < end:
            pass
        began = time.monotonic()
        assert c.execute_command("DH.SET", "t", "a", "1") == 1
        took = time.monotonic() - began
        began = time.monotonic()
        assert c.execute_command("DH.SET", "t", "b", "1") == 1
        again = time.monotonic() - began
        assert maker.connection.read_response() == b"OK"
    print(f"answered after {took:.3f} s, and {again:.3f} s when the disk had the name")
    assert took > WAIT / 2 and again < WAIT / 2


def test_who_writes_in_the_place_of_an_expired_table_is_answered(make_forgetful):
    """Valkey has blocked the client for the name that has gone; it must not be blocked once more."""
    server, _ = make_forgetful("power", spares=2)
    with server.client(socket_timeout=3) as c:
        c.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        for command in ("DH.SET", "t", "a", "1"), ("DH.INCRBY", "t", "a", "1"), ("DH.CREATE", "t"):
            for _ in range(3):
                c.execute_command("DH.SET", "t", "old", "1")
                c.pexpire("t", 1)
                time.sleep(0.01)
                assert c.execute_command(*command) in (1, b"OK")
                assert c.execute_command("DH.GET", "t", "old") is None
                c.delete("t")


def test_what_is_said_to_be_on_the_disk_has_its_name_there_too(make_forgetful):
    """At the level power_buffered names wait for no disk either; DH.WAITDISK waits for both."""
    server, undo = make_forgetful("power_buffered", DURAHASH_POWER_CUT_SLOW_MS=str(int(1000 * WAIT)))
    with server.client() as c:
        c.execute_command("DH.SET", "new", "a", "1")
        c.execute_command("DH.SET", "before", "a", "2")
        began = time.monotonic()
        c.rename("before", "after")
        c.expire("after", 1000)
        assert time.monotonic() - began < WAIT / 2, "a name was waited for"
        for key in "new", "after":
            assert c.execute_command("DH.WAITDISK", key, 0) == 1
    lose_power(server, undo, ForgetsAll())
    with server.client() as c:
        assert c.execute_command("DH.GET", "new", "a") == b"1"
        assert c.execute_command("DH.GET", "after", "a") == b"2"
        assert 900 < c.ttl("after") <= 1000 and not c.exists("before")


def test_a_start_leaves_nothing_of_pools_that_belong_to_nobody(make_server, monkeypatch):
    """A log has a part in memory, which outlives the process."""
    monkeypatch.setattr(running, "FOLDERS", tempfile.gettempdir())
    try:
        server = make_server("--loadmodule", MODULE, "--durahash.durability", "power_buffered",
                             module=None, spares=2)
    except RuntimeError as why:
        if "tmpfs" in str(why):
            pytest.skip("the folder for temporary files is no disk")
        raise

    def rings():
        return {ring.name for pool in (server.folder / "durahash").glob("*.dh")
                for ring in Path("/dev/shm").glob(
                    f"durahash-{os.getuid()}-{pool.stat().st_dev:x}-{pool.stat().st_ino:x}-*.ring")}

    with server.client() as c:
        await_spares(c, 2)
        before = rings()
    server.kill()
    server.settings[-1] = "0"
    server.start()
    assert not server.pools()
    left = {name for name in before if (Path("/dev/shm") / name).exists()}
    assert len(before) >= 3  # more where a number of a file that is gone was given again
    assert left <= rings(), left - rings()


@pytest.mark.parametrize("fault", [None, "no-replica-asks-its-disk"])
def test_a_replica_that_is_promoted_and_killed_has_what_it_was_sent(fault, make_server,
                                                                    monkeypatch):
    """WAIT told a client that the replica has its writes; nobody waited for the replica's disk."""
    monkeypatch.setattr(running, "FOLDERS", tempfile.gettempdir())
    how = {"module": None, "environment": {"DURAHASH_FAULT": fault} if fault else None}
    settings = ("--repl-diskless-sync-delay", "0", "--loadmodule", FAULTY if fault else MODULE,
                "--durahash.durability", "power")
    try:
        master, replica = make_server(*settings, **how), make_server(*settings, **how)
    except RuntimeError as why:
        if "tmpfs" in str(why):
            pytest.skip("the folder for temporary files is no disk")
        raise
    with master.client() as m, replica.client() as r:
        m.execute_command("DH.SET", "before", "a", 1)
        follow(replica, master)
        await_sync(master, replica)
        for i in range(100):
            m.execute_command("DH.SET", "before", f"field {i}", i)
        m.execute_command("DH.SET", "new", "a", 2)
        assert m.wait(1, 20_000) == 1
        r.replicaof("NO", "ONE")
    wanted = keyspace_of(master)
    master.kill()
    replica.kill()
    replica.start()
    found = keyspace_of(replica)
    if fault:
        assert found != wanted, "this test would pass whatever a replica does"
    else:
        assert_same(found, wanted)


def test_spare_tables_belong_to_nobody(make_server, monkeypatch):
    """What lies ready when a process is killed is removed; at an end in order nothing is left."""
    monkeypatch.setattr(running, "FOLDERS", tempfile.gettempdir())
    server = make_server("--loadmodule", MODULE, module=None, spares=3)
    if running.lies_in_memory(server.folder):
        pytest.skip("the folder for temporary files is no disk")

    with server.client() as c:
        await_spares(c, 3)
        assert len(server.pools()) == 3 and c.dbsize() == 0
        fill(c, "t", 100)
        await_spares(c, 3)
        assert len(server.pools()) == 4
        # of another kind: the first is made when it is asked for, and more of them then
        c.execute_command("DH.CREATE", "words", "ENGINE", "cceh", "KEYS", "u64", "VALUES", "u64")
        await_spares(c, 6)
        c.execute_command("DH.SET", "words", "7", "8")
        wanted = keyspace_of(server)
    server.restart()
    with server.client() as c:
        await_spares(c, 3)
        assert_same(keyspace_of(server), wanted)
        assert len(server.pools()) == 5
        c.config_set("durahash.spare-tables", 0)
        c.execute_command("DH.CREATE", "made when asked for")
        c.shutdown(nosave=True)
    server.process.wait()
    assert len(server.pools()) == 3


ROUNDS = 5


def test_a_loss_of_power_loses_nothing_that_was_acknowledged(make_forgetful, chance):
    """The server is killed, and its disk forgets half of what nobody had waited for."""
    server, undo = make_forgetful("power")
    forgotten, number, model = 0, 0, [{}, {}, {}]
    # A cut may come when all clients have their answers: nothing is forgotten then.
    while number < ROUNDS or (forgotten == 0 and number < 10 * ROUNDS):
        pending = load_until_killed(server, model, number, chance)
        server.forget_rings()
        forgotten += forgetful.cut_power(server.folder / "durahash", undo, chance)
        server.start()
        with server.client() as c:
            for mine, last in zip(model, pending):
                for (key, field), value in mine.items():
                    found = c.execute_command("DH.GET", key, field)
                    assert found == value or ((key, field), found) == last, (key, field, found)
                if last:
                    mine.pop(last[0], None)
        number += 1
    print(f"{sum(map(len, model))} records, {forgotten} sectors forgotten in {number} cuts")
    assert forgotten > 0, "this disk forgets nothing"


def load_until_killed(server, model, number, chance):
    """What each client had asked for last, and had no answer to."""
    pending = [None] * len(model)

    def load(which):
        try:
            with server.client() as c:
                for i in range(100_000):
                    where = f"t{which}", b"%d %d" % (number, i % 500)
                    value = b"%d of %d" % (i, number)
                    pending[which] = where, value
                    c.execute_command("DH.SET", *where, value)
                    model[which][where] = value
                    pending[which] = None
        except (redis.ConnectionError, redis.TimeoutError, OSError):
            pass

    clients = [threading.Thread(target=load, args=(n,)) for n in range(len(model))]
    for one in clients:
        one.start()
    time.sleep(chance.uniform(0.15, 0.35))
    server.kill()
    for one in clients:
        one.join()
    return pending
