# SPDX-License-Identifier: Apache-2.0
"""quoter_rank: score matrices against the memory bus, rankings against a bare loop, and peers."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import quoter_peers as peers
import torch
from measure import OURS, Agreement, Call, Group, Sweep, Target, agreed, load
from numpy.typing import NDArray
from quoter_peers import Rankings, Scores

QUERIES, POOL = 12_777, 6_108  # the published english validation split and its pool
LIMIT = "np.sum of the matrix"
LOOP = "bare loop"
METRIC = load("quoter_rank")
LITTLE = Target("adds less than 16 MB", 16, "MB")
NOT_COMPARED = (
    "MeanRank, MedianRank, RankVariance: no peer has them.",
    "Figures under ties: pytrec_eval orders equal scores by id, ranx, torchmetrics and "
    "ndcg_score by their sorting or by averaging gains, so the peers are compared on tie-free "
    "scores.",
)


def ours(inputs: Scores | Rankings) -> Any:
    """The whole call."""
    return METRIC.compute(predictions=inputs[0], references=inputs[1])


# Inputs


def matrix(queries: int, candidates: int = POOL, dtype: Any = np.float32) -> Scores:
    """Seeded scores and golds."""
    rng = np.random.default_rng(0)
    gold = rng.integers(0, candidates, queries)
    if dtype == np.float64:
        return Scores(rng.random((queries, candidates)), gold)
    return Scores(rng.random((queries, candidates), np.float32).astype(dtype, copy=False), gold)


def bfloat16(queries: int) -> Scores:
    """A torch matrix."""
    scores, gold, _ = matrix(queries)
    return Scores(torch.from_numpy(scores).bfloat16(), gold)


def row_view(queries: int) -> Scores:
    """Every second row of a matrix."""
    scores, gold, _ = matrix(2 * queries)
    return Scores(scores[::2], gold[::2])


def fortran(queries: int) -> Scores:
    """A matrix whose columns are contiguous."""
    scores, gold, _ = matrix(queries)
    return Scores(np.asfortranarray(scores), gold)


def mapped(queries: int) -> Scores:
    """A matrix in a .npy file that is not read into memory."""
    scores, gold, _ = matrix(queries)
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "scores.npy"
    np.save(path, scores)
    return Scores(np.load(path, mmap_mode="r"), gold, folder)


def tie_free(queries: int = 300, candidates: int = 1_000) -> Scores:
    """Rows of distinct scores, exact in float32."""
    rng = np.random.default_rng(1)
    rows = np.tile(np.arange(candidates, dtype=np.float32) / 4, (queries, 1))
    return Scores(rng.permuted(rows, axis=1), rng.integers(0, candidates, queries))


def rankings(queries: int, length: int, of: Callable[[int], Any]) -> Rankings:
    """Lists of distinct candidates out of the pool, and one of each as its gold."""
    rng = np.random.default_rng(2)
    pool = np.array([of(i) for i in range(POOL)], dtype=object)
    lists = [pool[rng.permutation(POOL)[:length]].tolist() for _ in range(queries)]
    places = rng.integers(0, length, queries).tolist()
    return Rankings(lists, [found[at] for found, at in zip(lists, places, strict=True)])


def quote_id(number: int) -> str:
    """The id of a quote."""
    return f"quote-{number:05d}"


# What is timed


def bus(inputs: Scores) -> float:
    """The sum of the matrix: every byte is read once; 16-bit scores are read as float32."""
    scores = inputs.scores
    if isinstance(scores, torch.Tensor):
        scores = scores.view(torch.int16).numpy()
    if scores.itemsize == 2:
        scores = scores.view(np.float32)
    return float(np.sum(scores))


def matrices() -> list[Group]:
    """Score matrices of the published size in every form."""
    at_most = Target("at most 2.5x np.sum of the matrix", 2.5, "x", against=LIMIT)
    made: dict[str, tuple[Callable[[int], Scores], int, tuple[Target, ...]]] = {
        "float32": (matrix, QUERIES, (at_most, LITTLE)),
        "float64": (functools.partial(matrix, dtype=np.float64), QUERIES, (at_most, LITTLE)),
        "float16": (functools.partial(matrix, dtype=np.float16), QUERIES, (LITTLE,)),
        "bfloat16 (torch)": (bfloat16, QUERIES, (LITTLE,)),
        "every second row, float32": (row_view, QUERIES // 2, (LITTLE,)),
        "Fortran order, float32": (fortran, QUERIES, (LITTLE,)),
        "memory-mapped .npy, float32": (mapped, QUERIES, (LITTLE,)),
    }
    return [
        Group(
            key=f"scores, {queries:,} x {POOL:,}, {name}",
            queries=queries,
            make=make,
            calls={LIMIT: bus, OURS: ours},
            limit=LIMIT,
            targets=targets,
            from_file=make is mapped,
        )
        for name, (make, queries, targets) in made.items()
    ]


def lists() -> list[Group]:
    """Rankings of strings and of ints."""
    at_most = Target("at most 1.7x a bare loop", 1.7, "x", against=LOOP)
    made: list[tuple[str, Callable[[int], Any], int, tuple[Target, ...]]] = [
        ("ids", quote_id, 100, (at_most,)),
        ("ids", quote_id, 1_000, (at_most,)),
        ("ints", int, 100, ()),
        ("ints", int, 1_000, ()),
    ]
    return [
        Group(
            key=f"rankings, {QUERIES:,} lists of {length:,} {name}",
            queries=QUERIES,
            make=functools.partial(rankings, length=length, of=of),
            calls={LOOP: peers.by_bare_loop, OURS: ours},
            limit=LOOP,
            targets=targets,
        )
        for name, of, length, targets in made
    ]


AGAINST: dict[str, Call] = {
    LIMIT: bus,
    OURS: ours,
    "scikit-learn ndcg_score": peers.by_sklearn_ndcg,
    "scikit-learn LRAP (MRR)": peers.by_sklearn,
    "torchmetrics MRR": peers.by_torchmetrics,
    "evaluate's default path (MRR)": peers.by_default_path,
    "pytrec_eval": peers.by_pytrec_eval,
    "ranx": peers.by_ranx,
}


def groups() -> list[Group]:
    """All groups of this metric."""
    against = Group(
        key=f"scores, 256 x {POOL:,}, float32, against peers",
        queries=256,
        make=matrix,
        calls=AGAINST,
        limit=LIMIT,
    )
    return [*matrices(), *lists(), against]


def sweeps() -> list[Sweep]:
    """Growing numbers of queries and of candidates."""
    return [
        Sweep(
            key=f"quoter_rank, pool of {POOL:,}",
            axis="N, queries",
            sizes=(64, 256, 1_024, 4_096, QUERIES),
            make=matrix,
            queries=int,
            calls=AGAINST,
        ),
        Sweep(
            key="quoter_rank, 256 queries",
            axis="C, candidates a query",
            sizes=(64, 512, 4_096, 32_768),
            make=lambda candidates: matrix(256, candidates),
            queries=lambda _: 256,
            calls=AGAINST,
        ),
    ]


# Agreement


def check() -> list[Agreement]:
    """Compare every figure that a peer has with ours on tie-free scores."""
    inputs = tie_free()
    expected = ours(inputs)
    tools: dict[str, tuple[Call, float]] = {
        "pytrec_eval": (peers.by_pytrec_eval, 1e-12),
        "ranx": (peers.by_ranx, 1e-12),
        "scikit-learn LRAP": (peers.by_sklearn, 1e-12),
        "scikit-learn ndcg_score": (peers.by_sklearn_ndcg, 1e-12),
        "torchmetrics": (peers.by_torchmetrics, 1e-6),  # float32
        "torchmetrics ": (peers.by_torchmetrics_others, 1e-6),
        "evaluate's default path": (peers.by_default_path, 1e-12),
    }
    found = []
    for tool, (call, tolerance) in tools.items():
        found += agreed(tool.strip(), call(inputs), expected, tolerance)
    return found + agreed("bare loop", {"MRR": _bare_mrr(inputs)}, expected, 1e-12)


def _bare_mrr(inputs: Scores) -> float:
    order: NDArray[np.int64] = np.argsort(-inputs.scores, axis=1)
    ranks = peers.by_bare_loop(Rankings(order.tolist(), inputs.gold.tolist()))
    return float(np.mean(1 / np.array(ranks)))
