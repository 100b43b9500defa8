# SPDX-License-Identifier: Apache-2.0
"""Score sharded Parquet files with Ray Data: workers score their rows, one process aggregates.

    python examples/score_with_ray.py quotes FILES...       # columns scores, gold[, query_id]
    python examples/score_with_ray.py diversity FILES...    # columns scores, labels
    python examples/score_with_ray.py                       # both, on files that are made up

`scores` are lists of floats, of one length in all files. `gold` is the position of the right one;
`labels` are a list of 0 and 1 for each score, documents x subtopics. What leaves a worker is two
integers a query, or its figures. The results have the bits of one process, which --check shows.
Needs `pip install '.[ray]'`.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_DATA_LOG_LEVEL", "ERROR")

import evaluate
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
from numpy.typing import NDArray
from quotediv.metrics.quoter_rank import scoring as quoter_scoring
from quotediv.metrics.search_diversity import scoring as diversity_scoring
from quotediv.metrics.search_diversity.blocks import figures

REPO = Path(__file__).resolve().parent.parent
BATCH = 4096  # queries that a worker scores at a time
K = (5, 10)
ALPHA = 0.5

SHARDS, POOL, DOCUMENTS, SUBTOPICS = 8, 200, 15, 12  # of made-up files

Array = NDArray[Any]
Figures = dict[str, float]


# In the workers -------------------------------------------------------------------------------


def dense(column: Any, name: str) -> Array:
    """A column of lists, or of lists of lists, of one length as an array."""
    values, shape = column.combine_chunks(), [len(column)]
    while pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        lengths = set(values.value_lengths().to_pylist())
        if len(lengths) != 1 or None in lengths:
            raise ValueError(
                f"`{name}` must be lists of one length, got {sorted(lengths, key=str)}"
            )
        shape.append(lengths.pop())
        values = values.flatten()
    if values.null_count:
        raise ValueError(f"`{name}` must hold no null")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(shape)


def rank_quotes(batch: pa.Table) -> pa.Table:
    """Rank and ties of the gold of each query."""
    scores, gold = dense(batch["scores"], "scores"), dense(batch["gold"], "gold")
    if scores.dtype.kind != "f" or gold.dtype.kind not in "iu":
        raise ValueError(f"`scores` must be floats and `gold` ints, got {batch.schema.types}")
    if ((gold < 0) | (gold >= scores.shape[1])).any():
        raise ValueError(f"`gold` must be positions from 0 to {scores.shape[1] - 1}")
    rank, tied, unordered = quoter_scoring.rank_of_gold(scores, gold)
    if unordered.any():
        raise ValueError("`scores` must hold no NaN")
    ids = {"query_id": batch["query_id"]} if "query_id" in batch.column_names else {}
    return pa.table({"rank": rank, "tied": tied, **ids})


def score_documents(batch: pa.Table) -> pa.Table:
    """The figures of each query under "standard"; of equal scores or gains the later row wins."""
    scores, labels = dense(batch["scores"], "scores"), dense(batch["labels"], "labels")
    if labels.ndim != 3 or labels.shape[:2] != scores.shape or not np.isin(labels, (0, 1)).all():
        raise ValueError("`labels` must be a list of 0 and 1 for each of the `scores`")
    if scores.dtype.kind != "f":
        raise ValueError(f"`scores` must be floats, got {batch.schema.types}")
    if np.isnan(scores).any():
        raise ValueError("`scores` must hold no NaN")
    scores, labels = scores[:, ::-1], labels[:, ::-1].astype(bool)  # the later row first
    asked = [(row, k) for k in sorted(K, reverse=True) for row in diversity_scoring.DEFAULT]
    values = figures(
        np.ascontiguousarray(labels.transpose(2, 1, 0)),
        np.argsort(-scores, axis=1, kind="stable")[:, : max(K)].T,
        n_docs=np.full(len(scores), scores.shape[1]),
        n_subtopics=labels.any(axis=1).sum(axis=1),
        protocol="standard",
        alpha=ALPHA,
        asked=asked,
    )
    keys = [row.removesuffix("k") + str(k) for row, k in asked]
    return pa.table(dict(zip(keys, values, strict=True)))


# In the process that aggregates ---------------------------------------------------------------


def gathered(files: Sequence[str], columns: Sequence[str], work: Any) -> pa.Table:
    """What the workers give for all rows."""
    names = set(pq.read_schema(files[0]).names)
    wanted = [name for name in (*columns, "query_id") if name in names]
    if missing := sorted(set(columns) - names):
        raise ValueError(f"{files[0]}: no column {', '.join(missing)}")
    rows = ray.data.read_parquet(list(files)).select_columns(wanted)
    parts = rows.map_batches(work, batch_format="pyarrow", batch_size=BATCH)
    tables = list(parts.iter_batches(batch_format="pyarrow", batch_size=None))
    if not tables:
        raise ValueError("the files have no rows")
    return pa.concat_tables(tables)


def score_quotes(files: Sequence[str]) -> Figures:
    """Figures of `quoter_rank`, out of ranks."""
    table = gathered(files, ("scores", "gold"), rank_quotes)
    metric = evaluate.load(str(REPO / "metrics" / "quoter_rank"), "ranks", keep_in_memory=True)
    ids = table["query_id"].to_pylist() if "query_id" in table.column_names else None
    rank, tied = table["rank"].to_numpy(), table["tied"].to_numpy()
    result: Figures = metric.compute(predictions=rank, references=tied, query_ids=ids)
    return result


def score_diversity(files: Sequence[str]) -> Figures:
    """Figures of `search_diversity`: exact means of those of the queries."""
    table = gathered(files, ("scores", "labels"), score_documents)
    return {name: diversity_scoring.mean(table[name].to_numpy()) for name in table.column_names}


def in_one_process(kind: str, files: Sequence[str]) -> Figures:
    """The same by `compute`, file by file."""
    name, golds = ("quoter_rank", "gold") if kind == "quotes" else ("search_diversity", "labels")
    metric = evaluate.load(str(REPO / "metrics" / name), keep_in_memory=True)
    for file in files:
        table = pq.read_table(file)
        if not len(table):
            continue
        ids = table["query_id"].to_pylist() if "query_id" in table.column_names else None
        metric.add_batch(
            predictions=dense(table["scores"], "scores"),
            references=dense(table[golds], golds),
            query_ids=ids if kind == "quotes" else None,
        )
    result: Figures = metric.compute()
    return result


SCORERS = {"quotes": score_quotes, "diversity": score_diversity}


def report(kind: str, files: Sequence[str], check: bool) -> None:
    """Print the figures, and with `check` compare them."""
    start = time.perf_counter()
    result = SCORERS[kind](files)
    seconds = time.perf_counter() - start
    print(f"{kind}: {len(files)} files, {seconds:.2f} s with Ray")
    for key, value in result.items():
        print(f"  {key:14} {value!r}")
    if check:
        start = time.perf_counter()
        alone = in_one_process(kind, files)
        seconds = time.perf_counter() - start
        if alone != result:
            raise SystemExit(f"one process gives {alone}")
        print(f"  one process: {seconds:.2f} s, the same bits")


# Made-up files --------------------------------------------------------------------------------


def lists(values: Array) -> pa.Array:
    """An array as an Arrow column of lists."""
    column = pa.array(values.ravel())
    for size in values.shape[:0:-1]:
        column = pa.FixedSizeListArray.from_arrays(column, size)
        column = column.cast(pa.list_(column.type.value_type))
    return column


def make_up(kind: str, folder: Path, queries: int) -> list[str]:
    """SHARDS Parquet files."""
    rng, files = np.random.default_rng(0), []
    for shard, index in enumerate(np.array_split(np.arange(queries), SHARDS)):
        if kind == "quotes":
            scores = rng.normal(size=(len(index), POOL)).astype(np.float32).round(2)
            columns = {"gold": pa.array(rng.integers(POOL, size=len(index))), "query_id": index}
        else:
            scores = rng.normal(size=(len(index), DOCUMENTS)).astype(np.float32)
            labels = rng.random((len(index), DOCUMENTS, SUBTOPICS)) < 0.2
            columns = {"labels": lists(labels.astype(np.int8))}
        files.append(str(folder / f"{kind}-{shard}.parquet"))
        pq.write_table(pa.table({"scores": lists(scores), **columns}), files[-1])
    return files


@contextmanager
def started(workers: int) -> Iterator[None]:
    """Ray on this machine, quiet but for errors."""
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error")
    for module in (quoter_scoring, diversity_scoring):
        ray.cloudpickle.register_pickle_by_value(module)  # workers need numpy only
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield
    finally:
        ray.shutdown()


def main(argv: list[str] | None = None) -> None:
    """Score the files that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", nargs="?", choices=SCORERS, help="without it: both, made up")
    parser.add_argument("files", nargs="*", help="Parquet files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="compare with one process")
    parser.add_argument("--queries", type=int, default=100_000, help="of made-up files")
    args = parser.parse_args(argv)
    if args.kind and not args.files:
        parser.error("name the files")
    with started(args.workers):
        if args.kind:
            report(args.kind, args.files, args.check)
            return
        with tempfile.TemporaryDirectory() as folder:
            for kind in SCORERS:
                report(kind, make_up(kind, Path(folder), args.queries), check=True)


if __name__ == "__main__":
    main()
