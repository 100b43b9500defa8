# A copy of metrics/common/training.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Evaluations of `Trainer`, at once or in batches: which batches belong together, and their rows."""

import inspect
from collections.abc import Iterator
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple

from .common_checks import InputTypeError, Plain, message
from .common_rows import Rows


class Evaluation(NamedTuple):
    """Batches of one evaluation, and the call of Trainer's loop that it is."""

    thread: int
    loop: FrameType | None
    parts: list[Rows]


class Evaluations:
    """Evaluations whose last batch is still to come."""

    def __init__(self) -> None:
        self._running: list[Evaluation] = []

    def take(self, compute_result: bool | None) -> list[Rows]:
        """The batches so far of the evaluation that calls; what broken ones left is dropped.

        `compute_result` None begins a new evaluation.
        """
        loops, thread = running_loops(), get_ident()
        kept = [e for e in self._running if e.thread != thread or e.loop in loops]
        mine = [e for e in kept if e.thread == thread and e.loop is loops[0]]
        self._running = [e for e in kept if e not in mine]  # a refused batch ends the evaluation
        return [] if compute_result is None else [part for e in mine for part in e.parts]

    def keep(self, parts: list[Rows]) -> None:
        """Keep the batches of the evaluation that calls for the next batch."""
        self._running.append(Evaluation(get_ident(), running_loops()[0], parts))


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


def batches(eval_pred: Any) -> Iterator[tuple[Any, Any]]:
    """What Trainer calls `compute_metrics` with, batch by batch.

    Args:
        eval_pred: `EvalPrediction`, or (predictions, label_ids): of all queries, or lists of those
            of each batch.
    Yields:
        (outputs of the model, labels).
    Raises:
        TypeError: it holds no predictions and labels.
        ValueError: another number of batches of labels than of predictions.
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
    yield from zip(predictions, labels, strict=True) if batched else [(predictions, labels)]


def first_output(outputs: Any) -> Any:
    """The first of a model's several outputs, which transformers takes for the logits."""
    several = isinstance(outputs, (tuple, list)) and len(outputs)
    return outputs[0] if several else outputs
