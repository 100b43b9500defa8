# SPDX-License-Identifier: Apache-2.0
"""`paired_significance`: paired tests and intervals, as a Hugging Face `evaluate` comparison."""

import math
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import datasets
import evaluate
import numpy as np

from .common_checks import InputTypeError, Plain, message, warn
from .common_defaults import WithDefaults
from .common_intervals import intervals, normal_distribution
from .inputs import read_systems
from .options import Options, check_correction, check_options
from .scoring import (
    Floats,
    benjamini_hochberg,
    flip_p_values,
    holm,
    randomised_tukey,
    t_p_value,
    wilcoxon_p_value,
)
from .table import Table

__version__ = "0.1.0"

_DESCRIPTION = """\
Compares two systems by their figures for the same queries: the difference of the means, its
confidence interval, and the p-value of a paired test. `compare` does so for all pairs of several
systems, with p-values corrected for the number of pairs.
"""

_CITATION = """\
@inproceedings{smucker-etal-2007-comparison,
    title = "A Comparison of Statistical Significance Tests for Information Retrieval Evaluation",
    author = "Smucker, Mark D. and Allan, James and Carterette, Ben",
    booktitle = "Proceedings of CIKM 2007",
    year = "2007",
    url = "https://doi.org/10.1145/1321440.1321528",
}
@inproceedings{urbano-etal-2019-statistical,
    title = "Statistical Significance Testing in Information Retrieval: An Empirical Analysis of
      Type I, Type II and Type III Errors",
    author = "Urbano, Juli{\\'a}n and Lima, Harlley and Hanjalic, Alan",
    booktitle = "Proceedings of SIGIR 2019",
    year = "2019",
    url = "https://doi.org/10.1145/3331184.3331259",
}
"""

_INPUTS = """
Inputs:
    predictions1, predictions2: one figure per query for each system, such as `per_query` of a metric
        gives: two lists with the queries in the same order, or two mappings {query_id: figure},
        which are aligned by id; different sets of ids are an error.

Options of compute:
    test (str): "permutation" flips the signs of the differences at random, or in all 2^n ways if
        these are at most n_resamples; "t" is Student's paired t-test; "wilcoxon" is the signed-rank
        test. The last two need scipy. All are two-sided.
    greater_is_better (bool): whether a higher figure is a win.
    confidence_level (float): of the interval; default 0.95; needs scipy. None: no interval.
    n_resamples (int): resamples of the interval and sign vectors of the test; default 9999.
    random_state (int): seed of both; default 0.

Returns:
    difference: mean of predictions1 - mean of predictions2.
    confidence_interval: [low, high] of the difference, BCa bootstrap over queries.
    p_value: two-sided, from 0 to 1; 1 if all differences are 0.
    n: number of queries. wins, ties, losses: queries where system 1 is better, equal (differences
        up to 1e-12), worse.
    effect_size: mean of the differences over their standard deviation (n - 1), None where that is 0.

compare({"system": figures, ...}, correction="holm"):
    A table, one row for each pair: system1, system2, the keys above, and p_corrected, by "holm",
    "bh" (Benjamini and Hochberg), "tukey" (randomised Tukey HSD) or None.

Raises:
    ValueError: a value that breaks these rules; the message names the argument, the rule, the value
        and the query. Figures added before are kept.
    TypeError: an argument of a wrong type.
    ImportError: scipy is needed but not installed.

Examples:
    >>> import evaluate
    >>> comparison = evaluate.load("metrics/paired_significance")
    >>> result = comparison.compute(
    ...     predictions1=[1.0, 0.5, 0.5, 1.0, 1.0], predictions2=[0.5, 0.25, 0.5, 0.2, 0.5]
    ... )
    >>> round(result["difference"], 4), result["p_value"], result["wins"], result["ties"]
    (0.41, 0.125, 4, 1)
    >>> systems = {"A": {"q1": 1.0, "q2": 0.5}, "B": {"q2": 0.5, "q1": 0.2}, "C": {"q1": 0, "q2": 0}}
    >>> [(row["system1"], row["system2"], row["p_corrected"]) for row in comparison.compare(systems)]
    [('A', 'B', 1.0), ('A', 'C', 1.0), ('B', 'C', 1.0)]
"""

