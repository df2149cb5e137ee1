"""MIGRATE, and a death in the middle of it: a table is on one node or on both, and always whole."""
import os
import signal
import socket
import threading
import time

import pytest
import redis

from cluster import Cluster, Loaders
from model import fill, records_of
from running import FAULTY


class Wire:
    """Between two servers: passes on what the first sends, and keeps what the second answers."""

    def __init__(self, port, answers=True):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target, self.answers = self.listener.getsockname()[1], port, answers
        self.answered = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        source, _ = self.listener.accept()
        target = socket.create_connection(("127.0.0.1", self.target))

        def back():
            while data := target.recv(1 << 16):
                self.answered.set()
                if self.answers:
                    source.sendall(data)

        threading.Thread(target=back, daemon=True).start()
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass
        target.close()

    def close(self):
        self.listener.close()


def send(client, port, key, *how):
    """MIGRATE whose answer nobody reads."""
    client.ping()
    client.connection.send_command("MIGRATE", "127.0.0.1", port, key, 0, 20_000, *how)


def facts_of(client, key):
    flat = client.execute_command("DH.INFO", key)
    return flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2]))


def await_true(what, seconds=10):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def nodes(make_server):
    return make_server(), make_server()


def test_a_source_that_is_killed_while_it_sends_keeps_its_table(nodes):
    source, target = nodes
    with source.client() as c:
        want = fill(c, "t", 60_000)
        c.expire("t", 1000)
    target.process.send_signal(signal.SIGSTOP)  # takes no more than fits the sockets
    with source.client(single_connection_client=True) as c:
        send(c, target.port, "t")
        time.sleep(0.1)
        source.kill()
    target.process.send_signal(signal.SIGCONT)
    source.start()
    with source.client() as c, target.client() as t:
        assert records_of(c, "t") == want and c.ttl("t") > 900
        assert t.exists("t") == 0 and not target.pools()
        assert c.migrate("127.0.0.1", target.port, "t", 0, 20_000) == b"OK"
        assert records_of(t, "t") == want and c.exists("t") == 0


def test_a_target_that_is_killed_while_it_takes_leaves_the_table_to_the_source(nodes):
    source, target = nodes
    with source.client() as c:
        want = fill(c, "t", 60_000)
    target.process.send_signal(signal.SIGSTOP)
    with source.client(single_connection_client=True) as c:
        send(c, target.port, "t")
        time.sleep(0.1)
        target.kill()
        with pytest.raises(redis.ResponseError, match="IOERR"):
            c.connection.read_response()
    target.start()
    with source.client() as c, target.client() as t:
        assert records_of(c, "t") == want
        assert t.exists("t") == 0
        await_true(lambda: not target.pools())
        assert c.execute_command("DH.SET", "t", "after", "1") == 1


def test_a_source_that_is_killed_before_it_deletes_leaves_two_whole_tables(nodes):
    """The target has the table, and the source never heard of it: what the source has is written
    to further, and moves again. The copy is known by its epoch."""
    source, target = nodes
    wire = Wire(target.port, answers=False)
    with source.client() as c:
        want = fill(c, "t", 500)
    with source.client(single_connection_client=True) as c:
        send(c, wire.port, "t")
        assert wire.answered.wait(10)
        source.kill()
    wire.close()
    source.start()
    target.restart()
    with source.client() as c, target.client() as t:
        assert records_of(c, "t") == want and records_of(t, "t") == want
        assert facts_of(c, "t")[b"epoch"] < facts_of(t, "t")[b"epoch"]
        c.execute_command("DH.SET", "t", "after", "1")
        with pytest.raises(redis.ResponseError, match="BUSYKEY"):
            c.migrate("127.0.0.1", target.port, "t", 0, 5000)
        assert c.migrate("127.0.0.1", target.port, "t", 0, 5000, replace=True) == b"OK"
        assert records_of(t, "t") == {**want, b"after": b"1"} and c.exists("t") == 0
    for node in nodes:
        node.restart()
    with source.client() as c, target.client() as t:
        assert records_of(t, "t") == {**want, b"after": b"1"} and c.exists("t") == 0
    assert (len(source.pools()), len(target.pools())) == (0, 1)


def test_a_module_that_does_not_know_of_half_tables_is_sent_none(make_server):
    """Contents that end with "this is not all" have a newer version, which an older module
    refuses. It would take them for a whole table, and the source would delete its own."""
    if not os.path.exists(FAULTY):
        pytest.skip(f"{FAULTY} was not built")
    chosen = os.environ.get("DURAHASH_FAULT", "none")
    source = make_server(module=FAULTY,
                         environment={"DURAHASH_FAULT": f"a-table-is-read-in-part,{chosen}"})
    older = make_server(module=FAULTY, environment={"DURAHASH_FAULT": "an-older-module"})
    with source.client() as c, older.client() as o:
        want = fill(c, "t")
        with pytest.raises(redis.ResponseError, match="Bad data format"):
            c.migrate("127.0.0.1", older.port, "t", 0, 5000)
        assert records_of(c, "t") == want and o.exists("t") == 0


def test_nodes_that_are_killed_while_slots_move_lose_nothing(program):
    """The source is killed in the middle of a reshard, then the target; what redis-cli left half
    done it finishes by `fix` and a second reshard."""
    if "valkey" in program:
        pytest.skip("Debian's redis-cli moves slots of Valkey four times as slowly")
    with Cluster(program, replicas=False) as cluster:
        source, target = cluster.masters[:2]
        ends = []
        with Loaders(cluster) as loaders:
            for victim in source, target:
                moving = threading.Thread(target=try_to_move, args=(cluster, source, target, ends))
                moving.start()
                time.sleep(0.5)
                victim.restart()
                moving.join()
                cluster.await_whole()
                cluster.cli("fix", f"127.0.0.1:{target.port}", "--cluster-yes")
                cluster.await_whole()
            cluster.reshard(source, target, 300)
            time.sleep(0.2)
        lost = loaders.lost()
        print(f"{loaders.count()} records acknowledged, {len(lost)} lost; {ends}")
        assert "cut off" in ends, "no kill fell into a reshard"
        assert loaders.count() > 100 and not lost, lost[:5]


def try_to_move(cluster, source, target, ends):
    try:
        cluster.reshard(source, target, 2500)
        ends.append("came to its end")
    except AssertionError:
        ends.append("cut off")
