# SPDX-License-Identifier: Apache-2.0
"""The options of `search_diversity`, their checks, and the one form of its error messages."""

import reprlib
from typing import Any, NamedTuple

import numpy as np

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80

PROTOCOLS = ("standard", "released", "recipe")
DEEPEST = 1_000_000  # ERR-IA sums its largest possible value rank by rank
ALPHA = 0.5  # Clarke et al., SIGIR 2008, and every TREC Web Track


class InputTypeError(TypeError, ValueError):
    """Input of a wrong type; code that guards with `except ValueError` catches it too."""


class Interval(NamedTuple):
    """Which confidence intervals are asked for."""

    confidence_level: float
    n_resamples: int
    random_state: int


class Options(NamedTuple):
    """Checked options of `compute`; `k` ascending, without repeats."""

    protocol: str
    alpha: float
    k: tuple[int, ...]
    per_query: bool
    interval: Interval | None


def check_options(
    protocol: Any,
    alpha: Any,
    k: Any,
    per_query: Any,
    confidence_level: Any,
    n_resamples: Any,
    random_state: Any,
) -> Options:
    """Check the options of `compute`; `alpha` None becomes 0.5.

    Raises:
        ValueError: a value that is not among those that the protocol takes.
        TypeError: a value of a wrong type.
    """
    check_protocol("protocol", protocol)
    if alpha is not None and protocol == "recipe":
        hint = "'recipe' has no alpha; 'standard' and 'released' do"
        raise ValueError(message("alpha", "be None under protocol 'recipe'", alpha, hint=hint))
    if not isinstance(per_query, (bool, np.bool_)):
        raise InputTypeError(message("per_query", "be a bool", per_query))
    interval = check_interval(confidence_level, n_resamples, random_state)
    return Options(protocol, _check_alpha(alpha), _check_depths(k), bool(per_query), interval)


def check_interval(confidence_level: Any, n_resamples: Any, random_state: Any) -> Interval | None:
    """Check how intervals are made; None where none are asked for.

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
    if not isinstance(confidence_level, (float, np.floating)) or not 0 < confidence_level < 1:
        error = ValueError if isinstance(confidence_level, (float, np.floating)) else InputTypeError
        rule = "be None or a float between 0 and 1"
        raise error(message("confidence_level", rule, confidence_level))
    return Interval(float(confidence_level), int(n_resamples), int(random_state))


def check_protocol(name: str, value: Any) -> None:
    """Raise unless `value` names a protocol."""
    if not isinstance(value, str) or value not in PROTOCOLS:
        error = ValueError if isinstance(value, str) else InputTypeError
        raise error(message(name, f"be one of {', '.join(map(repr, PROTOCOLS))}", value))


def _check_alpha(alpha: Any) -> float:
    if alpha is None:
        return ALPHA
    number = isinstance(alpha, (int, float, np.integer, np.floating))
    if not number or isinstance(alpha, bool):
        raise InputTypeError(message("alpha", "be a number from 0 to 1", alpha))
    if not 0 <= alpha <= 1:
        raise ValueError(message("alpha", "be a number from 0 to 1", alpha))
    return float(alpha) + 0.0  # no -0.0


def _check_depths(k: Any) -> tuple[int, ...]:
    rule = f"be an int from 1 to {DEEPEST}, or several"
    k = k.tolist() if isinstance(k, np.ndarray) else k
    depths = k if isinstance(k, (list, tuple, range)) else [k]
    if any(isinstance(d, (bool, np.bool_)) or not isinstance(d, (int, np.integer)) for d in depths):
        raise InputTypeError(message("k", rule, k))
    if not len(depths) or min(depths) < 1 or max(depths) > DEEPEST:
        raise ValueError(message("k", rule, k))
    return tuple(sorted({int(d) for d in depths}))


class Plain(str):
    """Words of ours in the place of a value: shown without quotes."""


def message(name: str, rule: str, got: Any, query: int | None = None, hint: str = "") -> str:
    """`name` must <rule>, got <value> at query 17; <what to do>."""
    got = got.tolist() if isinstance(got, (np.ndarray, np.generic)) else got
    shown = got if isinstance(got, Plain) else _SHORT.repr(got)
    place = "" if query is None else f" at query {query}"
    return f"`{name}` must {rule}, got {shown}{place}{'; ' + hint if hint else ''}"
