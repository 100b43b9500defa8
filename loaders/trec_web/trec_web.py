# SPDX-License-Identifier: Apache-2.0
"""TREC Web Track 2009-2012, diversity task: queries and the subtopics that documents cover."""

import contextlib
import json
import logging
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import datasets
from quotediv.loaders.builder import SourceBuilder
from quotediv.loaders.reading import digest

from .library import import_ir_datasets
from .options import ALL, Run, check_candidates, check_fold, check_int, config_of, message, years_of
from .parsing import Judged, OtherYearError, Topic, published_topics, read_year
from .runs import read_run
from .sources import YEARS, downloaded_files, downloaded_hashes, local_files

logger = logging.getLogger(__name__)

_DESCRIPTION = """\
The diversity task of the TREC Web Tracks 2009 to 2012: 198 web queries, the documents of ClueWeb09
that NIST's assessors judged for each, and the subtopics of the query that each document covers.
"""

_CITATION = """\
@inproceedings{clarke-etal-2009-trec,
    title = "Overview of the {TREC} 2009 {W}eb Track",
    author = "Clarke, Charles L. A. and Craswell, Nick and Soboroff, Ian",
    booktitle = "Proceedings of TREC 2009",
    year = "2009",
}
@inproceedings{clarke-etal-2010-trec,
    title = "Overview of the {TREC} 2010 {W}eb Track",
    author = "Clarke, Charles L. A. and Craswell, Nick and Soboroff, Ian and Cormack, Gordon V.",
    booktitle = "Proceedings of TREC 2010",
    year = "2010",
}
@inproceedings{clarke-etal-2011-trec,
    title = "Overview of the {TREC} 2011 {W}eb Track",
    author = "Clarke, Charles L. A. and Craswell, Nick and Soboroff, Ian and Voorhees, Ellen M.",
    booktitle = "Proceedings of TREC 2011",
    year = "2011",
}
@inproceedings{clarke-etal-2012-trec,
    title = "Overview of the {TREC} 2012 {W}eb Track",
    author = "Clarke, Charles L. A. and Craswell, Nick and Voorhees, Ellen M.",
    booktitle = "Proceedings of TREC 2012",
    year = "2012",
}
"""


@dataclass
class TrecWebConfig(datasets.BuilderConfig):
    """A year or all four, and the choice of documents (see `load`).

    Attributes:
        candidates: path of a run, or a run.
        n_docs: number of documents per topic.
        seed: seed of the sample of documents.
    """

    candidates: str | dict[str, list[str]] | None = None
    n_docs: int | None = None
    seed: int = 0


