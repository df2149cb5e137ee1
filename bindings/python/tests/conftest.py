"""Pools on tmpfs, where the tests of the package are quick."""
import os
import pathlib
import shutil
import tempfile

import pytest


@pytest.fixture
def folder():
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    made = pathlib.Path(tempfile.mkdtemp(prefix="durahash-python-", dir=shm))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def path(folder):
    return str(folder / "pool.dh")


@pytest.fixture
def disk(tmp_path):
    """A folder that is not memory, for the levels that survive a power cut."""
    at = pathlib.Path(tempfile.mkdtemp(prefix="durahash-python-", dir=pathlib.Path(__file__).parent))
    kind = os.popen(f"stat -f -c %T {at}").read().strip()
    try:
        if kind == "tmpfs":
            pytest.skip("the tests lie on tmpfs, which survives no power cut")
        yield at
    finally:
        shutil.rmtree(at)
