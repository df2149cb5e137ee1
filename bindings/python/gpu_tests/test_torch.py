"""durahash.torch, with PyTorch where it is installed (its tensors are on the CPU then), and with what
stands in for it, whose tensors are the device's."""
import importlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import durahash
import durahash.gpu as gpu
import fake_torch
from conftest import is_under_way


@pytest.fixture(params=["stand-in", "PyTorch"])
def torch(request, monkeypatch):
    monkeypatch.delitem(sys.modules, "durahash.torch", raising=False)
    if request.param == "PyTorch":
        yield pytest.importorskip("torch", reason="PyTorch is not installed: what stands in for it is tested")
    else:
        made = fake_torch.module()
        monkeypatch.setitem(sys.modules, "torch", made)
        yield made
    sys.modules.pop("durahash.torch", None)


@pytest.fixture
def embeddings(torch):
    return importlib.import_module("durahash.torch")


def rows_of(count, width=8):
    return np.random.default_rng(count).standard_normal((count, width)).astype(np.float32)


def numbers(x):
    """A tensor as NumPy has it, bfloat16 as float32."""
    if "bfloat16" in str(x.dtype):
        return np.asarray(x.float().numpy()) if hasattr(x, "float") else x.x
    return x.detach().numpy()


def is_of(torch, x):
    return isinstance(x, torch.Tensor)


# --------------------------------------------------------------------- tensors in durahash.gpu


def test_tensors_in_tensors_out(torch, path):
    with gpu.Map(path) as m:
        keys = torch.tensor(np.arange(50).reshape(5, 10))
        m.put(keys, torch.tensor(np.arange(50).reshape(5, 10) * 3))
        values, found, missed = m.find(torch.tensor([1, 2, 77]), missed=True)
        assert all(is_of(torch, each) for each in (values, found, missed))
        assert values.dtype is torch.int64 and values.tolist() == [3, 6, 0]
        assert found.tolist() == [True, True, False] and missed.tolist() == [2]
        assert m.insert(torch.tensor([1, 77]), torch.tensor([0, 5])).tolist() == [False, True]
        assert m.update(torch.tensor([1, 78]), torch.tensor([8, 5])).tolist() == [True, False]
        m.add(torch.tensor([1, 1]), torch.tensor([1, 1]))
        held = torch.tensor([7, 7])
        assert m.find_or_insert(torch.tensor([1, 99]), held).tolist() == [False, True] and held.tolist() == [10, 7]
        out = torch.tensor([0, 0])
        assert m.find(torch.tensor([1, 99]), out)[0] is out and out.tolist() == [10, 7]
        assert m.erase(torch.tensor([1, 1000])).tolist() == [True, False]
        assert m.find(torch.tensor([-1]))[1].tolist() == [False]
        exported = [k for k, _ in m.export(64, like=keys)]
        assert all(is_of(torch, each) for each in exported) and sum(map(len, exported)) == len(m) == 51
        assert m.find(torch.tensor(np.empty(0, np.int64)))[0].tolist() == []
        with pytest.raises(TypeError, match="int64 or uint64 is asked for, and this tensor.* has float32"):
            m.find(torch.tensor([1.0], dtype=torch.float32))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rows_are_tensors(torch, path, dtype):
    with gpu.Table(path, value=(getattr(torch, dtype), 8)) as t:
        assert t.row == (dtype, (8,))
        rows = torch.tensor(rows_of(20)).to(getattr(torch, dtype))
        t.put(torch.tensor(np.arange(20)), rows)
        got, found = t.find(torch.tensor([3, 50]))
        assert is_of(torch, got) and str(got.dtype) == f"torch.{dtype}" and found.tolist() == [True, False]
        assert (numbers(got)[0] == numbers(rows)[3]).all()
        pooled, _ = t.gather(torch.tensor([3, 4, 5]), torch.tensor([0, 1, 3]), dtype=torch.float32)
        exact = numbers(rows).astype(np.float32)
        assert (numbers(pooled) == np.array([exact[3], exact[4] + exact[5]])).all()


# ------------------------------------------------------------------- streams, of the stand-in


