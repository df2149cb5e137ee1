"""Reads a durahash pool, with its log if it has one, by docs/reference/format.md alone. Prints what
`durahash dump --format jsonl` prints, sorted.

usage: read_pool.py POOL
"""
import base64
import json
import os
import struct
import sys

import xxhash

TURBO, CCEH, LEVEL, GPHASH = 1, 2, 3, 4
TURBO_SLOTS, CCEH_SLOTS = 14, 4
PAIR = 63  # in place of an exponent: of a shard of turbo that was split
HAS_LOG, HAS_SHORT_RECORDS, HAS_SPLIT_SHARDS, HAS_TELLING_TAGS = 1, 2, 4, 8
SHORT = 1 << 31
LOG_IDLE, NO_LINE = 1, (1 << 40) - 1
LEVEL_SIZES, LEVEL_DESKS, DRAINING = 32, 16, 32
ALL_ONES = (1 << 64) - 1


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
    require(version == 1 and length == 184 and incompat & ~(HAS_LOG | HAS_SHORT_RECORDS | HAS_SPLIT_SHARDS | HAS_TELLING_TAGS) == 0, "another format")
    engine, key_kind, value_kind, _, hash_id, flip, multiply = struct.unpack_from("<BBBBIQQ", block, 40)
    require(engine in (TURBO, CCEH, LEVEL, GPHASH) and hash_id in (1, 2), "another engine or hash")
    engine_offset, _, heap_offset = struct.unpack_from("<QQQ", block, 80)
    settings = struct.unpack_from("<8Q", block, 104)
    spread = {1: 1, 2: 0x9E3779B97F4A7C15}[hash_id]
    return engine, key_kind, value_kind, flip, multiply, spread, engine_offset, settings


def root(pool, length):
    (selector,) = struct.unpack_from("<Q", pool, 8192)
    record = pool[8448 + 256 * (selector % 2):][:80]
    sequence, pool_bytes = struct.unpack_from("<QQ", record)
    require(sequence == selector and xxhash.xxh3_64_intdigest(record[:72]) == struct.unpack_from("<Q", record, 72)[0], "no root")
    require(pool_bytes <= length, "cut off")
    return pool_bytes


def owner(pool):
    """Of a pool that is lent to a device: boot id, process, its start. Else None."""
    record = bytes(pool[8960:8960 + 64])
    if xxhash.xxh3_64_intdigest(record[:56]) != struct.unpack_from("<Q", record, 56)[0]:
        return None
    boot, process, start, side, *zeros = struct.unpack_from("<16sQQI5I", record)
    require(side == 1 and not any(zeros), "the owner")
    return boot, process, start


def log_record(pool):
    """What says which entries of the log count, or None where there was never a log."""
    found = None
    for at in (12288, 14336):
        raw = bytes(pool[at:at + 456])
        sequence, state, log_id, slots, first, rows = struct.unpack_from("<QQ16sQQQ", raw)
        if xxhash.xxh3_64_intdigest(raw[:448]) == struct.unpack_from("<Q", raw, 448)[0]:
            (count,) = struct.unpack_from("<Q", raw, 248)
            areas = [struct.unpack_from("<QQQ", raw, 256 + 24 * n) for n in range(count)]
            require(1 <= count <= 8 and areas[-1][2] == slots, "the log's areas")
        elif xxhash.xxh3_64_intdigest(raw[:248]) == struct.unpack_from("<Q", raw, 248)[0]:
            areas = [(0, 0, slots)]  # of a log that did not grow
        else:
            continue
        rows = [struct.unpack_from("<QQQ", raw, 56 + 24 * n) for n in range(rows)]
        if found is None or sequence > found[0]:
            found = sequence, state, log_id, first, rows, areas
    require(found is not None or not any(pool[12288:12288 + 4096]), "the log's record")
    return found and found[1:]


def log_lines(log, log_id, first, rows, areas):
    """Yields (number of a line, the line), in the order in which they are to be put into the pool."""
    header = log[:64]
    require(header[:8] == b"DURALOG\0" and xxhash.xxh3_64_intdigest(header[:56]) == struct.unpack_from("<Q", header, 56)[0], "the log's first page")
    version, its_id, _, key, key_before = struct.unpack_from("<Q16sQQQ", header, 8)
    require(version == 1 and its_id == log_id and rows[-1][2] in (key, key_before), "another pool's log, or another time's")
    for begin, end, row_key in rows:
        entries, at = [], max(first, begin)
        while at < end:
            area_first, slot, slots = [a for a in areas if a[0] <= at][-1]
            entry = log[4096 + 80 * ((slot + at - area_first) % slots):][:80]
            seal, head = struct.unpack_from("<QQ", entry.ljust(80, b"\0"))
            if seal >> 16 != xxhash.xxh3_64_intdigest(entry[8:], seed=row_key + at * 0x9E3779B97F4A7C15 & ALL_ONES) >> 16:
                break
            entries.append((at + (head >> 40), head & NO_LINE, entry[16:]))
            at += 1
        require(end in (at, ALL_ONES) or at > end, "a hole in the log")
        yield from ((number, line) for its_end, number, line in entries if its_end <= at and number != NO_LINE)