class TrecWeb(SourceBuilder):
    """Builder of the TREC Web Track from NIST's files, in `data_dir` or from `ir_datasets`."""

    CODE = __file__
    BUILDER_CONFIG_CLASS = TrecWebConfig
    BUILDER_CONFIGS: ClassVar[list[datasets.BuilderConfig]] = [
        TrecWebConfig(name=name, version=SourceBuilder.VERSION) for name in (*YEARS, ALL)
    ]
    DEFAULT_CONFIG_NAME = ALL

    def __init__(
        self,
        *args: Any,
        config_name: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        candidates: str | os.PathLike[str] | Run | None = None,
        n_docs: int | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        run = check_candidates(candidates)
        options = {
            "candidates": run,
            "n_docs": None if n_docs is None else check_int("n_docs", n_docs, least=1),
            "seed": check_int("seed", seed) if run is None and n_docs else None,
        }
        kwargs |= {name: value for name, value in options.items() if value is not None}
        content = _content(years_of(config_name), data_dir, run)
        kwargs |= {"config_name": config_name, "data_dir": data_dir, "content": content}
        super().__init__(*args, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        text = datasets.Value("string")
        columns = {
            "query_id": text,
            "query": text,
            "description": text,
            "type": text,
            "doc_ids": datasets.Sequence(text),
            "subtopics": datasets.Sequence(datasets.Sequence(text)),
        }
        return datasets.DatasetInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            homepage="https://trec.nist.gov/data/webmain.html",
            features=datasets.Features(columns),
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        ir_datasets, years = import_ir_datasets(), years_of(self.config.name)
        if self.config.data_dir is None:
            files = downloaded_files(years, ir_datasets)
        else:
            files = local_files(years, self.config.data_dir)
        return [datasets.SplitGenerator(name=datasets.Split.TEST, gen_kwargs={"files": files})]

    def _generate_examples(self, files: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
        topics: dict[str, Topic] = {}
        judged: dict[str, Judged] = {}
        for year, paths in files.items():
            found, judged_docs = read_year(year, *paths)
            topics |= found
            judged |= judged_docs
        run = _read_candidates(self.config.candidates, list(judged))
        for key, (topic, labels) in enumerate(judged.items()):
            docs = self._choose(list(labels), None if run is None else run[topic])
            subtopics = [labels.get(doc, []) for doc in docs]
            yield key, topics[topic]._asdict() | {"doc_ids": docs, "subtopics": subtopics}

    def _choose(self, judged: list[str], ranking: Sequence[str] | None) -> list[str]:
        """The documents of a topic, all or those that the options keep."""
        n_docs = self.config.n_docs
        if ranking is not None:
            return list(ranking)[:n_docs]
        if n_docs is None or n_docs >= len(judged):
            return judged
        return sorted(random.Random(self.config.seed).sample(judged, n_docs))


def load(
    year: int | str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    candidates: str | os.PathLike[str] | Run | None = None,
    n_docs: int | None = None,
    fold: tuple[int, int] | None = None,
    seed: int = 0,
) -> datasets.Dataset | datasets.DatasetDict:
    """Load the diversity task of a TREC Web Track: its topics that have judgements.

    Columns: query_id, query, description, type, doc_ids and subtopics. type is NIST's: "faceted",
    "ambiguous" or "other"; a topic without one is "ambiguous", as NIST's files declare. All topics
    of the four years have one, none is "other". doc_ids are all judged documents of the topic,
    sorted by the UTF-8 bytes of their ids: those that TREC's ndeval scores against.
    subtopics has one list of labels per document, in numeric order, empty where no judgement is
    above 0. To score a run:

        topics = trec_web.load(2012, data_dir="trec")
        run = trec_web.read_run("my.run")
        metric.compute(predictions=trec_web.align(run, topics), references=topics)

    `candidates`, `n_docs` and `fold` prepare input for a model that reranks. MA4DIV uses candidates
    and folds but gives no rule for them; these rules are quotediv's own. For figures to compare
    with published ones, rank the candidates, then score the rankings against a dataset loaded
    without `candidates` and `n_docs`. With them, the ideal ranking and the number of subtopics
    would be those of the kept documents alone, and an unjudged candidate would count as judged.

    Args:
        year: 2009 (50 topics), 2010 (48: topics 95 and 100 have no judgements), 2011 or 2012 (50
            each); None loads all 198.
        data_dir: folder with NIST's files under their own names or as <year>.topics.full.xml and
            <year>.qrels.diversity, gzipped or not, or in its subfolders <year> or <yy>. None:
            `ir_datasets` downloads them into its folder (~/.ir_datasets, or IR_DATASETS_HOME).
        candidates: a run, as a path or as {query_id: [document, ...]}: doc_ids are the run's
            documents in its order. An unjudged document stays, without subtopics: a model has to
            rank it too. A path is read by `read_run`.
        n_docs: documents to keep per topic: with `candidates`, the first of each ranking; without,
            `random.Random(seed).sample` of the judged documents, in order of id.
        fold: (i, m) with 0 <= i < m: the topics in order of number are shuffled by
            `random.Random(seed)`; every m-th from position i is for testing, the others for
            training, both in order of number again.
        seed: seed of the folds and of the sample of documents.
    Returns:
        A Dataset, sorted by topic number; with `fold`, a DatasetDict of train and test.
    Raises:
        FileNotFoundError: no file, or no download; says where to get the file and where to put it.
        ValueError: a value outside its range; a line in another form, with file and line; a topic
            that the candidates lack.
        ImportError: `ir_datasets` is not installed (`pip install quotediv[trec]`).
    """
    name, seed = config_of(year), check_int("seed", seed)
    folds = None if fold is None else check_fold(fold)
    builder = TrecWeb(
        config_name=name, data_dir=data_dir, candidates=candidates, n_docs=n_docs, seed=seed
    )
    builder.download_and_prepare()
    topics = builder.as_dataset(split="test")
    _warn_unless_published(list(topics["query_id"]), years_of(name))
    return topics if folds is None else _split_fold(topics, *folds, seed)


def _warn_unless_published(topics: list[str], years: Sequence[str]) -> None:
    published = [number for year in years for number in published_topics(year)]
    if topics != published:
        missing = len(set(published) - set(topics))
        logger.warning(
            f"not the published topics: {missing} of the {len(published)} judged topics of "
            f"{', '.join(years)} are missing, {len(set(topics) - set(published))} are others"
        )


def years_in(data_dir: str | os.PathLike[str]) -> list[str]:
    """The configs whose files a folder holds: its years, and "all" if it holds all four.

    Raises:
        ValueError: a file that is not as published.
    """
    years = []
    for year in YEARS:
        with contextlib.suppress(FileNotFoundError, OtherYearError):
            read_year(year, *local_files([year], data_dir)[year])
            years.append(year)
    return [*years, ALL] if len(years) == len(YEARS) else years


def _split_fold(topics: datasets.Dataset, i: int, m: int, seed: int) -> datasets.DatasetDict:
    if m > len(topics):
        raise ValueError(message("fold", f"have m <= {len(topics)}, the number of topics", (i, m)))
    order = list(range(len(topics)))
    random.Random(seed).shuffle(order)
    test = set(order[i::m])
    rows = {"train": sorted(set(order) - test), "test": sorted(test)}
    return datasets.DatasetDict({name: topics.select(chosen) for name, chosen in rows.items()})


def _read_candidates(candidates: Any, topics: list[str]) -> Run | None:
    """The run, which must rank documents for every topic."""
    if candidates is None:
        return None
    run: Run = read_run(candidates) if isinstance(candidates, str) else candidates
    missing = [topic for topic in topics if not run.get(topic)]
    if missing:
        got = f"none for {len(missing)} of {len(topics)}, first {missing[0]}"
        raise ValueError(f"`candidates` must have documents for every topic, got {got}")
    return run


def _content(
    years: Sequence[str], data_dir: str | os.PathLike[str] | None, candidates: Any
) -> list[str]:
    """What the rows depend on: hashes of the files, and the run."""
    if data_dir is None:
        parts = downloaded_hashes(years, import_ir_datasets())
    else:
        parts = [digest(path) for pair in local_files(years, data_dir).values() for path in pair]
    if isinstance(candidates, str):
        parts.append(digest(Path(candidates).expanduser()))
    elif candidates is not None:
        parts.append(json.dumps(candidates, sort_keys=True))
    return parts
