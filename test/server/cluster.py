"""A cluster on this machine, and clients that note what was acknowledged."""
import random
import subprocess
import threading
import time

import redis
from redis.crc import key_slot

from running import Server

SLOTS = 16384
NODE_TIMEOUT_MS = 1500
# What a node says that cannot serve the key at the moment.
PASSING = (redis.exceptions.ClusterDownError, redis.exceptions.TryAgainError,
           redis.exceptions.MasterDownError, redis.exceptions.ReadOnlyError)


class Cluster:
    """Masters, and as many replicas."""

    def __init__(self, program, masters=3, replicas=True, settings=()):
        how = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MS),
               "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
               "--cluster-allow-replica-migration", "no", *settings)
        self.nodes = [Server(program, *how) for _ in range(masters * (2 if replicas else 1))]
        self.masters, self.replicas = self.nodes[:masters], self.nodes[masters:]

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.end()
            raise
        return self

    def build(self):
        for node in self.nodes:
            node.start()
        share = SLOTS / len(self.masters)
        for i, node in enumerate(self.masters):
            with node.client() as c:
                c.execute_command("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
                c.execute_command("CLUSTER", "ADDSLOTSRANGE", round(i * share),
                                  round((i + 1) * share) - 1)
        with self.nodes[0].client() as c:
            for node in self.nodes[1:]:
                c.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port)
        self.await_all(lambda c: b"cluster_known_nodes:%d" % len(self.nodes) in
                       bytes_of(c, "CLUSTER", "INFO"))
        for replica, master in zip(self.replicas, self.masters):
            name = self.name_of(master)
            self.await_on(replica, lambda c: replicate(c, name))
        self.await_whole()
        for replica in self.replicas:
            self.await_on(replica,
                          lambda c: c.info("replication")["master_link_status"] == "up")
        for master in self.masters if self.replicas else ():
            self.await_on(master, lambda c: c.info("replication")["connected_slaves"] == 1)

    @staticmethod
    def await_on(node, is_so, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with node.client() as c:
                    if is_so(c):
                        return
            except redis.RedisError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"node {node.port} did not come to it:\n{node.log()}")

    def await_whole(self):
        """Until every node says that all slots are served."""
        self.await_all(lambda c: b"cluster_state:ok" in bytes_of(c, "CLUSTER", "INFO"))

    def await_all(self, is_so):
        for node in self.nodes:
            self.await_on(node, is_so)

    @staticmethod
    def name_of(node):
        with node.client() as c:
            return bytes_of(c, "CLUSTER", "MYID").decode()

    def replica_of(self, master):
        return self.replicas[self.masters.index(master)]

    def is_master(self, node):
        with node.client() as c:
            return c.info("replication")["role"] == "master"

    def cli(self, *arguments, seconds=60):
        """redis-cli --cluster ..."""
        done = subprocess.run(["redis-cli", "--cluster", *arguments], capture_output=True,
                              text=True, timeout=seconds)
        assert done.returncode == 0 and "ERR" not in done.stdout, done.stdout[-2000:]
        return done.stdout

    def reshard(self, source, target, slots=SLOTS):
        """Moves slots of one master, all that it has or so many, to another, key by key."""
        return self.cli("reshard", f"127.0.0.1:{target.port}", "--cluster-from",
                        self.name_of(source), "--cluster-to", self.name_of(target),
                        "--cluster-slots", str(slots), "--cluster-yes")

    def migrate_all(self, source, target, seconds=30):
        """Valkey 9: moves every slot of one master in one step, contents first."""
        with source.client() as c:
            slots = [(a, b) for a, b, owner in slot_ranges(c) if owner == source.port]
            for first, last in slots:
                c.execute_command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE",
                                  self.name_of(target))
            end = time.monotonic() + seconds
            while any(owner == source.port for _, _, owner in slot_ranges(c)):
                assert time.monotonic() < end, source.log() + target.log()
                time.sleep(0.02)

    def end(self):
        for node in self.nodes:
            node.end()

    def __exit__(self, *_):
        self.end()


def replicate(c, name):
    try:
        c.execute_command("CLUSTER", "REPLICATE", name)
    except redis.ResponseError:  # it has not heard of that node yet
        return False
    return True