EQUAL = 1e-12  # differences up to here are ties
CORRECTED: dict[str | None, Callable[[Floats], Floats]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    None: lambda p: p,
}


class PairedSignificance(WithDefaults, evaluate.Comparison):
    """Difference of two systems over the same queries, its interval and its p-value."""

    OPTIONS_OF = ("compute", "compare")

    _added: Floats  # (2, N)
    _ids: list[Any]  # of the N queries, or []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._signature: str | None = None
        self._start_over()
        options = check_options(**self.default_options("compute"))
        check_correction(self.default_options("compare")["correction"], options.test)

    def _info(self) -> evaluate.ComparisonInfo:
        number = datasets.Value("float64")
        return evaluate.ComparisonInfo(
            module_type="comparison",
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(predictions1=number, predictions2=number),
            license="Apache-2.0",
            reference_urls=[
                "https://doi.org/10.1145/1321440.1321528",
                "https://doi.org/10.1145/3331184.3331259",
            ],
        )

    def __len__(self) -> int:
        """Number of queries added since the last result."""
        return int(self._added.shape[1])

    @property
    def signature(self) -> str | None:
        """One line that says how the last p-values were computed; None before the first."""
        return self._signature

    def add(self, *, prediction1: Any = None, prediction2: Any = None, **kwargs: Any) -> None:
        """Add the figures of one query."""
        _refuse_unknown(kwargs, "prediction1 and prediction2")
        self.add_batch(predictions1=[prediction1], predictions2=[prediction2])

    def add_batch(
        self, *, predictions1: Any = None, predictions2: Any = None, **kwargs: Any
    ) -> None:
        """Check the figures of several queries and keep them until `compute`."""
        _refuse_unknown(kwargs, "predictions1 and predictions2")
        self._added, self._ids = self._with(predictions1, predictions2)

    def compute(
        self,
        *,
        predictions1: Any = None,
        predictions2: Any = None,
        test: str = "permutation",
        greater_is_better: bool = True,
        confidence_level: float | None = 0.95,
        n_resamples: int = 9999,
        random_state: int = 0,
    ) -> dict[str, Any]:
        """Compare the two systems by all figures, added before or given here.

        If it raises, the figures added before are kept.
        """
        options = check_options(
            test=test,
            greater_is_better=greater_is_better,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        if self.num_process > 1:
            hint = "gather the figures in one process"
            raise ValueError(message("num_process", "be 1", self.num_process, hint=hint))
        figures = self._added
        if predictions1 is not None or predictions2 is not None:
            figures, _ = self._with(predictions1, predictions2)
        _refuse_none("predictions1", figures)
        (row,), _ = _compared(figures, [(0, 1)], options)
        self._sign(options, figures.shape[1])
        self._start_over()
        return row

    def compare(
        self,
        systems: Mapping[str, Any],
        *,
        test: str = "permutation",
        correction: str | None = "holm",
        greater_is_better: bool = True,
        confidence_level: float | None = 0.95,
        n_resamples: int = 9999,
        random_state: int = 0,
    ) -> Table:
        """Compare all pairs of systems by one figure; what `add_batch` added is not used.

        Args:
            systems: {name: figures} of two systems or more, lists or mappings as for `compute`.
            test: as for `compute`; all pairs share the sign vectors.
            correction: of the p-values over all pairs, "holm", "bh", "tukey" or None.
            greater_is_better: as for `compute`.
            confidence_level: as for `compute`; of each interval alone, not corrected.
            n_resamples: as for `compute`.
            random_state: as for `compute`.
        Returns:
            A list with a dict for each pair: system1, system2, what `compute` returns, p_corrected.
        """
        options = check_options(
            test=test,
            greater_is_better=greater_is_better,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        check_correction(correction, test)
        if not isinstance(systems, Mapping) or len(systems) < 2:
            rule = "be {name: figures} of two systems or more"
            error = ValueError if isinstance(systems, Mapping) else InputTypeError
            raise error(message("systems", rule, systems))
        names = list(map(str, systems))
        if len(set(names)) < len(names):
            got = Plain("two that are written the same")
            raise ValueError(message("systems", "have different names", got))
        figures, _ = read_systems(dict(zip(names, systems.values(), strict=True)), None)
        _refuse_none(names[0], figures)
        pairs = list(combinations(range(len(figures)), 2))
        rows, p = _compared(figures, pairs, options)
        if correction == "tukey":
            rng = np.random.default_rng(options.random_state)
            corrected = randomised_tukey(figures, pairs, options.n_resamples, rng)
            corrected[[row["ties"] == row["n"] for row in rows]] = 1
        else:
            corrected = CORRECTED[correction](p)
        self._sign(options, figures.shape[1], f"|correction:{correction}")
        return Table(
            {"system1": names[one], "system2": names[other], **row, "p_corrected": float(value)}
            for (one, other), row, value in zip(pairs, rows, corrected, strict=True)
        )

    def _with(self, predictions1: Any, predictions2: Any) -> tuple[Floats, Any]:
        """The figures added before followed by these, and the query ids of all."""
        given = {"predictions1": predictions1, "predictions2": predictions2}
        figures, ids = read_systems(given, self._ids if len(self) else None)
        return np.hstack([self._added, figures]), self._ids + ids

    def _sign(self, options: Options, n: int, correction: str = "") -> None:
        test = f"{self.name}|test:{options.test}{correction}"
        self._signature = f"{test}|{options.signature}|n:{n}|version:{__version__}"

    def _start_over(self) -> None:
        self._added = np.empty((2, 0))
        self._ids = []

    def _compute(self, **kwargs: Any) -> Any:
        raise NotImplementedError  # `compute` is overridden and does not call it


def _refuse_unknown(arguments: Mapping[str, Any], taken: str) -> None:
    for name in arguments:
        rule, hint = "be figures of two systems", f"give {taken}"
        raise InputTypeError(message("arguments", rule, name, hint=hint))


def _refuse_none(name: str, figures: Floats) -> None:
    if not figures.shape[1]:
        raise ValueError(message(name, "have at least one query", 0))


def _compared(
    figures: Floats, pairs: list[tuple[int, int]], options: Options
) -> tuple[list[dict[str, Any]], Floats]:
    """One row of results per pair, and the p-values of all pairs."""
    n = figures.shape[1]
    one, other = np.array(pairs).T
    raw = figures[one] - figures[other]
    differences = np.where(np.abs(raw) <= EQUAL, 0.0, raw)
    p = _p_values(differences, options)
    found = _intervals(differences, options)
    rows = []
    for pair, (d, value) in enumerate(zip(differences, p.tolist(), strict=True)):
        better = d if options.greater_is_better else -d
        row = {
            "difference": math.fsum(d.tolist()) / n,
            **found[pair],
            "p_value": value,
            "n": n,
            "wins": int((better > 0).sum()),
            "ties": int((better == 0).sum()),
            "losses": int((better < 0).sum()),
            "effect_size": _effect_size(d),
        }
        rows.append(row)
    return rows, p


def _p_values(differences: Floats, options: Options) -> Floats:
    if options.test == "permutation":
        rng = np.random.default_rng(options.random_state)
        return flip_p_values(differences, options.n_resamples, rng)
    if options.test == "wilcoxon":
        return np.array([wilcoxon_p_value(row) for row in differences])
    found = [t_p_value(row) for row in differences]
    if any(constant for _, constant in found):
        warn("all differences are the same and not 0: p = 0 says no more than that")
    return np.array([p for p, _ in found])


def _intervals(differences: Floats, options: Options) -> list[dict[str, list[float]]]:
    """Interval of each row's mean, if one is asked for; all rows share the resamples."""
    if options.interval is None:
        return [{} for _ in differences]
    normal_distribution()
    values = {str(pair): row for pair, row in enumerate(differences)}
    found = intervals(values, **options.interval._asdict())
    return [{"confidence_interval": interval} for interval in found.values()]


def _effect_size(differences: Floats) -> float | None:
    """Mean over standard deviation, None where all differences are the same."""
    if np.ptp(differences) <= EQUAL * np.abs(differences).max():
        return None
    return float(differences.mean() / differences.std(ddof=1))
