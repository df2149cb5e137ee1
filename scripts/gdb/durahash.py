"""Printers for gdb: what lies in a pool, in words.

    gdb -x scripts/gdb/durahash.py --args build/dev/bin/durahash get users.dh alice
    (gdb) print *bucket
    $1 = 2 live, 1 deleted, ends paths = {meta = valid 0 1 4, deleted 4, change 7, slot 0 = ...}

`set print pretty on` puts one slot to a line; `print/r` shows the bare structures.
"""
import gdb
import gdb.printing

ALL_ONES = (1 << 64) - 1
LOG_FACTORS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)


def number(value):
    """The unsigned 64-bit number in a word, a pm<u64>, or a structure of one word."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT:
        names = [field.name for field in kind.fields() if not field.is_base_class]
        return number(value[names[0]]) if names else number(value.cast(kind.fields()[0].type))
    return int(value) & ALL_ONES


def bits(word, at, count):
    return word >> at & (1 << count) - 1


def members(mask):
    return " ".join(str(i) for i in range(mask.bit_length()) if mask >> i & 1) or "none"


def word(n):
    return f"{n:#x}" if n > 9 else str(n)


class Words:
    """A value that one line says."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return self.said(number(self.value))


class Pm(Words):
    def to_string(self):
        raw = self.value["raw_"]
        kind = self.value.type.strip_typedefs().template_argument(0)
        if kind.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
            return word(int(raw) & ALL_ONES)
        held = raw.address.cast(kind.pointer()).dereference()
        return held.format_string()


class Poff(Words):
    def to_string(self):
        offset = number(self.value["offset"])
        kind = self.value.type.strip_typedefs().template_argument(0)
        return f"{kind} at offset {offset}" if offset else f"no {kind}"


class CheckedPlace(Words):
    @staticmethod
    def said(n):
        if n == 0:
            return "none"
        low = bits(n, 0, 46)
        sound = bits(low * 0x9E3779B97F4A7C15 & ALL_ONES, 46, 18) == n >> 46
        said = f"offset {bits(n, 0, 40) * 256}, exponent {bits(n, 40, 6)}"
        return said + ("" if sound else ", check bits WRONG")


class PlaceView(Words):
    @staticmethod
    def said(n):
        if bits(n, 0, 46) == 0:
            return "none"
        generation = n >> 46
        return f"offset {bits(n, 0, 40) * 256}, exponent {bits(n, 40, 6)}, generation {generation}"


class Meta(Words):
    @staticmethod
    def said(n):
        valid, deleted = members(bits(n, 0, 14)), members(bits(n, 14, 14))
        return f"valid {valid}, deleted {deleted}, change {n >> 28}"


class BucketState(Words):
    @staticmethod
    def said(n):
        tokens, classes = members(bits(n, 0, 14)), members(bits(n, 14, 24))
        return f"tokens {tokens}, classes below {classes}, change {n >> 38}"


class Geometry(Words):
    @staticmethod
    def said(n):
        if n == 0:
            return "no levels"
        low = n & 0xFF
        sound = low >> 7 and (low * 0x9E3779B97F4A7C15 & ALL_ONES) >> 8 == n >> 8
        said = f"bottom level 2^{low & 63}, bank {low >> 6 & 1}"
        return said + ("" if sound else ", check bits WRONG")


class ShardView(Words):
    """Of turbo, in DRAM: where a shard's array is."""

    @staticmethod
    def said(n):
        offset, generation = n & ((1 << 40) - 1) << 8, n >> 48
        if offset == 0:
            what = {57: "split", 58: "part of a shard above"}.get(n & 63, "no array")
            return f"{what}, generation {generation}"
        marks = [name for bit, name in ((6, "publishing"), (7, "inherited")) if n >> bit & 1]
        return ", ".join([f"2^{56 - (n & 63)} buckets at {offset}", f"generation {generation}"] + marks)


class Slot(Words):
    """Of turbo and level: key and value. Whether a record is there the bucket knows."""

    def to_string(self):
        return f"key {word(number(self.value['key']))}, value {word(number(self.value['value']))}"


class CcehSlot(Slot):
    def to_string(self):
        key = number(self.value["key"])
        return {0: "empty", ALL_ONES: "removed"}.get(key) or super().to_string()


class GphashSlot(Words):
    def to_string(self):
        state = number(self.value["state"])
        if state < 8:
            return {0: "empty", 1: "claimed"}.get(state, "empty (of no meaning)")
        return f"fingerprint {word(state)}, value {word(number(self.value['value']))}"


class TurboBucket:
    def __init__(self, value):
        self.value = value
        self.meta = number(value["meta"])
        self.valid, self.deleted = bits(self.meta, 0, 14), bits(self.meta, 14, 14)

    def to_string(self):
        valid, deleted = bin(self.valid).count("1"), bin(self.deleted).count("1")
        way = "ends paths" if valid < 13 else "paths pass"
        return f"{valid - deleted} live, {deleted} deleted, {way}"

    def children(self):
        yield "meta", self.value["meta"]
        for i in range(14):
            if self.valid >> i & 1:
                tag = bits(number(self.value["tags"][i // 8]), i % 8 * 8, 8)
                said = Slot(self.value["slots"][i]).to_string() + f", tag {tag:#04x}"
                yield f"slot {i}", said + (", deleted" if self.deleted >> i & 1 else "")


class CcehBucket:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        keys = [number(self.value["slots"][i]["key"]) for i in range(4)]
        filled = sum(0 < k < ALL_ONES for k in keys)
        return f"{filled} filled, {'ends paths' if 0 in keys else 'paths pass'}"

    def children(self):
        for i in range(4):
            yield f"slot {i}", CcehSlot(self.value["slots"][i]).to_string()


class Intent(Words):
    def to_string(self):
        logged = [number(self.value["logged_" + name]) for name in ("slot", "key", "value")]
        mixed = 0
        for part, factor in zip(logged, LOG_FACTORS):
            mixed = (mixed ^ part) * factor & ALL_ONES
        moving = number(self.value["moving"])
        said = f"moving from bucket at {moving}" if moving else "moving nothing"
        if mixed | 1 != number(self.value["logged_check"]):
            return said + ", nothing logged"
        at, key, value = logged
        return f"{said}, logged: slot at {at}, key {word(key)}, value {word(value)}"


PRINTERS = {
    "pm<.*>": Pm,
    "poff<.*>": Poff,
    "checked_place": CheckedPlace,
    "turbo::directory_entry": CheckedPlace,
    "place_view": PlaceView,
    "turbo::shard_view": ShardView,
    "turbo::meta_word": Meta,
    "turbo::slot": Slot,
    "turbo::bucket": TurboBucket,
    "cceh::slot": CcehSlot,
    "cceh::bucket": CcehBucket,
    "level::slot": Slot,
    "level::bucket_state": BucketState,
    "level::intent": Intent,
    "gphash::slot": GphashSlot,
    "gphash::geometry": Geometry,
}


def register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("durahash")
    for name, printer in PRINTERS.items():
        printers.add_printer(name, f"^durahash::{name}$", printer)
    gdb.printing.register_pretty_printer(None, printers, replace=True)


register()
