# SPDX-License-Identifier: Apache-2.0
"""What `Trainer` gives: scores and labels of an evaluation, batch by batch."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .common_arrays import described, is_array, to_numpy
from .common_checks import InputTypeError, Plain, message
from .common_training import first_output
from .inputs import read_batch
from .queries import Queries


def scores_and_width(logits: Any, labels: Any) -> Any:
    """The scores of a batch, and for each row the last axis of its labels.

    Trainer broadcasts a batch of labels whose last axis is 1 over those of other batches. Nothing
    in the labels shows it afterwards.

    Args:
        logits: (B, n) float tensor, or several outputs of a model, of which it is the first.
        labels: (B, n, T) tensor of 0, 1 and, as padding, -100; signed ints or floats.
    Returns:
        (the scores, (B,) int64 tensor of T).
    """
    logits = first_output(logits)
    if labels is None:  # Trainer.predict without labels
        return logits
    if not hasattr(logits, "is_floating_point"):
        raise InputTypeError(message("logits", "be a tensor", Plain(described(logits))))
    if logits.ndim != 2 or not logits.is_floating_point():
        rule = "be (B, n) floats, a score for each document"
        raise ValueError(message("logits", rule, Plain(described(logits))))
    no_tensor = not hasattr(labels, "is_floating_point")
    if no_tensor or labels.ndim != 3 or labels.shape[:2] != logits.shape:
        rule = f"be of shape ({logits.shape[0]}, {logits.shape[1]}, T), documents x subtopics"
        raise ValueError(message("labels", rule, Plain(described(labels))))
    if str(labels.dtype) in ("torch.bool", "torch.uint8", "torch.uint16", "torch.uint32"):
        hint = "Trainer's padding of -100 would be True or 156"
        rule = "be signed ints or floats"
        raise ValueError(message("labels", rule, Plain(described(labels)), hint=hint))
    return logits, logits[:, :0].sum(1).long() + labels.shape[2]


def read_evaluation(outputs: Any, labels: Any, *, start: int) -> Iterator[Queries]:
    """Queries out of a batch that Trainer calls `compute_metrics` with.

    Args:
        outputs: what `scores_and_width` gave, or (B, n) scores, or several outputs, of which they
            are the first.
        labels: (B, n, T) of 0, 1 and, as padding, -100.
        start: queries of this evaluation before these; errors count on from it.
    Raises:
        ValueError: a batch whose labels had another last axis; what `read_batch` refuses.
    """
    scores = first_output(outputs)
    _check_arrays(scores, labels)
    if isinstance(outputs, (tuple, list)) and len(outputs) > 1:
        _refuse_broadcast(outputs[1], labels, start)
    for _, queries in read_batch(scores, labels, kind="scores", start=start):
        yield queries


def _check_arrays(scores: Any, labels: Any) -> None:
    for name, values, ndim in (("predictions", scores, 2), ("label_ids", labels, 3)):
        if not is_array(values) or len(values.shape) != ndim:
            rule = f"be an array of {ndim} dimensions"
            raise ValueError(message(name, rule, Plain(described(values))))


def _refuse_broadcast(widths: Any, labels: Any, start: int) -> None:
    """Refuse rows whose labels had another last axis before Trainer put the batches together."""
    if not is_array(widths):
        return  # another output of the model, as below
    widths = to_numpy(widths)
    if widths.ndim != 1 or widths.dtype.kind != "i" or len(widths) != len(labels):
        return  # another output of the model: the hook is not in use
    for query in np.flatnonzero(widths != labels.shape[2])[:1].tolist():
        hint = "pad the last axis of all labels to one length with -100"
        rule = f"have {labels.shape[2]} columns as in other batches"
        got = int(widths[query])
        raise ValueError(message("label_ids", rule, got, start + query, hint))
