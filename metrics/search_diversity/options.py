# SPDX-License-Identifier: Apache-2.0
"""The options of `search_diversity`, their checks, and the figures that they ask for."""

from typing import Any, NamedTuple

from .common_checks import (
    Interval,
    check_choice,
    check_depths,
    check_reporting,
    check_share,
    message,
)
from .common_figures import Asked, key_of, parse_figures
from .scoring import DEFAULT, FIGURES, PROTOCOLS

DEEPEST = 1_000_000  # ERR-IA's normalisation is a sum over all ranks to the depth
ALPHA = 0.5  # Clarke et al., SIGIR 2008, and every TREC Web Track


class Options(NamedTuple):
    """Checked options of `compute`."""

    protocol: str
    alpha: float
    beta: float
    figures: Asked
    k: tuple[int, ...]  # descending
    per_query: bool
    interval: Interval | None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the result."""
        return tuple(key_of(*asked) for asked in self.figures)

    @property
    def in_order(self) -> bool:
        """Whether figures depend on the order of the queries: never."""
        return False

    @property
    def depths(self) -> tuple[int, ...]:
        """The depths of the figures, largest first; `k` if no figure has a depth."""
        return tuple(sorted({k for _, k in self.figures if k}, reverse=True)) or self.k

    @property
    def is_whole(self) -> bool:
        """Whether a figure goes over whole rankings."""
        return not all(k for _, k in self.figures)

    @property
    def signature(self) -> str:
        """The options as they stand in `metric.signature`."""
        alpha = "" if self.protocol == "recipe" else f"|alpha:{self.alpha}"
        patient = any(row in ("NRBP", "nNRBP") for row, _ in self.figures)
        return f"protocol:{self.protocol}{alpha}{f'|beta:{self.beta}' if patient else ''}"


def check_options(
    *,
    protocol: Any,
    alpha: Any,
    beta: Any,
    k: Any,
    figures: Any,
    **reporting: Any,
) -> Options:
    """Check the options of `compute`; `alpha` None becomes 0.5.

    Raises:
        ValueError: a value out of its range, or one that the protocol does not allow.
        TypeError: a value of a wrong type.
    """
    check_choice("protocol", protocol, PROTOCOLS)
    if alpha is not None and protocol == "recipe":
        hint = "'recipe' has no alpha; 'standard' and 'released' do"
        raise ValueError(message("alpha", "be None under protocol 'recipe'", alpha, hint=hint))
    per_query, interval = check_reporting(**reporting)
    alpha = ALPHA if alpha is None else check_share("alpha", alpha)
    k = tuple(sorted(set(check_depths("k", k, DEEPEST)), reverse=True))
    if figures is None:
        asked = tuple((row, depth) for depth in k for row in DEFAULT)
    else:
        asked = parse_figures(figures, FIGURES, protocol, lambda name: k, DEEPEST)
    return Options(protocol, alpha, check_share("beta", beta), asked, k, per_query, interval)
