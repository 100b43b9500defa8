# SPDX-License-Identifier: Apache-2.0
"""The options of `paired_significance`, their checks, and the one form of its error messages."""

import reprlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80

TESTS = ("permutation", "t", "wilcoxon")
CORRECTIONS = ("holm", "bh", "tukey")


class InputTypeError(TypeError, ValueError):
    """Input of a wrong type; code that guards with `except ValueError` catches it too."""


class Options(NamedTuple):
    """Checked options of `compute` and `compare`."""

    test: str
    greater_is_better: bool
    confidence_level: float | None
    n_resamples: int
    random_state: int


def check_options(
    test: Any, greater_is_better: Any, confidence_level: Any, n_resamples: Any, random_state: Any
) -> Options:
    """Check the options.

    Raises:
        ValueError: a value that is not among those that are taken.
        TypeError: a value of a wrong type.
    """
    check_choice("test", test, TESTS)
    if not isinstance(greater_is_better, (bool, np.bool_)):
        raise InputTypeError(message("greater_is_better", "be a bool", greater_is_better))
    for name, value, least in (("n_resamples", n_resamples, 1), ("random_state", random_state, 0)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or value < least:
            error = ValueError if whole else InputTypeError
            raise error(message(name, f"be an int >= {least}", value))
    if confidence_level is not None:
        real = isinstance(confidence_level, (float, np.floating))
        if not real or not 0 < confidence_level < 1:
            error = ValueError if real else InputTypeError
            rule = "be None or a float between 0 and 1"
            raise error(message("confidence_level", rule, confidence_level))
        confidence_level = float(confidence_level)
    resamples = confidence_level, int(n_resamples), int(random_state)
    return Options(test, bool(greater_is_better), *resamples)


def check_correction(correction: Any, test: str) -> None:
    """Raise unless `correction` is None or a correction that goes with the test."""
    if correction is None:
        return
    if correction not in CORRECTIONS:
        names = ", ".join(map(repr, CORRECTIONS))
        raise InputTypeError(message("correction", f"be None or one of {names}", correction))
    if correction == "tukey" and test != "permutation":
        hint = "Tukey's is a permutation test of its own"
        rule = "be None, 'holm' or 'bh' where `test` is not 'permutation'"
        raise ValueError(message("correction", rule, correction, hint=hint))


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        error = ValueError if isinstance(value, str) else InputTypeError
        raise error(message(name, f"be one of {', '.join(map(repr, choices))}", value))


class Plain(str):
    """Words of ours in the place of a value: shown without quotes."""


def message(name: str, rule: str, got: Any, query: Any = None, hint: str = "") -> str:
    """`name` must <rule>, got <value> at query 17; <what to do>."""
    got = got.tolist() if isinstance(got, (np.ndarray, np.generic)) else got
    shown = got if isinstance(got, Plain) else _SHORT.repr(got)
    place = "" if query is None else f" at query {query}"
    return f"`{name}` must {rule}, got {shown}{place}{'; ' + hint if hint else ''}"
