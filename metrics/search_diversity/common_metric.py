# A copy of metrics/common/metric.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""The base class of metrics whose rows are queries: rows are checked when added, kept for `compute`."""

import abc
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import datasets
import evaluate

from .common_batch import Batch, of_processes, refuse_two_types
from .common_checks import Plain, check_bool, message
from .common_defaults import WithDefaults
from .common_figures import Directions
from .common_intervals import normal_distribution
from .common_query_ids import Id, groups_of, new_rows, read_ids, refuse_two_groups
from .common_results import Results, by_group
from .common_rows import Rows
from .common_training import Evaluations, batches

# Each process writes two records to evaluate's cache, for process 0 to read: the rows that it added,
# and the rows that it gave to `compute`.
STORED = datasets.Features(
    predictions=datasets.Value("binary"), references=datasets.Value("string")
)


NOTHING = Batch()


class RankingMetric(WithDefaults, evaluate.Metric, abc.ABC):
    """A metric over queries, each a ranking with what is right for it.

    A subclass defines what a row is (`ROWS`, `read`), the options (`compute`, `check_options`), how
    rows are scored (`score`), and the figures that result (`FIGURES`).
    """

    ROWS: ClassVar[type[Rows]]
    FIGURES: ClassVar[Mapping[str, Any]]  # the table at the head of scoring.py
    COUNTS: ClassVar[tuple[str, ...]] = ()  # keys of the result that count queries
    NOT_DEFAULTS = ("per_query", "confidence_level")  # Trainer logs numbers only
    KINDS: ClassVar[tuple[str, ...]] = ()  # configs that name the kind of the rows
    READS_AHEAD: ClassVar[bool] = False  # whether `compute` reads all rows before it scores any

    _kind: str | None  # of the added rows
    _added: list[Rows]
    _length: int  # queries in `_added`
    _ids: list[Id]  # of the added rows, or []
    _groups: list[Id]  # of the added rows, or []
    _row_of: dict[Id, bytes]  # the fingerprint of each id's row
    _group_of: dict[Id, Id]  # the group of each id, where rows have both
    _waiting: Batch  # rows given to a `compute` call that `refuse` refused

    # What a metric supplies

    @abc.abstractmethod
    def check_options(self, **options: Any) -> Any:
        """The checked options of `compute`.

        They have the attributes `per_query`, `interval`, `keys` (of the result), `signature` and
        `in_order` (whether figures depend on the order of the queries).
        """

    @abc.abstractmethod
    def read(
        self, predictions: Any, references: Any, *, kind: str | None, start: int, has_ids: bool
    ) -> Iterable[tuple[str | None, Rows]]:
        """Check a batch; give it in parts, each as (kind of all rows so far, rows).

        Args:
            predictions: as of `compute`.
            references: as of `compute`.
            kind: the kind of the rows before these, None if there are none.
            start: number of queries before these; errors count on from it.
            has_ids: whether the queries have ids; rows of one id are then compared.
        """

    @abc.abstractmethod
    def read_evaluation(self, outputs: Any, labels: Any, *, start: int) -> Iterable[Rows]:
        """Check one batch of an evaluation by `Trainer`."""

    @abc.abstractmethod
    def score(self, parts: Iterable[Rows], options: Any) -> Results:
        """The figures of each of these rows."""

    def refuse(self, parts: Iterable[Rows], options: Any) -> None:
        """Raise for rows that the options cannot score; called before repeated queries are dropped."""

    def takes_waiting(self, options: Any) -> bool:
        """Whether a call with these options scores the rows that an earlier, refused call was given."""
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
        """Copy and pickle without the evaluations by `Trainer` that are running."""
        made, arguments, state = super().__reduce__()
        return made, arguments, {**state, "_evaluations": Evaluations()}

    def __len__(self) -> int:
        """Number of queries added since the last result."""
        return self._length

    @property
    def kind(self) -> str | None:
        """The kind of the rows: the config's, else read from the rows added; None if there are none."""
        return self._kind

    @property
    def greater_is_better(self) -> Mapping[str, bool]:
        """Whether higher is better, for each key of the result and for figures at any other depth.

        Keys of `Trainer` have an answer too: "eval_MeanRank", "eval_english_MeanRank".
        """
        return Directions(self.FIGURES, self._default_options().keys, self.COUNTS)

    @property
    def signature(self) -> str | None:
        """One line that says how the last result was computed; None before the first."""
        return self._signature

    def add(
        self,
        *,
        prediction: Any = None,
        reference: Any = None,
        predictions: Any = None,
        references: Any = None,
        query_id: Any = None,
        group: Any = None,
    ) -> None:
        """Add one query: `prediction` and `reference` (the plurals are for `evaluate.combine`)."""
        prediction = predictions if prediction is None else prediction
        reference = references if reference is None else reference
        ids = None if query_id is None else [query_id]
        row = {"predictions": [prediction], "references": [reference]}
        self.add_batch(**row, query_ids=ids, groups=None if group is None else [group])

    def add_batch(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        query_ids: Any = None,
        groups: Any = None,
    ) -> None:
        """Check a batch of queries, reduce it to what is scored, and keep it until `compute`."""
        read = list(self._read(predictions, references, query_ids is not None))
        parts = [rows for _, rows in read]
        ids = self._read_ids(query_ids, parts)
        groups = self._read_groups(groups, ids, parts)
        if not any(map(len, parts)):
            return
        refuse_two_groups(ids, groups, self._group_of, len(self))
        rows_of_ids = [row for part in parts for row in part.fingerprints()] if ids else []
        found = new_rows(ids, rows_of_ids, self._row_of, len(self))
        self._row_of.update({name: rows_of_ids[index] for name, index in found.items()})
        self._kind = read[-1][0]
        self._added += parts
        self._length += sum(map(len, parts))
        self._ids += ids
        self._groups += groups
        self._group_of.update(zip(ids, groups, strict=False))
        self._waiting = NOTHING

    def configured(self, **options: Any) -> Any:
        """A new metric without rows; `compute` and `compute_metrics` have these options as defaults.

        Args:
            options: options of `compute`, except `per_query` and `confidence_level`.
        Raises:
            ValueError: a value that `compute` refuses.
            TypeError: an option that `compute` does not have.
        """
        return super().configured(**options)

    def compute_metrics(self, eval_pred: Any, compute_result: bool | None = None) -> dict[str, Any]:
        """For `Trainer`: the figures of one evaluation; rows added by `add_batch` are not included.

        Args:
            eval_pred: predictions, which are scores or what `preprocess_logits_for_metrics` returned,
                and label_ids, the labels; two lists of these are read batch by batch.
            compute_result: under `batch_eval_metrics`, False for all batches but the last. If an
                evaluation breaks off, its batches are dropped when Trainer starts another one;
                outside Trainer, compute_result=None drops them.
        Returns:
            What `compute` returns by default (see `configured`); {} before the last batch.
        Raises:
            ValueError: as for `compute`; labels or padding that could change a figure.
        """
        if compute_result is not None:
            compute_result = check_bool("compute_result", compute_result)
        options = self._default_options()
        parts = self._evaluations.take(compute_result)
        for outputs, labels in batches(eval_pred):
            parts += self.read_evaluation(outputs, labels, start=sum(map(len, parts)))
        if compute_result is not None and not compute_result:
            self._evaluations.keep(parts)
            return {}
        return self._scored(Batch(parts), options)

    def _run(
        self, options: Any, predictions: Any, references: Any, query_ids: Any, groups: Any
    ) -> dict[str, Any] | None:
        """`compute` with checked options. If it raises, the rows added before are kept."""
        given = self._given(options, predictions, references, query_ids, groups)
        added = Batch(self._added, self._ids, self._groups)
        if isinstance(groups, Mapping):
            added, given = added.grouped(groups, 0), given.grouped(groups, len(self))
            refuse_two_types(added.groups + given.groups)
        self._refuse_unordered(options, Batch.joined([added, given]))  # before waiting for others
        if self.num_process == 1:
            refuse_two_groups(added.ids + given.ids, added.groups + given.groups, {})
        if options.interval:
            normal_distribution()  # raise ImportError now, while all rows are still held
        gathered = self._gather(added, given)
        if gathered is None:
            return None
        rows, given = gathered
        self._refuse_unordered(options, rows)
        try:
            self.refuse(rows.parts, options)
        except ValueError:
            self._waiting = given
            raise
        if rows.ids:
            rows = rows.once(self._joined(rows.parts), options.in_order)
        result = self._scored(rows, options)
        self._start_over()
        return result

    def _given(
        self, options: Any, predictions: Any, references: Any, query_ids: Any, groups: Any
    ) -> Batch:
        """The rows given to `compute`; if none, those of a refused call that these options can score."""
        mapped = isinstance(groups, Mapping)
        if predictions is None and references is None:
            if query_ids is not None:
                raise ValueError(message("query_ids", "come with predictions", query_ids))
            if groups is not None and not mapped:
                raise ValueError(message("groups", "come with predictions", groups))
            return self._waiting if self.takes_waiting(options) else NOTHING
        has_ids = query_ids is not None or bool(self._ids)
        read = self._read(predictions, references, has_ids)
        parts: Iterable[Rows] = (rows for _, rows in read)
        has_groups = groups is not None or bool(self._groups)
        if self.READS_AHEAD or has_ids or has_groups or self.num_process > 1:
            parts = list(parts)
        ids = self._read_ids(query_ids, parts) if has_ids else []
        listed = has_groups and not mapped
        return Batch(parts, ids, self._read_groups(groups, ids, parts) if listed else [])

    def _read(self, predictions: Any, references: Any, has_ids: bool) -> Iterable[Any]:
        return self.read(predictions, references, kind=self._kind, start=len(self), has_ids=has_ids)

    def _read_ids(self, query_ids: Any, parts: Iterable[Rows]) -> list[Id]:
        rows, start = sum(map(len, parts)), len(self)
        return read_ids(query_ids, rows=rows, held=self._ids, start=start)

    def _read_groups(self, groups: Any, ids: list[Id], parts: Iterable[Rows]) -> list[Id]:
        rows, start = sum(map(len, parts)), len(self)
        groups = groups_of(groups, ids, rows, start) if isinstance(groups, Mapping) else groups
        return read_ids(groups, rows=rows, held=self._groups, start=start, name="groups")

    def _refuse_unordered(self, options: Any, batch: Batch) -> None:
        """Refuse rows without ids if order counts: the order in which processes add is left to chance."""
        several = options.in_order and self.num_process > 1
        if several and not batch.ids and any(map(len, batch.parts)):
            hint = "add all queries to one process, or give query_ids: their order counts here"
            raise ValueError(message("num_process", "be 1", self.num_process, hint=hint))

    def _gather(self, added: Batch, given: Batch) -> tuple[Batch, Batch] | None:
        """All rows, and separately those given to `compute`; None in processes other than 0.

        Rows of other processes come through evaluate's cache files. With one process, rows given to
        `compute` may be read lazily, while they are scored.
        """
        if self.num_process == 1:
            return Batch.joined([added, given]), given
        self.selected_feature_format = STORED
        self.info.experiment_id = f"{self._experiment}-{self._turn}"
        self._init_writer(timeout=self.timeout)  # a process without rows takes part too
        super().add_batch(
            predictions=[self._joined(batch.parts).to_bytes() for batch in (added, given)],
            references=[batch.names() for batch in (added, given)],
        )
        columns = super().compute()
        self._turn = 1 - self._turn  # process 0 may still hold this round's files
        if columns is None:
            self._start_over()
            return None
        return self._of_all_processes(*columns)

    def _compute(self, *, predictions: Any, references: Any) -> Any:
        return predictions, references

    def _of_all_processes(self, rows: list[bytes], names: list[str]) -> tuple[Batch, Batch]:
        """The rows that each process added and gave; this process keeps the added ones."""
        batches = of_processes(list(map(self.ROWS.from_bytes, rows)), names)
        both, added = Batch.joined(batches), Batch.joined(batches[::2])
        try:
            both.refuse_conflicts(self._joined(both.parts))
        except ValueError as error:  # no later call can resolve that
            self._start_over()
            dropped = "the rows of all processes are dropped: add them again"
            raise ValueError(f"{error}; {dropped}") from None
        self._added, self._length = list(added.parts), added.n_rows
        self._ids, self._groups = added.ids, added.groups
        return both, Batch.joined(batches[1::2])

    def _joined(self, parts: Iterable[Rows]) -> Rows:
        return self.ROWS.joined([self.ROWS.none(), *parts])

    def _scored(self, batch: Batch, options: Any) -> dict[str, Any]:
        results = self.score(batch.parts, options)
        found = results.figures()
        if batch.groups:
            keys = (key for key in options.keys if key not in self.COUNTS)
            found |= by_group(results, batch.groups, keys)
        if options.per_query:
            found["per_query"] = results.per_query()
            names = {"query_ids": batch.ids, "groups": batch.groups}
            found["per_query"] |= {name: values for name, values in names.items() if values}
        n, version = len(results), sys.modules[type(self).__module__].__version__
        self._signature = f"{self.name}|{options.signature}|n:{n}|version:{version}"
        return found

    def _default_options(self) -> Any:
        """The checked default options of `compute`, which are those of `compute_metrics`."""
        for name in sorted({*self.NOT_DEFAULTS} & self._defaults.keys()):
            rule = "be given to compute()"
            hint = "Trainer logs numbers only"
            raise ValueError(message(name, rule, Plain("a default"), hint=hint))
        return self.check_options(**self.default_options())

    def _start_over(self) -> None:
        self._kind = self.config_name if self.config_name in self.KINDS else None
        self._added, self._length, self._ids, self._row_of = [], 0, [], {}
        self._groups, self._group_of = [], {}
        self._waiting = NOTHING
