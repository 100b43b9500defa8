# SPDX-License-Identifier: Apache-2.0
"""Compare rankings of several systems: figures with intervals, and what differs significantly.

    python examples/compare_systems.py RUN RUN... --year 2010 --data-dir DIR
    python examples/compare_systems.py NAME=RUN NAME=RUN... --folds 5 --data-dir DIR
    python examples/compare_systems.py RUN RUN... --figures paper --data-dir DIR
    python examples/compare_systems.py NAME=RANKING.json... --du-div FILE --format latex

A RUN is a TREC run file, DIR holds NIST's topics and judgements (without it, they are downloaded);
without --year all 198 topics are scored, and a run holds those of all years. With --folds they are
scored fold by fold: a run then holds, for each fold, the rankings of the model that was trained on
the other folds, trec_web.load(fold=(i, M))["train"], and every topic counts once.
--figures paper stands for ERR-IA@20, alpha-NDCG@20, NRBP, P-IA@20 and S-recall@20; figures without
their depth are taken at 10.
A RANKING is JSON, {query: [document, ...]}, FILE is DU-DIV's, of which the test part is scored.
The table goes to standard output, notes on the rankings to standard error.
Needs scipy and ir_datasets, and matplotlib for --plot: pip install quotediv[stats,trec].
"""

import argparse
import functools
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from string import ascii_lowercase
from typing import Any, NamedTuple

import datasets
import evaluate
from quotediv.loaders import du_div, trec_web

REPO = Path(__file__).resolve().parent.parent
KEYS = ("alpha-NDCG@10", "ERR-IA@10", "S-recall@10")
PAPER = ("ERR-IA@20", "alpha-NDCG@20", "NRBP", "P-IA@20", "S-recall@20")
LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"${character}$" for character in "<>|"},
    **{character: f"{{{character}}}" for character in "[*"},  # else options of the \\ before them
}
MARKDOWN = {character: f"\\{character}" for character in r"\`*_[]<>&|~$"}
LEVEL = 0.05  # below it a corrected p-value is significant

ByQuery = dict[str, float]


class Scores(NamedTuple):
    """Figures of one system."""

    by_query: dict[str, ByQuery]  # {key: {query: figure}}
    means: dict[str, float]
    intervals: dict[str, list[float]]
    parts: list[float]  # mean of the first figure in each part


# Scoring --------------------------------------------------------------------------------------


def topics_of(args: argparse.Namespace) -> tuple[datasets.Dataset, list[datasets.Dataset]]:
    """All test queries, and the parts in which they are scored."""
    if args.du_div:
        whole = du_div.load("test", data_dir=args.du_div)
        return whole, [whole]
    whole = trec_web.load(args.year, data_dir=args.data_dir)
    if args.folds is None:
        return whole, [whole]
    folds = [(fold, args.folds) for fold in range(args.folds)]
    load = functools.partial(trec_web.load, args.year, data_dir=args.data_dir)
    return whole, [load(fold=fold)["test"] for fold in folds]


def read_rankings(path: Path, args: argparse.Namespace) -> dict[str, list[str]]:
    """{query: [document, ...]} of a TREC run, or of JSON with --du-div."""
    if not args.du_div:
        try:
            run: dict[str, list[str]] = trec_web.read_run(path, order=args.order)
        except ValueError as error:
            hint = " (--order rank, --order score)" if "order=" in str(error) else ""
            raise ValueError(f"{error}{hint}") from None
        return run
    form = f"{path}: expected JSON, {{query: [document, ...]}}"
    try:
        text = path.read_text(encoding="utf-8")
        rankings = json.loads(text, object_pairs_hook=without_repeats)
    except ValueError as error:
        raise ValueError(f"{form}, got {error}") from None
    if not isinstance(rankings, dict):
        raise ValueError(f"{form}, got a {type(rankings).__name__}")
    found = {}
    for query, ranking in rankings.items():
        ranking = ranking.get("permutation") if isinstance(ranking, dict) else ranking
        if not isinstance(ranking, list):
            raise ValueError(f"{form}, got no list for query {query}")
        found[query] = ranking
    return found


def without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON that has these members; json would keep the last of a name."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} twice")
        found[name] = value
    return found