def replayed(pool, log):
    """The pool's bytes, and what its log says behind them. Not of the level power_buffered: what the disk lacks is in memory."""
    (incompat,) = struct.unpack_from("<Q", pool, 32)
    record = log_record(pool) if incompat & HAS_LOG else None
    if record is None or record[0] == LOG_IDLE:
        return pool
    require(log is not None, "its log is not there")
    image = bytearray(pool)
    for number, line in log_lines(log, *record[1:]):
        require(64 * number + 64 <= len(image), "a line behind the pool's end")
        image[64 * number:64 * number + 64] = line
    return bytes(image)


def place(pool, at):
    """What a place word names: an offset and an exponent."""
    (word,) = struct.unpack_from("<Q", pool, at)
    low = word & (1 << 46) - 1
    require((low * 0x9E3779B97F4A7C15 & ALL_ONES) >> 46 == word >> 46, f"place word at {at}")
    return (low & (1 << 40) - 1) * 256, low >> 40


def turbo_slots(pool, engine_offset, settings):
    """Yields key word, value word, and what must hold for their hash."""
    def arrays(entry, shard, bits):
        """Of a shard, the top `bits` bits of whose hashes are `shard`: offset, exponent, shard, bits."""
        offset, exponent = place(pool, entry)
        if exponent != PAIR:
            yield offset, exponent, shard, bits
            return
        require(struct.unpack_from("<Q", pool, 32)[0] & HAS_SPLIT_SHARDS and bits < 20, f"a pair at {offset}")
        for half in (0, 1):
            yield from arrays(offset + 8 * half, 2 * shard + half, bits + 1)

    whole = ((engine_offset + 8 * shard, shard, settings[0]) for shard in range(1 << settings[0]))
    for offset, exponent, shard, bits in (array for w in whole for array in arrays(*w)):
        for bucket in range(offset, offset + (256 << exponent) if offset else 0, 256):
            (meta,) = struct.unpack_from("<Q", pool, bucket)
            live = meta & 0x3FFF & ~(meta >> 14)
            for slot in range(TURBO_SLOTS):
                tag = pool[bucket + 8 + slot]
                if live >> slot & 1:
                    yield (*struct.unpack_from("<QQ", pool, bucket + 32 + 16 * slot), lambda h, t=tag, s=shard, b=bits: h & 0xFF == t and h >> 64 - b == s)


def cceh_slots(pool, engine_offset, settings, hash_of):
    directory, depth = place(pool, engine_offset)
    for slot in range(CCEH_SLOTS):
        word, value = struct.unpack_from("<QQ", pool, engine_offset + 64 + 16 * slot)
        require(word in (0, 1, 2), "an escape slot")
        if word:
            yield (0 if word == 1 else ALL_ONES), value, lambda h: True
    index = 0
    while index < 1 << depth:
        offset, local = place(pool, directory + 8 * index)
        prefix = index >> depth - local
        for at in range(offset, offset + (64 << settings[2]), 16):
            word, value = struct.unpack_from("<QQ", pool, at)
            if word not in (0, ALL_ONES) and hash_of(word) >> 64 - local == prefix:
                yield word, value, lambda h: True
        index += 1 << depth - local


def level_words(pool, engine_offset):
    """By the log2 of their buckets, the offsets of the levels; and which of them is marked as draining, or None."""
    levels, marked = {}, None
    for log2 in range(LEVEL_SIZES):
        offset, exponent = place(pool, engine_offset + 8 * log2)
        if offset:
            require(exponent & ~DRAINING == log2 > 0, f"the word of the level of 2^{log2} buckets")
            levels[log2] = offset
            marked = log2 if exponent & DRAINING else marked
    require(levels and marked in (None, max(levels)), "the levels")
    return levels, marked


