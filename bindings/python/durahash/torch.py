"""durahash.torch: rows of a pool in a PyTorch model, looked up on the device, still there after
`kill -9`.

    from durahash.torch import EmbeddingTable

    words = EmbeddingTable("/dev/shm/words.dh", 64, dtype=torch.float16)
    words.update(keys, rows)                    # durable when it returns
    rows = words(keys)                          # keys.shape + (64,)
    bags = words(keys, offsets)                 # as torch.nn.EmbeddingBag
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from . import gpu
from ._errors import Error, InvalidArgumentError

_MISSING = ("zeros", "default", "error")


class MissingKeyError(Error, KeyError):
    """Keys that have no row, where `missing` is "error". `keys` has them."""

    keys: Any

    def __str__(self) -> str:
        return str(self.args[0])


class EmbeddingTable(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """Rows of a pool of `durahash.gpu.Table`, as a module.

    It has no parameters: the rows are in the pool, where they are durable, and not in
    `state_dict()`. Each forward call reads what is in the pool then.

    Keys are tensors of int64 (or uint64), of any shape, on the device of the pool; keys on the CPU
    are copied, and answered on the CPU. Nothing waits for the device, but where `missing` is
    "error", and where a write is under way.

    Training   In training mode, with gradients enabled and trainable=True, the rows of a forward
               call get gradients, those that `missing` stands in for, too. `step` hands them to a
               rule, such as SGD, and puts the rows that it makes. See `step`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        embedding_dim: int,
        *,
        dtype: Any = None,
        out_dtype: Any = None,
        pooling: str = "mean",
        include_last_offset: bool = False,
        missing: str = "zeros",
        default: Any = None,
        trainable: bool = False,
        mode: str = "c",
        device: Any = 0,
        place: str = "automatic",
        **options: Any,
    ) -> None:
        """Opens the pool, or makes it, as `durahash.gpu.Table` does, which `options` go to.

        `device`     a number, "cuda:1", or a torch.device.
        `dtype`      of the rows in the pool: torch.float32, float16 or bfloat16.
        `out_dtype`  of what forward gives; `dtype`, if nothing is said. Sums are made in float32.
        `pooling`    of bags: "sum" or "mean".
        `include_last_offset`  whether offsets end with the number of keys, as of
                     torch.nn.EmbeddingBag.
        `missing`    what a key has that has no row, or one of another length. "zeros": a row of
                     zeros, which adds nothing to a bag and does not count for its mean.
                     "default": the row `default`, which counts. "error": MissingKeyError, which
                     costs a wait for each call.
        `trainable`  whether rows get gradients in training mode.
        """
        super().__init__()
        if missing not in _MISSING:
            raise ValueError(f"no such rule: missing={missing!r} ({', '.join(_MISSING)})")
        if (missing == "default") != (default is not None):
            raise ValueError("a default row goes with missing='default', and no other rule")
        if pooling not in ("sum", "mean"):
            raise ValueError(f"no such pooling: {pooling!r} (sum, mean)")
        self.embedding_dim, self.pooling, self.missing = int(embedding_dim), pooling, missing
        self.dtype = torch.float32 if dtype is None else dtype
        self.out_dtype = self.dtype if out_dtype is None else out_dtype
        for each in (self.dtype, self.out_dtype):
            if each not in (torch.float32, torch.float16, torch.bfloat16):
                raise TypeError(f"rows are torch.float32, float16 or bfloat16, and not {each}")
        self.include_last_offset, self.trainable = include_last_offset, trainable
        row_of_missing = None if default is None else torch.as_tensor(default, dtype=torch.float32)
        if row_of_missing is not None and tuple(row_of_missing.shape) != (self.embedding_dim,):
            raise InvalidArgumentError(
                f"the default row must have the shape ({self.embedding_dim},), and has {tuple(row_of_missing.shape)}"
            )
        self.register_buffer("default", row_of_missing, persistent=False)
        row = (str(self.dtype), self.embedding_dim)
        self.table = gpu.Table(path, mode, value=row, device=device, place=place, **options)
        self._looked_up: list[tuple[Any, Any]] = []  # keys, and their rows, which get gradients

    # ---------------------------------------------------------------------------------- forward

    def forward(self, keys: Any, offsets: Any = None) -> Any:
        """Rows of keys, of the shape keys.shape + (embedding_dim,); or with offsets, for keys of
        one dimension, the sum or mean of each bag: (bags, embedding_dim). Bag b begins at
        offsets[b], and ends where the next one does. Offsets must not go down. Keys and offsets may
        be int32, as those of torch.nn.Embedding."""
        keys = keys.to(torch.int64) if keys.dtype == torch.int32 else keys
        if offsets is not None:
            if offsets.dtype not in (torch.int64, torch.int32):
                raise TypeError(f"offsets: int64 or int32 is asked for, and these are {offsets.dtype}")
            offsets = offsets.to(torch.int64)
            if keys.dim() != 1 or offsets.dim() != 1:
                raise InvalidArgumentError("with offsets both have one dimension: the bags lie one behind another")
            if not self.include_last_offset:
                end = torch.full((1,), keys.shape[0], dtype=offsets.dtype, device=offsets.device)
                offsets = torch.cat([offsets, end])
        learns = self.trainable and self.training and torch.is_grad_enabled()
        if learns or (offsets is not None and self.missing == "default"):
            rows, found = self._rows(keys, torch.float32, learns)
            if learns:
                rows = rows.detach().requires_grad_()
                self._looked_up.append((keys.clone(), rows))
            counts = None if self.missing == "default" else found
            return (rows if offsets is None else self._pooled(rows, offsets, counts)).to(self.out_dtype)
        if offsets is None:
            return self._rows(keys, self.out_dtype)[0]
        return self._gathered(keys, offsets, self.out_dtype)[0]

    def _gathered(self, keys: Any, offsets: Any, dtype: Any, asks: bool = False) -> tuple[Any, Any]:
        """And whether each key is there, if anybody asks."""
        keys = keys.contiguous()
        how = {"pooling": self.pooling, "dtype": dtype}
        if offsets is not None:
            offsets = offsets.contiguous()
        if keys.device.type == "cpu":
            rows, found = self.table.gather(keys, offsets, **how)
        else:
            batch = self.table.gather_async(keys, offsets, **how)
            rows, found = batch.values, batch.ok if asks or self.missing != "zeros" else None
        if self.missing == "error" and not bool(found.all()):
            lost = keys[~found]
            said = ", ".join(str(key) for key in lost[:5].tolist()) + (", ..." if len(lost) > 5 else "")
            e = MissingKeyError(f"{len(lost)} of {keys.numel()} keys have no row in {self.table.path or 'memory'}: {said}")
            e.keys = lost
            raise e
        return rows, found

    def _rows(self, keys: Any, dtype: Any, asks: bool = False) -> tuple[Any, Any]:
        """One for each key, with what stands for those that are not there."""
        rows, found = self._gathered(keys, None, dtype, asks)
        if self.missing == "default":
            rows = torch.where(found.unsqueeze(-1), rows, self.default.to(rows.device, rows.dtype))
        return rows, found

    def _pooled(self, rows: Any, offsets: Any, counts: Any) -> Any:
        """By PyTorch, so that there are gradients. `counts`: which keys a mean is of; None: all."""
        bags = offsets.shape[0] - 1
        at = torch.arange(rows.shape[0], dtype=offsets.dtype, device=rows.device)
        # what lies before the first bag, or behind the last, goes to a bag more on each side
        bag = torch.searchsorted(offsets, at, right=True)

        def per_bag(x: Any) -> Any:
            made = torch.zeros((bags + 2, *x.shape[1:]), dtype=x.dtype, device=x.device)
            return made.index_add(0, bag, x)[1 : bags + 1]

        sums = per_bag(rows)
        if self.pooling == "sum":
            return sums
        ones = torch.ones_like(rows[:, 0]).detach() if counts is None else counts.to(rows.dtype)
        return sums / per_bag(ones).clamp(min=1).unsqueeze(-1)

    # --------------------------------------------------------------------------- rows of the pool

    def update(self, keys: Any, rows: Any) -> None:
        """Writes rows of keys, whether there is one or not; of a key that comes twice the last one.
        Durable when it returns: there after `kill -9`. Raises as `durahash.gpu.Table.put`."""
        self.table.put(keys.contiguous(), rows.detach().to(self.dtype).contiguous())

    def erase(self, keys: Any) -> Any:
        """Removes rows; for each key whether it had one. Durable when it returns."""
        return self.table.erase(keys.contiguous())

    def missed(self, keys: Any) -> Any:
        """Those of the keys that have no row, for who fetches or makes them. Waits."""
        keys = keys.contiguous()
        return keys[~self.table.contains(keys)]

    def step(self, rule: Callable[[Any, Any, Any], Any]) -> int:
        """Puts new rows for the keys of all forward calls in training since the last step, once
        there are gradients; tells how many rows. Durable when it returns.

        `rule(keys, rows, gradients)` makes the new rows: keys are those that have a gradient, each
        once; rows, what the pool has, or what stands for a row that is not there; gradients, the
        sum of all of that key's. Rows and gradients are float32. `sgd(lr)` is a rule. Keys that
        had no row get one.
        """
        learnt = [(keys.reshape(-1), rows.grad.reshape(-1, self.embedding_dim))
                  for keys, rows in self._looked_up if rows.grad is not None]
        self._looked_up.clear()
        if not learnt:
            return 0
        keys, where = torch.unique(torch.cat([each for each, _ in learnt]), return_inverse=True)
        each_gradient = torch.cat([gradients for _, gradients in learnt])
        gradients = torch.zeros((keys.shape[0], self.embedding_dim), dtype=torch.float32, device=each_gradient.device)
        gradients = gradients.index_add(0, where, each_gradient)
        with torch.no_grad():
            rows, _ = self._rows(keys, torch.float32)
            self.update(keys, rule(keys, rows, gradients))
        return int(keys.shape[0])

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the forward calls since the last step. A parent's zero_grad does not come here."""
        super().zero_grad(set_to_none)
        self._looked_up.clear()

    def close(self) -> None:
        """Closes the pool. A forward call raises ClosedError then."""
        self.table.close()

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.table)

    def __bool__(self) -> bool:
        return True

    def extra_repr(self) -> str:
        return f"{self.table!r}, {self.pooling}, missing={self.missing}"


def sgd(lr: float) -> Callable[[Any, Any, Any], Any]:
    """The rule of stochastic gradient descent, for `EmbeddingTable.step`."""
    return lambda keys, rows, gradients: rows - lr * gradients


__all__ = ["EmbeddingTable", "MissingKeyError", "sgd"]
