"""What documents say of the package is run: the README, the tutorial, the how-tos, the example."""
import doctest
import inspect
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import durahash

ROOT = pathlib.Path(__file__).parents[3]
DOCS = ROOT / "docs"


def blocks(page, kind="python"):
    return re.findall(rf"^```{kind}\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


@pytest.fixture
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("page", ["tutorial-python.md", "reference/python.md"])
def test_pages_print_what_they_show(there, page):
    text = (DOCS / page).read_text().replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert len(test.examples) > 30
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=said.append)
    assert result.failed == 0, "".join(said)


def test_the_reference_has_every_name():
    """Each public name, and each parameter of what it calls."""
    page = re.sub(r"(?ms)^```.*?^```$", "", (DOCS / "reference/python.md").read_text())
    shown = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert set(durahash.__all__) <= shown
    for name in (*durahash.__all__, *(n for n in dir(durahash.Table) if not n.startswith("_"))):
        assert name in shown, name
    callables = [durahash.open, durahash.remove, durahash.processes_with, durahash.Codec]
    callables += [f for n, f in vars(durahash.Table).items() if callable(f) and not n.startswith("_")]
    for each in callables:
        for parameter in set(inspect.signature(each).parameters) - {"self", "other", "more", "options", "changes"}:
            assert parameter in shown, f"{parameter} of {each}"
    fields = [*durahash.CheckReport._fields, *durahash.Process._fields]
    assert set(fields) <= shown
    for name in (n for n in durahash.__all__ if n.endswith("Error")):
        error = getattr(durahash, name)
        (row,) = re.findall(rf"^\| `{name}` \|(.*?)\|", page, re.M) or [None]
        bases = [b.__name__ for b in error.__bases__ if b is not durahash.Error]
        assert error is durahash.Error or re.findall(r"\w+", row) == bases, name


def test_the_readme_snippet(there):
    (snippet,) = [b for b in blocks("README.md") if "import durahash" in b]
    names = {}
    exec(snippet, names)
    assert names["found"].all()
    assert "pip install ." in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", ["docs/howto/python-recipes.md"])
def test_snippets_of_how_tos(there, page):
    """Each section's blocks are one program."""
    sections = re.split(r"^## ", (ROOT / page).read_text(), flags=re.M)[1:]
    run = 0
    for section in sections:
        names = {"__name__": "recipe"}
        for block in re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S):
            exec(compile(block, f"{page}: {section.splitlines()[0]}", "exec"), names)
            run += 1
        for each in names.values():
            if isinstance(each, durahash.Table) and not each.closed:
                each.close()
    assert run >= 5


def test_a_pool_of_a_cpp_program(there):
    program = shutil.which("quickstart")
    if program is None:
        pytest.skip("build/check/bin/quickstart is not built (make check builds it)")
    for _ in range(3):
        assert subprocess.run([program, "visits.dh"], capture_output=True).returncode == -signal.SIGKILL
    with durahash.open("visits.dh") as visits:
        assert visits[42] == 3
        visits[42] = 10
    told = subprocess.run([program, "visits.dh"], capture_output=True, text=True).stdout
    assert told == "this program was killed 10 times\n"


EXAMPLE = ROOT / "examples/kv_cache_index/kv_cache.py"


