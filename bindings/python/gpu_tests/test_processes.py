"""Kills, forks, the interpreter's end, a device that fails; what is imported."""
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
import durahash.gpu as gpu
from conftest import on_interpreter


def script(text):
    return [sys.executable, "-B", "-c", textwrap.dedent(text)]


def run(text, *arguments):
    done = subprocess.run([*script(text), *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done


WRITER = """
    import sys
    import numpy as np
    import durahash.gpu as gpu
    path, kind, place, begin = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    say = lambda n: (sys.stdout.write(f"{n}\\n"), sys.stdout.flush())
    if kind == "map":
        m = gpu.Map(path, place=place)
        for n in range(begin, begin + 100_000, 32):
            keys = np.arange(n, n + 32, dtype=np.uint64)
            m.put(keys, keys * 3)
            say(n + 32)
    elif kind == "batches":
        m = gpu.Map(path, place=place)
        m.reserve(50_000)
        for n in range(begin, begin + 100_000, 64):
            keys, values = gpu.array(np.arange(n, n + 64)), gpu.array(np.arange(n, n + 64) * 3)
            m.put_async(keys, values)
            m.commit()
            say(n + 64)
    else:
        t = gpu.Table(path, place=place, value=("uint64", 8))
        for n in range(begin, begin + 100_000, 16):
            keys = np.arange(n, n + 16, dtype=np.uint64)
            t.put(keys, np.repeat(keys * 3, 8).reshape(16, 8))
            t.find(keys)
            say(n + 16)
    """


@pytest.mark.parametrize("kind, place", [("map", "pool"), ("map", "host_mirror"), ("batches", "pool"),
                                         ("batches", "device_mirror"), ("table", "pool"), ("table", "device_mirror")])
def test_nothing_acknowledged_is_lost_by_kill_9(path, kind, place):
    """Killed at random moments, reopened by the processor, compared, and gone on with."""
    seed = int(os.environ.get("DURAHASH_SEED", random.randrange(2**32)))
    print("DURAHASH_SEED =", seed)
    moments = random.Random(seed)
    acknowledged = 0
    for _ in range(20 if os.environ.get("DURAHASH_LONG") else 2):
        process = subprocess.Popen([*script(WRITER), path, kind, place, str(acknowledged)], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        first = process.stdout.readline()
        time.sleep(moments.random() * 0.1)
        process.kill()
        told = (first + process.communicate()[0]).splitlines(keepends=True)
        whole = [line for line in told if line.endswith("\n")]
        acknowledged = max(acknowledged, *(int(line) for line in whole))
        with durahash.open(path, "w", value=("uint64", 8) if kind == "table" else None) as host:
            keys = np.arange(acknowledged, dtype=np.uint64)
            values, found = host.get_many(keys)
            assert found.all()
            assert (values == (keys * 3 if kind != "table" else (keys * 3)[:, None])).all()
            assert acknowledged <= len(host) <= acknowledged + 64 and host.check()
    assert acknowledged > 0


def test_in_a_child_everything_answers_forked(path, folder):
    m = gpu.Map(path)
    t = gpu.Table(str(folder / "rows.dh"), value=("float32", 4))
    m.put([1], [2])
    t.put([1], [[1, 2, 3, 4]])
    a = gpu.array([1])
    stream = gpu.Stream()
    batch = m.find_async(a, stream=stream)

    def use_all():
        uses = [lambda: m.find([1]), lambda: m.find_async(a), lambda: m.put([1], [1]), lambda: m.put_async(a, a),
                m.commit, lambda: len(m), m.info, m.check, m.sync, m.load_cache, lambda: m.clear(), lambda: list(m.export()),
                lambda: t.find([1]), lambda: t.gather([1]), lambda: t.put([1], [[0] * 4]), lambda: len(t), t.check,
                lambda: gpu.empty(1 << 22), gpu.Stream, gpu.device_name, stream.synchronize, lambda: gpu.Map(path + "-new")]
        for n, use in enumerate(uses):
            try:
                use()
                return f"{n} answered"
            except durahash.ForkedError:
                pass
        if "forked" not in repr(m) or "forked" not in repr(t) or not batch.done:
            return "no forked repr"
        m.close(), t.close()
        return "all forked"

    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, use_all().encode())
        except BaseException as e:
            os.write(writer, repr(e).encode())
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 4096).decode() == "all forked"
    os.close(reader)
    assert os.waitpid(pid, 0)[1] == 0
    assert m.find([1])[0].tolist() == [2] and t.contains([1]).all()
    m.close(), t.close()


@pytest.mark.parametrize("ends", ["", "sys.exit(0)", "m.put_async(a, a)", "del m, a", "raise KeyboardInterrupt"])
def test_the_interpreter_ends_with_a_map_open(path, ends):
    done = subprocess.run(script(f"""
        import sys, numpy as np, durahash.gpu as gpu
        m = gpu.Map({path!r})
        m.reserve(500)
        a = gpu.array(np.arange(300))
        m.put(a, a)
        t = gpu.Table(None, medium="memory", value=("float32", 4))
        stream = gpu.Stream()
        found = m.find_async(a, stream=stream)
        holder = [m, a]
        holder.append(holder)
        {ends}
        """), capture_output=True, text=True, timeout=60)
    said = [line for line in done.stderr.splitlines() if not line.startswith("ptx:")]
    if "Keyboard" in ends:
        assert done.returncode == -signal.SIGINT or done.returncode == 130
    else:
        assert (done.returncode, said) == (0, []), done
    with durahash.open(path) as host:
        assert len(host) == 300 and host.info()["clean"]


def test_the_interpreter_ends_while_a_thread_uses_a_map(path):
    done = run(f"""
        import threading, numpy as np, durahash.gpu as gpu
        m = gpu.Map({path!r})
        keys = np.arange(100)
        m.put(keys, keys)
        begun = threading.Event()
        def spin():
            while True:
                m.find(keys)
                begun.set()
        threading.Thread(target=spin, daemon=True).start()
        begun.wait()
        """)
    assert [line for line in done.stderr.splitlines() if not line.startswith("ptx:")] == []
    with durahash.open(path) as host:
        assert len(host) == 100 and host.info()["clean"]


@on_interpreter
def test_a_device_that_fails_says_so_and_the_pool_is_as_a_crash_leaves_it(path):
    """A kernel comes to a hole: the first and the last byte of an array are reached, others are not."""
    run(f"""
        import ctypes, numpy as np
        import durahash, durahash.gpu as gpu
        from durahash import _gpu
        m = gpu.Map({path!r})
        m.put(np.arange(100), np.arange(100))
        runtime = ctypes.CDLL(_gpu.__file__)
        pieces = [ctypes.c_void_p() for _ in range(40)]
        for each in pieces:
            assert runtime.cudaMalloc(ctypes.byref(each), ctypes.c_size_t(64)) == 0
        first, last = min(p.value for p in pieces), max(p.value for p in pieces)
        class Hole:
            __cuda_array_interface__ = dict(data=(first, False), shape=((last + 64 - first) // 8,), typestr="<u8",
                                            strides=None, version=3)
        for use in (lambda: m.find_async(Hole(), values=False).wait(), m.commit, lambda: m.find([1]), lambda: m.put([1], [1]), lambda: gpu.Map(None, medium="memory")):
            try:
                use()
                raise SystemExit("it answered")
            except durahash.gpu.DeviceError as e:
                assert "device" in str(e) or "CUDA" in str(e), e
        try:
            m.close()
            raise SystemExit("closed without a word")
        except durahash.gpu.DeviceError as e:
            assert "device failed" in str(e), e
        """)
    with durahash.open(path) as host:
        assert len(host) == 100 and host.check()


def test_a_pool_open_on_a_device_is_not_pickled(path):
    import copy
    import pickle

    with gpu.Map(path) as m, pytest.raises(TypeError, match="open on a device"):
        pickle.dumps(m)
    with gpu.Table(None, medium="memory", value=("float32", 2)) as t, pytest.raises(TypeError):
        copy.deepcopy(t)


def test_durahash_touches_neither_cuda_nor_torch():
    run("""
        import sys, durahash
        t = durahash.open(None, medium="memory")
        t[b"a"] = b"b"
        assert not [name for name in sys.modules if name in ("torch", "cupy", "durahash._gpu", "durahash.gpu")]
        assert "_gpu" not in open("/proc/self/maps").read()
        import durahash.gpu
        assert "torch" not in sys.modules and "cupy" not in sys.modules
        """)
