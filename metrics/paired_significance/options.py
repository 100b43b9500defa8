# SPDX-License-Identifier: Apache-2.0
"""The options of `paired_significance` and their checks."""

from typing import Any, NamedTuple

from .common_checks import (
    InputTypeError,
    Interval,
    check_bool,
    check_choice,
    check_interval,
    message,
)

TESTS = ("permutation", "t", "wilcoxon")
CORRECTIONS = ("holm", "bh", "tukey")


class Options(NamedTuple):
    """Checked options of `compute` and `compare`."""

    test: str
    greater_is_better: bool
    interval: Interval | None
    n_resamples: int
    random_state: int

    @property
    def signature(self) -> str:
        """The last options in `comparison.signature`."""
        return f"n_resamples:{self.n_resamples}|random_state:{self.random_state}"


def check_options(
    *,
    test: Any,
    greater_is_better: Any,
    confidence_level: Any,
    n_resamples: Any,
    random_state: Any,
) -> Options:
    """Check the options that `compute` and `compare` share.

    Raises:
        ValueError: a value that is not allowed.
        TypeError: a value of a wrong type.
    """
    check_choice("test", test, TESTS)
    better = check_bool("greater_is_better", greater_is_better)
    interval = check_interval(confidence_level, n_resamples, random_state)
    return Options(test, better, interval, int(n_resamples), int(random_state))


def check_correction(correction: Any, test: str) -> None:
    """Raise unless `correction` is None or a correction that can be used with the test."""
    if correction is None:
        return
    if correction not in CORRECTIONS:
        names = ", ".join(map(repr, CORRECTIONS))
        raise InputTypeError(message("correction", f"be None or one of {names}", correction))
    if correction == "tukey" and test != "permutation":
        hint = "Tukey's is a permutation test of its own"
        rule = "be None, 'holm' or 'bh' where `test` is not 'permutation'"
        raise ValueError(message("correction", rule, correction, hint=hint))
