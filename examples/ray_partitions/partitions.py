"""A map over the machines of a Ray cluster: an actor for each partition, which owns a pool.

    python partitions.py FOLDER [--partitions N] [--keys N]

Keys and values travel as NumPy arrays. An actor that dies is started again on its node, opens its
pool, and has what it had acknowledged. Nothing is replicated: a node that is lost for good takes
its partitions with it. On one machine the program kills an actor after each eighth of the keys,
and counts what is lost.
"""
import argparse
import os
import signal

import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import durahash


@ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=0.1)
class Partition:
    """The owner of one pool. A call that an actor's death cuts off is made again: putting the same
    values twice changes nothing."""

    def __init__(self, path):
        self.table = durahash.open(path, key="u64", value="u64")

    def put_many(self, keys, values):
        self.table.put_many(keys, values)
        return len(keys)

    def get_many(self, keys):
        return self.table.get_many(keys)

    def process(self):
        return os.getpid()


class PartitionedMap:
    """u64 to u64, over `partitions` actors. How many there are is fixed for the life of the map."""

    def __init__(self, folder, partitions):
        nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"]]
        os.makedirs(folder, exist_ok=True)
        # Not soft: an actor elsewhere would find no pool, and make an empty one.
        self.partitions = [
            Partition.options(scheduling_strategy=NodeAffinitySchedulingStrategy(
                nodes[i % len(nodes)], soft=False)).remote(f"{folder}/{i}.dh")
            for i in range(partitions)]

    def put_many(self, keys, values):
        """Returns when all of it survives the death of the actors."""
        places = self._places(keys)
        return sum(ray.get([p.put_many.remote(keys[at], values[at])
                            for p, at in zip(self.partitions, places) if len(at)]))

    def get_many(self, keys):
        """Values, and which of the keys were found."""
        values, found = np.zeros(len(keys), np.uint64), np.zeros(len(keys), bool)
        asked = [(at, p.get_many.remote(keys[at]))
                 for p, at in zip(self.partitions, self._places(keys)) if len(at)]
        for at, answer in asked:
            values[at], found[at] = ray.get(answer)
        return values, found

    def _places(self, keys):
        """For each partition the places of its keys. A hash: keys may lie close together."""
        mixed = (keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
        owner = mixed % np.uint64(len(self.partitions))
        return [np.flatnonzero(owner == np.uint64(i)) for i in range(len(self.partitions))]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", help="of the pools, on each node")
    arguments.add_argument("--partitions", type=int, default=4)
    arguments.add_argument("--keys", type=int, default=400_000)
    a = arguments.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    table = PartitionedMap(os.path.abspath(a.folder), a.partitions)
    keys = np.arange(a.keys, dtype=np.uint64) * np.uint64(2654435761)
    for number, some in enumerate(np.array_split(keys, 8)):
        table.put_many(some, some + np.uint64(1))
        victim = table.partitions[number % a.partitions]
        os.kill(ray.get(victim.process.remote()), signal.SIGKILL)
    values, found = table.get_many(keys)
    lost = int((~found | (values != keys + np.uint64(1))).sum())
    print(f"{len(keys)} records acknowledged, {lost} lost, 8 actors killed")
    ray.shutdown()
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
