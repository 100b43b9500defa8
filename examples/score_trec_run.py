# SPDX-License-Identifier: Apache-2.0
"""Score a TREC run on the diversity task of a TREC Web Track.

    python examples/score_trec_run.py RUN --year 2012 --data-dir DIR
    python examples/score_trec_run.py RUN --year 2012 --data-dir DIR --per-query topics.csv
    python examples/score_trec_run.py RUN --year 2012 --data-dir DIR --figures paper MAP-IA
    python examples/score_trec_run.py RUN --year 2012 --data-dir DIR --by type

DIR holds NIST's topics and judgements; without it, they are downloaded. --figures paper stands for
ERR-IA@20, alpha-NDCG@20, NRBP, P-IA@20 and S-recall@20; figures without their depth are taken at
every --k. --by type adds the figures of faceted and of ambiguous topics, the number n of each, and
macro, the mean over the types. Needs ir_datasets: pip install quotediv[trec].
"""

import argparse
import csv
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import evaluate
from quotediv.loaders import trec_web

REPO = Path(__file__).resolve().parent.parent
PAPER = ("ERR-IA@20", "alpha-NDCG@20", "NRBP", "P-IA@20", "S-recall@20")

Figures = dict[str, Any]


def score(args: argparse.Namespace) -> tuple[Figures, list[str], str]:
    """Figures with those of each topic, the topics, and what names the definitions."""
    metric = evaluate.load(str(REPO / "metrics" / "search_diversity"), keep_in_memory=True)
    run = trec_web.read_run(args.run, order=args.order)
    topics = trec_web.load(args.year, data_dir=args.data_dir)
    figures = metric.compute(
        predictions=trec_web.align(run, topics),
        references=topics,
        protocol=args.protocol,
        k=args.k,
        figures=args.figures and figure_names(args.figures),
        per_query=True,
        groups=args.by and topics[args.by][:],
    )
    return figures, list(topics["query_id"]), metric.signature


def figure_names(figures: Sequence[str]) -> list[str]:
    """The figures that the names stand for."""
    return [name for given in figures for name in (PAPER if given == "paper" else (given,))]


def columns(figures: Figures) -> dict[str, Figures]:
    """The columns to print: all topics and, by group, each group with its n and their mean."""
    if "by_group" not in figures:
        return {"": figures}
    groups, macro = figures.pop("by_group"), figures.pop("macro")
    n = sum(group["n"] for group in groups.values())
    return {"all": figures | {"n": n}, **groups, "macro": macro}


def table(columns: Mapping[str, Figures]) -> str:
    """Aligned text: one line a figure."""
    names = list(next(iter(columns.values())))
    rows = [["", *columns]]
    for name in names:
        values = [figures.get(name, "") for figures in columns.values()]
        rows.append([name, *(f"{v:.6f}" if isinstance(v, float) else str(v) for v in values)])
    first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{name:{first}}" + "".join(f"  {cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
        for name, *cells in rows
    ]
    return "\n".join(line.rstrip() for line in lines).lstrip("\n")


def write_topics(path: Path, topics: Sequence[str], per_query: Mapping[str, Sequence[Any]]) -> None:
    """Write a line for each topic, a column for each figure."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["query_id", *per_query])
        writer.writerows(zip(topics, *per_query.values(), strict=True))


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path, metavar="RUN", help="a TREC run file, gzipped or not")
    years = ("2009", "2010", "2011", "2012")
    parser.add_argument("--year", required=True, choices=years)
    parser.add_argument("--data-dir", metavar="DIR", help="folder with NIST's files")
    parser.add_argument("--order", choices=("rank", "score"), help="the column that orders")
    parser.add_argument("--by", choices=("type",), help="figures by type of topic too")
    parser.add_argument("--per-query", type=Path, metavar="CSV", help="write figures by topic")
    protocols = ("standard", "released", "recipe")
    parser.add_argument("--protocol", choices=protocols, default="standard")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10], metavar="DEPTH")
    paper = f"the figures; paper is {' '.join(PAPER)}"
    parser.add_argument("--figures", nargs="+", metavar="NAME", help=paper)
    return parser


def main(argv: list[str] | None = None) -> None:
    """Print the figures of the run that the command line names."""
    parser = arguments()
    args = parser.parse_args(argv)
    warnings.showwarning = lambda text, *_: print(f"note: {text}")
    try:
        figures, topics, signature = score(args)
        per_query = figures.pop("per_query")
        if args.per_query:
            write_topics(args.per_query, topics, per_query)
    except (ImportError, OSError, ValueError) as error:
        parser.error(str(error))
    print(f"{args.run.name}, TREC Web Track {args.year}, {len(topics)} topics")
    print(table(columns(figures)), signature, sep="\n")


if __name__ == "__main__":
    main()