def score(
    metric: Any,
    rankings: dict[str, list[str]],
    whole: datasets.Dataset,
    parts: Sequence[datasets.Dataset],
    protocol: str,
    figures: Sequence[str] = KEYS,
) -> Scores:
    """Figures by query, their means and intervals over all parts together, and the parts' means.

    The mean is that over all queries, not that of the parts' means, in which a query of a smaller
    part counts more. Each query must be in one part.
    """
    queries = list(whole["query_id"])
    if sorted(queries) != sorted(query for part in parts for query in part["query_id"]):
        raise ValueError("the parts must have each query once")
    result = metric.compute(
        predictions=trec_web.align(rankings, whole),
        references=whole,
        protocol=protocol,
        k=10,
        figures=figures,
        per_query=True,
        confidence_level=0.95,
    )
    intervals, values = result["confidence_interval"], result["per_query"]
    by_query = {key: dict(zip(queries, values[key], strict=True)) for key in intervals}
    first = by_query[next(iter(intervals))]
    means = [fmean(first[query] for query in part["query_id"]) for part in parts]
    return Scores(by_query, {key: result[key] for key in intervals}, intervals, means)


def told(name: str, call: Callable[[], Scores]) -> Scores:
    """The result of the call; its warnings go to standard error, with the name of the system."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = call()
    for text in dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning):
        print(f"{name}: {text}", file=sys.stderr)
    return scores


def significant(
    scores: Mapping[str, Scores], key: str, higher: bool, args: argparse.Namespace
) -> list[dict[str, Any]]:
    """Rows of all pairs of systems, corrected over the pairs."""
    path = str(REPO / "metrics" / "paired_significance")
    comparison = evaluate.load(path, module_type="comparison", keep_in_memory=True)
    systems = {name: of.by_query[key] for name, of in scores.items()}
    correction = None if args.correction == "none" else args.correction
    rows: list[dict[str, Any]] = comparison.compare(
        systems, test=args.test, correction=correction, greater_is_better=higher
    )
    return rows


# The table ------------------------------------------------------------------------------------


def marks(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]], kind: str, higher: bool = True
) -> dict[str, str]:
    """What stands at the figure of each system.

    letters: those of the systems that it is significantly better than; stars: how significantly it
    differs from the first system, * below .05, ** below .01, *** below .001.
    """
    letter = dict(zip(names, ascii_lowercase, strict=False))
    found = dict.fromkeys(names, "")
    for row in rows:
        one, other, p = row["system1"], row["system2"], row["p_corrected"]
        if kind == "stars":
            if one == names[0]:
                found[other] = "*" * sum(p < level for level in (0.05, 0.01, 0.001))
        elif p < LEVEL:
            better, worse = (one, other) if (row["difference"] > 0) == higher else (other, one)
            found[better] += letter[worse]
    return {name: "".join(sorted(mark)) for name, mark in found.items()}


def cells(
    scores: Mapping[str, Scores], marked: Mapping[str, Mapping[str, str]], style: str, kind: str
) -> list[list[str]]:
    """Head and one row a system: its name and, for each key, figure, mark and interval."""
    rows = [["system", *marked]]
    for letter, (name, of) in zip(ascii_lowercase, scores.items(), strict=False):
        row = [f"{name} ({letter})" if kind == "letters" else name]
        for key, marks_of in marked.items():
            low, high = of.intervals[key]
            mark = marks_of[name]
            if mark and style == "markdown":
                mark = f"<sup>{mark}</sup>".replace("*", "\\*")
            if mark and style == "latex":
                mark = f"$^{{{mark}}}$"
            if mark and style == "text":
                mark = f" {mark}"
            row.append(f"{of.means[key]:.4f}{mark} [{low:.4f}, {high:.4f}]")
        rows.append(row)
    return rows


def rendered(rows: Sequence[Sequence[str]], style: str) -> str:
    """The table as text, Markdown or LaTeX (booktabs)."""
    if style == "markdown":
        lines = [f"| {' | '.join([escaped(row[0], MARKDOWN), *row[1:]])} |" for row in rows]
        return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
    if style == "latex":
        body = [[row[0], *(cell.replace("-", "$-$") for cell in row[1:])] for row in rows[1:]]
        lines = [
            " & ".join([escaped(row[0], LATEX), *row[1:]]) + r" \\" for row in [rows[0], *body]
        ]
        columns = "l" + "c" * (len(rows[0]) - 1)
        head = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule"]
        return "\n".join([*head, *lines[1:], r"\bottomrule", r"\end{tabular}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def escaped(text: str, escapes: Mapping[str, str]) -> str:
    """The text without what means something in Markdown or LaTeX."""
    return "".join(escapes.get(character, character) for character in text)


def pair_cells(rows: Sequence[Mapping[str, Any]], correction: str) -> list[list[str]]:
    """Head and one row a pair of systems."""
    p_values = {"p": "p_value", "corrected p": "p_corrected"}
    if correction == "none":
        del p_values["corrected p"]
    head = ["pair", "difference", *p_values, "wins, ties, losses", "effect size"]
    lines = []
    for row in rows:
        low, high = row["confidence_interval"]
        effect = row["effect_size"]
        lines.append(
            [
                f"{row['system1']} - {row['system2']}",
                f"{row['difference']:.4f} [{low:.4f}, {high:.4f}]",
                *(p_value(row[key]) for key in p_values.values()),
                f"{row['wins']}, {row['ties']}, {row['losses']}",
                "none" if effect is None else f"{effect:.4f}",
            ]
        )
    return [head, *lines]


def p_value(p: float) -> str:
    """Four digits, never 0."""
    return "below .0001" if p < 0.0001 else f"{p:.4f}"


def fold_cells(scores: Mapping[str, Scores], sizes: Sequence[int]) -> list[list[str]]:
    """Head and one row a system: the first figure's mean of each fold, and that of all topics."""
    head = ["system", *(f"fold {i} ({size})" for i, size in enumerate(sizes)), "all topics"]
    rows = [
        [name, *(f"{mean:.4f}" for mean in (*of.parts, next(iter(of.means.values()))))]
        for name, of in scores.items()
    ]
    return [head, *rows]


