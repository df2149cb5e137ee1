"""Servers that end, in order or killed, and start again, beside files of their own or none."""
import json
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
import redis

from model import assert_same, fill, keyspace_of, records_of
from running import FAULTY, FOLDERS, MODULE, Server


def test_an_end_in_order_keeps_all(server):
    with server.client() as c:
        fill(c, "t1", 300)
        c.expire("t1", 1000)
        wanted = keyspace_of(server)
        try:
            c.shutdown(nosave=True)
        except redis.ConnectionError:
            pass
    assert server.process.wait() == 0
    tool = Path(MODULE).parents[1] / "bin/durahash"
    if tool.exists():  # closed, and so for the tool as well
        for name in server.pools():
            said = subprocess.run([tool, "info", server.folder / "durahash" / name, "--json"],
                                  check=True, capture_output=True, text=True).stdout
            assert json.loads(said)["clean"]
    server.start()
    assert_same(keyspace_of(server), wanted)


def test_an_end_in_order_while_others_read(server):
    """A child writes a snapshot, and the module's thread checks a table: both read the pools."""
    with server.client() as c:
        fill(c, "t1", 30_000), fill(c, "t2", 30_000)
        wanted = keyspace_of(server, 1)
        c.config_set("rdb-key-save-delay", 200_000)
        c.bgsave()
        checks = [server.client(single_connection_client=True) for _ in range(3)]
        for one in checks:
            one.ping()
            one.connection.send_command("DH.CHECK", "t1")
        try:
            c.shutdown(nosave=True)
        except redis.ConnectionError:
            pass
    assert server.process.wait(timeout=20) == 0
    server.start()
    assert_same(keyspace_of(server, 1), wanted)


@pytest.fixture
def refusing(make_server):
    """A server whose catalog has no room when refuse_rows() says so."""
    if not Path(FAULTY).exists():
        pytest.skip(f"{FAULTY} was not built")
    return make_server(module=FAULTY, environment={"DURAHASH_FAULT": "the-catalog-refuses"})


def test_an_end_in_order_does_not_wait_for_a_long_check(faulty):
    with faulty.client() as c:
        fill(c, "t")
        wanted = keyspace_of(faulty)
    faulty.kill()
    faulty.environment["DURAHASH_FAULT"] = "a-check-takes-long"
    faulty.start()
    with faulty.client(single_connection_client=True) as one:
        one.ping()
        one.connection.send_command("DH.CHECK", "t")
        time.sleep(0.1)
        faulty.process.send_signal(signal.SIGTERM)
        assert faulty.process.wait(timeout=8) == 0
    faulty.start()
    assert_same(keyspace_of(faulty), wanted)


def test_names_that_found_no_room_are_written_later(refusing):
    """And a table that cannot be made meanwhile takes none of them along."""
    with refusing.client() as c:
        fill(c, "t1"), fill(c, "t2")
        refusing.refuse_rows()
        c.rename("t1", "renamed")
        c.expire("t2", 1000)
        with pytest.raises(redis.ResponseError, match="no room"):
            c.execute_command("DH.SET", "t3", "a", "1")
        before = c.info("durahash")["durahash_catalog_failures"]
        end = time.monotonic() + 1.2
        while time.monotonic() < end:
            c.ping()
        assert c.info("durahash")["durahash_catalog_failures"] <= before + 2, "a flooded log"
        refusing.refuse_rows(False)
        wanted = keyspace_of(refusing)
        before = c.info("durahash")["durahash_catalog_failures"]
        time.sleep(1.5)  # it tries once a second
        assert c.info("durahash")["durahash_catalog_failures"] == before
    refusing.restart()
    assert_same(keyspace_of(refusing), wanted)


def test_what_went_and_swaps_are_told_to_the_catalog_later(refusing):
    with refusing.client() as c, refusing.client(db=1) as other:
        fill(c, "t1"), fill(c, "t2"), fill(c, "t3"), fill(other, "t1", 7), fill(other, "gone")
        refusing.refuse_rows()
        c.delete("t2")
        c.swapdb(0, 1)
        c.rename("t1", "was t1")
        c.delete("gone")
        c.swapdb(1, 2)
        refusing.refuse_rows(False)
        wanted = keyspace_of(refusing)
        time.sleep(2.5)  # it tries once a second
    refusing.restart()
    assert_same(keyspace_of(refusing), wanted)
    assert len(refusing.pools()) == len(wanted)


