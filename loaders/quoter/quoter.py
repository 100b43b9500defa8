# SPDX-License-Identifier: Apache-2.0
"""QuoteR (Qi et al., ACL 2022): writing contexts and the quotes that fit them."""

import logging
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import datasets
from quotediv.loaders.builder import SourceBuilder, digests, is_integer, local_file

from .parsing import read_samples

LANGUAGES = ("english", "modern_chinese", "ancient_chinese")
URL = "https://raw.githubusercontent.com/thunlp/QuoteR/main/data/{}.txt"

# First lines, from 0, of the validation and the test split: data/README_data.md of thunlp/QuoteR.
BOUNDARIES = {
    "english": (101171, 113942),
    "modern_chinese": (32472, 36657),
    "ancient_chinese": (93031, 104784),
}
# Lines of each file: the numbers of contexts in the paper.
LINES = {"english": 126713, "modern_chinese": 40842, "ancient_chinese": 116537}

logger = logging.getLogger(__name__)

_DESCRIPTION = """\
QuoteR, a benchmark of quote recommendation: the text left and right of a quote, and the quote, in
English, modern Chinese and ancient Chinese, with the authors' train, validation and test splits.
The configs `english_quotes`, `modern_chinese_quotes` and `ancient_chinese_quotes` are the pools of
distinct quotes to rank.
"""

_CITATION = """\
@inproceedings{qi-etal-2022-quoter,
    title = "{Q}uote{R}: A Benchmark of Quote Recommendation for Writing",
    year = "2022",
    url = "https://arxiv.org/abs/2202.13145",
    author = "Qi, Fanchao and Yang, Yanhui and Yi, Jing and Cheng, Zhili and Liu, Zhiyuan and
      Sun, Maosong",
    booktitle = "Proceedings of the 60th Annual Meeting of the Association for Computational
      Linguistics (Volume 1: Long Papers)",
}
"""


@dataclass
class QuoterConfig(datasets.BuilderConfig):
    """A language of QuoteR, or its pool of quotes.

    Attributes:
        boundaries: first lines of the validation and the test split; None: the published ones.
        lowercase: whether all text is lower-cased; None: for English only, as the authors do.
    """

    boundaries: tuple[int, int] | None = None
    lowercase: bool | None = None


