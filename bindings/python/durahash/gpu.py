"""durahash.gpu: pools that a CUDA device searches and changes.

    import durahash.gpu as gpu

    with gpu.Map("/dev/shm/ids.dh") as ids:                  # u64 to u64
        ids.put(keys, values)                                # tensors, CuPy's, gpu.Array, NumPy's
        values, found = ids.find(keys)

    rows = gpu.Table("/dev/shm/rows.dh", value=("float16", 64))
    pooled, found = rows.gather(keys, offsets, pooling="mean")

It is there where the package was built with CUDA: `pip install . -C cmake.define.DURAHASH_CUDA=ON`
in a clone of durahash, where nvcc is.
"""

import importlib.util

if importlib.util.find_spec("durahash._gpu") is None:
    raise ImportError(
        "this durahash was built without CUDA. Where nvcc is, in a clone of durahash: "
        "pip install . -C cmake.define.DURAHASH_CUDA=ON",
        name="durahash.gpu",
    )

from ._errors import DeviceError
from ._gpu_arrays import Array, array, device_name, empty
from ._gpu_calls import Batch
from ._gpu_map import ChangedError, Map, Selection
from ._gpu_streams import Stream
from ._gpu_table import Table

__all__ = [
    "Array",
    "Batch",
    "ChangedError",
    "DeviceError",
    "Map",
    "Selection",
    "Stream",
    "Table",
    "array",
    "device_name",
    "empty",
]
