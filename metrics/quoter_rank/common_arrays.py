# A copy of metrics/common/arrays.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""What values are: arrays or tensors, single values, strings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_array(values: Any) -> bool:
    """Whether it is an array or a tensor. A masked array is none: what is masked has no value."""
    array = hasattr(values, "shape") and hasattr(values, "dtype") and hasattr(values, "__getitem__")
    return array and not isinstance(values, np.ma.MaskedArray)


def is_scalar(value: Any) -> bool:
    """Whether `item()` gives its value: not a time, not a masked value."""
    if isinstance(value, (np.datetime64, np.timedelta64, np.ma.MaskedArray)):
        return False
    return getattr(value, "ndim", None) == 0 and hasattr(value, "item")


def all_strings(values: list[Any]) -> bool:
    """Whether all are str: joining them is the fastest way to see it."""
    try:
        "".join(values)
    except TypeError:
        return False
    return True


def to_numpy(values: Any) -> NDArray[Any]:
    """An array of an array or a tensor; bfloat16, which numpy lacks, becomes float32, exactly."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
        return np.asarray(values.numpy())
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def described(value: Any) -> str:
    """Type and shape of an array or tensor, the type's name of anything else."""
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"{value.dtype} of shape {tuple(value.shape)}"
