# SPDX-License-Identifier: Apache-2.0
"""search_diversity: Python objects, Arrow columns and arrays against plain loops and peers."""

import functools
from typing import Any, NamedTuple

import datasets
import diversity_peers as peers
from diversity_inputs import Arrays, Dicts, arrays, columns, dicts, one_deep
from measure import OURS, Agreement, Call, Figures, Group, Sweep, Target, agreed, load

QUERIES, DOCUMENTS = 100_000, 15
SINGLE = 16_000
LOOPS, PYNDEVAL = "plain loops", "pyndeval"
ALPHAS = {0.0: 4.0, 0.5: 4.0, 1.0: 4.0, 0.1: 5.0, 0.9: 5.0}  # µs a query
METRIC = load("search_diversity")
GROWING = (20_000, 100_000, 300_000)
A_CHUNK = Target(
    "added memory bounded by the chunk: at most 128 B for each further query, the "
    "figures of a query being 64 B",
    128,
    "B a query",
)
NOT_COMPARED = (
    "Protocols released and recipe: no peer has them.",
    "ERR-IA at rank 1 and alpha 0.1 or 0.9: pyndeval leaves ERR-IA@1 unnormalised, and sums gains "
    "in the order of the rows of the qrels, which changes some ideals.",
    "ERR-IA of ir_measures is compared at alpha 0.5, the only one it has.",
    "ranx, torchmetrics, scikit-learn and pytrec_eval have no diversity figures.",
)


def ours(inputs: Dicts | Arrays, alpha: float = peers.ALPHA, **options: Any) -> Any:
    """The whole call."""
    return METRIC.compute(predictions=inputs[0], references=inputs[1], alpha=alpha, **options)


def ours_from_columns(rows: datasets.Dataset, **options: Any) -> Any:
    """The whole call on columns as the loaders give them."""
    return METRIC.compute(predictions=rows["ranking"], references=rows, **options)


AGAINST: dict[str, Call] = {
    OURS: ours,
    LOOPS: peers.by_plain_loops,
    PYNDEVAL: peers.by_pyndeval,
    "ir_measures": peers.by_ir_measures,
}


def objects() -> list[Group]:
    """Python objects."""
    return [
        Group(
            key=f"dicts of ids, {QUERIES:,} queries x {DOCUMENTS}",
            queries=QUERIES,
            make=dicts,
            calls=AGAINST,
            targets=(
                Target("at most 0.40x plain loops", 0.40, "x", against=LOOPS),
                Target("3.5x faster than pyndeval", 3.5, "x faster", against=PYNDEVAL),
            ),
        ),
        Group(
            key=f"dicts of ids, 2,000 queries x {DOCUMENTS}, against evaluate's default path",
            queries=2_000,
            make=dicts,
            calls={
                OURS: ours,
                LOOPS: peers.by_plain_loops,
                "evaluate's nested features": peers.by_nested_features,
            },
        ),
    ]


def flat() -> list[Group]:
    """Arrow columns and arrays."""
    faster = Target("10x faster than pyndeval", 10, "x faster", against=PYNDEVAL)
    calls = {
        OURS if alpha == peers.ALPHA else f"{OURS}, alpha {alpha}": functools.partial(
            ours, alpha=alpha
        )
        for alpha in sorted(ALPHAS, key=lambda alpha: alpha != peers.ALPHA)
    }
    at_most = [
        Target(
            f"at most {most:g} µs a query at alpha {alpha:g}",
            most,
            "µs a query",
            call=OURS if alpha == peers.ALPHA else f"{OURS}, alpha {alpha}",
        )
        for alpha, most in ALPHAS.items()
    ]
    return [
        Group(
            key=f"Arrow columns, {QUERIES:,} queries x {DOCUMENTS}",
            queries=QUERIES,
            make=columns,
            calls={OURS: ours_from_columns, PYNDEVAL: peers.by_pyndeval_from_columns},
            targets=(faster, A_CHUNK),
            memory=GROWING,
        ),
        Group(
            key=f"arrays, {QUERIES:,} queries x {DOCUMENTS} x 25",
            queries=QUERIES,
            make=arrays,
            calls=calls,
            targets=(*at_most, A_CHUNK),
            memory=GROWING,
        ),
    ]


