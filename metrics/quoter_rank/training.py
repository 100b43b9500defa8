# SPDX-License-Identifier: Apache-2.0
"""Input from `Trainer`: logits are reduced to ranks on their device, batches are checked."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_arrays import described, is_array, to_numpy
from .common_checks import InputTypeError, Plain, message
from .common_training import first_output
from .inputs import read_batch
from .ranks import Ranks

PADDING = -100  # with which Trainer fills up shorter rows
NAN, OUTSIDE, PADDED = -1, -2, -3  # in place of a rank, the reason why there is none
HOOK = "pass preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics to Trainer"


def ranks_on_device(logits: Any, labels: Any) -> Any:
    """Rank and ties of the gold in each row of a batch; only tensor methods, torch is not imported.

    Args:
        logits: (B, C) float tensor, or several outputs of a model, the first being this tensor.
        labels: (B,) int tensor, position of the gold.
    Returns:
        (B, 2) int64 tensor on the same device; a rank below 0 is NAN, OUTSIDE or PADDED.
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
    if _several_processes():  # each batch was padded on the right to the longest one
        rank[(gold[:, 0] <= PADDING) & (logits[:, -1] == PADDING).all()] = PADDED
    rank[(logits != logits).any(1)] = NAN
    rank[(labels < 0) | (labels > last)] = OUTSIDE
    pairs = labels.new_empty((len(labels), 2))
    pairs[:, 0], pairs[:, 1] = rank, (logits == gold).sum(1)
    return pairs


def _several_processes() -> bool:
    """Whether `torch.distributed` runs with several processes; found out without importing torch."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return bool(distributed.get_world_size() > 1)


def read_evaluation(outputs: Any, labels: Any, *, start: int) -> Ranks:
    """Check a batch that Trainer passes to `compute_metrics`, and reduce it to ranks.

    Args:
        outputs: what `ranks_on_device` returned, or logits, or several outputs, logits first.
        labels: positions of the golds.
        start: number of queries before these in the evaluation; errors count on from it.
    Raises:
        ValueError: a NaN, a label outside its row, a row whose padding could count.
        TypeError: predictions that are not an array or a tensor; labels that are not one or a list.
    """
    logits = first_output(outputs)
    if not is_array(logits):
        rule = "be arrays or tensors"
        raise InputTypeError(message("predictions", rule, Plain(described(logits))))
    if not is_array(labels) and not isinstance(labels, list):
        rule = "be an array, a tensor or a list"
        raise InputTypeError(message("label_ids", rule, Plain(described(labels))))
    if logits.shape[1:] == (2,) and to_numpy(logits[:0]).dtype == np.int64:
        return _read_ranks(to_numpy(logits), _golds(labels), start)
    _, rows = read_batch(logits, labels, kind="scores", start=start)
    _refuse_padding(to_numpy(logits), _golds(labels), start)
    return rows


def _golds(labels: Any) -> NDArray[Any]:
    """Labels as an array, of ints where all of them are."""
    if is_array(labels):
        labels = to_numpy(labels)
    if isinstance(labels, list) or (labels.ndim == 1 and labels.dtype == object):
        values = list(labels)
        ints = all(isinstance(value, (int, np.integer)) for value in values)
        labels = np.array(values, np.int64) if ints else np.array([*values, None], object)[:-1]
    return np.asarray(labels)


def _read_ranks(pairs: Any, labels: Any, start: int) -> Ranks:
    """Check what `ranks_on_device` returned."""
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        rule = "be one gold a query, an int"
        raise ValueError(message("references", rule, Plain(described(labels))))
    if len(pairs) != len(labels):
        rule = f"have one row for each of the {len(labels)} references"
        raise ValueError(message("predictions", rule, len(pairs)))
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
    """Refuse rows where a -100.0, score or Trainer's padding, could rank at or above the gold."""
    doubtful = np.flatnonzero(scores[np.arange(len(gold)), gold] <= PADDING)
    for query in doubtful[(scores[doubtful] == PADDING).any(axis=1)][:1].tolist():
        _raise_padding(start + query, f"Trainer pads with it: {HOOK}")


def _raise_padding(query: int, hint: str) -> None:
    rule = "hold no -100.0 at or above the gold"
    raise ValueError(message("predictions", rule, Plain("one"), query, hint))