class LevelPlaces:
    """What follows from a hash, by the seeds."""

    def __init__(self, pool, flip, multiply):
        self.which_at = 56 if struct.unpack_from("<Q", pool, 32)[0] & HAS_TELLING_TAGS else 60
        seeds = struct.pack("<QQ", flip, multiply)
        self.flips = [xxhash.xxh3_64_intdigest(seeds, seed=2 * n) | 1 << 63 for n in range(16)]
        self.carries = [xxhash.xxh3_64_intdigest(seeds, seed=2 * n + 1) & ~(1 << 63) for n in range(16)]

    def of(self, hashed):
        """The two places, the tag, the class."""
        mixed = hashed * 0x9E3779B97F4A7C15 & ALL_ONES
        which = mixed >> self.which_at & 0xF
        second = hashed ^ self.flips[which] ^ (hashed ^ hashed >> 7) >> 1 & self.carries[which]
        return (hashed, second), mixed >> 52 & 0xFF, (mixed >> 44 & 0xFF) * 24 >> 8


def level_slots(pool, engine_offset, settings, flip, multiply):
    """As above, and whether the record may have been yielded before: what lies in a bucket that a intent names comes last."""
    slots = settings[0]
    bucket_bytes = 64 if slots <= 3 else 128 if slots <= 7 else 256
    header_bytes = 16 if slots <= 7 else 32
    levels, _ = level_words(pool, engine_offset)
    places = LevelPlaces(pool, flip, multiply)
    leaving = {struct.unpack_from("<Q", pool, engine_offset + 256 + 64 * intent)[0] for intent in range(LEVEL_DESKS)}
    buckets = [(offset + bucket_bytes * n, log2, n) for log2, offset in levels.items() for n in range(1 << log2)]

    def belongs(hashed, log2, number, tag):
        both, its_tag, its_class = places.of(hashed)
        here = [p for p in both if p >> 64 - log2 == number]
        if not here or its_tag != tag:
            return False
        if log2 + 1 not in levels:
            return True
        (above,) = struct.unpack_from("<Q", pool, levels[log2 + 1] + bucket_bytes * (here[0] >> 63 - log2))
        return above >> 14 + its_class & 1

    for at, log2, number in sorted(buckets, key=lambda b: b[0] in leaving):
        (state,) = struct.unpack_from("<Q", pool, at)
        for slot in range(slots):
            if state >> slot & 1:
                words = struct.unpack_from("<QQ", pool, at + header_bytes + 16 * slot)
                yield (*words, lambda h, k=log2, n=number, t=pool[at + 8 + slot]: belongs(h, k, n, t), at in leaving)


class GphashMixture:
    """Of a u64 key, and back."""

    def __init__(self, flip, multiply):
        self.flip, self.multiply, self.second = flip, multiply | 1, 0xD6E8FEB86659FD93

    def of(self, key):
        x = (key ^ self.flip) * self.multiply & ALL_ONES
        x = (x ^ x >> 32) * self.second & ALL_ONES
        return x ^ x >> 32

    def key_of(self, mixed):
        x = (mixed ^ mixed >> 32) * pow(self.second, -1, 1 << 64) & ALL_ONES
        return ((x ^ x >> 32) * pow(self.multiply, -1, 1 << 64) & ALL_ONES) ^ self.flip


