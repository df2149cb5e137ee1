#!/usr/bin/env python3
"""A cluster of three masters and three replicas on this machine, loaded by clients that note what
was acknowledged. Nodes are killed and restarted, one for good, and slots move; at the end stands
what was acknowledged, found and lost. Less than two minutes."""
import argparse
import sys
import time

from cluster import Cluster, Loaders
from running import programs

ROUNDS_OF_KILLS = 6
FAILOVERS = 3


def say(what):
    print(f"[{time.monotonic() - BEGAN:5.1f} s] {what}", file=sys.stderr, flush=True)


def kills(cluster):
    for number in range(ROUNDS_OF_KILLS):
        master = cluster.masters[number % 3]
        began = time.monotonic()
        master.restart()
        say(f"kill -9 of the master {master.port}; it answers again after "
            f"{1000 * (time.monotonic() - began):.0f} ms")
        time.sleep(0.5)
    cluster.await_whole()


def failovers(cluster):
    for number in range(FAILOVERS):
        old = cluster.masters[number % 3]
        new = cluster.replica_of(old)
        began = time.monotonic()
        old.kill()
        cluster.await_on(new, lambda c: c.info("replication")["role"] == "master")
        say(f"kill -9 of the master {old.port}, which stays away; its replica {new.port} is master "
            f"after {time.monotonic() - began:.1f} s")
        old.start()
        cluster.await_on(old, lambda c: c.info("replication").get("master_link_status") == "up")
        place = number % 3
        cluster.masters[place], cluster.replicas[place] = new, old
    cluster.await_whole()


def reshard(cluster):
    began = time.monotonic()
    cluster.reshard(cluster.masters[0], cluster.masters[1], 2000)
    say(f"2000 slots have moved key by key in {time.monotonic() - began:.1f} s")


def migrate(cluster):
    began = time.monotonic()
    cluster.migrate_all(cluster.masters[2], cluster.masters[1])
    say(f"all slots of a node have moved in one step each range, {time.monotonic() - began:.1f} s")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--server", default="redis", choices=["redis", "valkey"])
    server = arguments.parse_args().server
    if server not in programs():
        sys.exit(f"there is no {server}-server here")
    steps = [("masters killed and restarted", kills, 0),
             ("failovers, clients WAIT 1", failovers, 1),
             ("slots moved under load", reshard, 0)]
    if server == "valkey":
        steps.append(("slots moved in one step", migrate, 0))
    rows, lost_in_all = [], 0
    with Cluster(programs()[server]) as cluster:
        say(f"three masters and three replicas of {server}-server are up")
        for name, act, wait_for in steps:
            with Loaders(cluster, wait_for=wait_for) as loaders:
                act(cluster)
                time.sleep(0.3)
            lost = loaders.lost()
            lost_in_all += len(lost)
            rows.append((name, loaders.writes, loaders.count(), loaders.count() - len(lost),
                         len(lost), f"{loaders.longest_gap:.2f} s"))
    head = ("while", "acknowledged", "records", "found", "lost", "longest gap")
    for row in (head, *rows):
        print("{:<30}{:>14}{:>10}{:>10}{:>8}{:>14}".format(*row))
    return 1 if lost_in_all else 0


if __name__ == "__main__":
    BEGAN = time.monotonic()
    sys.exit(main())
