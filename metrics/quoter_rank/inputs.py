# SPDX-License-Identifier: Apache-2.0
"""Where data enters `quoter_rank`: all checks of it, and its reduction to (rank, tied)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_arrays import all_strings, is_array, is_scalar, to_numpy
from .common_checks import InputTypeError, Plain, message
from .ranks import Ints, Ranks
from .scoring import rank_of_gold

KINDS = ("scores", "ranking", "ranks")
LAST_TIED_RANK = 10_000_000  # the sums of 1 / rank up to here take 80 MB
PART_SCORES = 1 << 19  # scores of a tensor that are converted at a time
A_POSITION = "be one gold a query, an int, its position in the row"
A_CANDIDATE = "be one gold a query, a str or an int"


def read_batch(
    predictions: Any, references: Any, *, kind: str | None, named: bool = False, start: int = 0
) -> tuple[str, Ranks]:
    """Check a batch of queries and reduce each to the rank of its gold.

    Args:
        predictions: one row per query: scores, a ranking, or a rank (see the metric's description).
        references: the gold of each query; for "ranks", the number of tied candidates.
        kind: the kind that the rows must have; if None, it is read from their type.
        named: whether the config names the kind; ints are scores only then.
        start: number of queries added before; errors count on from it.
    Returns:
        The kind of the rows, and the rows.
    Raises:
        ValueError: a value against the rules of its kind.
        TypeError: a container that holds no rows.
    """
    predictions = _rows("predictions", predictions)
    references = _rows("references", references)
    if len(predictions) != len(references):
        rule = f"have one row for each of the {len(references)} references"
        raise ValueError(message("predictions", rule, len(predictions)))
    if kind == "ranks":
        return kind, Ranks(*_read_ranks(predictions, references, start))
    ints_are_scores = named and kind == "scores"
    if not is_array(predictions):
        return _read_rows(predictions, references, kind, ints_are_scores, start)
    if len(predictions.shape) != 2:
        hint, got = "give (N, C) scores or (N, K) positions", tuple(predictions.shape)
        raise ValueError(
            message("predictions", "have a row a query", Plain(f"shape {got}"), start, hint)
        )
    dtype = to_numpy(predictions[:0]).dtype.kind
    if dtype == "f" or (dtype in "iu" and ints_are_scores):
        _agree(kind, "scores", start)
        gold = _ints("references", references, A_POSITION, start)
        return "scores", Ranks(*_rank_matrix(predictions, gold, start))
    rows = to_numpy(predictions).tolist()
    return _read_rows(rows, references, kind, ints_are_scores, start)


def _read_ranks(predictions: Any, references: Any, start: int) -> tuple[Ints, Ints]:
    rank = _ints("predictions", predictions, "be an int, the rank of the gold", start)
    tied = _ints("references", references, "be an int, the number of tied candidates", start)
    rule = "be a rank from 1 to 2**53, or 0 for a missing gold"
    _refuse("predictions", rule, (rank < 0) | (rank > 2**53), rank, start)
    rule = "be >= 1, the gold included, or 0 where the rank is 0"
    _refuse("references", rule, (tied < 0) | ((tied == 0) != (rank == 0)), tied, start)
    rule = f"be 1, or end at rank {LAST_TIED_RANK} at the latest"
    _refuse("references", rule, (tied > 1) & (tied > LAST_TIED_RANK + 1 - rank), tied, start)
    return rank, tied


def _rank_matrix(scores: Any, gold: Ints, start: int) -> tuple[Ints, Ints]:
    """Rank the gold of every row of an (N, C) array or tensor."""
    queries, candidates = scores.shape
    _refuse_position((gold < 0) | (gold >= candidates), candidates, gold, start)
    if not isinstance(scores, np.ndarray) and candidates:  # a tensor, converted a part at a time
        rows = max(1, PART_SCORES // candidates)
        parts = [
            _rank_matrix(to_numpy(scores[i : i + rows]), gold[i : i + rows], start + i)
            for i in range(0, queries, rows)
        ]
        rank, tied = np.hstack([np.empty((2, 0), np.int64), *parts])
        return rank, tied
    rank, tied, unordered = rank_of_gold(scores, gold)
    _refuse("predictions", "hold no NaN", unordered, scores, start)
    return rank, tied


def _read_rows(
    rows: list[Any], golds: Any, kind: str | None, ints_are_scores: bool, start: int
) -> tuple[str, Ranks]:
    """Read a list of rows: ragged scores, or rankings of strings or of positions."""
    if kind in (None, "ranking") and (ranks := _rank_strings(rows, golds)):
        rank = np.array(ranks, np.int64)
        return "ranking", Ranks(rank, np.minimum(rank, 1))
    typed = [_typed_row(row, start + i) for i, row in enumerate(rows)]
    scores = (float, int) if ints_are_scores else (float,)
    for query, (_, row_type) in enumerate(typed, start):
        if row_type is not None:
            kind = _agree(kind, "scores" if row_type in scores else "ranking", query)
    kind = kind or "ranking"  # lists without candidates
    if kind == "scores":
        gold = _ints("references", golds, A_POSITION, start)
        pairs = [_rank_scores(row, gold[i : i + 1], start + i) for i, (row, _) in enumerate(typed)]
    else:
        golds = to_numpy(golds).tolist() if is_array(golds) else golds
        pairs = [_rank_ranking(*row, golds[i], start + i) for i, row in enumerate(typed)]
    rank, tied = np.array(pairs, np.int64).reshape(-1, 2).T
    return kind, Ranks(rank, tied)


def _rank_scores(row: Any, gold: Ints, query: int) -> tuple[int, int]:
    """Rank and ties of the gold of one row of scores."""
    rank, tied = _rank_matrix(_comparable(row)[None], gold, query)
    return int(rank[0]), int(tied[0])


def _rank_strings(rows: list[Any], golds: Any) -> list[int] | None:
    """Ranks of the golds, the fast way; None if the rows are not all plain lists of distinct strings."""
    ranks = []
    for row, gold in zip(rows, golds, strict=True):
        if not all_strings(row):
            return None
        if type(row) is not list or type(gold) is not str or len(set(row)) != len(row) or not row:
            return None
        ranks.append(row.index(gold) + 1 if gold in row else 0)
    return ranks


def _rank_ranking(row: Any, row_type: Any, gold: Any, query: int) -> tuple[int, int]:
    """Rank of the gold in one list of candidates, best first, and 1; (0, 0) if it is missing."""
    row = row.tolist() if isinstance(row, np.ndarray) else row
    gold = gold.item() if is_scalar(gold) else gold
    if type(gold) not in (str, int):
        hint = "repeat the query for each of its golds" if isinstance(gold, (list, tuple)) else ""
        raise ValueError(message("references", A_CANDIDATE, gold, query, hint))
    if row_type not in (None, type(gold)):
        rule = f"be of the type of the candidates, {row_type.__name__}"
        raise ValueError(message("references", rule, gold, query))
    if (row_type is int and min(row) < 0) or (type(gold) is int and gold < 0):
        name, value = ("references", gold) if gold < 0 else ("predictions", min(row))
        raise ValueError(message(name, "be positions >= 0", value, query))
    if len(set(row)) != len(row):
        times = Counter(row)
        twice = next(candidate for candidate in row if times[candidate] > 1)
        raise ValueError(message("predictions", "name no candidate twice", twice, query))
    return (row.index(gold) + 1, 1) if gold in row else (0, 0)


def _agree(kind: str | None, found: str, start: int) -> str:
    """Return the kind `found`; raise if another one, `kind`, was named or added before."""
    if kind in (None, found):
        return found
    hint = "scores are floats, or ints where the kind is named 'scores'"
    rule = f"be {kind} as named or in the rows before"
    raise ValueError(message("predictions", rule, Plain(found), start, hint))


# Containers, rows and values


def _rows(name: str, values: Any) -> Any:
    """The container as an array, a tensor or a list, without a copy where it is one."""
    if hasattr(values, "to_pylist"):  # pyarrow
        values = values.to_pylist()
    if hasattr(values, "iloc"):  # pandas
        values = values.to_numpy()
    if hasattr(values, "column_name"):  # a column of datasets
        values = values[:]
    if is_array(values) and not hasattr(values, "toarray") and len(values.shape):
        return values.tolist() if getattr(values.dtype, "kind", "") in tuple("OUST") else values
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return list(values)
    hint = "give a dense array, a tensor or a list with a row a query"
    raise InputTypeError(
        message(name, "have a row a query", Plain(type(values).__name__), hint=hint)
    )


def _typed_row(row: Any, query: int) -> tuple[Any, Any]:
    """One query's candidates as a list or a 1-D array, and their type: float, int, str or None."""
    if hasattr(row, "iloc") or is_array(row):
        row = to_numpy(row)
        if row.ndim == 1 and row.dtype.kind in "fiu":
            return row, None if not len(row) else float if row.dtype.kind == "f" else int
        row = row.tolist() if row.dtype.kind not in "mM" else [row.dtype.type]  # refused below
    if not isinstance(row, (list, tuple)):
        hint = "give a list of scores, or of candidates, best first"
        raise InputTypeError(message("predictions", "be a list a query", row, query, hint))
    types = set(map(type, row))
    if not types <= {float, int, str}:
        row = [value.item() if is_scalar(value) else value for value in row]
        types = set(map(type, row))
    if types == {str} or (types and types <= {float, int}):
        return row, str if str in types else float if float in types else int
    if not types:
        return row, None
    if types == {float, type(None)}:
        raise ValueError(message("predictions", "hold no NaN or None", row, query))
    names = " and ".join(sorted(found.__name__ for found in types))
    rule = "be floats (scores), or a ranking of all strings or all ints"
    raise ValueError(f"`predictions` must {rule}, got {names} at query {query}")


def _comparable(row: Any) -> NDArray[Any]:
    """An array that compares as the values of the row do."""
    if isinstance(row, np.ndarray) or set(map(type, row)) == {float}:
        return np.asarray(row)
    return np.array(row, dtype=object)  # float64 cannot hold all ints beyond 2**53


def _ints(name: str, values: Any, rule: str, start: int) -> Ints:
    """(N,) int64 from an array, a tensor or a list of ints; floats are refused, not rounded."""
    if is_array(values):
        values = to_numpy(values)
        if values.ndim != 1 or values.dtype.kind not in "iu":
            got = f"{values.dtype} of shape {values.shape}"
            raise ValueError(f"`{name}` must {rule}, got {got} from query {start} on")
    else:
        values = [value.item() if is_scalar(value) else value for value in values]
        values = np.array([*values, None], dtype=object)[:-1]  # None keeps a list one value
        wrong = np.array([type(value) is not int for value in values], bool)
        _refuse(name, rule, wrong, values, start)
    large = (values >= 2**62) | (values <= -(2**62))
    _refuse(name, f"{rule}, below 2**62", large, values, start)
    return np.asarray(values, np.int64)


# Refusals


def _refuse(name: str, rule: str, wrong: NDArray[Any], values: Any, start: int) -> None:
    """Raise for the first query whose `wrong` is set."""
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(message(name, rule, values[first], start + first))


def _refuse_position(wrong: NDArray[Any], candidates: int, gold: Ints, start: int) -> None:
    if len(wrong) and not candidates:
        raise ValueError(message("predictions", "have at least one candidate", 0, start))
    _refuse("references", f"be a position from 0 to {candidates - 1}", wrong, gold, start)
