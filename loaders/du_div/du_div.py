# SPDX-License-Identifier: Apache-2.0
"""DU-DIV (Chen et al., MA4DIV, 2024): search queries and the subtopics their documents cover."""

import hashlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import datasets
from quotediv.loaders.builder import SourceBuilder, digests, local_file

from .parsing import WIDTH, read_features, read_labels, split_queries

LABELS = "query_doc_subtopics_doc15_2.json"
FEATURES = ("query_features_doc15_2_acge.json", "doc_features_doc15_2_acge.json")
URL = f"https://raw.githubusercontent.com/chenyiqun/MA4DIV/main/data/baidu/{LABELS}"

# SHA-256 of the ids of the authors' file, as `_warn_unless_published` hashes them.
PUBLISHED = {
    "paper": "644353f9456c32426ab5aca9b961a4694a2d4172f1264edc1acdf67256ba0ac7",
    "released": "6345c8579fadd7fe8a116582b3bc3d8377441adb5563407e955352e82826ea57",
}

logger = logging.getLogger(__name__)

_DESCRIPTION = """\
DU-DIV, search result diversification on real queries of a Chinese search engine: 4,473 queries with
15 documents each and the subtopics that each document covers.
"""

_CITATION = """\
@article{chen-etal-2024-ma4div,
    year = "2024",
    title = "{MA4DIV}: Multi-Agent Reinforcement Learning for Search Result Diversification",
    author = "Chen, Yiqun and others",
    journal = "arXiv preprint arXiv:2403.17421",
    url = "https://arxiv.org/abs/2403.17421",
}
"""


@dataclass
class DuDivConfig(datasets.BuilderConfig):
    """A rule to split the queries, and optionally feature files.

    Attributes:
        feature_files: paths of the authors' query and document features.
    """

    feature_files: tuple[str, str] | None = None


