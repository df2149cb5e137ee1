"""durahash.gpu without a GPU: the package on_ptx of the build tree, whose device is an interpreter of
the kernels' PTX (test/ptx). Its memory is the host's, and its streams get on only while calls do.
With the package itself, on a machine that has a GPU, the same tests run there."""
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


DEVICE = gpu.device_name()  # raises where there is none
# DURAHASH_GPU_TESTS=copy: as on a GPU, for who changes the tests
ON_INTERPRETER = DEVICE == "interpreter of PTX" and os.environ.get("DURAHASH_GPU_TESTS") != "copy"
_plain = np.zeros(8)
REACHES_ALL = _gpu.reaches(0, _plain.ctypes.data, _plain.nbytes)  # memory that nobody pinned, too
reaches_some = pytest.mark.skipif(REACHES_ALL, reason="this device reaches all memory of the process")
on_interpreter = pytest.mark.skipif(not ON_INTERPRETER, reason="CUDA's functions are called as the interpreter has them")


def pytest_report_header(config):
    return f"durahash.gpu on: {DEVICE}"


@pytest.fixture
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
    """CUDA's functions, as the extension has them on the interpreter."""
    if not ON_INTERPRETER:
        pytest.skip("CUDA's functions are called as the interpreter has them")
    return ctypes.CDLL(_gpu.__file__)


def is_under_way(batch):
    """A GPU may have done it."""
    return not ON_INTERPRETER or not batch.done


def seen(array):
    """What lies in the device's memory: on the interpreter the same bytes, of a GPU's a copy."""
    if array.size == 0 or not ON_INTERPRETER:
        return array.numpy()
    raw = (ctypes.c_uint8 * array.nbytes).from_address(array.address)
    return np.frombuffer(raw, array.dtype).reshape(array.shape)