@pytest.mark.parametrize("bits", [64, 128])
def test_the_kv_cache_survives_its_server(folder, bits):
    command = [sys.executable, EXAMPLE, folder, "--bits", str(bits), "--blocks", "1500"]
    known = 0
    for round in range(3):
        server = subprocess.Popen([*command, "--requests", "1000000", "--seed", str(round)],
                                  stdout=subprocess.PIPE, text=True)
        at_start = int(server.stdout.readline().split()[0])
        assert at_start >= min(known, 1500 - 20)
        while "computed" not in server.stdout.readline():
            pass
        time.sleep(0.05 * round)
        server.kill()
        server.communicate()
        with durahash.open(folder / f"index-{bits}.dh", "w") as index:
            known = len(index)
            assert known > 0 and index.check()
    done = subprocess.run([*command, "--requests", "200", "--seed", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= min(known, 1480)
    reused = int(re.search(r"200 requests: (\d+) blocks reused", done.stdout)[1])
    assert reused > 0


def test_actors_of_ray_lose_nothing_that_they_acknowledged(folder):
    pytest.importorskip("ray", reason="ray is not installed; make nightly installs it")
    example = ROOT / "examples/ray_partitions/partitions.py"
    done = subprocess.run([sys.executable, example, folder / "pools", "--keys", "80000",
                           "--partitions", "2"], capture_output=True, text=True,
                          env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"})
    assert done.returncode == 0, done.stderr
    assert "80000 records acknowledged, 0 lost, 8 actors killed" in done.stdout


def test_the_how_to_shows_the_example(folder):
    page = (DOCS / "howto/kv-cache-index.md").read_text()
    example = EXAMPLE.read_text()
    shown = [b for b in blocks("docs/howto/kv-cache-index.md")]
    assert shown and all(b.strip() in example for b in shown), "the page shows other code than the example"
    assert "examples/kv_cache_index/kv_cache.py" in page


def test_the_console(there):
    def run(*arguments, code=0):
        done = subprocess.run([sys.executable, "-m", "durahash", *arguments], capture_output=True, text=True,
                              env={**os.environ, "PATH": "/usr/bin:/bin"})
        assert done.returncode == code, done
        return done.stdout

    assert "u64 -> u64" in run("create", "a.dh", "--key", "u64", "--value", "u64")
    run("put", "a.dh", "17", "18")
    assert run("get", "a.dh", "17") == "18\n" and run("get", "a.dh", "5", code=1) == ""
    assert run("dump", "a.dh") == "17\t18\n" and "1 records" in run("check", "a.dh")
    assert '"records": 1' in run("info", "a.dh", "--json") and "turbo" in run("info", "a.dh")
    run("backup", "a.dh", "b.dh")
    run("erase", "b.dh", "17")
    run("erase", "b.dh", "17", code=1)
    run("get", "none.dh", "1", code=3)
    run("put", "a.dh", "x", "1", code=2)
    run("create", "c.dh")
    run("put", "c.dh", "grüße", "1\n2")
    assert run("get", "c.dh", "grüße") == "1\n2\n"
    run("create", "r.dh", "--key", "str", "--value", "2f4")
    run("put", "r.dh", "k", "[1, 2]", "--key", "str", "--value", "2f4")
    assert run("get", "r.dh", "k", "--key", "str", "--value", "2f4") == "[1.0, 2.0]\n"
    fake = there / "bin"
    fake.mkdir()
    (fake / "durahash").write_text('#!/bin/sh\necho "the tool: $@"\n')
    (fake / "durahash").chmod(0o755)
    done = subprocess.run([sys.executable, "-m", "durahash", "bench", "--keys", "5"], capture_output=True,
                          text=True, env={**os.environ, "PATH": f"{fake}:/usr/bin:/bin"})
    assert done.stdout == "the tool: bench --keys 5\n"


def test_types():
    """The package is typed without a gap, and the stub of the extension tells of what is in it."""
    from durahash import _core

    stub = (ROOT / "bindings/python/durahash/_core.pyi").read_text()
    declared = set(re.findall(r"^    def (\w+)", stub, re.M))
    there = {name for name in vars(_core.Pool) if callable(getattr(_core.Pool, name)) or
             not name.startswith("__")}
    there -= {n for n in there if n.startswith("__") and n not in declared}
    assert declared - there == set() and there - declared - {"__doc__", "__module__"} == set()
    functions = {name for name in vars(_core) if not name.startswith("_")} - {"Pool"}
    assert functions == set(re.findall(r"^def (\w+)", stub, re.M))
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "/dev/null",
                           ROOT / "bindings/python/durahash"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