def test_a_flush_that_the_catalog_refused_is_told_later(refusing):
    with refusing.client() as c, refusing.client(db=1) as other:
        fill(c, "t1"), fill(other, "t1", 7)
        refusing.refuse_rows()
        c.swapdb(0, 1)
        c.flushdb()
        refusing.refuse_rows(False)
        wanted = keyspace_of(refusing)
        time.sleep(2.5)
    refusing.restart()
    assert_same(keyspace_of(refusing), wanted)
    assert len(refusing.pools()) == 1


@pytest.mark.parametrize("settings", [
    ("--save", "3600 1"), ("--appendonly", "yes"),
    ("--appendonly", "yes", "--aof-use-rdb-preamble", "no")], ids=["rdb", "aof", "aof-commands"])
def test_tables_are_newer_than_the_files_of_the_server(make_server, settings):
    """The RDB has t1 and t2 as they were; the AOF has RENAME, DEL and EXPIRE of long ago."""
    server = make_server(*settings)
    with server.client() as c:
        fill(c, "t1"), fill(c, "t2"), fill(c, "t5")
        c.set("s", "1")
        c.execute_command("DH.INCRBY", "t1", "n", 1)
        save(c)
        c.rename("t1", "was t1")
        fill(c, "t1", 3, "new ")
        c.delete("t2")
        c.rename("was t1", "t3")
        c.execute_command("DH.INCRBY", "t3", "n", 1)
        c.expire("t5", 500)
        c.copy("t5", "t6")
        c.swapdb(0, 2)
        c.set("s", "2")
        c.swapdb(0, 2)
        wanted = keyspace_of(server)
    time.sleep(1.2 if "--appendonly" in settings else 0)  # the AOF is written once a second
    server.restart()
    found = keyspace_of(server)
    if "--appendonly" not in settings:
        wanted[0, b"s"] = found[0, b"s"]  # strings are as old as the RDB
        wanted.pop((2, b"s"))
    assert_same(found, wanted)
    with server.client() as c:
        assert c.execute_command("DH.INCRBY", "t3", "n", 1) == 3
    assert len(server.pools()) == 4


def save(client):
    if client.config_get("appendonly")["appendonly"] == "yes":
        client.bgrewriteaof()
        while client.info("persistence")["aof_rewrite_in_progress"] or \
                client.info("persistence")["aof_rewrite_scheduled"]:
            time.sleep(0.01)
        assert client.info("persistence")["aof_last_bgrewrite_status"] == "ok"
    else:
        client.bgsave()
        while client.info("persistence")["rdb_bgsave_in_progress"]:
            time.sleep(0.01)
        assert client.info("persistence")["rdb_last_bgsave_status"] == "ok"


def test_the_aof_has_no_command_of_a_table(make_server):
    """An AOF that lost its last second, played over a newer table, takes a 2 back to 1."""
    server = make_server("--appendonly", "yes", "--appendfsync", "always")
    with server.client() as c:
        c.set("s", "1")
        c.execute_command("DH.INCRBY", "t", "n", 1)
        c.execute_command("DH.SET", "t", "a", "1", "b", "2")
        c.execute_command("DH.DEL", "t", "a")
        with c.pipeline() as p:
            p.execute_command("DH.SET", "t", "c", "1")
            p.set("s", "2")
            p.execute()
    written = b"".join(p.read_bytes() for p in (server.folder / "appendonlydir").iterdir())
    assert b"SET" in written.upper() and b"DH." not in written.upper()


@pytest.mark.parametrize("settings", [("--save", "3600 1"), ("--appendonly", "yes")],
                         ids=["rdb", "aof"])
def test_without_a_catalog_the_files_of_the_server_have_the_tables(make_server, settings):
    """A backup that is put onto a new machine; and a second kill, while its tables are taken."""
    server = make_server(*settings)
    with server.client() as c, server.client(db=1) as other:
        fill(c, "t1", 3000), fill(other, "t2")
        c.expire("t1", 700)
        c.execute_command("DH.CREATE", "words", "ENGINE", "gphash", "KEYS", "u64", "VALUES", "u64")
        c.execute_command("DH.SET", "words", 1, 2)
        save(c)
        wanted = keyspace_of(server)
    server.kill()
    for p in (server.folder / "durahash").iterdir():
        p.unlink()
    server.start()
    assert_same(keyspace_of(server), wanted)
    server.restart()
    assert_same(keyspace_of(server), wanted)
    assert len(server.pools()) == 3


