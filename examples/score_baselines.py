# SPDX-License-Identifier: Apache-2.0
"""Score simple rankers with both metrics and print tables to compare a model with.

    python examples/score_baselines.py                  # the sample in examples/sample
    python examples/score_baselines.py --quoter DIR     # the data folder of thunlp/QuoteR
    python examples/score_baselines.py --du-div FILE    # query_doc_subtopics_doc15_2.json of MA4DIV

Quotes are also scored by how often the gold quote occurs in training, and the languages of the
folder are printed side by side.

Needs scikit-learn and tqdm besides quotediv's own requirements.
"""

import argparse
import logging
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import datasets
import evaluate
import numpy as np
import numpy.typing as npt
from quotediv.loaders import du_div, quoter
from quotediv.loaders.quoter.parsing import read_samples
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from tqdm import tqdm

REPO = Path(__file__).resolve().parent.parent
SAMPLE = REPO / "examples" / "sample"

CHUNK = 512  # test queries scored at a time: 512 x 6,108 float32 are 12.5 MB
VOCABULARY_LINES = 10_000  # training lines that TF-IDF takes its n-grams from: bounds its memory

BINS = {0: "0", 1: "1-4", 5: "5-19", 20: "20 and more"}  # training lines, by the least number
SIDE_BY_SIDE = ("MRR", "NDCG@5", "Recall@10")

DU_DIV_QUERIES = 4_473
PROTOCOLS = ("standard", "released", "recipe")
ALPHA = 0.5

Scores: TypeAlias = npt.NDArray[np.float32]
Ranker: TypeAlias = Callable[["Sequence[Sample]"], Scores]
Labels: TypeAlias = Mapping[str, Sequence[str]]  # document -> subtopics, of one query
DocumentRanker: TypeAlias = Callable[[Labels], list[str]]
Figures: TypeAlias = dict[str, Any]


class Sample(NamedTuple):
    """One line of a QuoteR file."""

    left: str
    quote: str
    right: str

    @property
    def context(self) -> str:
        """What a ranker may see: the text around the quote, not the quote."""
        return f"{self.left} {self.right}"


class Quotes(NamedTuple):
    """One language, split, with the pool to rank; nothing is tuned, so validation goes unused."""

    train: list[Sample]
    validation: list[Sample]
    test: list[Sample]
    pool: list[str]


# Quotes ---------------------------------------------------------------------------------------


