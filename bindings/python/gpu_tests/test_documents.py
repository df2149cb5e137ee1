"""What documents say of durahash.gpu is run; its types and its reference are whole."""
import importlib
import inspect
import pathlib
import re
import sys

import pytest

import durahash.gpu as gpu
import fake_torch
from durahash import _gpu

ROOT = pathlib.Path(__file__).parents[3]
HOWTO = ROOT / "docs/howto/gpu-python.md"


def sections():
    text = HOWTO.read_text()
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        blocks = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
        if blocks:
            yield section.splitlines()[0], "".join(blocks)


def run(name, program, folder):
    program = program.replace("/dev/shm/", f"{folder}/")
    exec(compile(program, f"{HOWTO.name}: {name}", "exec"), {"__name__": "recipe"})


@pytest.mark.parametrize("name, program", list(sections()), ids=lambda x: x[:20])
def test_the_recipe_with_what_stands_in_for_pytorch(folder, monkeypatch, name, program):
    if "backward()" in program:
        pytest.skip("what stands in for PyTorch has no autograd")
    monkeypatch.setitem(sys.modules, "torch", fake_torch.module())
    monkeypatch.delitem(sys.modules, "durahash.torch", raising=False)
    run(name, program, folder)
    sys.modules.pop("durahash.torch", None)


@pytest.mark.parametrize("name, program", list(sections()), ids=lambda x: x[:20])
def test_the_recipe_with_pytorch(folder, monkeypatch, name, program):
    """On the CPU, whose tensors calls that wait for nothing refuse."""
    pytest.importorskip("torch", reason="PyTorch is not installed: what stands in for it is tested")
    if "_async" in program:
        pytest.skip("tensors on the CPU are none for a batch that nobody waits for")
    monkeypatch.delitem(sys.modules, "durahash.torch", raising=False)
    run(name, program.replace('device="cuda"', 'device="cpu"'), folder)
    sys.modules.pop("durahash.torch", None)


def test_the_recipe_has_programs():
    assert len(list(sections())) >= 6


def public(what):
    return {name for name in dir(what) if not name.startswith("_")}


def test_the_reference_names_all_there_is(monkeypatch):
    page = (ROOT / "docs/reference/python-gpu.md").read_text()
    named = set(re.findall(r"[A-Za-z_]\w*", " ".join(re.findall(r"`([^`]*)`", page))))
    monkeypatch.setitem(sys.modules, "torch", fake_torch.module())
    monkeypatch.delitem(sys.modules, "durahash.torch", raising=False)
    module = importlib.import_module("durahash.torch")
    sys.modules.pop("durahash.torch", None)
    wanted = set(gpu.__all__) | set(module.__all__)
    for kind in (gpu.Map, gpu.Table, gpu.Batch, gpu.Array, gpu.Stream):
        wanted |= public(kind)
    of_torch = public(sys.modules["torch"].nn.Module)
    wanted |= public(module.EmbeddingTable) - of_torch - {"extra_repr"}
    for call in (gpu.Map.__init__, gpu.Table.__init__, gpu.Table.gather, gpu.Map.export, gpu.Selection.__init__,
                 module.EmbeddingTable.__init__):
        wanted |= set(inspect.signature(call).parameters) - {"self", "options", "engine", "durability", "medium", "capacity",
                                                             "settings", "max_bytes", "salvage"}
    assert wanted - named == set()


def test_everything_public_is_documented():
    for kind in (gpu.Map, gpu.Table, gpu.Batch, gpu.Array, gpu.Stream, gpu.Selection):
        assert kind.__doc__
        for name in public(kind):
            what = inspect.getattr_static(kind, name)
            mine = any(name in vars(base) for base in kind.__mro__ if base.__module__.startswith("durahash._gpu_"))
            if mine and (callable(what) or isinstance(what, property)) and name not in ("ndim", "size", "nbytes"):
                assert inspect.getdoc(getattr(kind, name)), f"{kind.__name__}.{name}"


def test_the_stub_of_the_extension_tells_of_what_is_in_it():
    stub = (ROOT / "bindings/python/durahash/_gpu.pyi").read_text()
    classes = dict(re.findall(r"^class (\w+):\n(.*?)(?=^class |^def |\Z)", stub, re.M | re.S))
    assert set(classes) == {name for name, what in vars(_gpu).items() if isinstance(what, type)}
    for name, body in classes.items():
        declared = set(re.findall(r"^    def (\w+)", body, re.M)) - {"__init__"}
        there = {each for each in vars(getattr(_gpu, name)) if not each.startswith("__")}
        assert declared == there, name
    functions = {name for name, what in vars(_gpu).items() if callable(what) and not isinstance(what, type)
                 and not name.startswith("__")}
    assert functions == set(re.findall(r"^def (\w+)", stub, re.M))