@pytest.fixture
def on_device(monkeypatch):
    made = fake_torch.module()
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


@pytest.mark.usefixtures("garbage_is_gone")
def test_the_current_stream_is_the_stream(on_device, path):
    torch = on_device
    made, other = gpu.Stream(), gpu.Stream()
    with gpu.Map(path) as m:
        m.reserve(1000)
        keys = torch.tensor(np.arange(200))
        with torch.cuda.stream(torch.cuda.Stream(made.ptr)):
            fake_torch.made_on.clear()
            batch = m.put_async(keys, keys)
            found = m.find_async(keys, missed=True)
            assert batch.stream == found.stream == made.ptr and is_under_way(found)
            assert set(fake_torch.made_on) == {made.ptr}
            assert is_of(torch, found.values) and is_of(torch, found.answers)
            fake_torch.made_on.clear()
            assert m.find_async(keys, stream=other).stream == other.ptr
            assert set(fake_torch.made_on) == {other.ptr}, "memory is made in the stream that uses it"
            assert batch.ok.all() and found.found.all() and len(found.missed) == 0
        assert m.find_async(keys).stream == 0
        # of lists, with an array of a tensor's stream: what that stream was asked for is done first
        with torch.cuda.stream(torch.cuda.Stream(made.ptr)):
            slow = m.find_async(keys)
            m.put(np.arange(200), keys)
            assert slow.done


def test_tensors_that_a_device_does_not_reach(on_device, path):
    torch = on_device
    with gpu.Map(path) as m:
        elsewhere = fake_torch.Tensor(torch.tensor([1]).memory, number=1)
        with pytest.raises(ValueError, match="keys: this tensor is on cuda:1, and the pool is open on cuda:0"):
            m.find_async(elsewhere)
        elsewhere.device.type = "meta"
        with pytest.raises(ValueError, match="no CUDA device reaches that"):
            m.find_async(elsewhere)
        strided = torch.tensor([1, 2])
        strided.is_contiguous = lambda: False
        with pytest.raises(ValueError, match=r"keys: this tensor is not contiguous; \.contiguous\(\)"):
            m.find_async(strided)
        sparse = torch.tensor([1, 2])
        sparse.layout = "sparse"
        with pytest.raises(ValueError, match="sparse"):
            m.find_async(sparse)


# ---------------------------------------------------------------------------- EmbeddingTable


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rows_of_keys_and_sums_of_bags(torch, embeddings, path, dtype):
    rows = rows_of(40)
    table = embeddings.EmbeddingTable(path, 8, dtype=getattr(torch, dtype), pooling="sum")
    table.update(torch.tensor(np.arange(40)), torch.tensor(rows))
    assert len(table) == 40 and dtype in repr(table)
    each = table(torch.tensor([[1, 2], [3, 99]]))
    assert tuple(each.shape) == (2, 2, 8) and str(each.dtype) == f"torch.{dtype}"
    exact = numbers(table(torch.tensor(np.arange(40)))).astype(np.float32)
    assert np.allclose(exact, rows, atol=0.02) and not numbers(each)[1, 1].any()
    keys, offsets = np.array([1, 2, 3, 99, 5, 6, 7]), np.array([0, 2, 2, 4])
    bags = numbers(table(torch.tensor(keys), torch.tensor(offsets))).astype(np.float32)
    wanted = [exact[1] + exact[2], exact[0] * 0, exact[3], exact[5] + exact[6] + exact[7]]
    assert bags.shape == (4, 8) and np.allclose(bags, wanted, atol=0.05)
    table.pooling = "mean"
    means = numbers(table(torch.tensor(keys), torch.tensor(offsets))).astype(np.float32)
    assert np.allclose(means, [wanted[0] / 2, wanted[1], exact[3], wanted[3] / 3], atol=0.05)
    table.include_last_offset = True
    assert table(torch.tensor(keys), torch.tensor(np.append(offsets, 7))).shape[0] == 4
    table.close()
    with pytest.raises(durahash.ClosedError):
        table(torch.tensor([1]))
    half = embeddings.EmbeddingTable(path, 8, dtype=getattr(torch, dtype), out_dtype=torch.float32)
    assert str(half(torch.tensor([1])).dtype) == "torch.float32"
    half.close()


