"""Each command, in both protocols; ACL, MULTI, Lua, WATCH, client-side caches."""
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from running import FAULTY, MODULE, REPOSITORY, Server

sys.path.insert(0, str(REPOSITORY / "scripts"))
from engines import ENGINES  # noqa: E402


@pytest.fixture(params=[2, 3])
def client(server, request):
    with server.client(protocol=request.param) as c:
        yield c


def pairs_of(reply):
    """A map, in whatever protocol."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2]))


def refused(client, *command):
    with pytest.raises(redis.ResponseError) as why:
        client.execute_command(*command)
    return str(why.value)


def test_fields_are_set_read_and_removed(client):
    run = client.execute_command
    assert run("DH.CREATE", "t") == b"OK"
    assert "exists" in refused(client, "DH.CREATE", "t")
    assert run("DH.SET", "t", "a", "1") == 1
    assert run("DH.SET", "t", "a", "2", "b", "3", "", "empty field") == 3
    assert run("DH.GET", "t", "a") == b"2"
    assert run("DH.GET", "t", "") == b"empty field"
    assert run("DH.GET", "t", "none") is None
    assert run("DH.GET", "no such key", "a") is None
    assert run("DH.MGET", "t", "a", "none", "b") == [b"2", None, b"3"]
    assert run("DH.MGET", "no such key", "a") == [None]
    assert run("DH.EXISTS", "t", "a", "b", "none", "a") == 3
    assert run("DH.LEN", "t") == 3
    assert run("DH.LEN", "no such key") == 0
    assert run("DH.DEL", "t", "a", "a", "none") == 1
    assert run("DH.LEN", "t") == 2
    assert run("DH.DEL", "no such key", "a") == 0
    assert client.exists("no such key") == 0
    assert client.type("t") == b"durahash0"


def test_a_set_may_depend_on_what_is_there(client):
    run = client.execute_command
    assert run("DH.SET", "t", "f", "1", "XX") is None
    assert client.exists("t") == 0
    assert run("DH.SET", "t", "f", "1", "NX") == 1
    assert run("DH.SET", "t", "f", "2", "nx") is None
    assert run("DH.GET", "t", "f") == b"1"
    assert run("DH.SET", "t", "f", "3", "XX") == 1
    assert run("DH.GET", "t", "f") == b"3"
    assert "one field" in refused(client, "DH.SET", "t", "f", "1", "g", "2", "NX")
    assert "wrong number" in refused(client, "DH.SET", "t", "f")
    assert run("DH.CAS", "t", "f", "3", "4") == 1
    assert run("DH.CAS", "t", "f", "3", "5") == 0
    assert run("DH.CAS", "t", "none", "3", "5") is None
    assert run("DH.CAS", "no such key", "f", "3", "5") is None
    assert run("DH.GET", "t", "f") == b"4"


def test_counters_answer_as_those_of_hashes_do(client):
    run = client.execute_command
    for command, key in (("HINCRBY", "h"), ("DH.INCRBY", "t")):
        assert run(command, key, "n", 5) == 5
        assert run(command, key, "n", -7) == -2
        assert run(command, key, "max", 2**63 - 1) == 2**63 - 1
    said = [refused(client, command, key, "max", 1)
            for command, key in (("HINCRBY", "h"), ("DH.INCRBY", "t"))]
    assert said[0] == said[1]
    run("HSET", "h", "word", "x")
    run("DH.SET", "t", "word", "x")
    said = [refused(client, command, key, "word", 1)
            for command, key in (("HINCRBY", "h"), ("DH.INCRBY", "t"))]
    assert said[0] == said[1]
    said = [refused(client, command, key, "n", "x")
            for command, key in (("HINCRBY", "h"), ("DH.INCRBY", "t"))]
    assert said[0] == said[1]


def test_words_are_written_as_numbers(client):
    run = client.execute_command
    assert run("DH.CREATE", "w", "ENGINE", "cceh", "KEYS", "u64", "VALUES", "u64") == b"OK"
    most = 2**64 - 1
    assert run("DH.SET", "w", most, most, 0, 7) == 2
    assert run("DH.GET", "w", most) == str(most).encode()
    assert run("DH.INCRBY", "w", 0, 3) == 10
    assert "overflow" in refused(client, "DH.INCRBY", "w", 0, -11)
    assert "whole numbers" in refused(client, "DH.SET", "w", "x", 1)
    assert "whole numbers" in refused(client, "DH.SET", "w", 1, 2**64)
    assert run("DH.GET", "w", "x") is None
    assert run("DH.MGET", "w", "x", 0) == [None, b"10"]
    assert run("DH.DEL", "w", "x", 0) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scan_meets_each_record_once(client, engine):
    run = client.execute_command
    run("DH.CREATE", "t", "ENGINE", engine)
    want = {b"field %d" % i: b"%d" % (i * i) for i in range(2000)}
    run("DH.SET", "t", *[x for pair in want.items() for x in pair])
    assert pairs_of(run("DH.INFO", "t"))[b"engine"] == engine.encode()
    seen, cursor, calls = {}, b"0", 0
    while True:
        cursor, flat = run("DH.SCAN", "t", cursor, "COUNT", 100)
        for field, value in zip(flat[::2], flat[1::2]):
            assert field not in seen
            seen[field] = value
        calls += 1
        if cursor == b"0":
            break
    assert seen == want and calls >= 10
    assert run("DH.SCAN", "no such key", 0) == [b"0", []]
    assert "invalid cursor" in refused(client, "DH.SCAN", "t", "x")
    assert "COUNT" in refused(client, "DH.SCAN", "t", 0, "COUNT", 0)


def test_what_a_table_is_and_whether_it_is_whole(client):
    run = client.execute_command
    run("DH.SET", "t", *[str(i) for i in range(1000)])
    facts = pairs_of(run("DH.INFO", "t"))
    assert facts[b"records"] == 500 and facts[b"durability"] == b"process"
    assert facts[b"file-bytes"] > 0 and len(facts[b"id"]) == 32
    verdict = pairs_of(run("DH.CHECK", "t"))
    assert verdict[b"ok"] == 1 and verdict[b"records"] == 500
    assert "no such key" in refused(client, "DH.INFO", "none")
    assert "loss of power" in refused(client, "DH.WAITDISK", "t", 100)
    shown = client.info("durahash")
    assert shown["durahash_tables"] == 1 and shown["durahash_records"] == 500


def test_keys_of_other_types_are_refused(client):
    client.set("s", "x")
    client.execute_command("DH.SET", "t", "a", "1")
    for command in (["DH.SET", "s", "a", "1"], ["DH.GET", "s", "a"], ["DH.CREATE", "s"],
                    ["DH.LEN", "s"], ["DH.SCAN", "s", 0], ["HGET", "t", "a"], ["GET", "t"]):
        assert refused(client, *command).startswith("WRONGTYPE")
    assert "no ENGINE" in refused(client, "DH.CREATE", "n", "ENGINE", "nonsense")
    assert "has no value" in refused(client, "DH.CREATE", "n", "ENGINE")
    assert client.exists("n") == 0


def test_transactions_and_scripts(client):
    with client.pipeline() as p:
        p.execute_command("DH.SET", "t", "a", "1")
        p.execute_command("DH.INCRBY", "t", "a", 1)
        p.execute_command("DH.LEN", "t")
        assert p.execute() == [1, 2, 1]
    double = """local n = redis.call('DH.GET', KEYS[1], ARGV[1])
                redis.call('DH.SET', KEYS[1], ARGV[1], n * 2)
                return redis.call('DH.GET', KEYS[1], ARGV[1])"""
    assert client.eval(double, 1, "t", "a") == b"4"


def test_a_watched_table_that_changes_ends_the_transaction(server, client):
    with server.client() as other, client.pipeline() as p:
        other.execute_command("DH.SET", "t", "a", "1")
        p.watch("t")
        other.execute_command("DH.SET", "t", "b", "1")
        p.multi()
        p.execute_command("DH.SET", "t", "c", "1")
        with pytest.raises(redis.WatchError):
            p.execute()
        assert other.execute_command("DH.EXISTS", "t", "c") == 0


def test_a_client_that_caches_is_told(server):
    how = dict(single_connection_client=True, protocol=2)
    with server.client(**how) as writer, server.client(**how) as reader, \
            server.client(**how) as listener:
        number, heard = listener.client_id(), listener.connection
        heard.send_command("SUBSCRIBE", "__redis__:invalidate")
        heard.read_response()
        writer.execute_command("DH.SET", "t", "a", "1")
        reader.execute_command("CLIENT", "TRACKING", "ON", "REDIRECT", number)
        reader.execute_command("DH.GET", "t", "a")
        writer.execute_command("DH.SET", "t", "a", "2")
        assert heard.read_response(timeout=5)[2] == [b"t"]


def test_users_are_granted_commands_and_keys(server, client):
    client.execute_command("DH.SET", "mine", "a", "1")
    client.execute_command("DH.SET", "others", "a", "1")
    client.acl_setuser("reader", enabled=True, passwords=["+x"], keys=["mine"],
                       commands=["+dh.get", "+hello", "+client"])
    with server.client(username="reader", password="x") as user:
        assert user.execute_command("DH.GET", "mine", "a") == b"1"
        with pytest.raises(redis.exceptions.NoPermissionError):
            user.execute_command("DH.GET", "others", "a")
        with pytest.raises(redis.exceptions.NoPermissionError):
            user.execute_command("DH.SET", "mine", "a", "2")


def test_categories_grant_reads_where_the_server_has_them(server, client):
    is_valkey = "valkey" in server.program
    client.execute_command("DH.SET", "t", "a", "1")
    client.acl_setuser("reader", enabled=True, passwords=["+x"], keys=["*"],
                       categories=["+@read"], commands=["+hello", "+client"])
    with server.client(username="reader", password="x") as user:
        if is_valkey:
            assert user.execute_command("DH.GET", "t", "a") == b"1"
        else:  # Redis 7.0 has no way to put a module's command into a category
            with pytest.raises(redis.exceptions.NoPermissionError):
                user.execute_command("DH.GET", "t", "a")
        with pytest.raises(redis.exceptions.NoPermissionError):
            user.execute_command("DH.SET", "t", "a", "2")


def test_listeners_hear_of_changes(server, client):
    client.config_set("notify-keyspace-events", "KEA" + "d")
    with server.client() as other:
        heard = other.pubsub()
        heard.psubscribe("__keyspace@0__:t")
        heard.get_message(timeout=1)
        client.execute_command("DH.SET", "t", "a", "1")
        client.execute_command("DH.DEL", "t", "a")
        events = [heard.get_message(timeout=2)["data"] for _ in range(3)]
        assert events == [b"dh.create", b"dh.set", b"dh.del"]


def test_no_module_beside_a_policy_that_evicts_any_key(program, server, client):
    with pytest.raises(RuntimeError) as why:
        with Server(program, "--maxmemory-policy", "allkeys-lru"):
            pass
    assert "maxmemory-policy" in str(why.value)
    client.execute_command("DH.CREATE", "before")
    client.config_set("maxmemory-policy", "allkeys-random")
    assert "maxmemory-policy" in refused(client, "DH.CREATE", "t")
    assert "maxmemory-policy" in refused(client, "DH.SET", "t", "a", "1")
    assert client.execute_command("DH.SET", "before", "a", "1") == 1
    client.config_set("maxmemory-policy", "noeviction")
    assert client.execute_command("DH.CREATE", "t") == b"OK"


def test_limits_of_number_and_size(make_server):
    limited = make_server("--loadmodule", MODULE, "--durahash.max-tables",
                          "3", "--durahash.max-records", "1000", module=None)
    with limited.client() as client:
        for i in range(3):
            assert client.execute_command("DH.CREATE", f"t{i}") == b"OK"
        assert "max-tables" in refused(client, "DH.CREATE", "t3")
        client.delete("t0")
        assert client.execute_command("DH.CREATE", "t3") == b"OK"
        for i in range(0, 1000, 50):
            client.execute_command("DH.SET", "t1", *range(2 * i, 2 * i + 100))
        for i in range(1000, 2000):
            try:
                client.execute_command("DH.SET", "t1", f"more {i}", 1)
            except redis.ResponseError as why:
                assert "max-records" in str(why)
                break
        assert 1000 <= client.execute_command("DH.LEN", "t1") <= 1300
        assert client.execute_command("DH.GET", "t1", 0) == b"1"


def test_what_cannot_be_read_is_not_said_to_be_absent(make_server):
    if not Path(FAULTY).exists():
        pytest.skip(f"{FAULTY} was not built")
    faulty = make_server(module=FAULTY, environment={"DURAHASH_FAULT": "some-records-are-damaged"})
    with faulty.client() as client:
        client.execute_command("DH.SET", "t", "a", "1", "damaged", "2")
        contradicts = refused(client, "DH.EXISTS", "t", "damaged")
        assert refused(client, "DH.DEL", "t", "damaged") == contradicts
        assert refused(client, "DH.EXISTS", "t", "a", "damaged") == contradicts
        assert refused(client, "DH.DEL", "t", "damaged", "a", "none") == \
            contradicts + "; 1 of 3 fields were removed"
        assert client.execute_command("DH.EXISTS", "t", "a") == 0


def test_writes_go_on_where_the_server_may_take_no_more_memory(server, client):
    client.execute_command("DH.SET", "t", "a", "1")
    client.config_set("maxmemory", "1mb")
    try:
        assert "maxmemory" in refused(client, "SET", "s", "x" * 100)
        assert client.execute_command("DH.SET", "t", "a", "2") == 1
    finally:
        client.config_set("maxmemory", "0")


def test_info_counts_what_was_done(server):
    with server.client() as c:
        run = c.execute_command
        run("DH.SET", "t", "a", "1"), run("DH.INCRBY", "t", "a", 1), run("DH.GET", "t", "a")
        with pytest.raises(redis.ResponseError):
            run("DH.CREATE", "t")
        facts = {k[len("durahash_"):]: v for k, v in c.info("durahash").items()}
    assert all(isinstance(v, int) for v in facts.values()), facts
    assert (facts["writes_total"], facts["reads_total"], facts["refusals_total"]) == (3, 1, 1)
    assert (facts["tables"], facts["records"], facts["max_tables"]) == (1, 1, 1000)
    assert facts["file_bytes"] > 0 and facts["start_milliseconds"] < 10_000
    assert not any(facts[name] for name in ("clients_waiting", "catalog_failures",
                                            "names_not_written", "diagnostics_total",
                                            "children_served", "evicts_any_key",
                                            "tables_uncounted")), facts
    reference = (REPOSITORY / "docs/reference/server.md").read_text()
    assert not [name for name in facts if f"`{name}`" not in reference], "not in the reference"


def test_prometheus_reads_what_info_says(server, client):
    tool = Path(MODULE).parents[1] / "bin/durahash"
    if not tool.exists():
        pytest.skip(f"{tool} was not built")
    client.execute_command("DH.SET", "t", "a", "1", "b", "2")
    said = subprocess.run([tool, "metrics", "--server", f"127.0.0.1:{server.port}"], check=True,
                          capture_output=True, text=True).stdout
    assert f'durahash_server_tables{{server="127.0.0.1:{server.port}"}} 1\n' in said
    assert f'durahash_server_records{{server="127.0.0.1:{server.port}"}} 2\n' in said
    assert "# TYPE durahash_server_writes_total counter\n" in said
    assert "# TYPE durahash_server_tables gauge\n" in said
