# SPDX-License-Identifier: Apache-2.0
"""What `Trainer` gives: scores and labels of an evaluation, at once or in batches."""

import inspect
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from .options import InputTypeError, Plain, message
from .queries import Queries
from .rankings import to_numpy


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
    logits = logits[0] if isinstance(logits, (tuple, list)) else logits
    if labels is None:  # Trainer.predict without labels
        return logits
    if logits.ndim != 2 or not logits.is_floating_point():
        rule = "be (B, n) floats, a score for each document"
        raise ValueError(message("logits", rule, Plain(_described(logits))))
    several = isinstance(labels, (tuple, list))
    if several or labels.ndim != 3 or labels.shape[:2] != logits.shape:
        rule = f"be of shape ({logits.shape[0]}, {logits.shape[1]}, T), documents x subtopics"
        raise ValueError(message("labels", rule, Plain(_described(labels))))
    if str(labels.dtype) in ("torch.bool", "torch.uint8", "torch.uint16", "torch.uint32"):
        hint = "Trainer's padding of -100 would be True or 156"
        rule = "be signed ints or floats"
        raise ValueError(message("labels", rule, Plain(_described(labels)), hint=hint))
    return logits, logits[:, :0].sum(1).long() + labels.shape[2]


def _described(value: Any) -> str:
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"{value.dtype} of shape {tuple(value.shape)}"


class Evaluation(NamedTuple):
    """Queries of one evaluation, and the call of Trainer's loop that it is."""

    thread: int
    loop: FrameType | None
    parts: list[Queries]


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


def batches(eval_pred: Any, *, start: int) -> Iterator[tuple[Any, Any, int]]:
    """What Trainer calls `compute_metrics` with, batch by batch.

    Args:
        eval_pred: `EvalPrediction`, or (predictions, labels): scores or what `scores_and_width`
            gave, and labels; of all queries, or lists of those of each batch.
        start: queries of this evaluation before these; errors count on from it.
    Yields:
        ((B, n) scores, (B, n, T) labels, start).
    Raises:
        ValueError: a batch whose labels had another last axis.
    """
    predictions = getattr(eval_pred, "predictions", None)
    labels = getattr(eval_pred, "label_ids", None)
    if isinstance(eval_pred, (tuple, list)) and len(eval_pred) > 1:
        predictions, labels = eval_pred[:2]
    if predictions is None or labels is None:
        got = Plain(type(eval_pred).__name__)
        raise InputTypeError(message("eval_pred", "hold predictions and label_ids", got))
    batched = isinstance(predictions, list) and isinstance(labels, list)
    if batched and len(predictions) != len(labels):
        rule = f"be as many batches as the {len(predictions)} of predictions"
        raise ValueError(message("label_ids", rule, len(labels)))
    pairs = zip(predictions, labels, strict=True) if batched else [(predictions, labels)]
    for outputs, matrices in pairs:
        several = isinstance(outputs, (tuple, list))
        scores = outputs[0] if several else outputs
        _check_arrays(scores, matrices)
        if several and len(outputs) > 1:
            _refuse_broadcast(outputs[1], matrices, start)
        yield scores, matrices, start
        start += len(scores)


def _check_arrays(scores: Any, labels: Any) -> None:
    for name, values, ndim in (("predictions", scores, 2), ("label_ids", labels, 3)):
        if len(getattr(values, "shape", ())) != ndim:
            rule = f"be an array of {ndim} dimensions"
            raise ValueError(message(name, rule, Plain(_described(values))))


def _refuse_broadcast(widths: Any, labels: Any, start: int) -> None:
    """Refuse rows whose labels had another last axis before Trainer put the batches together."""
    widths = to_numpy(widths)
    if widths.ndim != 1 or widths.dtype.kind != "i" or len(widths) != len(labels):
        return  # another output of the model: the hook is not in use
    for query in np.flatnonzero(widths != labels.shape[2])[:1].tolist():
        hint = "pad the last axis of all labels to one length with -100"
        rule = f"have {labels.shape[2]} columns as in other batches"
        got = int(widths[query])
        raise ValueError(message("label_ids", rule, got, start + query, hint))
