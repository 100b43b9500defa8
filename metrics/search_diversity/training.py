# SPDX-License-Identifier: Apache-2.0
"""Input from `Trainer`: scores and labels of an evaluation, batch by batch."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .common_arrays import described, is_array, to_numpy
from .common_checks import InputTypeError, Plain, message
from .common_training import first_output
from .inputs import read_batch
from .queries import Queries


def scores_and_width(logits: Any, labels: Any) -> Any:
    """The scores of a batch, and for each row the length of the last axis of its labels.

    Trainer broadcasts labels whose last axis has length 1 to the width of other batches, and nothing
    in the labels shows this afterwards.

    Args:
        logits: (B, n) float tensor, or several outputs of a model, the first being this tensor.
        labels: (B, n, T) tensor of 0, 1 and, as padding, -100; signed ints or floats.
    Returns:
        (the scores, (B,) int64 tensor filled with T).
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
    """Check a batch that Trainer passes to `compute_metrics`, and flatten its queries.

    Args:
        outputs: what `scores_and_width` returned, or (B, n) scores, or several outputs, scores
            first.
        labels: (B, n, T) of 0, 1 and, as padding, -100.
        start: number of queries before these in the evaluation; errors count on from it.
    Raises:
        ValueError: labels whose last axis had another length in another batch; what `read_batch`
            refuses.
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
    """Refuse rows whose labels had another width before Trainer joined the batches."""
    if not is_array(widths):
        return  # an output of the model itself: the hook is not in use
    widths = to_numpy(widths)
    if widths.ndim != 1 or widths.dtype.kind != "i" or len(widths) != len(labels):
        return  # likewise an output of the model
    for query in np.flatnonzero(widths != labels.shape[2])[:1].tolist():
        hint = "pad the last axis of all labels to one length with -100"
        rule = f"have {labels.shape[2]} columns as in other batches"
        got = int(widths[query])
        raise ValueError(message("label_ids", rule, got, start + query, hint))
