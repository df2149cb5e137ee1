"""`kill -9` behind each command that moves, copies, ages or removes a table: what was answered is
there again, and nothing else. Each act tells of an error that a simpler module makes."""
import time

import pytest

from model import assert_same, fill, keyspace_of, now_ms


def act_rename(c, other):
    c.rename("t1", "t2")


def act_rename_over_a_table(c, other):
    c.rename("t1", "u")


def act_rename_over_a_string(c, other):
    c.set("s", "x")
    c.rename("t1", "s")


def act_rename_a_string_over_it(c, other):
    c.set("s", "x")
    c.rename("s", "t1")
    c.delete("t1")


def act_move(c, other):
    assert c.move("t1", 1)


def act_copy(c, other):
    assert c.copy("t1", "t3")
    c.execute_command("DH.SET", "t3", "of the copy", "1")


def act_copy_over_a_table(c, other):
    assert c.copy("t1", "u", replace=True)


def act_copy_elsewhere(c, other):
    assert c.copy("t1", "t1", destination_db=2)


def act_expire(c, other):
    assert c.expire("t1", 1000)


def act_expire_and_persist(c, other):
    c.expire("t1", 1000)
    assert c.persist("t1")


def act_expire_then_rename(c, other):
    c.pexpireat("t1", now_ms() + 500_000)
    c.rename("t1", "t2")


def act_expire_at_once(c, other):
    assert c.expire("t1", -1)


def act_expire_soon(c, other):
    c.pexpire("t1", 20)
    while c.exists("t1"):
        time.sleep(0.005)


def act_delete(c, other):
    assert c.delete("t1") == 1


def act_unlink(c, other):
    assert c.unlink("t1", "u") == 2


def act_delete_and_make_again(c, other):
    c.delete("t1")
    c.execute_command("DH.SET", "t1", "new", "1")


def act_set_over_it(c, other):
    c.set("t1", "a string")
    c.delete("t1")


def act_store_over_it(c, other):
    c.sadd("one", "a")
    c.sunionstore("t1", "one")
    c.delete("one", "t1")


def act_flushall(c, other):
    c.flushall()


def act_flushall_asynchronous(c, other):
    c.flushall(asynchronous=True)


def act_flushdb(c, other):
    c.flushdb()


def act_flushdb_and_make_again(c, other):
    c.flushdb()
    c.execute_command("DH.SET", "t1", "new", "1")


def act_swapdb(c, other):
    c.swapdb(0, 1)


def act_swapdb_twice(c, other):
    c.swapdb(0, 1)
    c.swapdb(1, 3)
    c.execute_command("DH.SET", "new", "a", "1")


def act_restore(c, other):
    c.restore("t4", 0, c.dump("t1"))
    c.execute_command("DH.SET", "t4", "more", "1")


def act_restore_over_a_table(c, other):
    c.restore("u", 400_000, c.dump("t1"), replace=True)


def act_in_a_transaction(c, other):
    with c.pipeline() as p:
        p.execute_command("DH.SET", "t1", "in multi", "1")
        p.rename("t1", "t9")
        p.delete("u")
        p.expire("t9", 900)
        p.execute()


def act_in_a_script(c, other):
    c.eval("redis.call('RENAME', 't1', 't9') redis.call('DEL', 'u')", 0)


def act_write_to_all(c, other):
    fill(c, "t1", 1000)
    c.execute_command("DH.DEL", "t1", "field 3")
    c.execute_command("DH.INCRBY", "t1", "n", 3)
    other.execute_command("DH.SET", "elsewhere", "more", "1")


ACTS = {name[4:]: act for name, act in globals().items() if name.startswith("act_")}


@pytest.mark.parametrize("act", ACTS)
def test_what_was_answered_before_a_kill_is_there_behind_it(server, act):
    with server.client() as c, server.client(db=1) as other:
        fill(c, "t1"), fill(c, "u", 7), fill(other, "elsewhere", 20)
        c.pexpire("u", 800_000)
        ACTS[act](c, other)
        wanted = {k: v for k, v in keyspace_of(server).items() if isinstance(v[0], dict)}
    server.restart()
    assert_same(keyspace_of(server), wanted)
    # and once more: nothing hangs on what the first start repaired
    server.restart()
    assert_same(keyspace_of(server), wanted)
    assert len(server.pools()) == len(wanted), "a pool that belongs to no key"
