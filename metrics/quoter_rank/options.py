# SPDX-License-Identifier: Apache-2.0
"""The options of `quoter_rank`, their checks, and the figures that they ask for."""

from typing import Any, NamedTuple

from .common_checks import Interval, check_choice, check_depths, check_reporting, message
from .common_figures import Asked, key_of, parse_figures
from .scoring import DEFAULT, FIGURES, PROTOCOLS

TIES = ("expected", "optimistic", "pessimistic")
MISSING = ("error", "zero")
DEEPEST = 10**18  # ranks are int64


class Options(NamedTuple):
    """Checked options of `compute`."""

    protocol: str
    ties: str
    missing: str
    figures: Asked
    per_query: bool
    interval: Interval | None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the result."""
        figures = (key_of(*asked) for asked in self.figures)
        return (*figures, *(("missing",) if self.missing == "zero" else ()))

    @property
    def in_order(self) -> bool:
        """Whether figures depend on the order of the queries."""
        return self.protocol == "released"

    @property
    def signature(self) -> str:
        """The options as they stand in `metric.signature`."""
        return f"protocol:{self.protocol}|ties:{self.ties}|missing:{self.missing}"


def check_options(
    *,
    protocol: Any,
    ties: Any,
    missing: Any,
    ndcg_k: Any,
    recall_k: Any,
    figures: Any,
    **reporting: Any,
) -> Options:
    """Check the options of `compute`; `ties` None becomes the protocol's own rule for ties.

    Raises:
        ValueError: a value out of its range, or one that the protocol does not allow.
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
    depths = {
        "NDCG": check_depths("ndcg_k", ndcg_k),
        "Recall": check_depths("recall_k", recall_k),
    }
    asked = parse_figures(
        DEFAULT if figures is None else figures,
        FIGURES,
        protocol,
        lambda name: depths.get(name, depths["NDCG"]),
        DEEPEST,
    )
    per_query, interval = check_reporting(**reporting)
    if interval and protocol == "released":
        hint = "its MRR and NDCG are no means over queries"
        rule = "be None under protocol 'released'"
        raise ValueError(message("confidence_level", rule, interval.confidence_level, hint=hint))
    return Options(protocol, ties, missing, asked, per_query, interval)
