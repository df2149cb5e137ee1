"""The whole keyspace as Python values, to compare a server with what it should have."""
import time

import redis

ABOUT = 3_000  # milliseconds that a clock may run on between two looks at an expiry


def records_of(client, key):
    found, cursor = {}, b"0"
    while True:
        cursor, flat = client.execute_command("DH.SCAN", key, cursor, "COUNT", 5000)
        found.update(zip(flat[::2], flat[1::2]))
        if cursor == b"0":
            return found


def keyspace_of(server, databases=4):
    """(database, key) -> (value, when it expires in milliseconds since 1970 or None)."""
    found = {}
    for number in range(databases):
        with server.client(db=number) as client:
            for key in client.scan_iter(count=1000):
                kind = client.type(key)
                value = records_of(client, key) if kind == b"durahash0" else client.dump(key)
                expires = client.execute_command("PEXPIRETIME", key)
                found[number, key] = value, expires if expires >= 0 else None
    return found


def assert_same(found, wanted):
    lost, came = wanted.keys() - found.keys(), found.keys() - wanted.keys()
    assert not lost and not came, \
        f"lost, with their expiries: {[(key, wanted[key][1]) for key in lost]}; came: {came}"
    for key, (value, expires) in wanted.items():
        assert found[key][0] == value, f"the value of {key}"
        assert (expires is None) == (found[key][1] is None), f"the expiry of {key}"
        if expires is not None:
            assert abs(found[key][1] - expires) < ABOUT, f"the expiry of {key}"


def now_ms():
    return int(time.time() * 1000)


def fill(client, key, count=50, prefix=""):
    """A table of that many records, and its contents."""
    want = {f"{prefix}field {i}".encode(): f"{key} {i}".encode() for i in range(count)}
    client.execute_command("DH.SET", key, *[x for pair in want.items() for x in pair])
    return want


__all__ = ["records_of", "keyspace_of", "assert_same", "now_ms", "fill", "redis"]