class DuDiv(SourceBuilder):
    """Builder of DU-DIV from the authors' label file, in `data_dir` or downloaded."""

    CODE = __file__
    BUILDER_CONFIG_CLASS = DuDivConfig
    BUILDER_CONFIGS: ClassVar[list[datasets.BuilderConfig]] = [
        DuDivConfig(name=rule, version=SourceBuilder.VERSION) for rule in ("paper", "released")
    ]
    DEFAULT_CONFIG_NAME = "paper"

    def __init__(
        self,
        *args: Any,
        data_dir: str | os.PathLike[str] | None = None,
        feature_files: tuple[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        content = digests([local_file(URL, data_dir), *map(Path, feature_files or ())])
        kwargs |= {"data_dir": data_dir, "content": content}
        super().__init__(*args, feature_files=feature_files, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        text = datasets.Value("string")
        columns = {
            "query_id": text,
            "doc_ids": datasets.Sequence(text),
            "subtopics": datasets.Sequence(datasets.Sequence(text)),
        }
        if self.config.feature_files:
            vector = datasets.Sequence(datasets.Value("float32"), length=WIDTH)
            columns |= {"query_features": vector, "doc_features": datasets.Sequence(vector)}
        return datasets.DatasetInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            homepage="https://github.com/chenyiqun/MA4DIV",
            features=datasets.Features(columns),
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        path = self._source(dl_manager, URL)
        return [
            datasets.SplitGenerator(name=name, gen_kwargs={"path": path, "part": part})
            for part, name in enumerate((datasets.Split.TRAIN, datasets.Split.TEST))
        ]

    def _generate_examples(self, path: str, part: int) -> Iterator[tuple[int, dict[str, Any]]]:
        labels = read_labels(path)
        test_size = _test_size(len(labels), self.config.name)
        if not 0 < test_size < len(labels):
            raise ValueError(f"{path}: expected at least 5 queries to split, got {len(labels)}")
        queries = split_queries(list(labels), test_size)
        features = [read_features(file) for file in self.config.feature_files or ()]
        for key, query in enumerate(queries[part]):
            documents = labels[query]
            row: dict[str, Any] = {
                "query_id": query,
                "doc_ids": list(documents),
                "subtopics": list(documents.values()),
            }
            yield key, row | self._features(query, documents, features)

    def _features(
        self, query: str, documents: Any, features: list[dict[str, list[float]]]
    ) -> dict[str, Any]:
        """The feature columns of one query."""
        if not features:
            return {}
        query_file, doc_file = self.config.feature_files
        return {
            "query_features": _vector(features[0], query, query_file),
            "doc_features": [_vector(features[1], doc, doc_file) for doc in documents],
        }


def load(
    split: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    split_rule: str = "paper",
    features: str | Path | tuple[str | Path, str | Path] | None = None,
) -> datasets.Dataset | datasets.DatasetDict:
    """Load DU-DIV: columns query_id, doc_ids and subtopics, one list of labels per document.

    Args:
        split: "train" or "test"; None loads both.
        data_dir: folder with the authors' query_doc_subtopics_doc15_2.json, gzipped or not, or that
            file; None downloads it.
        split_rule: "released": the 894 test queries that the authors' code draws; "paper": 895, the
            paper's number, which are the same 894 and query 20503.
        features: folder with the authors' query_features_doc15_2_acge.json and
            doc_features_doc15_2_acge.json, or the paths of two such files: adds the columns
            query_features (1,024 float32) and doc_features (documents x 1,024).
    Returns:
        A Dataset, or a DatasetDict if `split` is None.
    Raises:
        FileNotFoundError: no file, or no download; says where to get the file and where to put it.
        ValueError: content in another form; names the file, the line or key and what was expected.
    """
    if split_rule not in ("paper", "released"):
        raise ValueError(f"`split_rule` must be 'paper' or 'released', got {split_rule!r}")
    builder = DuDiv(
        config_name=split_rule,
        data_dir=data_dir,
        feature_files=None if features is None else _feature_files(features),
    )
    builder.download_and_prepare()
    _warn_unless_published(builder.as_dataset(), split_rule)
    return builder.as_dataset(split=split)


def _test_size(queries: int, rule: str) -> int:
    """894 or 895 of 4,473: the code rounds 0.2 N down, the paper to the nearest integer."""
    return int(0.2 * queries) if rule == "released" else round(0.2 * queries)


def _warn_unless_published(parts: datasets.DatasetDict, rule: str) -> None:
    """Log that a file is not the published one: its order decides which queries are drawn."""
    digest = hashlib.sha256()
    for part in parts.values():
        for query, docs in zip(part["query_id"], part["doc_ids"], strict=True):
            digest.update("\t".join([query, *docs, "\n"]).encode())
    if digest.hexdigest() != PUBLISHED[rule]:
        queries, test = sum(map(len, parts.values())), len(parts["test"])
        logger.warning(
            f"not the published labels: {queries} queries, {test} of them drawn for the test by "
            "the authors' rule, which are not the authors' test queries"
        )


def _feature_files(features: Any) -> tuple[str, str]:
    """The paths of the query and the document features."""
    pair = features if isinstance(features, (tuple, list)) else []
    if not pair and isinstance(features, (str, os.PathLike)) and not Path(features).is_file():
        pair = [Path(features) / name for name in FEATURES]
    if len(pair) != 2:
        rule = "be a folder, or the paths of the query and the document features"
        raise ValueError(f"`features` must {rule}, got {features!r}")
    paths = [Path(file).expanduser() for file in pair]
    for file in paths:
        if not file.is_file():
            raise FileNotFoundError(
                f"{file} does not exist; the features are not in the authors' repository: put "
                f"{FEATURES[0]} and {FEATURES[1]} into one folder and pass features=<that folder>"
            )
    return str(paths[0]), str(paths[1])


def _vector(vectors: dict[str, list[float]], key: str, path: str) -> list[float]:
    if key not in vectors:
        raise ValueError(f"{path}: expected {WIDTH} numbers for {key!r}, got none")
    return vectors[key]
