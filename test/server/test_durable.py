"""Tables that survive a loss of power: an answer waits for the disk, and other clients do not."""
import os
import tempfile
import threading
import time

import pytest
import redis

import forgetful
import running
from model import assert_same, fill, keyspace_of
from running import FAULTY, MODULE
from test_restart import ACTS


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

    def make(level, **variables):
        undo = tempfile.NamedTemporaryFile(prefix="durahash-undo-", dir="/dev/shm")
        notes.append(undo)
        try:
            server = make_server("--loadmodule", FAULTY, "--durahash.durability", level, module=None,
                                 environment={"DURAHASH_FAULT": "none", **os.environ,
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
    server, undo = make_forgetful("power")
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


def test_nobody_but_its_client_waits_for_a_name(make_forgetful, program):
    """On Valkey 9. Redis has no way to let one client wait for what its own command did: there a
    turn of the event loop waits once."""
    server, _ = make_forgetful("power", DURAHASH_POWER_CUT_SLOW_MS="150")
    with server.client() as c, server.client() as other:
        c.execute_command("DH.SET", "t", "a", "1")
        pings, stop = [time.monotonic()], threading.Event()

        def ping():
            while not stop.is_set():
                other.ping()
                pings.append(time.monotonic())

        beside = threading.Thread(target=ping)
        beside.start()
        silences = []
        for step in (lambda: c.rename("t", "u"), lambda: c.expire("u", 1000), lambda: c.delete("u")):
            began, first = time.monotonic(), len(pings) - 1
            step()
            assert time.monotonic() - began >= 0.15, "answered before the disk had it"
            time.sleep(0.02)
            silences.append(max(b - a for a, b in zip(pings[first:], pings[first + 1:])))
        stop.set()
        beside.join()
    print(f"the longest time without a PING beside each: {[round(s, 3) for s in silences]} s")
    if "valkey" in program:
        assert min(silences) < 0.14, "others waited"


ROUNDS = 5


def test_a_loss_of_power_loses_nothing_that_was_acknowledged(make_forgetful, chance):
    """The server is killed, and its disk forgets half of what nobody had waited for."""
    server, undo = make_forgetful("power")
    forgotten, model = 0, [{}, {}, {}]
    for number in range(ROUNDS):
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
    print(f"{sum(map(len, model))} records, {forgotten} sectors forgotten in {ROUNDS} cuts")
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