def test_a_kill_while_files_are_taken_over_leaves_them_to_the_next_start(make_server):
    server = make_server("--save", "3600 1")
    with server.client() as c:
        for i in range(6):
            fill(c, f"t{i}", 20000)
        save(c)
        wanted = keyspace_of(server, 1)
    server.kill()
    for p in (server.folder / "durahash").iterdir():
        p.unlink()
    server.start(wait=False)
    end = time.monotonic() + 5
    while len(server.pools()) < 3 and time.monotonic() < end:
        time.sleep(0.001)
    server.kill()
    server.start()
    assert_same(keyspace_of(server, 1), wanted)


def test_a_load_by_hand_replaces_the_tables(make_server):
    server = make_server("--save", "3600 1")
    with server.client() as c:
        fill(c, "t1", 200), fill(c, "t2")
        wanted = keyspace_of(server)
        c.execute_command("DEBUG", "RELOAD")
        assert_same(keyspace_of(server), wanted)
    server.restart()
    assert_same(keyspace_of(server), wanted)
    assert len(server.pools()) == 2


def test_a_copy_elsewhere_has_the_greater_epoch(make_server):
    """After a death within a MIGRATE both nodes have the table: which is the older one is seen."""
    one, other = make_server(), make_server()
    with one.client() as a, other.client() as b:
        for i in range(5):
            fill(a, f"t{i}")
        b.restore("t4", 0, a.dump("t4"))
        epochs = [facts_of(c, "t4")[b"epoch"] for c in (a, b)]
        assert epochs[0] < epochs[1]
        other.restart()
        with other.client() as again:
            assert facts_of(again, "t4")[b"epoch"] == epochs[1]


def facts_of(client, key):
    flat = client.execute_command("DH.INFO", key)
    return flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2]))


def test_a_table_of_two_gigabytes_is_back_at_once(make_server, program):
    """However much it holds: here 10,000 records of 200 KB."""
    if shutil.disk_usage(FOLDERS).free < 4 << 30:
        pytest.skip("no room for a table of 2 GB")
    if "valkey" in program:
        pytest.skip("once is enough for what takes seven seconds")
    server = make_server()
    with server.client() as c:
        value = "x" * 200_000
        for first in range(0, 10_000, 100):
            c.execute_command("DH.SET", "t", *[x for i in range(first, first + 100)
                                               for x in (f"field {i}", value)])
    server.kill()
    began = time.monotonic()
    server.start()
    answered = time.monotonic() - began
    with server.client() as c:
        assert len(c.execute_command("DH.GET", "t", "field 7777")) == 200_000
    found = time.monotonic() - began
    print(f"PONG after {1000 * answered:.0f} ms, a record after {1000 * found:.0f} ms")
    with server.client() as c:
        assert c.execute_command("DH.LEN", "t") == 10_000


@pytest.fixture
def faulty(make_server):
    """A server with the module of the tests, which has no error until it is told of one."""
    if not Path(FAULTY).exists():
        pytest.skip(f"{FAULTY} was not built")
    return make_server(module=FAULTY, environment={"DURAHASH_FAULT": "none"})


def test_a_catalog_that_cannot_be_read_costs_no_pool(faulty):
    with faulty.client() as c:
        fill(c, "t1"), fill(c, "t2")
        wanted = keyspace_of(faulty)
    pools = faulty.pools()
    faulty.kill()
    faulty.environment["DURAHASH_FAULT"] = "a-row-cannot-be-read"
    with pytest.raises(RuntimeError, match="rows of the catalog.*no pool was removed"):
        faulty.start()
    assert faulty.pools() == pools
    faulty.environment["DURAHASH_FAULT"] = "none"
    faulty.start()
    assert_same(keyspace_of(faulty), wanted)


