"""The KV-cache index of several inference machines: block hash -> (node, slot), kept in a cluster
of redis-server or valkey-server with the module.

    python shared_index.py PORT [--node N] [--requests N] [--seed S]

Each machine computes blocks of 16 tokens and publishes where they lie. A prompt whose prefix any
machine has computed is found. Blocks are published when they are whole, so whatever the index
names can be fetched. Kill a server with -9 and start it again: the index is there.
"""
import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np
import redis

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server/client"))
from durahash_client import PartitionedTable  # noqa: E402

TOKENS = 16  # of a block
NODE_BITS = 16  # of a location; the rest is the slot


def block_hashes(tokens):
    """One hash for each full block, of it and of all before it."""
    made, chain = [], b""
    for at in range(0, len(tokens) - TOKENS + 1, TOKENS):
        chain = hashlib.blake2b(chain + tokens[at:at + TOKENS].tobytes(), digest_size=8).digest()
        made.append(int.from_bytes(chain, "little"))
    return np.array(made, np.uint64)


class SharedIndex:
    """Where blocks lie, for all machines."""

    def __init__(self, client, partitions=32):
        self.table = PartitionedTable(client, "kv-blocks", partitions)
        self.table.create(engine="gphash", keys="u64", values="u64")

    def lookup(self, hashes):
        """How many blocks from the first on are there, their nodes and their slots."""
        if len(hashes) == 0:
            return 0, hashes, hashes
        places, found = self.table.get_many(hashes)
        count = len(found) if found.all() else int(found.argmin())
        return count, places >> np.uint64(64 - NODE_BITS), \
            places & np.uint64((1 << (64 - NODE_BITS)) - 1)

    def publish(self, hashes, node, slots):
        """The blocks are written; from now on other machines may fetch them."""
        places = (np.uint64(node) << np.uint64(64 - NODE_BITS)) | np.asarray(slots, np.uint64)
        return self.table.put_many(hashes.tolist(), places.tolist())

    def withdraw(self, hashes):
        """Before a machine gives their slots to others."""
        return self.table.erase_many(hashes.tolist())


def serve(index, node, requests, chance):
    """Prompts that share prefixes. Returns blocks found, and blocks computed."""
    prefixes = [np.random.default_rng(p).integers(0, 50_000, 40 * TOKENS) for p in range(20)]
    found, computed = 0, 0
    for _ in range(requests):
        own = chance.integers(0, 50_000, chance.integers(0, 10) * TOKENS)
        prompt = np.concatenate([prefixes[chance.integers(len(prefixes))], own])
        hashes = block_hashes(prompt)
        have, _, _ = index.lookup(hashes)
        new = hashes[have:]
        index.publish(new, node, range(computed, computed + len(new)))
        found, computed = found + have, computed + len(new)
    return found, computed


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("port", type=int, help="of a node of the cluster")
    arguments.add_argument("--node", type=int, default=0, help="this machine's number")
    arguments.add_argument("--requests", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    a = arguments.parse_args()
    with redis.RedisCluster(host="127.0.0.1", port=a.port) as client:
        found, computed = serve(SharedIndex(client), a.node, a.requests,
                                np.random.default_rng(a.seed))
    print(f"node {a.node}: {found} blocks found, {computed} computed")


if __name__ == "__main__":
    main()