def boundaries(path: Path, language: str) -> tuple[int, int] | None:
    """Where validation and test start: as published (None), or at 60% and 80% of a shorter file."""
    lines = sum(1 for _ in read_samples(str(path), lowercase=False))
    published = lines > quoter.BOUNDARIES[language][1]
    return None if published else (lines * 6 // 10, lines * 8 // 10)


def load_quotes(path: Path, language: str) -> Quotes:
    """Load one language, in the authors' splits, and its pool."""
    options: dict[str, Any] = {"data_dir": path, "boundaries": boundaries(path, language)}
    splits = quoter.load(language, **options)
    train, validation, test = (samples(splits[name]) for name in ("train", "validation", "test"))
    pool = quoter.load(f"{language}_quotes", "quotes", **options)
    return Quotes(train, validation, test, pool["quote"][:])


def samples(split: Any) -> list[Sample]:
    """The rows of a split."""
    columns = (split[name][:] for name in ("left_context", "quote", "right_context"))
    return list(map(Sample, *columns))


def random_ranker(quotes: Quotes, seed: int) -> Ranker:
    """Rank the pool by chance: the floor."""
    rng = np.random.default_rng(seed)
    return lambda samples: rng.random((len(samples), len(quotes.pool)), dtype=np.float32)


def frequency_ranker(quotes: Quotes) -> Ranker:
    """Rank the pool by how often each quote occurs in the training split, whatever the context."""
    counts = Counter(sample.quote for sample in quotes.train)
    row = np.array([counts[quote] for quote in quotes.pool], dtype=np.float32)
    return lambda samples: np.tile(row, (len(samples), 1))


def texts_by_quote(quotes: Quotes) -> list[list[str]]:
    """For each quote of the pool: its own text, then the contexts it has in the training split."""
    texts = {quote: [quote] for quote in quotes.pool}
    for sample in quotes.train:
        texts[sample.quote].append(sample.context)
    return list(texts.values())


def tfidf_ranker(quotes: Quotes) -> Ranker:
    """Rank the pool by the cosine of the context with the centroid of each quote's texts.

    A quote that the training split does not have is known by its own text alone. Character
    n-grams need no word segmentation, so one setting serves all three languages.
    """
    vectorizer = TfidfVectorizer(
        analyzer="char",
        ngram_range=(1, 3),
        max_features=20_000,
        sublinear_tf=True,
        lowercase=False,
        dtype=np.float32,
    )
    sources = quotes.pool + [sample.context for sample in quotes.train[:VOCABULARY_LINES]]
    vectorizer.fit(progress(sources, "TF-IDF, vocabulary"))
    centroids = np.empty((len(vectorizer.vocabulary_), len(quotes.pool)), dtype=np.float32)
    for i, texts in enumerate(progress(texts_by_quote(quotes), "TF-IDF, training")):
        centroids[:, i] = normalize(np.asarray(vectorizer.transform(texts).sum(axis=0)))

    def score(samples: Sequence[Sample]) -> Scores:
        scores: Scores = vectorizer.transform([s.context for s in samples]) @ centroids
        return scores

    return score


def training_bins(quotes: Quotes) -> list[int]:
    """For each test query, the bin of its gold quote by lines in the training split."""
    counts = Counter(sample.quote for sample in quotes.train)
    return [max(least for least in BINS if least <= counts[s.quote]) for s in quotes.test]


def score_quotes(metric: Any, quotes: Quotes, ranker: Ranker, name: str, **options: Any) -> Figures:
    """Score one ranker on the test split, chunk by chunk: the full score matrix never exists."""
    position, groups = {quote: i for i, quote in enumerate(quotes.pool)}, training_bins(quotes)
    for start in progress(range(0, len(quotes.test), CHUNK), name):
        samples = quotes.test[start : start + CHUNK]
        gold = [position[sample.quote] for sample in samples]
        bins = groups[start : start + CHUNK]
        metric.add_batch(predictions=ranker(samples), references=gold, groups=bins)
    figures: Figures = metric.compute(**options)
    return figures


def report_quotes(path: Path, language: str, seed: int) -> dict[str, Figures]:
    """Print the tables of one language; returns the figures of each ranker."""
    metric = evaluate.load(str(REPO / "metrics" / "quoter_rank"), keep_in_memory=True)
    quotes = load_quotes(path, language)
    rankers = {
        "random": random_ranker(quotes, seed),
        "training frequency": frequency_ranker(quotes),
        "TF-IDF": tfidf_ranker(quotes),
    }
    print(
        f"\nQuotes, {language}: {len(quotes.test):,} test queries, pool of {len(quotes.pool):,}"
        f" quotes, {len(quotes.train):,} training lines\n"
    )
    results = {name: score_quotes(metric, quotes, rank, name) for name, rank in rankers.items()}
    rows = {
        name: {key: result[key] for key in metric.greater_is_better}
        for name, result in results.items()
    }
    print(table(rows), metric.signature, sep="\n")
    print_tie_rules(metric, quotes)
    print("\nMRR by training lines of the gold quote", table(by_bin(results)), sep="\n")
    return rows


def by_bin(results: Mapping[str, Figures]) -> dict[str, Figures]:
    """One line a bin of training lines, one column a ranker: MRR, and the number of queries."""
    sizes = {least: group["n"] for least, group in next(iter(results.values()))["by_group"].items()}
    rows = {
        BINS[least]: {"n": n} | {name: r["by_group"][least]["MRR"] for name, r in results.items()}
        for least, n in sizes.items()
    }
    macro = {name: result["macro"]["MRR"] for name, result in results.items()}
    return rows | {"mean of bins": {"n": sum(sizes.values())} | macro}


def print_side_by_side(languages: Mapping[str, Mapping[str, Figures]]) -> None:
    """Print one table a figure: one line a ranker, one column a language."""
    print("\nLanguages side by side; no mean, since pools and texts differ")
    for key in SIDE_BY_SIDE:
        rankers = next(iter(languages.values()))
        rows = {
            name: {language: rows[name][key] for language, rows in languages.items()}
            for name in rankers
        }
        print(f"\n{key}", table(rows), sep="\n")


def print_tie_rules(metric: Any, quotes: Quotes) -> None:
    """Print how far the tie rule alone moves the frequency ranker: equal counts are ties."""
    mrr = {}
    for ties in ("pessimistic", "expected", "optimistic"):
        ranker = frequency_ranker(quotes)
        mrr[ties] = score_quotes(metric, quotes, ranker, f"ties={ties}", ties=ties)["MRR"]
    by_rule = ", ".join(f"{ties} {value:.4f}" for ties, value in mrr.items())
    print(f"MRR of training frequency, where equal counts are ties: {by_rule}")


# Diversity ------------------------------------------------------------------------------------


def load_labels(path: Path) -> dict[str, Labels]:
    """{query: {document: [subtopic, ...]}}: of the published file the authors' test queries."""
    if path == SAMPLE / "du_div.json":  # all its queries are scored: no need to warn of the draw
        logging.getLogger("quotediv.loaders.du_div").setLevel(logging.ERROR)
    parts = du_div.load(data_dir=path, split_rule="released")
    published = len(parts["train"]) + len(parts["test"]) == DU_DIV_QUERIES
    rows = parts["test"] if published else datasets.concatenate_datasets(list(parts.values()))
    return {
        row["query_id"]: dict(zip(row["doc_ids"], row["subtopics"], strict=True)) for row in rows
    }


def random_documents(seed: int) -> DocumentRanker:
    """Rank by chance: the floor."""
    rng = random.Random(seed)
    return lambda labels: rng.sample(list(labels), len(labels))


def most_subtopics_first(labels: Labels) -> list[str]:
    """Rank by number of subtopics, equal ones in file order: the best without looking above."""
    return sorted(labels, key=lambda document: -len(set(labels[document])))


def greedy_oracle(labels: Labels) -> list[str]:
    """Take the document with the most novelty next; equal gains: the larger id, as TREC's ideal."""
    weight: defaultdict[str, float] = defaultdict(lambda: 1.0)
    left, ranking = set(labels), []
    while left:
        best = max(left, key=lambda d: (sum(weight[s] for s in set(labels[d])), d))
        ranking.append(best)
        left.remove(best)
        for subtopic in set(labels[best]):
            weight[subtopic] *= 1 - ALPHA
    return ranking


def report_diversity(path: Path, seed: int) -> None:
    """Print one table for each protocol."""
    metric = evaluate.load(str(REPO / "metrics" / "search_diversity"), keep_in_memory=True)
    labels = load_labels(path)
    rankers: dict[str, DocumentRanker] = {
        "file order": list,
        "random": random_documents(seed),
        "most subtopics first": most_subtopics_first,
        "greedy oracle": greedy_oracle,
    }
    references = list(labels.values())
    rankings = {name: [rank(query) for query in references] for name, rank in rankers.items()}
    n_documents = sum(map(len, references))
    print(f"\nDiversity, {path.name}: {len(labels):,} queries, {n_documents:,} documents")
    for protocol in PROTOCOLS:
        rows = {
            name: metric.compute(predictions=ranking, references=references, protocol=protocol)
            for name, ranking in progress(rankings.items(), protocol)
        }
        print(f"\nprotocol {protocol}", table(rows), metric.signature, sep="\n")


# Output ---------------------------------------------------------------------------------------


def progress(items: Iterable[Any], label: str) -> Any:
    """Wrap an iterable in a bar that shows after a second, on a terminal only."""
    return tqdm(items, desc=label, delay=1, leave=False, disable=None)


def cells(text: str) -> int:
    """Width of a text on a terminal, where a CJK character takes two cells."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def table(rows: Mapping[str, Figures]) -> str:
    """Format figures as aligned text: one line a ranker, one column a key."""
    keys = list(next(iter(rows.values())))
    label = max(map(cells, rows))
    widths = [max(cells(key), 7) for key in keys]
    lines = [[" " * label, *(key.rjust(width) for key, width in zip(keys, widths, strict=True))]]
    for name, figures in rows.items():
        values = [f"{v:,}" if isinstance(v, int) else f"{v:.4f}" for v in figures.values()]
        values = [value.rjust(width) for value, width in zip(values, widths, strict=True)]
        lines.append([name + " " * (label - cells(name)), *values])
    return "\n".join("  ".join(line) for line in lines)


def main(argv: list[str] | None = None) -> None:
    """Score every ranker on the files that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quoter", type=Path, metavar="DIR", help="folder of <language>.txt")
    parser.add_argument("--du-div", type=Path, metavar="FILE", help="labels; without both: samples")
    parser.add_argument("--seed", type=int, default=0, help="of the random rankers")
    args = parser.parse_args(argv)
    if not args.quoter and not args.du_div:
        args.quoter, args.du_div = SAMPLE / "quoter", SAMPLE / "du_div.json"
    languages = [
        n for n in quoter.LANGUAGES if args.quoter and (args.quoter / f"{n}.txt").is_file()
    ]
    if args.quoter and not languages:
        parser.error(f"--quoter: {args.quoter} has none of {', '.join(quoter.LANGUAGES)} (.txt)")
    if args.du_div and not args.du_div.is_file():
        parser.error(f"--du-div: {args.du_div} is not a file")
    figures = {n: report_quotes(args.quoter / f"{n}.txt", n, args.seed) for n in languages}
    if len(figures) > 1:
        print_side_by_side(figures)
    if args.du_div:
        report_diversity(args.du_div, args.seed)


if __name__ == "__main__":
    main()