class Quoter(SourceBuilder):
    """Builder of QuoteR from the authors' text files, in `data_dir` or downloaded."""

    CODE = __file__
    BUILDER_CONFIG_CLASS = QuoterConfig
    BUILDER_CONFIGS: ClassVar[list[datasets.BuilderConfig]] = [
        QuoterConfig(name=f"{language}{suffix}", version=SourceBuilder.VERSION)
        for suffix in ("", "_quotes")
        for language in LANGUAGES
    ]

    def __init__(
        self,
        *args: Any,
        config_name: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        language = str(config_name).removesuffix("_quotes")
        if language not in LANGUAGES:
            names = ", ".join(config.name for config in self.BUILDER_CONFIGS)
            raise ValueError(f"`config` must be one of {names}, got {config_name!r}")
        kwargs |= {"config_name": config_name, "data_dir": data_dir}
        content = digests([local_file(URL.format(language), data_dir)])
        super().__init__(*args, content=content, **kwargs)
        _check_options(self.config.boundaries, self.config.lowercase)
        self._pool: dict[str, int] = {}

    @property
    def language(self) -> str:
        """The language of the config."""
        return str(self.config.name).removesuffix("_quotes")

    def _info(self) -> datasets.DatasetInfo:
        columns = {"quote_id": datasets.Value("int64"), "quote": datasets.Value("string")}
        if not self.config.name.endswith("_quotes"):
            text = datasets.Value("string")
            columns = {"left_context": text, "quote": text, "right_context": text} | {
                "quote_id": datasets.Value("int64")
            }
        return datasets.DatasetInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            homepage="https://github.com/thunlp/QuoteR",
            features=datasets.Features(columns),
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        path = self._source(dl_manager, URL.format(self.language))
        if self.config.name.endswith("_quotes"):
            return [datasets.SplitGenerator(name="quotes", gen_kwargs={"path": path})]
        train_end, validation_end = self.config.boundaries or BOUNDARIES[self.language]
        parts = {
            datasets.Split.TRAIN: (0, train_end),
            datasets.Split.VALIDATION: (train_end, validation_end),
            datasets.Split.TEST: (validation_end, None),
        }
        return [
            datasets.SplitGenerator(name=name, gen_kwargs={"path": path, "part": part})
            for name, part in parts.items()
        ]

    def _generate_examples(
        self, path: str, part: tuple[int, int | None] | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        pool = self._read_pool(path)
        if part is None:
            for quote, quote_id in pool.items():
                yield quote_id, {"quote_id": quote_id, "quote": quote}
            return
        start, stop = part
        samples = read_samples(path, lowercase=self._lowercase, start=start, stop=stop)
        for number, sample in enumerate(samples, start):
            yield number, {**sample._asdict(), "quote_id": pool[sample.quote]}

    @property
    def _lowercase(self) -> bool:
        lowercase = self.config.lowercase
        return self.language == "english" if lowercase is None else bool(lowercase)

    def _read_pool(self, path: str) -> dict[str, int]:
        """The id of each quote of all three splits, in ascending order; reads the file once."""
        if not self._pool:
            lines = Counter(s.quote for s in read_samples(path, lowercase=self._lowercase))
            self._check_length(path, lines.total())
            self._pool = {quote: quote_id for quote_id, quote in enumerate(sorted(lines))}
        return self._pool

    def _check_length(self, path: str, lines: int) -> None:
        """Refuse a file without a test split; log that a file has not the published length."""
        own = self.config.boundaries
        needed = (own or BOUNDARIES[self.language])[1] + 1
        if lines < needed:
            hint = "" if own else "; pass boundaries=(train_end, validation_end) for another file"
            raise ValueError(f"{path}: expected at least {needed} lines, got {lines}{hint}")
        if not own and lines != LINES[self.language]:
            published = f"the published file has {LINES[self.language]}"
            logger.warning(f"{path} has {lines} lines, {published}: rows may be shifted")


def load(
    config: str,
    split: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    boundaries: tuple[int, int] | None = None,
    lowercase: bool | None = None,
) -> datasets.Dataset | datasets.DatasetDict:
    """Load a language of QuoteR, or its pool of quotes.

    Args:
        config: "english", "modern_chinese" or "ancient_chinese" (columns left_context, quote,
            right_context, quote_id), or one of them with "_quotes": its pool (columns quote_id,
            quote), the distinct quotes of all splits sorted by code point. `quote_id` is the row
            of a quote in the pool.
        split: "train", "validation" or "test"; of a pool, "quotes"; None loads all.
        data_dir: folder with the authors' <language>.txt, gzipped or not, or that file; None
            downloads it.
        boundaries: first lines, counted from 0, of the validation and the test split, for your own
            files; None: the authors' (data/README_data.md of thunlp/QuoteR).
        lowercase: whether all text is lower-cased; None: English only, as the authors do.
    Returns:
        A Dataset, or a DatasetDict if `split` is None.
    Raises:
        FileNotFoundError: no file, or no download; says where to get the file and where to put it.
        ValueError: a wrong line, or too few lines; names the file, the line and what was expected.
    """
    builder = Quoter(
        config_name=config,
        data_dir=data_dir,
        boundaries=boundaries,
        lowercase=lowercase,
    )
    builder.download_and_prepare()
    return builder.as_dataset(split=split)


def _check_options(boundaries: Any, lowercase: Any) -> None:
    if lowercase is not None and not isinstance(lowercase, bool):
        raise TypeError(f"`lowercase` must be a bool or None, got {lowercase!r}")
    if boundaries is None:
        return
    rule = "be ints (train_end, validation_end), 0 < train_end < validation_end"
    error = f"`boundaries` must {rule}, got {boundaries!r}"
    if not isinstance(boundaries, (tuple, list)) or len(boundaries) != 2:
        raise TypeError(error)
    if not all(map(is_integer, boundaries)):
        raise TypeError(error)
    if not 0 < boundaries[0] < boundaries[1]:
        raise ValueError(error)
