# SPDX-License-Identifier: Apache-2.0
"""What `Trainer` gives: logits, reduced to ranks on their device, and batches of evaluations."""

import sys
from typing import Any

import numpy as np

from .common_arrays import described, is_array, to_numpy
from .common_checks import InputTypeError, Plain, message
from .common_training import first_output
from .inputs import read_batch
from .ranks import Ranks

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
    logits = first_output(logits)
    if labels is None:  # Trainer.predict without labels
        return logits
    rule, got = "be (B, C) floats, one row of candidates a query", described(logits)
    if not hasattr(logits, "is_floating_point"):
        raise InputTypeError(message("logits", "be a tensor", Plain(got)))
    if logits.ndim != 2 or not logits.shape[1] or not logits.is_floating_point():
        raise ValueError(message("logits", rule, Plain(got)))
    wrong = (
        not hasattr(labels, "is_floating_point") or labels.ndim != 1 or len(labels) != len(logits)
    )
    if wrong or labels.is_floating_point() or str(labels.dtype) == "torch.bool":
        rule = f"be {len(logits)} ints, positions of the gold"
        raise ValueError(message("labels", rule, Plain(described(labels))))
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


def _several_processes() -> bool:
    """Whether `torch.distributed` runs, which nothing is imported to find out."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return bool(distributed.get_world_size() > 1)


def read_evaluation(outputs: Any, labels: Any, *, start: int) -> Ranks:
    """Ranks out of a batch that Trainer calls `compute_metrics` with.

    Args:
        outputs: what `ranks_on_device` gave, or logits, or several outputs, of which it is the first.
        labels: positions of the golds.
        start: queries of this evaluation before these; errors count on from it.
    Raises:
        ValueError: a NaN, a label outside its row, a row whose padding could count.
        TypeError: neither an array nor a tensor.
    """
    logits = first_output(outputs)
    if not is_array(logits):
        rule = "be arrays or tensors"
        raise InputTypeError(message("predictions", rule, Plain(described(logits))))
    if not is_array(labels) and not isinstance(labels, list):
        rule = "be an array, a tensor or a list"
        raise InputTypeError(message("label_ids", rule, Plain(described(labels))))
    if logits.shape[1:] == (2,) and to_numpy(logits[:0]).dtype == np.int64:
        return _read_ranks(to_numpy(logits), to_numpy(labels), start)
    _, rows = read_batch(logits, labels, kind="scores", start=start)
    _refuse_padding(to_numpy(logits), to_numpy(labels), start)
    return rows


def _read_ranks(pairs: Any, labels: Any, start: int) -> Ranks:
    """Check what `ranks_on_device` gave."""
    if len(pairs) != len(labels):
        rule = f"have one row for each of the {len(labels)} references"
        raise ValueError(message("predictions", rule, len(pairs)))
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        rule = "be one gold a query, an int"
        raise ValueError(message("references", rule, Plain(described(labels))))
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
    return Ranks(rank, tied)


def _refuse_padding(scores: Any, gold: Any, start: int) -> None:
    """Trainer's padding is below every gold above -100; elsewhere it cannot be told from scores."""
    doubtful = np.flatnonzero(scores[np.arange(len(gold)), gold] <= PADDING)
    for query in doubtful[(scores[doubtful] == PADDING).any(axis=1)][:1].tolist():
        _raise_padding(start + query, f"Trainer pads with it: {HOOK}")


def _raise_padding(query: int, hint: str) -> None:
    rule = "hold no -100.0 at or above the gold"
    raise ValueError(message("predictions", rule, Plain("one"), query, hint))