def named() -> list[Group]:
    """Figures by name."""
    everything, part = {"figures": peers.COLUMNS}, functools.partial
    only = f"{OURS}, S-recall@10 alone"
    return [
        Group(
            key=f"all 21 columns of ndeval, dicts of ids, {QUERIES:,} queries x {DOCUMENTS}",
            queries=QUERIES,
            make=dicts,
            calls={
                OURS: part(ours, **everything),
                PYNDEVAL: part(peers.by_pyndeval, **everything),
            },
            targets=(Target("3.5x faster than pyndeval", 3.5, "x faster", against=PYNDEVAL),),
        ),
        Group(
            key=f"all 21 columns of ndeval, Arrow columns, {QUERIES:,} queries x {DOCUMENTS}",
            queries=QUERIES,
            make=columns,
            calls={
                OURS: part(ours_from_columns, **everything),
                PYNDEVAL: part(peers.by_pyndeval_from_columns, **everything),
            },
            targets=(Target("10x faster than pyndeval", 10, "x faster", against=PYNDEVAL),),
        ),
        Group(
            key=f"one figure of six, arrays, {QUERIES:,} queries x {DOCUMENTS} x 25",
            queries=QUERIES,
            make=arrays,
            calls={OURS: ours, only: part(ours, figures="S-recall@10")},
            targets=(Target("at most the time of all six", 1, "x", call=only, against=OURS),),
        ),
        Group(
            key="nNRBP and MAP-IA, one topic, 20,000 judged, 10,000 ranked",
            queries=1,
            make=lambda queries: one_deep(20_000),
            calls={OURS: part(ours, figures=("nNRBP", "MAP-IA"))},
            targets=(
                Target("at most 50 ms", 50_000, "µs a query"),
                Target("at most 64 MB", 64, "MB"),
            ),
        ),
    ]


def one_by_one(rows: Dicts) -> None:
    """Each query added alone with an id, as a loop over a data loader does."""
    metric = load("search_diversity")
    for query, (prediction, reference) in enumerate(zip(*rows, strict=True)):
        metric.add(prediction=prediction, reference=reference, query_id=query)


def single() -> list[Group]:
    """Queries added one by one."""
    quarter = "a quarter of them"
    return [
        Group(
            key=f"add with query_id, {SINGLE:,} queries x {DOCUMENTS}, one by one",
            queries=SINGLE,
            make=dicts,
            calls={
                OURS: one_by_one,
                quarter: lambda rows: one_by_one(Dicts(*(part[: SINGLE // 4] for part in rows))),
            },
            targets=(Target("linear: at most 5x a quarter of them", 5, "x", against=quarter),),
        )
    ]


def groups() -> list[Group]:
    """All groups of this metric."""
    return [*objects(), *flat(), *named(), *single()]


# Growing sizes


class Forms(NamedTuple):
    """The same queries in each form."""

    dicts: Dicts
    columns: datasets.Dataset
    arrays: Arrays


def forms(queries: int, documents: int = DOCUMENTS) -> Forms:
    """All forms of the same size."""
    size = queries, documents
    return Forms(dicts(*size), columns(*size), arrays(*size))


def of_form(name: str, call: Call) -> Call:
    """The call on one of the forms."""
    return lambda inputs: call(getattr(inputs, name))


def sweeps() -> list[Sweep]:
    """Growing numbers of queries and of documents."""
    calls = {
        f"{OURS}, dicts": of_form("dicts", ours),
        f"{OURS}, Arrow": of_form("columns", ours_from_columns),
        f"{OURS}, arrays": of_form("arrays", ours),
        **{name: of_form("dicts", AGAINST[name]) for name in AGAINST if name != OURS},
        "evaluate's nested features": of_form("dicts", peers.by_nested_features),
    }
    return [
        Sweep(
            key=f"search_diversity, {DOCUMENTS} documents a query",
            axis="Q, queries",
            sizes=(100, 1_000, 10_000, QUERIES),
            make=forms,
            queries=int,
            calls=calls,
        ),
        Sweep(
            key="search_diversity, 500 queries",
            axis="n, documents a query",
            sizes=(5, 15, 50, 150, 500),
            make=functools.partial(forms, 500),
            queries=lambda _: 500,
            calls=calls,
        ),
    ]


# Agreement


def check() -> list[Agreement]:
    """Compare all figures of the protocol "standard" with the peers'."""
    dict_form, column_form, array_form = forms(2_000)
    expected: Figures = ours(dict_form)
    tools = {
        "arrays": ours(array_form),
        "Arrow columns": ours_from_columns(column_form),
        "plain loops": peers.by_plain_loops(dict_form),
        "pyndeval": peers.by_pyndeval(dict_form),
        "pyndeval from Arrow": peers.by_pyndeval_from_columns(column_form),
        "ir_measures": peers.by_ir_measures(dict_form),
        "evaluate's nested features": peers.by_nested_features(dict_form),
    }
    found = []
    for tool, theirs in tools.items():
        found += agreed(tool, theirs, expected, 1e-12)
    theirs = peers.by_pyndeval(dict_form, figures=peers.COLUMNS)
    found += agreed("pyndeval", theirs, ours(dict_form, figures=peers.COLUMNS), 1e-12)
    for alpha in (0.0, 1.0):
        theirs = peers.by_pyndeval(dict_form, alpha)
        found += agreed(f"pyndeval, alpha {alpha:g}", theirs, ours(dict_form, alpha), 1e-12)
    return found