def test_missing_keys(torch, embeddings, path):
    keys = torch.tensor([1, 50, 2, 51])
    table = embeddings.EmbeddingTable(path, 4)
    table.update(torch.tensor([1, 2]), torch.tensor(np.ones((2, 4), np.float32)))
    assert table.missed(keys).tolist() == [50, 51]
    assert numbers(table(keys)).sum(axis=1).tolist() == [4, 0, 4, 0]
    assert numbers(table(keys, torch.tensor([0]))).tolist() == [[1, 1, 1, 1]], "the mean of those that are there"
    table.close()

    strict = embeddings.EmbeddingTable(path, 4, missing="error")
    assert numbers(strict(torch.tensor([2]))).tolist() == [[1, 1, 1, 1]]
    for given in ((keys,), (keys, torch.tensor([0]))):
        with pytest.raises(embeddings.MissingKeyError, match="2 of 4 keys have no row in .*: 50, 51") as e:
            strict(*given)
        assert e.value.keys.tolist() == [50, 51] and isinstance(e.value, (KeyError, durahash.Error))
    strict.close()

    kind = embeddings.EmbeddingTable(path, 4, missing="default", default=[5, 5, 5, 5])
    assert numbers(kind(keys)).sum(axis=1).tolist() == [4, 20, 4, 20]
    assert numbers(kind(keys, torch.tensor([0, 3]))).tolist() == [[7 / 3] * 4, [5] * 4] or np.allclose(
        numbers(kind(keys, torch.tensor([0, 3]))), [[7 / 3] * 4, [5] * 4])
    kind.pooling = "sum"
    assert numbers(kind(keys, torch.tensor([0, 3]))).tolist() == [[7] * 4, [5] * 4]
    assert kind.erase(torch.tensor([1, 50])).tolist() == [True, False] and kind.missed(keys).tolist() == [1, 50, 51]
    kind.close()


def test_arguments_that_do_not_fit(torch, embeddings, path):
    made = embeddings.EmbeddingTable
    for how, kind, words in [({"missing": "raise"}, ValueError, "zeros, default, error"),
                             ({"pooling": "max"}, ValueError, "sum, mean"),
                             ({"default": [1] * 4}, ValueError, "goes with missing='default'"),
                             ({"missing": "default"}, ValueError, "goes with missing='default'"),
                             ({"missing": "default", "default": [1] * 3}, ValueError, r"shape \(4,\), and has \(3,\)"),
                             ({"dtype": torch.int64}, TypeError, "and not torch.int64"),
                             ({"out_dtype": torch.int64}, TypeError, "and not torch.int64"),
                             ({"mode": "w"}, durahash.NotFoundError, "no such file")]:
        with pytest.raises(kind, match=words):
            made(path, 4, **how)
    table = made(path, 4)
    with pytest.raises(TypeError, match="offsets: int64 or int32 is asked for, and these are torch.float32"):
        table(torch.tensor([1]), torch.tensor([0.0], dtype=torch.float32))
    small = torch.tensor([1, 2], dtype=torch.int32)
    assert tuple(table(small).shape) == (2, 4) and tuple(table(small, torch.tensor([0], dtype=torch.int32)).shape) == (1, 4)
    with pytest.raises(ValueError, match="with offsets both have one dimension"):
        table(torch.tensor([[1]]), torch.tensor([0]))
    with pytest.raises(ValueError, match="rows: the shape"):
        table.update(torch.tensor([1]), torch.tensor(np.ones((1, 5), np.float32)))
    table.close()


