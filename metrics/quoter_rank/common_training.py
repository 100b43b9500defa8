# A copy of metrics/common/training.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Evaluations by `Trainer`, whole or in batches: which batches belong together, and their rows."""

import inspect
from collections.abc import Iterator
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple

from .common_checks import InputTypeError, Plain, message
from .common_rows import Rows


class Evaluation(NamedTuple):
    """The batches of one evaluation so far, and the running call of Trainer's loop it belongs to."""

    thread: int
    loop: FrameType | None
    parts: list[Rows]


class Evaluations:
    """The evaluations whose last batch is still to come."""

    def __init__(self) -> None:
        self._running: list[Evaluation] = []

    def take(self, compute_result: bool | None) -> list[Rows]:
        """Take out the earlier batches of the calling evaluation; drop those of broken-off ones.

        With `compute_result` None a new evaluation begins: there are no earlier batches.
        """
        loops, thread = running_loops(), get_ident()
        kept = [e for e in self._running if e.thread != thread or e.loop in loops]
        mine = [e for e in kept if e.thread == thread and e.loop is loops[0]]
        self._running = [e for e in kept if e not in mine]  # so a refused batch ends its evaluation
        return [] if compute_result is None else [part for e in mine for part in e.parts]

    def keep(self, parts: list[Rows]) -> None:
        """Keep the batches of the calling evaluation until its next batch."""
        self._running.append(Evaluation(get_ident(), running_loops()[0], parts))


def running_loops() -> list[FrameType | None]:
    """Frames of Trainer's evaluation loops that are running, innermost first; then None."""
    frame = inspect.currentframe()
    loops: list[FrameType | None] = []
    while frame is not None:
        if _is_loop(frame):
            loops.append(frame)
        frame = frame.f_back
    return [*loops, None]


def _is_loop(frame: FrameType) -> bool:
    """Whether `frame` runs `evaluation_loop(self, dataloader, ...)` of Trainer or a similar class."""
    code = frame.f_code
    named = code.co_name in ("evaluation_loop", "prediction_loop")
    return named and code.co_varnames[:2] == ("self", "dataloader")


def batches(eval_pred: Any) -> Iterator[tuple[Any, Any]]:
    """The argument of `compute_metrics`, split into batches.

    Args:
        eval_pred: `EvalPrediction` or (predictions, label_ids): two arrays over all queries, or two
            lists with an array per batch.
    Yields:
        (outputs of the model, labels).
    Raises:
        TypeError: it holds no predictions and labels.
        ValueError: predictions and labels differ in their number of batches.
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
    """The first of a model's outputs if there are several: transformers takes it for the logits."""
    several = isinstance(outputs, (tuple, list)) and len(outputs)
    return outputs[0] if several else outputs
