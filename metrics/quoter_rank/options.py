# SPDX-License-Identifier: Apache-2.0
"""The options of `quoter_rank`, their checks, and the one form of its error messages."""

import reprlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80

PROTOCOLS = ("standard", "released", "recipe")
TIES = ("expected", "optimistic", "pessimistic")
MISSING = ("error", "zero")


class InputTypeError(TypeError, ValueError):
    """Input of a wrong type; code that guards with `except ValueError` catches it too."""


class Interval(NamedTuple):
    """Which confidence intervals are asked for."""

    confidence_level: float
    n_resamples: int
    random_state: int


class Options(NamedTuple):
    """Checked options of `compute`."""

    protocol: str
    ties: str
    missing: str
    ndcg_k: tuple[int, ...]
    recall_k: tuple[int, ...]
    per_query: bool
    interval: Interval | None


def check_options(
    protocol: Any,
    ties: Any,
    missing: Any,
    ndcg_k: Any,
    recall_k: Any,
    per_query: Any,
    confidence_level: Any,
    n_resamples: Any,
    random_state: Any,
) -> Options:
    """Check the options of `compute`; `ties` None becomes the protocol's own rule.

    Raises:
        ValueError: a value that is not among those that the protocol takes.
        TypeError: a value of a wrong type.
    """
    check_choice("protocol", protocol, PROTOCOLS)
    check_choice("missing", missing, MISSING)
    if ties is None:
        ties = "expected" if protocol == "standard" else "optimistic"
    check_choice("ties", ties, TIES)
    if protocol != "standard" and ties != "optimistic":
        rule = f"be None or 'optimistic' under protocol {protocol!r}"
        raise ValueError(message("ties", rule, ties, hint="protocol 'standard' takes every rule"))
    if not isinstance(per_query, (bool, np.bool_)):
        raise InputTypeError(message("per_query", "be a bool", per_query))
    ndcg_k, recall_k = check_depths("ndcg_k", ndcg_k), check_depths("recall_k", recall_k)
    interval = check_interval(confidence_level, n_resamples, random_state)
    if interval and protocol == "released":
        hint = "its MRR and NDCG are no means over queries"
        rule = "be None under protocol 'released'"
        raise ValueError(message("confidence_level", rule, confidence_level, hint=hint))
    return Options(protocol, ties, missing, ndcg_k, recall_k, bool(per_query), interval)


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


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        error = ValueError if isinstance(value, str) else InputTypeError
        raise error(message(name, f"be one of {', '.join(map(repr, choices))}", value))


def check_depths(name: str, value: Any) -> tuple[int, ...]:
    """The depths that an int or several ints name."""
    rule = "be an int >= 1, or several"
    value = value.tolist() if isinstance(value, np.ndarray) else value
    depths = value if isinstance(value, (list, tuple, range)) else [value]
    if any(isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) for k in depths):
        raise InputTypeError(message(name, rule, value))
    if not len(depths) or min(depths) < 1:
        raise ValueError(message(name, rule, value))
    return tuple(int(k) for k in depths)


class Plain(str):
    """Words of ours in the place of a value: shown without quotes."""


def message(name: str, rule: str, got: Any, query: int | None = None, hint: str = "") -> str:
    """`name` must <rule>, got <value> at query 17; <what to do>."""
    got = got.tolist() if isinstance(got, (np.ndarray, np.generic)) else got
    shown = got if isinstance(got, Plain) else _SHORT.repr(got)
    place = "" if query is None else f" at query {query}"
    return f"`{name}` must {rule}, got {shown}{place}{'; ' + hint if hint else ''}"
