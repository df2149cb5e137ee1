"""Three masters and three replicas: nodes that are killed, a failover, slots that move; and what
clients were told is there."""
import os
import time

import pytest
from redis.crc import key_slot

from cluster import SLOTS, Cluster, Loaders, Router

FAILOVERS = int(os.environ.get("DURAHASH_FAILOVERS", "2"))


@pytest.fixture
def cluster(program):
    with Cluster(program) as running:
        yield running


def check(loaders):
    lost = loaders.lost()
    print(f"{loaders.count()} records acknowledged, {len(lost)} lost, "
          f"longest gap {loaders.longest_gap:.2f} s")
    assert loaders.count() > 100 and not lost, lost[:5]


def test_masters_that_are_killed_and_restarted_lose_nothing(cluster):
    with Loaders(cluster) as loaders:
        for master in cluster.masters:
            master.restart()
            time.sleep(0.3)
        cluster.await_whole()
        time.sleep(0.3)
    check(loaders)
    assert all(cluster.is_master(m) for m in cluster.masters), "no failover was needed"


def test_failovers_lose_nothing_that_waited_for_a_replica(cluster):
    with Loaders(cluster, wait_for=1) as loaders:
        for number in range(FAILOVERS):
            old = cluster.masters[number % 3]
            new = cluster.replica_of(old)
            old.kill()
            cluster.await_on(new, lambda c: c.info("replication")["role"] == "master")
            old.start()
            cluster.await_on(new, lambda c: c.info("replication")["connected_slaves"] == 1)
            cluster.await_on(
                old, lambda c: c.info("replication").get("master_link_status") == "up")
            place = number % 3
            cluster.masters[place], cluster.replicas[place] = new, old
        time.sleep(0.5)
    check(loaders)


def test_slots_that_move_key_by_key_lose_nothing(cluster):
    source, target = cluster.masters[0], cluster.masters[1]
    with Loaders(cluster) as loaders:
        # Debian's redis-cli moves a slot of Valkey four times as slowly.
        cluster.reshard(source, target, 600 if "valkey" in source.program else SLOTS)
        time.sleep(0.3)
    check(loaders)
    # and what moved is the target's also behind a kill of both
    for node in source, target:
        node.restart()
    cluster.await_whole()
    check(loaders)


def test_slots_that_move_in_one_step_lose_nothing(cluster):
    if "valkey" not in cluster.masters[0].program:
        pytest.skip("Valkey 9 alone has CLUSTER MIGRATESLOTS")
    source, target = cluster.masters[0], cluster.masters[1]
    with Loaders(cluster) as loaders:
        cluster.migrate_all(source, target)
        time.sleep(0.3)
    check(loaders)
    target.restart()
    cluster.await_whole()
    check(loaders)


def test_a_table_keeps_its_slot_behind_a_kill(cluster):
    """Tables are there when the server looks which slots its keys have."""
    router = Router(cluster)
    for i in range(30):
        router.run("DH.SET", f"t:{i}", "a", i)
    for node in cluster.masters:
        node.restart()
    cluster.await_whole()
    counted = 0
    for node in cluster.masters:
        with node.client() as c:
            counted += sum(c.execute_command("CLUSTER", "COUNTKEYSINSLOT", key_slot(key))
                           for key in c.keys())
    assert counted == 30
    router.close()