def test_a_table_that_is_read_in_part_is_not_moved(faulty, make_server):
    """What is left of it stays where it is."""
    faulty.kill()
    faulty.environment["DURAHASH_FAULT"] = "a-table-is-read-in-part"
    faulty.start()
    other = make_server()
    with faulty.client() as c, other.client() as o:
        want = fill(c, "t1")
        with pytest.raises(redis.ResponseError, match="Bad data format"):
            o.restore("t1", 0, c.dump("t1"))
        with pytest.raises(redis.ResponseError, match="Bad data format"):
            c.migrate("127.0.0.1", other.port, "t1", 0, 5000)
        assert records_of(c, "t1") == want
        assert o.exists("t1") == 0


def test_what_the_library_says_stands_in_the_log(server):
    """Damage that the count behind a crash meets: no command has asked for it."""
    with server.client() as c:
        fill(c, "t", 40)
        c.execute_command("DH.SET", "t", "here it is", "x" * 100)
    server.kill()
    pool = server.folder / "durahash" / server.pools()[0]
    contents = bytearray(pool.read_bytes())
    at = contents.index(b"here it is")
    contents[at - 16:at] = b"\xff" * 16  # lengths and checksum, in front of the field
    pool.write_bytes(contents)
    server.start()
    with server.client() as c:
        c.execute_command("DH.LEN", "t")
        assert c.info("durahash")["durahash_diagnostics_total"] == 1
        assert c.execute_command("DH.GET", "t", "field 7") == b"t 7"
    assert "durahash: the pool with the UUID" in server.log()
    assert "damaged records" in server.log()


def test_two_servers_do_not_share_a_folder(server, program):
    with pytest.raises(RuntimeError) as why:
        second = Server(program, "--durahash.folder", str(server.folder / "durahash"))
        with second:
            pass
    assert "catalog" in str(why.value)


ROUNDS = 50


def test_nothing_that_was_acknowledged_is_lost_in_fifty_kills(server, chance):
    """Two loaders write, delete and count, and note each answer; 50 times the server is killed."""
    models, stop = [{}, {}], threading.Event()
    unsure = [None, None]  # the record of a request without an answer
    failures = []  # of the loaders: a thread that fails says so to nobody

    def load(number, seed):
        try:
            load_until_stopped(number, seed)
        except Exception as why:  # any: the test fails by it
            failures.append(why)

    def load_until_stopped(number, seed):
        model, random = models[number], __import__("random").Random(seed)
        while not stop.is_set():
            try:
                with server.client(socket_timeout=10, retry=None) as c:
                    while not stop.is_set():
                        field = b"%d-%d" % (number, random.randrange(3000))
                        value = b"%d" % random.randrange(1 << 40)
                        unsure[number] = field, model.get(field), value
                        if random.random() < 0.15:
                            unsure[number] = field, model.get(field), None
                            c.execute_command("DH.DEL", "t", field)
                            model.pop(field, None)
                        else:
                            c.execute_command("DH.SET", "t", field, value)
                            model[field] = value
                        unsure[number] = None
            except (redis.ConnectionError, redis.TimeoutError, OSError):
                # It may have been done or not: whichever the server has now counts from here on.
                settle(number)

    def settle(number):
        while not stop.is_set():
            try:
                with server.client(socket_timeout=10, retry=None) as c:
                    if unsure[number]:
                        field, before, after = unsure[number]
                        now = c.execute_command("DH.GET", "t", field)
                        assert now in (before, after), "half a write"
                        models[number].pop(field, None)
                        if now is not None:
                            models[number][field] = now
                        unsure[number] = None
                    return
            except (redis.ConnectionError, redis.TimeoutError, OSError):
                time.sleep(0.002)

    loaders = [threading.Thread(target=load, args=(n, chance.random())) for n in range(2)]
    for one in loaders:
        one.start()
    for _ in range(ROUNDS):
        time.sleep(chance.uniform(0.01, 0.06))
        server.restart()
    time.sleep(0.1)
    stop.set()
    for one in loaders:
        one.join()
    assert not failures
    with server.client() as c:
        found = records_of(c, "t")
    for number in range(2):
        if unsure[number]:  # stopped in the middle of settling
            field = unsure[number][0]
            found.pop(field, None), models[number].pop(field, None)
    acknowledged = {**models[0], **models[1]}
    print(f"{len(acknowledged)} records after {ROUNDS} kills")
    assert found == acknowledged and len(found) > 100