def plot(scores: Mapping[str, Scores], keys: Sequence[str], path: Path) -> None:
    """A row a system: figures and their intervals."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(scores)
    size = (4 * len(keys), 1.2 + 0.4 * len(names))
    figure, (axes,) = plt.subplots(
        1, len(keys), sharey=True, squeeze=False, figsize=size, layout="constrained"
    )
    for axis, key in zip(axes, keys, strict=True):
        for row, of in enumerate(scores.values()):
            axis.plot(of.intervals[key], [row, row], color="#2f5d8a", linewidth=2)
            axis.plot(of.means[key], row, "o", color="#2f5d8a")
        axis.set_title(key)
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(names)), [name.replace("$", r"\$") for name in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel("mean over queries, 95% interval")
    figure.savefig(path, dpi=150)
    plt.close(figure)


# The command line -----------------------------------------------------------------------------


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("systems", nargs="+", metavar="[NAME=]FILE", help="rankings of a system")
    years = ("2009", "2010", "2011", "2012")
    parser.add_argument("--year", choices=years, help="without it: all 198 topics")
    parser.add_argument("--data-dir", metavar="DIR", help="folder with NIST's files")
    parser.add_argument("--order", choices=("rank", "score"), help="the column that orders a run")
    parser.add_argument("--folds", type=int, metavar="M", help="score the topics in M folds")
    parser.add_argument("--du-div", metavar="FILE", help="DU-DIV's labels, in place of TREC's")
    parser.add_argument(
        "--figures",
        nargs="+",
        default=list(KEYS),
        metavar="NAME",
        help=f"the columns; paper is {' '.join(PAPER)}",
    )
    protocols = ("standard", "released", "recipe")
    parser.add_argument("--protocol", choices=protocols, default="standard")
    tests = ("permutation", "t", "wilcoxon")
    parser.add_argument("--test", choices=tests, default="permutation")
    corrections = ("holm", "bh", "tukey", "none")
    parser.add_argument("--correction", choices=corrections, default="holm")
    parser.add_argument("--marks", choices=("letters", "stars"), default="letters")
    styles = ("text", "markdown", "latex")
    parser.add_argument("--format", choices=styles, default="text")
    parser.add_argument("--pairs", action="store_true", help="print all pairs too")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a picture")
    return parser


def figure_names(figures: Sequence[str]) -> list[str]:
    """The figures that the names stand for."""
    return [name for given in figures for name in (PAPER if given == "paper" else (given,))]


def named(systems: Sequence[str]) -> dict[str, Path]:
    """{name: file}; a name that is not given is that of the file."""
    found: dict[str, Path] = {}
    for system in systems:
        name, equals, path = system.partition("=")
        if not equals or Path(system).exists():
            name, path = Path(system).stem, system
        if name in found:
            raise ValueError(f"two systems are called {name}: name them, NAME={path}")
        if not name.strip() or not name.isprintable():
            raise ValueError(f"the name of a system must be printable, got {name!r}")
        found[name] = Path(path)
    if not 2 <= len(found) <= len(ascii_lowercase):
        raise ValueError(f"give 2 to {len(ascii_lowercase)} systems, got {len(found)}")
    for file in found.values():
        if not file.is_file():
            raise ValueError(f"no such file: {file}")
    return found


def check(args: argparse.Namespace) -> None:
    """Refuse what would have no effect, or fail after all is scored."""
    if args.du_div and (args.year or args.data_dir or args.order or args.folds is not None):
        raise ValueError("--du-div takes no --year, --data-dir, --order or --folds")
    if args.folds is not None and args.folds < 2:
        raise ValueError(f"--folds must be 2 or more, got {args.folds}")
    if args.correction == "tukey" and args.test != "permutation":
        raise ValueError(f"--correction tukey is a permutation test of its own, got {args.test}")
    if args.plot and not args.plot.parent.is_dir():
        raise ValueError(f"no such folder: {args.plot.parent}")
    if args.plot and importlib.util.find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib: pip install quotediv[stats]")


def caption(args: argparse.Namespace, n: int, pairs: int, signature: str) -> str:
    """What the table shows."""
    p, plural = "corrected p", "pair" if pairs == 1 else "pairs"
    correction = f"correction {args.correction} over {pairs} {plural} a figure"
    if args.correction == "none":
        p, correction = "p", "not corrected"
    marked = {
        "letters": f"letters: better than these systems, {p} < {LEVEL}",
        "stars": f"stars: better or worse than the first, {p} * < .05, ** < .01, *** < .001",
    }
    text = (
        f"{n} queries, means and 95% intervals; {marked[args.marks]}; {args.test} test, "
        f"{correction}; {signature}"
    )
    return escaped(text, MARKDOWN) if args.format == "markdown" else text


def main(argv: list[str] | None = None) -> None:
    """Print the table of the systems that the command line names."""
    parser = arguments()
    args = parser.parse_args(argv)
    metric = evaluate.load(str(REPO / "metrics" / "search_diversity"), keep_in_memory=True)
    figures = figure_names(args.figures)

    def scored(path: Path) -> Scores:
        try:
            return score(metric, read_rankings(path, args), whole, parts, args.protocol, figures)
        except ValueError as error:
            known = str(path) in str(error)
            raise ValueError(str(error) if known else f"{path}: {error}") from error

    try:
        check(args)
        asked = metric.configured(figures=figures, protocol=args.protocol, k=10)
        better = asked.greater_is_better
        files = named(args.systems)
        whole, parts = topics_of(args)
        scores = {name: told(name, functools.partial(scored, path)) for name, path in files.items()}
        pairs = {key: significant(scores, key, better[key], args) for key in better}
    except (ImportError, OSError, ValueError) as error:
        parser.error(str(error))
    names, first = list(scores), next(iter(pairs))
    marked = {key: marks(names, rows, args.marks, better[key]) for key, rows in pairs.items()}
    comment = "% " if args.format == "latex" else ""
    below = "\n\n" if args.format == "markdown" else "\n"
    print(rendered(cells(scores, marked, args.format, args.marks), args.format))
    print(f"\n{comment}{caption(args, len(whole), len(pairs[first]), metric.signature)}")
    if args.folds:
        table = fold_cells(scores, list(map(len, parts)))
        print(f"\n{comment}{first} by fold{below}{rendered(table, args.format)}")
    for key, rows in pairs.items() if args.pairs else ():
        table = pair_cells(rows, args.correction)
        print(f"\n{comment}{key}{below}{rendered(table, args.format)}")
    if args.plot:
        try:
            plot(scores, list(better), args.plot)
        except (OSError, ValueError) as error:
            parser.error(str(error))


if __name__ == "__main__":
    main()
