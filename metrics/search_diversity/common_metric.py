# A copy of metrics/common/metric.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""The base of metrics whose rows are queries: rows are checked as they come and kept for `compute`."""

import abc
import json
import sys
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import datasets
import evaluate
import numpy as np

from .common_checks import Plain, message
from .common_defaults import WithDefaults
from .common_figures import Directions
from .common_intervals import normal_distribution
from .common_query_ids import Id, count_once, new_rows, read_ids, refuse_different, sorted_by_number
from .common_rows import Rows
from .common_training import Evaluations, batches

# What evaluate's cache passes between processes: the rows that one process added, and in a second
# row those that it gave to `compute`.
STORED = datasets.Features(
    predictions=datasets.Value("binary"), references=datasets.Value("string")
)


class Batch(NamedTuple):
    """Rows in parts, and their query ids if they have any."""

    parts: Iterable[Rows]
    ids: list[Id]


NOTHING = Batch([], [])


class RankingMetric(WithDefaults, evaluate.Metric, abc.ABC):
    """Figures of queries, each with a ranking and what is right for it.

    A subclass says what a row is (`ROWS`, `read`), which options there are (`compute`,
    `check_options`), how rows are scored (`score`), and which figures that gives (`FIGURES`).
    """

    ROWS: ClassVar[type[Rows]]
    FIGURES: ClassVar[Mapping[str, Any]]  # the table at the head of scoring.py
    COUNTS: ClassVar[tuple[str, ...]] = ()  # keys of the result that count queries
    KINDS: ClassVar[tuple[str, ...]] = ()  # configs that name the kind of the rows
    READS_AHEAD: ClassVar[bool] = False  # whether all rows are read before any is scored

    _kind: str | None  # of the added rows
    _added: list[Rows]
    _length: int  # queries in `_added`
    _ids: list[Id]  # of the added rows, or none
    _row_of: dict[Id, bytes]  # what the rows of each id hold
    _waiting: Batch  # given to a `compute` that `refuse` refused

    # What a metric supplies

    @abc.abstractmethod
    def check_options(self, **options: Any) -> Any:
        """The checked options of `compute`.

        They have `per_query`, `interval`, `keys` of the result, `signature` and, where figures
        depend on the order of the queries, a true `in_order`.
        """

    @abc.abstractmethod
    def read(
        self, predictions: Any, references: Any, *, kind: str | None, start: int, has_ids: bool
    ) -> Iterable[tuple[str | None, Rows]]:
        """Check a batch, part by part, each with the kind of all rows so far.

        Args:
            predictions: as of `compute`.
            references: as of `compute`.
            kind: of the rows before, None if there are none.
            start: number of queries before these; errors count on from it.
            has_ids: whether the queries have ids, by which rows are compared.
        """

    @abc.abstractmethod
    def read_evaluation(self, outputs: Any, labels: Any, *, start: int) -> Iterable[Rows]:
        """Check a batch of an evaluation of `Trainer`."""

    @abc.abstractmethod
    def score(self, parts: Iterable[Rows], options: Any) -> tuple[dict[str, Any], int]:
        """The result of these rows, and how many queries they are."""

    def refuse(self, parts: Iterable[Rows], options: Any) -> None:
        """Refuse rows that the options cannot score, before repeated queries are counted once."""

    def takes_waiting(self, options: Any) -> bool:
        """Whether rows given to a `compute` that `refuse` refused are scored by these options."""
        return False

    # What all of them have

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._experiment, self._turn = self.experiment_id, 0
        self._signature: str | None = None
        self._evaluations = Evaluations()
        self._start_over()
        self._default_options()

    def __reduce__(self) -> Any:
        """Copy and pickle without evaluations of `Trainer` that run here."""
        made, arguments, state = super().__reduce__()
        return made, arguments, {**state, "_evaluations": Evaluations()}

    def __len__(self) -> int:
        """Number of queries added since the last figures."""
        return self._length

    @property
    def kind(self) -> str | None:
        """Kind of the rows, named or read from those that were added; None before them."""
        return self._kind

    @property
    def greater_is_better(self) -> Mapping[str, bool]:
        """Direction of each key of the result; it knows the figures at every depth."""
        return Directions(self.FIGURES, self._default_options().keys, self.COUNTS)

    @property
    def signature(self) -> str | None:
        """One line that names what the last figures are; None before the first."""
        return self._signature

    def add(
        self,
        *,
        prediction: Any = None,
        reference: Any = None,
        predictions: Any = None,
        references: Any = None,
        query_id: Any = None,
    ) -> None:
        """Add one query: `prediction` and `reference` (the plurals are for `evaluate.combine`)."""
        prediction = predictions if prediction is None else prediction
        reference = references if reference is None else reference
        ids = None if query_id is None else [query_id]
        self.add_batch(predictions=[prediction], references=[reference], query_ids=ids)

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, query_ids: Any = None
    ) -> None:
        """Add a batch of queries: checked, reduced to what is scored, and kept until `compute`."""
        read = list(self._read(predictions, references, query_ids is not None))
        parts = [rows for _, rows in read]
        ids = self._read_ids(query_ids, parts)
        if not any(map(len, parts)):
            return
        rows_of_ids = [row for part in parts for row in part.fingerprints()] if ids else []
        found = new_rows(ids, rows_of_ids, self._row_of, len(self))
        self._row_of.update({name: rows_of_ids[index] for name, index in found.items()})
        self._kind = read[-1][0]
        self._added += parts
        self._length += sum(map(len, parts))
        self._ids += ids
        self._waiting = NOTHING

    def configured(self, **options: Any) -> Any:
        """A metric without rows whose `compute` and `compute_metrics` have other defaults.

        Args:
            options: options of `compute`, but for `per_query` and `confidence_level`.
        Raises:
            ValueError: a value that `compute` refuses.
            TypeError: an option that `compute` does not have.
        """
        return super().configured(**options)

    def compute_metrics(self, eval_pred: Any, compute_result: bool | None = None) -> dict[str, Any]:
        """For `Trainer`: the figures of one evaluation; rows that were added have no part in it.

        Args:
            eval_pred: predictions, of `preprocess_logits_for_metrics` or scores, and label_ids, as
                `preprocess_logits_for_metrics` takes them; lists of them are batches.
            compute_result: under `batch_eval_metrics` False for all batches but the last one. What
                an evaluation that was broken off has left is dropped when Trainer starts another;
                outside Trainer, compute_result=None starts anew.
        Returns:
            What `compute` returns, under the options of `configured`; {} before the last batch.
        Raises:
            ValueError: as `compute`; labels or padding that could change a figure.
        """
        options = self._default_options()
        parts = self._evaluations.take(compute_result)
        for outputs, labels in batches(eval_pred):
            parts += self.read_evaluation(outputs, labels, start=sum(map(len, parts)))
        if compute_result is not None and not compute_result:
            self._evaluations.keep(parts)
            return {}
        return self._scored(parts, options)

    def _run(
        self, options: Any, predictions: Any, references: Any, query_ids: Any
    ) -> dict[str, Any] | None:
        """`compute` under checked options. If it raises, what was added before stays."""
        given = self._given(options, predictions, references, query_ids)
        if self.num_process > 1:  # refused here, no other process is waited for
            own = Batch([*self._added, *given.parts], self._ids + given.ids)
            self._refuse_unordered(options, own)
        if options.interval:
            normal_distribution()  # an ImportError here loses nothing
        gathered = self._gather(given)
        if gathered is None:
            return None
        (parts, ids), given = gathered
        refuse_different(ids)
        if self.num_process > 1:
            self._refuse_unordered(options, Batch(parts, ids))
        try:
            self.refuse(parts, options)
        except ValueError:
            self._waiting = given
            raise
        if ids:
            parts, ids = self._once(parts, ids, options)
        result = self._scored(parts, options)
        if ids and options.per_query:
            result["per_query"]["query_ids"] = ids
        self._start_over()
        return result

    def _given(self, options: Any, predictions: Any, references: Any, query_ids: Any) -> Batch:
        """What `compute` was given, or what a refused one was given before, if it is taken up."""
        if predictions is None and references is None:
            if query_ids is not None:
                raise ValueError(message("query_ids", "come with predictions", query_ids))
            return self._waiting if self.takes_waiting(options) else NOTHING
        has_ids = query_ids is not None or bool(self._ids)
        read = self._read(predictions, references, has_ids)
        parts: Iterable[Rows] = (rows for _, rows in read)
        if self.READS_AHEAD or has_ids or self.num_process > 1:
            parts = list(parts)
        return Batch(parts, self._read_ids(query_ids, parts) if has_ids else [])

    def _read(self, predictions: Any, references: Any, has_ids: bool) -> Iterable[Any]:
        return self.read(predictions, references, kind=self._kind, start=len(self), has_ids=has_ids)

    def _read_ids(self, query_ids: Any, parts: Iterable[Rows]) -> list[Id]:
        rows = sum(map(len, parts))
        return read_ids(query_ids, rows=rows, held=self._ids, start=len(self))

    def _refuse_unordered(self, options: Any, batch: Batch) -> None:
        """Refuse rows without ids where their order counts: that of processes is by chance."""
        if options.in_order and not batch.ids and any(map(len, batch.parts)):
            hint = "add all queries to one process, or give query_ids: their order counts here"
            raise ValueError(message("num_process", "be 1", self.num_process, hint=hint))

    def _gather(self, given: Batch) -> tuple[Batch, Batch] | None:
        """All rows, and those of them that were given to `compute`; None outside process 0.

        evaluate's cache files pass the rows of other processes. In one process, rows that are given
        may be read while they are scored.
        """
        if self.num_process == 1:
            ahead = isinstance(given.parts, list)
            parts = [*self._added, *given.parts] if ahead else chain(self._added, given.parts)
            return Batch(parts, self._ids + given.ids), given
        both = Batch(self._added, self._ids), given
        self.selected_feature_format = STORED
        self.info.experiment_id = f"{self._experiment}-{self._turn}"
        self._init_writer(timeout=self.timeout)  # a process without rows takes part too
        super().add_batch(
            predictions=[self._joined(batch.parts).to_bytes() for batch in both],
            references=[json.dumps(batch.ids) for batch in both],
        )
        columns = super().compute()
        self._turn = 1 - self._turn  # process 0 may still hold these files when others go on
        if columns is None:
            self._start_over()
            return None
        return self._of_all_processes(*columns)

    def _compute(self, *, predictions: Any, references: Any) -> Any:
        return predictions, references

    def _of_all_processes(self, rows: list[bytes], texts: list[str]) -> tuple[Batch, Batch]:
        """What each process added and gave, in turn; what was added stays in this one."""
        parts = [self.ROWS.from_bytes(data) for data in rows]
        ids = [json.loads(text) for text in texts]
        if any(ids):
            ids = [own or [None] * len(part) for own, part in zip(ids, parts, strict=True)]
        self._added, self._length = parts[::2], sum(map(len, parts[::2]))
        self._ids = list(chain.from_iterable(ids[::2]))
        given = Batch(parts[1::2], list(chain.from_iterable(ids[1::2])))
        self._end_round_unless_they_agree()
        return Batch(parts, list(chain.from_iterable(ids))), given

    def _end_round_unless_they_agree(self) -> None:
        """Drop the added rows of all processes if their ids are in conflict: no call can mend it."""
        try:
            refuse_different(self._ids)
            if self._ids:
                new_rows(self._ids, self._joined(self._added).fingerprints(), {})
        except ValueError as error:
            self._start_over()
            dropped = "the rows of all processes are dropped: add them again"
            raise ValueError(f"{error}; {dropped}") from None

    def _once(self, parts: Iterable[Rows], ids: list[Id], options: Any) -> Batch:
        """Rows with ids: those that repeat one are left out, and put in order if that counts."""
        rows = self._joined(parts)
        kept = count_once(ids, rows.fingerprints())
        ids = [ids[index] for index in kept]
        if options.in_order:
            order = sorted_by_number(ids)
            kept, ids = [kept[index] for index in order], [ids[index] for index in order]
        return Batch([rows.take(np.array(kept, np.intp))], ids)

    def _joined(self, parts: Iterable[Rows]) -> Rows:
        return self.ROWS.joined([self.ROWS.none(), *parts])

    def _scored(self, parts: Iterable[Rows], options: Any) -> dict[str, Any]:
        result, n = self.score(parts, options)
        version = sys.modules[type(self).__module__].__version__
        self._signature = f"{self.name}|{options.signature}|n:{n}|version:{version}"
        return result

    def _default_options(self) -> Any:
        """What `compute` takes where it is not told, and so what `compute_metrics` takes."""
        for name in sorted({"per_query", "confidence_level"} & self._defaults.keys()):
            rule = "be given to compute()"
            hint = "Trainer logs numbers only"
            raise ValueError(message(name, rule, Plain("a default"), hint=hint))
        return self.check_options(**self.default_options())

    def _start_over(self) -> None:
        self._kind = self.config_name if self.config_name in self.KINDS else None
        self._added, self._length, self._ids, self._row_of = [], 0, [], {}
        self._waiting = NOTHING
