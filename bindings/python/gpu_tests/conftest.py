"""durahash.gpu without a GPU: the package on_ptx of the build tree, whose device is an interpreter of
the kernels' PTX (test/ptx). Its memory is the host's, and its streams get on only while calls do."""
import ctypes
import gc
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import pytest

import durahash.gpu as gpu
from durahash import _gpu

sys.path.insert(0, str(pathlib.Path(__file__).parent))


def pytest_report_header(config):
    return f"durahash.gpu on: {gpu.device_name()}"


@pytest.fixture(scope="session", autouse=True)
def is_the_interpreter():
    assert gpu.device_name() == "interpreter of PTX", "PYTHONPATH is not that of the package on_ptx"


@pytest.fixture(autouse=True)
def garbage_is_gone():
    """What an earlier test has left would wait for the device when it goes: batches would be done."""
    gc.collect()


@pytest.fixture
def folder():
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    made = pathlib.Path(tempfile.mkdtemp(prefix="durahash-gpu-", dir=shm))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def path(folder):
    return str(folder / "pool.dh")


@pytest.fixture
def runtime():
    """CUDA's functions, as the extension has them."""
    return ctypes.CDLL(_gpu.__file__)


def seen(array):
    """What lies in the interpreter's memory, as NumPy sees it: the same bytes."""
    if array.size == 0:
        return np.empty(array.shape, array.dtype)
    raw = (ctypes.c_uint8 * array.nbytes).from_address(array.address)
    return np.frombuffer(raw, array.dtype).reshape(array.shape)