def test_a_step_hands_gradients_to_a_rule_and_puts_what_it_makes(torch, embeddings, path):
    """Without autograd: gradients are given."""
    table = embeddings.EmbeddingTable(path, 4, trainable=True, pooling="sum")
    table.update(torch.tensor([1, 2]), torch.tensor(np.ones((2, 4), np.float32)))
    table(torch.tensor([[1, 2], [1, 9]]))
    table(torch.tensor([2, 2]))
    assert table.step(embeddings.sgd(1.0)) == 0, "no gradient, no step"
    table(torch.tensor([[1, 2], [1, 9]]))
    table(torch.tensor([2, 2]))
    for keys, rows in table._looked_up:
        rows.grad = torch.tensor(np.full(tuple(rows.shape), 0.25, np.float32))
    asked = []

    def rule(keys, rows, gradients):
        asked.append((keys.tolist(), numbers(rows).tolist(), numbers(gradients).tolist()))
        return embeddings.sgd(2.0)(keys, rows, gradients)

    assert table.step(rule) == 3
    assert asked == [([1, 2, 9], [[1] * 4, [1] * 4, [0] * 4], [[0.5] * 4, [0.75] * 4, [0.25] * 4])]
    assert numbers(table(torch.tensor([1, 2, 9]))).tolist() == [[0] * 4, [-0.5] * 4, [-0.5] * 4]
    table.zero_grad()
    assert table._looked_up == [] and table.step(rule) == 0
    table.eval()
    table(torch.tensor([1]))
    assert table._looked_up == [], "in evaluation nothing is kept"
    table.close()


def test_gradients_of_autograd(embeddings, torch, path):
    if torch.__name__ != "torch" or not hasattr(torch, "autograd"):
        pytest.skip("what stands in for PyTorch has no autograd")
    goal = torch.tensor(rows_of(6))
    for offsets in (None, torch.tensor([0, 2, 3, 3])):
        if os.path.exists(path):
            os.remove(path)
        table = embeddings.EmbeddingTable(path, 8, trainable=True)
        keys = torch.arange(6)
        peer = torch.nn.Embedding(6, 8) if offsets is None else torch.nn.EmbeddingBag(6, 8, mode="mean")
        with torch.no_grad():
            peer.weight[...] = 0
            table.update(keys, peer.weight)
        descent = torch.optim.SGD(peer.parameters(), lr=0.5)
        for _ in range(4):
            for model in (table, peer):
                made = model(keys) if offsets is None else model(keys, offsets)
                ((made - goal[: made.shape[0]]) ** 2).sum().backward()
            descent.step(), descent.zero_grad()
            assert table.step(embeddings.sgd(0.5)) == 6
            assert torch.allclose(table(keys), peer.weight, atol=1e-6)
            table.zero_grad()
        table.close()


LEARNER = """
    import sys
    sys.path.insert(0, sys.argv[2])
    if sys.argv[3] == "stand-in":
        import fake_torch
        sys.modules["torch"] = fake_torch.module()
    import torch, numpy as np
    from durahash.torch import EmbeddingTable, sgd
    table = EmbeddingTable(sys.argv[1], 8, trainable=True)
    keys = torch.tensor(np.arange(16))
    for n in range(1, 100_000):
        table(keys)
        (_, rows), = table._looked_up
        rows.grad = torch.tensor(np.full((16, 8), -1, np.float32))
        table.step(sgd(1.0))
        sys.stdout.write(f"{n}\\n"), sys.stdout.flush()
    """


def test_what_was_learnt_is_there_after_kill_9(torch, path):
    kind = "PyTorch" if hasattr(torch, "autograd") else "stand-in"
    process = subprocess.Popen([sys.executable, "-B", "-c", textwrap.dedent(LEARNER), path, os.path.dirname(__file__), kind],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    steps = [process.stdout.readline() for _ in range(3)]
    process.kill()
    steps += process.communicate()[0].splitlines(keepends=True)
    learnt = max(int(line) for line in steps if line.endswith("\n"))
    with durahash.open(path, "w", value=("f4", 8)) as host:
        rows, found = host.get_many(np.arange(16))
        assert found.all() and host.check() and learnt >= 3
        assert np.isin(rows, (learnt, learnt + 1)).all() and (rows == rows[:, :1]).all()


def test_without_torch_only_the_module_is_missing():
    done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent("""
        import sys
        sys.modules["torch"] = None
        import durahash.gpu
        try:
            import durahash.torch
        except ImportError as e:
            print(e)
        """)], capture_output=True, text=True)
    assert done.returncode == 0 and "torch" in done.stdout, done
