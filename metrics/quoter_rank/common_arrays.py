# A copy of metrics/common/arrays.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a value is (array, scalar, string), and conversion to numpy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_array(values: Any) -> bool:
    """Whether `values` is an array or a tensor; masked arrays, whose cells may lack values, are not."""
    array = hasattr(values, "shape") and hasattr(values, "dtype") and hasattr(values, "__getitem__")
    return array and not isinstance(values, np.ma.MaskedArray)


def is_scalar(value: Any) -> bool:
    """Whether `item()` gives the value as a Python scalar; times and masked values do not count."""
    if isinstance(value, (np.datetime64, np.timedelta64, np.ma.MaskedArray)):
        return False
    return getattr(value, "ndim", None) == 0 and hasattr(value, "item")


def all_strings(values: list[Any]) -> bool:
    """Whether all values are str; joining them is the fastest test."""
    try:
        "".join(values)
    except TypeError:
        return False
    return True


def to_numpy(values: Any) -> NDArray[Any]:
    """A numpy array from an array or a tensor; bfloat16, which numpy lacks, becomes float32, exactly."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
        return np.asarray(values.numpy())
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def described(value: Any) -> str:
    """The dtype and shape of an array or tensor; for anything else, the name of its type."""
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"{value.dtype} of shape {tuple(value.shape)}"
