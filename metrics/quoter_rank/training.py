# SPDX-License-Identifier: Apache-2.0
"""What `Trainer` gives: logits on a device, reduced to ranks there, and evaluations in batches."""

import inspect
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from .inputs import Batch, read_batch, to_numpy
from .options import InputTypeError, Plain, message

PADDING = -100  # what Trainer fills rows of candidates with
NAN, OUTSIDE, PADDED = -1, -2, -3  # in place of a rank: why there is none
HOOK = "pass preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics to Trainer"


def ranks_on_device(logits: Any, labels: Any) -> Any:
    """Rank and ties of the gold in each row of a batch, by tensor methods alone.

    Args:
        logits: (B, C) float tensor, or several outputs of a model, of which it is the first.
        labels: (B,) int tensor, position of the gold.
    Returns:
        (B, 2) int64 tensor on the same device; a rank below 0 says why there is none.
    """
    logits = logits[0] if isinstance(logits, (tuple, list)) else logits
    if labels is None:  # Trainer.predict without labels
        return logits
    rule, got = "be (B, C) floats, one row of candidates a query", _described(logits)
    if logits.ndim != 2 or not logits.shape[1] or not logits.is_floating_point():
        raise ValueError(message("logits", rule, Plain(got)))
    wrong = isinstance(labels, (tuple, list)) or labels.ndim != 1 or len(labels) != len(logits)
    if wrong or labels.is_floating_point() or str(labels.dtype) == "torch.bool":
        rule = f"be {len(logits)} ints, positions of the gold"
        raise ValueError(message("labels", rule, Plain(_described(labels))))
    labels = labels.long()
    last = logits.shape[1] - 1
    gold = logits.gather(1, labels.clamp(0, last)[:, None])
    rank = 1 + (logits > gold).sum(1)
    if _several_processes():  # shorter batches were padded to the longest, on the right
        rank[(gold[:, 0] <= PADDING) & (logits[:, -1] == PADDING).all()] = PADDED
    rank[(logits != logits).any(1)] = NAN
    rank[(labels < 0) | (labels > last)] = OUTSIDE
    pairs = labels.new_empty((len(labels), 2))
    pairs[:, 0], pairs[:, 1] = rank, (logits == gold).sum(1)
    return pairs


def _described(value: Any) -> str:
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"{value.dtype} of shape {tuple(value.shape)}"


def _several_processes() -> bool:
    """Whether `torch.distributed` runs, which nothing is imported to find out."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return bool(distributed.get_world_size() > 1)


class Evaluation(NamedTuple):
    """Batches of one evaluation, and the call of Trainer's loop that it is."""

    thread: int
    loop: FrameType | None
    batches: list[Batch]


def running_loops() -> list[FrameType | None]:
    """The calls of Trainer's evaluation loop that are running, the inner one first; then None."""
    frame = inspect.currentframe()
    loops: list[FrameType | None] = []
    while frame is not None:
        if _is_loop(frame):
            loops.append(frame)
        frame = frame.f_back
    return [*loops, None]


def _is_loop(frame: FrameType) -> bool:
    """Whether it is `evaluation_loop(self, dataloader, ...)`, of Trainer or of a class like it."""
    code = frame.f_code
    named = code.co_name in ("evaluation_loop", "prediction_loop")
    return named and code.co_varnames[:2] == ("self", "dataloader")


def read_evaluation(eval_pred: Any, *, start: int) -> Iterator[Batch]:
    """Ranks out of what Trainer calls `compute_metrics` with, batch by batch.

    Args:
        eval_pred: `EvalPrediction`, or (predictions, labels): what `ranks_on_device` gave, or
            logits; of all queries, or lists of those of each batch.
        start: queries of this evaluation before these; errors count on from it.
    Raises:
        ValueError: a NaN, a label outside its row, a row whose padding could count.
    """
    predictions = getattr(eval_pred, "predictions", None)
    labels = getattr(eval_pred, "label_ids", None)
    if isinstance(eval_pred, (tuple, list)) and len(eval_pred) > 1:
        predictions, labels = eval_pred[:2]
    if predictions is None or labels is None:
        got = Plain(type(eval_pred).__name__)
        rule = "hold predictions and label_ids"
        raise InputTypeError(message("eval_pred", rule, got))
    batched = isinstance(predictions, list) and isinstance(labels, list)
    if batched and len(predictions) != len(labels):
        rule = f"be as many batches as the {len(predictions)} of predictions"
        raise ValueError(message("label_ids", rule, len(labels)))
    pairs = zip(predictions, labels, strict=True) if batched else [(predictions, labels)]
    for logits, gold in pairs:
        logits = logits[0] if isinstance(logits, (tuple, list)) else logits
        batch = _read(logits, gold, start)
        start += len(batch.rank)
        yield batch


def _read(logits: Any, labels: Any, start: int) -> Batch:
    if not hasattr(logits, "dtype"):
        rule = "be arrays or tensors"
        raise InputTypeError(message("predictions", rule, Plain(_described(logits))))
    if logits.shape[1:] == (2,) and to_numpy(logits[:0]).dtype == np.int64:
        return _read_ranks(to_numpy(logits), to_numpy(labels), start)
    batch = read_batch(logits, labels, kind="scores", start=start)
    _refuse_padding(to_numpy(logits), to_numpy(labels), start)
    return batch


def _read_ranks(pairs: Any, labels: Any, start: int) -> Batch:
    """Check what `ranks_on_device` gave."""
    if len(pairs) != len(labels):
        rule = f"have one row for each of the {len(labels)} references"
        raise ValueError(message("predictions", rule, len(pairs)))
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        rule = "be one gold a query, an int"
        raise ValueError(message("references", rule, Plain(_described(labels))))
    rank, tied = pairs.T
    for query in np.flatnonzero((rank < PADDED) | (rank == 0) | ((rank > 0) & (tied < 1)))[:1]:
        rule = "be logits, or what preprocess_logits_for_metrics gave"
        raise ValueError(message("predictions", rule, pairs[query], start + int(query)))
    for query in np.flatnonzero(rank < 1)[:1].tolist():
        at = start + query
        if rank[query] == OUTSIDE:
            rule = "be a position in the row of candidates"
            raise ValueError(message("references", rule, labels[query], at))
        if rank[query] == NAN:
            raise ValueError(message("predictions", "hold no NaN", Plain("one"), at))
        hint = "processes pad with it: mask candidates with -inf"
        _raise_padding(at, hint)
    return Batch("scores", rank, tied)


def _refuse_padding(scores: Any, gold: Any, start: int) -> None:
    """Trainer's padding is below every gold above -100; elsewhere it cannot be told from scores."""
    doubtful = np.flatnonzero(scores[np.arange(len(gold)), gold] <= PADDING)
    for query in doubtful[(scores[doubtful] == PADDING).any(axis=1)][:1].tolist():
        _raise_padding(start + query, f"Trainer pads with it: {HOOK}")


def _raise_padding(query: int, hint: str) -> None:
    rule = "hold no -100.0 at or above the gold"
    raise ValueError(message("predictions", rule, Plain("one"), query, hint))
