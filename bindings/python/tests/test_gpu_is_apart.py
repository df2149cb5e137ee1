"""durahash.gpu is there where the package was built with CUDA; the rest never needs it."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

import durahash

HAS_CUDA = importlib.util.find_spec("durahash._gpu") is not None


def gpu_here():
    import durahash.gpu as gpu

    try:
        return gpu.device_name()
    except durahash.Error:
        return None


def run(text, **environment):
    return subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(text)], capture_output=True, text=True,
                          env={**os.environ, **environment})


def test_without_cuda_an_import_says_how_to_get_it(tmp_path):
    """The package as a wheel without CUDA has it: the extension _gpu is not there."""
    there = pathlib.Path(durahash.__file__).parent
    (tmp_path / "durahash").mkdir()
    for each in there.iterdir():
        if each.suffix in (".py", ".so") and not each.name.startswith("_gpu."):
            (tmp_path / "durahash" / each.name).symlink_to(each)
    done = run("""
        import durahash
        durahash.open(None, medium="memory")[b"a"] = b"b"
        for name in ("durahash.gpu", "durahash.torch"):
            try:
                __import__(name)
            except ImportError as e:
                print(e)
        """, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done
    first, *_ = done.stdout.splitlines()
    assert first == ("this durahash was built without CUDA. Where nvcc is, in a clone of durahash: "
                     "pip install . -C cmake.define.DURAHASH_CUDA=ON")


def test_durahash_loads_no_cuda():
    done = run("""
        import sys, durahash
        durahash.open(None, medium="memory")[b"a"] = b"b"
        assert "durahash._gpu" not in sys.modules and "torch" not in sys.modules
        with open("/proc/self/maps") as maps:
            text = maps.read()
        assert "/_gpu." not in text and "libcuda" not in text
        """)
    assert done.returncode == 0, done


@pytest.mark.skipif(not HAS_CUDA, reason="the package was built without CUDA")
def test_without_a_gpu_it_says_what_stands_in_the_way(path):
    import durahash.gpu as gpu

    if gpu_here() is not None:
        pytest.skip(f"there is a GPU here: {gpu_here()}")
    for use in (lambda: gpu.Map(path), lambda: gpu.Table(path), gpu.device_name, lambda: gpu.empty(10), gpu.Stream):
        with pytest.raises(gpu.DeviceError, match="CUDA"):
            use()
    assert not os.path.exists(path), "and nothing was made"


@pytest.mark.skipif(not HAS_CUDA, reason="the package was built without CUDA")
def test_the_extensions_cuda_runtime_is_its_own():
    """PyTorch and CuPy bring another one, and its names are those of the whole process."""
    from durahash import _gpu

    done = subprocess.run(["nm", "-D", "--defined-only", _gpu.__file__], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("nm is not here")
    names = [line.split()[-1] for line in done.stdout.splitlines()]
    assert "PyInit__gpu" in names and not [name for name in names if name.startswith(("cuda", "__cuda", "cu"))]


def recipe():
    text = (pathlib.Path(__file__).parents[3] / "docs/howto/gpu-python.md").read_text()
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        if blocks := re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S):
            yield section.splitlines()[0], "".join(blocks)


@pytest.mark.skipif(not HAS_CUDA, reason="the package was built without CUDA")
@pytest.mark.parametrize("name, program", list(recipe()), ids=lambda x: x[:20])
def test_on_a_gpu_the_recipe_runs(folder, name, program):
    """As it stands. Without a GPU its programs are run by gpu_tests."""
    if gpu_here() is None:
        pytest.skip("there is no GPU here")
    if "torch" in program and not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    exec(compile(program.replace("/dev/shm/", f"{folder}/"), name, "exec"), {"__name__": "recipe"})
