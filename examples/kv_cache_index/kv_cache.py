"""An index of KV-cache blocks that survives its server: block hash -> where the block lies.

    python kv_cache.py FOLDER [--bits 64|128] [--blocks N] [--requests N] [--seed S]

Serves prompts that share prefixes, as an inference engine does. For each block of 16 tokens it
looks for the KV block of the same prefix, and computes what is missing. Blocks lie in a file; the
index says where. Kill it with -9 whenever you like and start it again: what was computed is found.
"""
import argparse
import hashlib
import os
import sys

import numpy as np

import durahash

TOKENS = 16  # of a block
BLOCK_BYTES = 4096  # of its keys and values; some MiB in a real engine
LOCATION = np.dtype([("slot", "u4"), ("node", "u2"), ("tier", "u2")])  # 8 bytes: a word of the pool


def block_hashes(tokens, bits):
    """One hash for each full block, of it and of all before it."""
    made, chain = [], b""
    for at in range(0, len(tokens) - TOKENS + 1, TOKENS):
        block = tokens[at : at + TOKENS].tobytes()
        chain = hashlib.blake2b(chain + block, digest_size=bits // 8).digest()
        made.append(chain)
    return np.frombuffer(b"".join(made), np.uint64).reshape(len(made), -1)


class BlockStore:
    """A ring of blocks in a file, and the index of them."""

    def __init__(self, folder, blocks, bits):
        key = "u64" if bits == 64 else (np.uint64, bits // 64)
        self.wide = bits != 64
        self.index = durahash.open(f"{folder}/index-{bits}.dh", key=key, value=LOCATION, capacity=blocks)
        mode = "r+" if os.path.exists(f"{folder}/blocks-{bits}") else "w+"
        self.data = np.memmap(f"{folder}/blocks-{bits}", np.uint8, mode, shape=(blocks, BLOCK_BYTES))
        # Whose block a slot holds: read from the index in arrays, a million in a tenth of a second.
        self.owners = np.zeros((blocks, bits // 64), np.uint64)
        self.used = np.zeros(blocks, bool)
        for keys, places in self.index.chunks():
            self.owners[places["slot"]] = keys.reshape(len(keys), -1)
            self.used[places["slot"]] = True
        self.next = int(self.used.sum()) % blocks
        self.found_at_start = int(self.used.sum())

    def keys(self, hashes):
        return hashes if self.wide else hashes[:, 0]

    def lookup(self, hashes):
        """How many blocks from the first on are there, and where."""
        places, found = self.index.get_many(self.keys(hashes))
        return (len(found) if found.all() else int(found.argmin())), places["slot"]

    def store(self, hashes, blocks):
        """Data first, index last: whatever the index names is whole."""
        count = len(hashes)
        slots = (self.next + np.arange(count)) % len(self.data)
        self.next = (self.next + count) % len(self.data)
        evicted = slots[self.used[slots]]
        self.index.erase_many(self.keys(self.owners[evicted]))  # nobody finds them any more
        self.data[slots] = blocks
        places = np.zeros(count, LOCATION)
        places["slot"] = slots
        self.index.put_many(self.keys(hashes), places)
        self.owners[slots], self.used[slots] = hashes, True


def compute(tokens, begin, end):
    """Stands in for the model: the blocks' keys and values depend on every token before them."""
    made = np.empty((end - begin, BLOCK_BYTES), np.uint8)
    for i in range(begin, end):
        seed = hashlib.blake2b(tokens[: (i + 1) * TOKENS].tobytes(), digest_size=64).digest()
        made[i - begin] = np.resize(np.frombuffer(seed, np.uint8), BLOCK_BYTES)
    return made


def prompts(requests, seed):
    """Conversations: each request is one of some beginnings, and something new or old."""
    rng = np.random.default_rng(seed)
    for _ in range(requests):
        base = np.random.default_rng([seed, int(rng.integers(200))])
        length = int(rng.integers(4, 20)) * TOKENS
        yield base.integers(0, 50_000, 20 * TOKENS, np.uint32)[:length]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--bits", type=int, choices=(64, 128), default=128)
    parser.add_argument("--blocks", type=int, default=4096)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()

    cache = BlockStore(asked.folder, asked.blocks, asked.bits)
    print(f"{cache.found_at_start} blocks from before", flush=True)
    reused = computed = 0
    for served, tokens in enumerate(prompts(asked.requests, asked.seed), 1):
        hashes = block_hashes(tokens, asked.bits)
        hits, slots = cache.lookup(hashes)
        for i in range(hits):  # what an engine would hand to attention must be the right block
            if not np.array_equal(cache.data[slots[i]], compute(tokens, i, i + 1)[0]):
                sys.exit(f"block {i} of request {served} is another one")
        if hits < len(hashes):
            cache.store(hashes[hits:], compute(tokens, hits, len(hashes)))
        reused, computed = reused + hits, computed + len(hashes) - hits
        if served % 100 == 0:
            print(f"{served} requests: {reused} blocks reused, {computed} computed", flush=True)
    cache.index.close()


if __name__ == "__main__":
    main()