def raw(client, *command):
    """What the server answers, as it is."""
    connection = client.connection_pool.get_connection()
    try:
        connection.send_command(*command)
        return connection.read_response()
    finally:
        client.connection_pool.release(connection)


def bytes_of(client, *command):
    answer = raw(client, *command)
    return answer if isinstance(answer, bytes) else str(answer).encode()


def slot_ranges(client):
    """(first, last, port of the master) of all slots."""
    return [(a, b, master[1]) for a, b, master, *_ in raw(client, "CLUSTER", "SLOTS")]


class Router:
    """A client that follows MOVED and ASK, and asks again while nodes are away."""

    def __init__(self, cluster, wait_for=0):
        self.cluster, self.wait_for = cluster, wait_for
        self.connections, self.owners = {}, {}

    def client(self, port):
        if port not in self.connections:
            self.connections[port] = redis.Redis(port=port, single_connection_client=True,
                                                 socket_timeout=4, retry=None, protocol=2)
        return self.connections[port]

    def forget(self, port):
        if port in self.connections:
            self.connections.pop(port).close()

    def run(self, *command, seconds=30):
        """The answer. With `wait_for` it has come only when so many replicas have the effect."""
        slot = key_slot(str(command[1]).encode())
        end = time.monotonic() + seconds
        port, asking = self.owners.get(slot), False
        while time.monotonic() < end:
            if port is None:
                port = random.choice(self.cluster.nodes).port
            try:
                c = self.client(port)
                if asking:
                    c.execute_command("ASKING")
                answer = c.execute_command(*command)
                if not self.wait_for or c.execute_command("WAIT", self.wait_for, 1000) >= self.wait_for:
                    if not asking:
                        self.owners[slot] = port
                    return answer
                continue  # done, and not confirmed: once more
            except redis.exceptions.AskError as ask:
                port, asking = ask.port, True
                continue
            except redis.exceptions.MovedError as moved:
                port = moved.port
            except (redis.ConnectionError, redis.TimeoutError):
                self.forget(port)
                port = None
                time.sleep(0.01)
            except PASSING:
                port = None
                time.sleep(0.01)
            asking = False
        raise TimeoutError(f"no answer to {command[:2]} within {seconds} s")

    def close(self):
        for port in list(self.connections):
            self.forget(port)


class Loaders:
    """Threads that write rising numbers, and note the last one that was acknowledged."""

    def __init__(self, cluster, tables=24, clients=2, wait_for=0):
        self.cluster, self.tables, self.wait_for = cluster, tables, wait_for
        self.acknowledged = [{} for _ in range(clients)]
        self.stopping, self.longest_gap, self.failure, self.writes = False, 0.0, None, 0
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(clients)]

    def run(self, number):
        router, mine = Router(self.cluster, self.wait_for), self.acknowledged[number]
        chance = random.Random(number)
        try:
            step = 0
            while not self.stopping:
                step += 1
                where = (f"t:{chance.randrange(self.tables)}", f"{number} {chance.randrange(400)}")
                began = time.monotonic()
                router.run("DH.SET", *where, step)
                mine[where] = step
                self.writes += 1
                self.longest_gap = max(self.longest_gap, time.monotonic() - began)
        except Exception as why:  # told to who joins
            self.failure = why
        finally:
            router.close()

    def count(self):
        return sum(len(a) for a in self.acknowledged)

    def __enter__(self):
        for one in self.threads:
            one.start()
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        self.stopping = True
        for one in self.threads:
            one.join()
        if self.failure:
            raise self.failure

    def lost(self):
        """Records whose value is older than the last acknowledged one, or that are not there."""
        router, missing = Router(self.cluster), []
        for mine in self.acknowledged:
            by_table = {}
            for (table, field), step in mine.items():
                by_table.setdefault(table, []).append((field, step))
            for table, fields in by_table.items():
                found = router.run("DH.MGET", table, *[f for f, _ in fields])
                missing += [(table, field, step, value) for (field, step), value in zip(fields, found)
                            if value is None or int(value) < step]
        router.close()
        return missing
