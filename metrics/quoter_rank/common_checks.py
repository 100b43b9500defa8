# A copy of metrics/common/checks.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Checks of options, and the one format that all error messages share."""

import inspect
import reprlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = str(Path(__file__).parent)
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class InputTypeError(TypeError, ValueError):
    """Input of a wrong type; code that guards with `except ValueError` catches it too."""


class Plain(str):
    """Text that a message shows without quotes, in place of a value."""


def message(name: str, rule: str, got: Any, query: Any = None, hint: str = "") -> str:
    """The text of an error: "`name` must <rule>, got <got> at query <query>; <hint>"."""
    got = got.tolist() if isinstance(got, (np.ndarray, np.generic)) else got
    shown = got if isinstance(got, Plain) else _SHORT.repr(got)
    place = "" if query is None else f" at query {query}"
    return f"`{name}` must {rule}, got {shown}{place}{'; ' + hint if hint else ''}"


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        error = ValueError if isinstance(value, str) else InputTypeError
        raise error(message(name, f"be one of {', '.join(map(repr, choices))}", value))


def check_bool(name: str, value: Any) -> bool:
    """Return a Python or numpy bool as a Python bool; raise for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(message(name, "be a bool", value))
    return bool(value)


def check_share(name: str, value: Any) -> float:
    """Return a number from 0 to 1 as a float; raise for anything else."""
    number = isinstance(value, (int, float, np.integer, np.floating))
    if not number or isinstance(value, bool):
        raise InputTypeError(message(name, "be a number from 0 to 1", value))
    if not 0 <= value <= 1:
        raise ValueError(message(name, "be a number from 0 to 1", value))
    return float(value) + 0.0  # no -0.0


def check_depths(name: str, value: Any, deepest: int | None = None) -> tuple[int, ...]:
    """Return one depth or several as a tuple of ints; raise unless each is from 1 to `deepest`."""
    rule = "be an int >= 1, or several"
    if deepest is not None:
        rule = f"be an int from 1 to {deepest}, or several"
    value = value.tolist() if isinstance(value, np.ndarray) else value
    depths = value if isinstance(value, (list, tuple, range)) else [value]
    if any(isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) for k in depths):
        raise InputTypeError(message(name, rule, value))
    if not len(depths) or min(depths) < 1 or (deepest is not None and max(depths) > deepest):
        raise ValueError(message(name, rule, value))
    return tuple(int(k) for k in depths)


class Interval(NamedTuple):
    """How confidence intervals are made, where they are asked for."""

    confidence_level: float
    n_resamples: int
    random_state: int


def check_reporting(
    *, per_query: Any, confidence_level: Any, n_resamples: Any, random_state: Any
) -> tuple[bool, Interval | None]:
    """Check the options of what a result holds besides its figures: per-query values, intervals.

    Raises:
        ValueError: as `check_interval`.
        TypeError: a value of a wrong type.
    """
    per_query = check_bool("per_query", per_query)
    return per_query, check_interval(confidence_level, n_resamples, random_state)


def check_interval(confidence_level: Any, n_resamples: Any, random_state: Any) -> Interval | None:
    """Check the options of the intervals; return None if `confidence_level` is None.

    Raises:
        ValueError: `confidence_level` outside (0, 1), `n_resamples` < 1 or `random_state` < 0.
        TypeError: a value of a wrong type.
    """
    for name, value, least in (("n_resamples", n_resamples, 1), ("random_state", random_state, 0)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or value < least:
            error = ValueError if whole else InputTypeError
            raise error(message(name, f"be an int >= {least}", value))
    if confidence_level is None:
        return None
    real = isinstance(confidence_level, (float, np.floating))
    if not real or not 0 < confidence_level < 1:
        rule = "be None or a float between 0 and 1"
        error = ValueError if real else InputTypeError
        raise error(message("confidence_level", rule, confidence_level))
    return Interval(float(confidence_level), int(n_resamples), int(random_state))


def warn(text: str) -> None:
    """Warn, and point at the user's line: the innermost one on the stack outside this folder."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)