def gphash_slots(pool, engine_offset, settings, flip, multiply, in_slot):
    """As above; where keys lie in the slots, they come last."""
    levels, hashes, slots = settings[:3]
    key_bytes = settings[6]
    bucket_bytes = 16 * slots if key_bytes == 0 else -(-slots * (16 + key_bytes) // 128) * 128
    (geometry,) = struct.unpack_from("<Q", pool, engine_offset)
    low = geometry & 0xFF
    require(low >> 7 and geometry >> 8 == (low * 0x9E3779B97F4A7C15 & ALL_ONES) >> 8, "the geometry")
    bottom, bank = low & 63, low >> 6 & 1
    seeds = struct.pack("<QQ", flip, multiply)
    digest = lambda n: xxhash.xxh3_64_intdigest(seeds, seed=n) & (1 << 62) - 1
    mixture = GphashMixture(flip, multiply)

    def places(hashed):
        yield hashed
        m = hashed * 0x9E3779B97F4A7C15 & ALL_ONES
        for w in range(1, hashes):
            n = 16 * w + (m >> 64 - 4 * w & 15)
            yield hashed ^ (digest(2 * n) | (0, 2, 1, 3)[w] << 62) ^ (hashed ^ hashed >> 7) >> 1 & digest(2 * n + 1)

    for log2 in range(bottom, bottom + levels):
        offset, exponent = place(pool, engine_offset + 64 + 8 * (40 * bank + log2))
        require(offset and exponent == log2, f"the word of the level of 2^{log2} buckets")
        for number in range(1 << log2):
            at = offset + bucket_bytes * number
            for slot in range(slots):
                (state,), (value,) = struct.unpack_from("<Q", pool, at + 8 * slot), struct.unpack_from("<Q", pool, at + 8 * (slots + slot))
                if state >= 8:
                    here = lambda h, k=log2, n=number: any(p >> 64 - k == n for p in places(h))
                    keys = at + 16 * slots + key_bytes * slot
                    yield mixture.key_of(state) if in_slot else state, value, here, False, bytes(pool[keys:][:key_bytes]) if key_bytes else None
    for i in range(8 * in_slot):
        state, value = struct.unpack_from("<QQ", pool, engine_offset + 704 + 16 * i)
        if state == ALL_ONES:
            yield mixture.key_of(i), value, lambda h, i=i: h == i


CRC32C = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    CRC32C.append(n)


def crc32c(text):
    crc = 0xFFFFFFFF
    for byte in text:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def record(pool, offset, slot_key=None):
    lengths, second = struct.unpack_from("<II", pool, offset)
    if lengths & SHORT:
        require(struct.unpack_from("<Q", pool, 32)[0] & HAS_SHORT_RECORDS, f"a short record at {offset}")
        header_bytes, key_bytes, value_bytes = 8, lengths >> 24 & 127, lengths & (1 << 24) - 1
    else:
        header_bytes, key_bytes, value_bytes = 16, lengths, second
    at = offset + header_bytes
    key, value = bytes(pool[at:at + key_bytes]), bytes(pool[at + key_bytes:][:value_bytes])
    require(slot_key is None or key_bytes == 0, f"a key in the record at {offset}")
    key = key if slot_key is None else slot_key
    if lengths & SHORT:
        require(crc32c(struct.pack("<I", lengths) + key + value) == second, f"record at {offset}")
    else:
        (check,) = struct.unpack_from("<Q", pool, offset + 8)
        seed = xxhash.xxh3_64_intdigest(key, seed=len(key) << 32 | value_bytes)
        require(xxhash.xxh3_64_intdigest(value, seed=seed) == check, f"record at {offset}")
    return key, value


def hash_of_word(key, flip, multiply, spread):
    product = (key ^ flip) * multiply
    return (product >> 64 ^ product) * spread & ALL_ONES


def records(pool):
    """Yields (key, value): integers for u64 kinds, bytes for others."""
    pool = memoryview(pool)
    engine, key_kind, value_kind, flip, multiply, spread, engine_offset, settings = superblock(pool)
    root(pool, len(pool))
    in_slot = key_kind == 1 and value_kind == 1

    def hash_of(key_word):
        if not in_slot:
            return key_word
        if engine == GPHASH:
            return GphashMixture(flip, multiply).of(key_word)
        return hash_of_word(key_word, flip, multiply, spread)

    slots = {TURBO: lambda: turbo_slots(pool, engine_offset, settings),
             CCEH: lambda: cceh_slots(pool, engine_offset, settings, hash_of),
             LEVEL: lambda: level_slots(pool, engine_offset, settings, flip, multiply),
             GPHASH: lambda: gphash_slots(pool, engine_offset, settings, flip, multiply, in_slot)}[engine]()
    found = {}
    for key_word, value_word, belongs, *more in slots:
        may_be_there, slot_key = (*more, None, None)[:2]
        key, value, hashed = key_word, value_word, hash_of(key_word)
        if not in_slot:
            key, value = record(pool, value_word, slot_key)
            hashed = xxhash.xxh3_64_intdigest(key, seed=flip)
            hashed ^= engine == CCEH and hashed in (0, ALL_ONES)
            hashed += 8 * (engine == GPHASH and hashed < 8)
            require(hashed == key_word, f"hash of the record at {value_word}")
            key = int.from_bytes(key, "little") if key_kind == 1 else key
            value = int.from_bytes(value, "little") if value_kind == 1 else value
        require(belongs(hashed), "a slot in the wrong place")
        if key in found:
            require(may_be_there and found[key] == value, "a key that is there twice")
            continue
        found[key] = value
        yield key, value


def read_files(path):
    """The pool's bytes, as its log leaves them."""
    def content(name):
        with open(name, "rb") as file:
            return file.read()
    return replayed(content(path), content(path + "-log") if os.path.exists(path + "-log") else None)


def main():
    for key, value in sorted(records(read_files(sys.argv[1]))):
        print(json.dumps([base64.b64encode(x).decode() if isinstance(x, bytes) else x for x in (key, value)]))


if __name__ == "__main__":
    main()
