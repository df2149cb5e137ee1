"""Other processes: forks, kills, the end of the interpreter."""
import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import durahash


def child(run):
    """What run() prints in a fork of this process."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.write(writer, str(run()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    said = b""
    while part := os.read(reader, 4096):
        said += part
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    return said.decode()


def test_who_has_a_pool_open_is_listed(path):
    durahash.open(path).close()
    assert durahash.processes_with(path) == []
    script = "import durahash, sys; t = durahash.open(sys.argv[1], mode=sys.argv[2]); print('open', flush=True); input()"
    found = {}
    with contextlib.ExitStack() as all_of_them:
        for mode in ("w", "b"):
            one = all_of_them.enter_context(
                subprocess.Popen([sys.executable, "-c", script, str(path), mode], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE))
            assert one.stdout.readline() == b"open\n"
            found[one.pid] = mode
        said = durahash.processes_with(path)
        assert {p.id: p.writes for p in said} == {pid: mode == "w" for pid, mode in found.items()}
        assert all(p.command.startswith("python") and abs(p.started - time.time()) < 1000 for p in said)
    assert durahash.processes_with(path) == []
    with pytest.raises(durahash.UnusableError):
        durahash.processes_with(str(path) + "-none")


def test_kinds_are_the_pools_beside_a_writer(path):
    writer = subprocess.Popen(script(f"""
        import durahash, sys
        t = durahash.open({str(path)!r}, key="u64", value="u64")
        t[1] = 2
        print("open", flush=True)
        sys.stdin.read()
        """), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "open\n"
        with durahash.open(path, "b") as t:
            assert t[1] == 2
    finally:
        writer.communicate()
    assert writer.returncode == 0


def test_a_fork_is_told_that_the_table_is_its_parents(path):
    t = durahash.open(path)
    t[b"k"] = b"v"

    def use_all():
        for use in (lambda: t[b"k"], lambda: len(t), lambda: list(t), lambda: t.put(b"k", b"w"), t.info,
                    lambda: t.get_many([b"k"]), lambda: t.erase_many([b"k"]), t.check, t.sync):
            try:
                use()
                return "answered"
            except durahash.ForkedError as e:
                said = str(e)
        assert isinstance(repr(t), str)
        t.close()
        return said

    assert "fork" in child(use_all)
    assert t[b"k"] == b"v" and t.check()
    t.close()

    def opens_anew():
        with t.reopen() as mine:
            mine[b"c"] = b"child"
        return "done"

    assert child(opens_anew) == "done"
    assert t.reopen()[b"c"] == b"child"


def read_in_child(table, key):
    return table[key]


def test_readers_in_a_pool_of_processes(path):
    with durahash.open(path, key="u64", value="u64") as t:
        t.put_many(np.arange(100), np.arange(100) * 2)
    with durahash.open(path, "r") as t, multiprocessing.get_context("spawn").Pool(1) as workers:
        assert workers.starmap(read_in_child, [(t, 5), (t, 9)]) == [10, 18]


def script(text):
    return [sys.executable, "-c", textwrap.dedent(text)]


@pytest.mark.parametrize("use", ["t[2] = 2", "t.put_many(keys, keys)", "t.get_many(keys)", "len(t)"])
def test_the_interpreter_ends_with_tables_open(path, use):
    """A thread that wanted the closed table was ended within the extension, and the process aborted."""
    run = subprocess.run(script(f"""
        import durahash, threading, numpy as np
        t = durahash.open({path!r}, key="u64", value="u64")
        t[1] = 1
        keys = np.arange(1000, dtype=np.uint64) + 1
        begun = threading.Event()
        def spin():
            while True:
                {use}
                begun.set()
        threading.Thread(target=spin, daemon=True).start()
        begun.wait()
        holder = [t]
        holder.append(holder)
        """), capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stderr == "", run
    with durahash.open(path) as t:
        assert t[1] == 1 and t.info()["clean"]


@pytest.mark.parametrize("seconds", [0.3, 600])
def test_the_interpreter_ends_while_python_makes_an_object_of_a_record(path, seconds):
    """The thread was ended in the middle of the extension's call, which was a segmentation fault."""
    run = subprocess.run(script(f"""
        import durahash, threading, time
        begun = threading.Event()
        def decode(found):
            begun.set()
            time.sleep({seconds})
            return found
        t = durahash.open({path!r}, value=durahash.Codec(bytes, decode))
        t[b"k"] = b"v"
        threading.Thread(target=lambda: t[b"k"], daemon=True).start()
        begun.wait()
        """), capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stderr == "", run
    with durahash.open(path) as t:
        assert t[b"k"] == b"v" and t.info()["clean"]


def test_a_script_whose_codec_is_its_own_ends_without_a_word(path):
    """Its functions lead to all that the script has, the table too: nanobind spoke of leaks."""
    run = subprocess.run(script(f"""
        import durahash
        def decode(found):
            return found
        t = durahash.open({path!r}, value=durahash.Codec(bytes, decode))
        t[b"k"] = b"v"
        """), capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, ""), run
    with durahash.open(path) as t:
        assert t[b"k"] == b"v" and t.info()["clean"]


def test_a_fork_in_a_call_waits_for_its_own_calls_at_its_end(path):
    """The call in which it was forked ends in the child, too, where it was not counted."""
    run = subprocess.run(script(f"""
        import durahash, os, sys, threading, time
        forked = []
        def fork(found):
            if not forked:
                forked.append(os.fork())
            return found
        t = durahash.open({path!r}, value=durahash.Codec(bytes, fork))
        t[b"k"] = b"v"
        assert t[b"k"] == b"v"
        if forked[0] != 0:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]))
        begun = threading.Event()
        def decode(found):
            begun.set()
            time.sleep(0.3)
            print("the call has ended", flush=True)
            return found
        own = durahash.open({path + "-child"!r}, value=durahash.Codec(bytes, decode))
        own[b"k"] = b"v"
        threading.Thread(target=lambda: own[b"k"], daemon=True).start()
        begun.wait()
        """), capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "the call has ended\n", ""), run


def test_a_thread_awaited_at_the_interpreters_end_hears_that_the_table_is_closed(path):
    run = subprocess.run(script(f"""
        import atexit, threading
        began = threading.Event()
        atexit.register(lambda: (began.set(), thread.join()))  # runs behind those of durahash
        import durahash
        t = durahash.open({path!r}, key="u64", value="u64")
        def use():
            began.wait()
            try:
                t[1] = 1
            except durahash.ClosedError:
                print("closed", flush=True)
        thread = threading.Thread(target=use, daemon=True)
        thread.start()
        """), capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, "closed\n"), run


def test_ctrl_c_ends_a_long_batch(path):
    process = subprocess.Popen(script(f"""
        import durahash, numpy as np, signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
        t = durahash.open({path!r}, key="u64", value="u64")
        keys = np.arange(1_200_000, dtype=np.uint64)
        try:
            print("ready", flush=True)
            while True: t.put_many(keys, keys)
        except KeyboardInterrupt:
            print("interrupted", t.check().ok)
        """), stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    try:
        assert process.communicate(timeout=60)[0] == "interrupted True\n"
    finally:
        process.kill()


WRITER = """
    import durahash, numpy as np, sys
    path, kind, begin = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if kind == "words":
        t = durahash.open(path, key="u64", value="u64")
    else:
        t = durahash.open(path, key="str", value="bytes")
    for n in range(begin, begin + 10_000_000, 64):
        if kind == "words":
            keys = np.arange(n, n + 64, dtype=np.uint64)
            t.put_many(keys, keys * 3)
        elif kind == "single":
            for i in range(n, n + 64): t[str(i)] = bytes(str(i * 3), "ascii")
        else:
            t.put_many([str(i) for i in range(n, n + 64)],
                       [bytes(str(i * 3), "ascii") for i in range(n, n + 64)])
        sys.stdout.write(f"{n + 64}\\n")
        sys.stdout.flush()
    """


@pytest.mark.parametrize("kind", ["words", "single", "batch"])
def test_nothing_acknowledged_is_lost_by_kill_9(path, kind):
    """Torture: killed at random moments, reopened, compared, and gone on with."""
    seed = int(os.environ.get("DURAHASH_SEED", random.randrange(2**32)))
    print("DURAHASH_SEED =", seed)
    moments = random.Random(seed)
    acknowledged = 0
    for _ in range(30 if os.environ.get("DURAHASH_LONG") else 4):
        process = subprocess.Popen([*script(WRITER), path, kind, str(acknowledged)],
                                   stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline()
        time.sleep(moments.random() * 0.15)
        process.kill()
        told = (first + process.communicate()[0]).splitlines(keepends=True)
        whole = [line for line in told if line.endswith("\n")]
        acknowledged = max(acknowledged, *(int(line) for line in whole))
        if kind == "words":
            with durahash.open(path, "w") as t:
                keys = np.arange(acknowledged, dtype=np.uint64)
                values, found = t.get_many(keys)
                assert found.all() and (values == keys * 3).all()
                assert acknowledged <= len(t) <= acknowledged + 64 and t.check()
        else:
            with durahash.open(path, "w", key="str", value="bytes") as t:
                values, found = t.get_many([str(i) for i in range(acknowledged)])
                assert found.all() and values == [bytes(str(i * 3), "ascii") for i in range(acknowledged)]
                assert acknowledged <= len(t) <= acknowledged + 64 and t.check()
    assert acknowledged > 0
