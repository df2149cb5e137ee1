"""The Python helper that spreads a table over keys, with clients of clusters and of one server."""
import sys

import numpy
import pytest
import redis
import valkey

from cluster import Cluster
from running import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "server/client"))
from durahash_client import PartitionedTable  # noqa: E402


@pytest.fixture(scope="module", params=["redis", "valkey"])
def cluster(request):
    from conftest import PROGRAMS
    if request.param not in PROGRAMS:
        pytest.skip(f"no {request.param}-server here")
    with Cluster(PROGRAMS[request.param], replicas=False) as running:
        yield running


@pytest.fixture(params=["redis-py", "valkey-py"])
def client(cluster, request):
    port = cluster.nodes[0].port
    if request.param == "redis-py":
        made = redis.RedisCluster(host="127.0.0.1", port=port)
    else:
        made = valkey.ValkeyCluster(host="127.0.0.1", port=port)
    yield made
    made.flushall(target_nodes=made.PRIMARIES)
    made.close()


def test_a_table_is_spread_over_the_nodes(cluster, client):
    users = PartitionedTable(client, "users", partitions=24)
    want = {f"user {i}": f"value {i}" for i in range(6000)}
    assert users.put_many(want) == 6000
    assert len(users) == 6000
    names = list(want) + ["nobody"]
    assert users.get_many(names) == [v.encode() for v in want.values()] + [None]
    assert dict(users.items()) == {k.encode(): v.encode() for k, v in want.items()}
    assert users.erase_many(["user 1", "user 2", "nobody"]) == 2
    assert users.get("user 1") is None and users.get("user 3") == b"value 3"
    assert users.put("user 1", "again") == 1 and users.erase("user 1") and not users.erase("user 1")
    for node in cluster.nodes:
        with node.client() as c:
            assert c.dbsize() > 0


def test_arrays_in_and_out(client):
    ids = PartitionedTable(client, "ids", partitions=8)
    assert ids.create(engine="gphash", keys="u64", values="u64") == 8
    assert ids.create() == 0
    keys = numpy.arange(0, 5000, dtype=numpy.uint64) * numpy.uint64(2**40 + 7)
    assert ids.put_many(keys.tolist(), (keys + numpy.uint64(1)).tolist()) == 5000
    asked = numpy.concatenate([keys, keys + numpy.uint64(3)])
    values, found = ids.get_many(asked)
    assert values.dtype == numpy.uint64 and found.dtype == bool
    assert found[:5000].all() and not found[5000:].any()
    assert (values[:5000] == keys + numpy.uint64(1)).all()


def test_fields_and_values_must_be_as_many(client):
    with pytest.raises(ValueError):
        PartitionedTable(client, "t").put_many(["a"], [])
    with pytest.raises(ValueError):
        PartitionedTable(client, "t", partitions=0)
    assert PartitionedTable(client, "t").get_many([]) == []


class Overtaking:
    """A client whose pipelines send the first command again, behind the others."""

    def __init__(self):
        self.tables, self.commands = {}, []

    def pipeline(self, transaction):
        return self

    def execute_command(self, *command):
        self.commands.append(command)

    def execute(self):
        for _, key, *flat in self.commands[1:] + self.commands[:1]:
            self.tables.setdefault(key, {}).update(zip(flat[::2], flat[1::2]))
        return [len(command) // 2 - 1 for command in self.commands]


def test_later_values_of_a_field_win_in_whatever_order_commands_are_done():
    client = Overtaking()
    t = PartitionedTable(client, "t", partitions=1)
    fields = ["twice"] + [f"field {i}" for i in range(1500)] + [b"twice"]
    assert t.put_many(fields, range(1502)) == 1501
    assert len(client.commands) == 2
    assert client.tables["t:0"][b"twice"] == b"1501"


def test_with_a_single_server(server):
    with server.client() as c:
        t = PartitionedTable(c, "t", partitions=3)
        assert t.put_many({"a": 1, "b": 2}) == 2 and t.get_many(["a", "c"]) == [b"1", None]


def test_machines_share_an_index_of_blocks(cluster, client):
    """The example: what one machine has computed another finds, also behind a kill."""
    import subprocess

    def machine(node, seed):
        done = subprocess.run(
            [sys.executable, "-B", REPOSITORY / "examples/kv_cache_cluster/shared_index.py",
             str(cluster.nodes[0].port), "--node", str(node), "--seed", str(seed), "--requests",
             "60"], check=True, capture_output=True, text=True)
        words = done.stdout.split()
        return int(words[2]), int(words[5])

    found, computed = machine(1, 1)
    assert computed >= 400 and found > 0
    for node in cluster.nodes:
        node.restart()
    cluster.await_whole()
    again, anew = machine(2, 1)  # the same prompts
    assert anew == 0 and again == found + computed
