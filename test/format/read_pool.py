"""Reads a durahash pool by docs/format.md alone. Prints what `durahash dump --format jsonl` prints, sorted.

usage: read_pool.py POOL
"""
import base64
import json
import struct
import sys

import xxhash

SLOTS = 14


class Damaged(Exception):
    pass


def require(holds, why):
    if not holds:
        raise Damaged(why)


def superblock(pool):
    for at in (0, 4096):
        block = pool[at:at + 184]
        if block[:8] == b"DURAHASH" and xxhash.xxh3_64_intdigest(block[:176]) == struct.unpack_from("<Q", block, 176)[0]:
            break
    else:
        raise Damaged("no superblock")
    version, length, _, _, incompat = struct.unpack_from("<IIQQQ", block, 8)
    require(version == 1 and length == 184 and incompat == 0, "another format")
    engine, key_kind, value_kind, _, hash_id, flip, multiply = struct.unpack_from("<BBBBIQQ", block, 40)
    require(engine == 1 and hash_id == 1, "another engine or hash")
    engine_offset, _, heap_offset = struct.unpack_from("<QQQ", block, 80)
    settings = struct.unpack_from("<8Q", block, 104)
    return key_kind, value_kind, flip, multiply, engine_offset, heap_offset, settings


def root(pool, length):
    (selector,) = struct.unpack_from("<Q", pool, 8192)
    record = pool[8448 + 256 * (selector % 2):][:80]
    sequence, pool_bytes = struct.unpack_from("<QQ", record)
    require(sequence == selector and xxhash.xxh3_64_intdigest(record[:72]) == struct.unpack_from("<Q", record, 72)[0], "no root")
    require(pool_bytes <= length, "cut off")
    return pool_bytes


def arrays(pool, engine_offset, shard_bits):
    for shard in range(1 << shard_bits):
        (entry,) = struct.unpack_from("<Q", pool, engine_offset + 8 * shard)
        if entry == 0:
            continue
        low = entry & (1 << 46) - 1
        require((low * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 46 == entry >> 46, f"directory entry {shard}")
        yield shard, (low & (1 << 40) - 1) * 256, 1 << (low >> 40)


def slots(pool, offset, buckets):
    for bucket in range(offset, offset + 256 * buckets, 256):
        (meta,) = struct.unpack_from("<Q", pool, bucket)
        live = meta & 0x3FFF & ~(meta >> 14)
        for slot in range(SLOTS):
            if live >> slot & 1:
                yield (*struct.unpack_from("<QQ", pool, bucket + 32 + 16 * slot), pool[bucket + 8 + slot])


def record(pool, offset):
    key_bytes, value_bytes, check = struct.unpack_from("<IIQ", pool, offset)
    key = bytes(pool[offset + 16:][:key_bytes])
    value = bytes(pool[offset + 16 + key_bytes:][:value_bytes])
    seed = xxhash.xxh3_64_intdigest(key, seed=key_bytes << 32 | value_bytes)
    require(xxhash.xxh3_64_intdigest(value, seed=seed) == check, f"record at {offset}")
    return key, value


def records(pool):
    """Yields (key, value): integers for u64 kinds, bytes for others."""
    pool = memoryview(pool)
    key_kind, value_kind, flip, multiply, engine_offset, _, settings = superblock(pool)
    root(pool, len(pool))
    in_slot = key_kind == 1 and value_kind == 1
    for shard, offset, buckets in arrays(pool, engine_offset, settings[0]):
        for key_word, value_word, tag in slots(pool, offset, buckets):
            if in_slot:
                product = (key_word ^ flip) * multiply
                key, value, hashed = key_word, value_word, product >> 64 ^ product & (1 << 64) - 1
            else:
                key, value = record(pool, value_word)
                hashed = xxhash.xxh3_64_intdigest(key, seed=flip)
                require(hashed == key_word, f"hash of the record at {value_word}")
                key = int.from_bytes(key, "little") if key_kind == 1 else key
                value = int.from_bytes(value, "little") if value_kind == 1 else value
            require(hashed >> 64 - settings[0] == shard and hashed & 0xFF == tag, f"a slot of shard {shard}")
            yield key, value


def main():
    with open(sys.argv[1], "rb") as file:
        pool = file.read()
    for key, value in sorted(records(pool)):
        print(json.dumps([base64.b64encode(x).decode() if isinstance(x, bytes) else x for x in (key, value)]))


if __name__ == "__main__":
    main()
