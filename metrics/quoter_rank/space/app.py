# SPDX-License-Identifier: Apache-2.0
"""The Space of `quoter_rank`: paste or upload rankings to see figures, ranks and curves."""

from typing import Any

import common_page
import gradio as gr
import uploads
import views
from common_metric import card, metric_class, metric_module
from common_page import NO_PLOT, paragraphs, source, user_warnings
from common_tables import counted, queries_table
from common_texts import KEYS, MAX_BYTES, read_depths, read_figures

NAME = "quoter_rank"
METRIC = metric_class(NAME)
NAMES = tuple(metric_module(NAME, "scoring").FIGURES)

INTRODUCTION = """\
# quoter_rank

A quote recommender ranks a pool of quotes for each writing context; one of them, the gold quote, is
the right one. Give rankings and golds to get MRR, NDCG and Recall, under a definition that is named.
"""
FORMS = f"""\
In JSON, one row per query: `{KEYS}`. A row of predictions is the **scores** of a pool
(floats; the reference is the gold's position, from 0), a **ranking** of candidates, best first (the
reference is the gold itself), or the gold's **rank** (choose the kind "ranks"; the reference is the
number of candidates tied with the gold, itself included). `"query_ids": [...]` may be added.

Files, up to {MAX_BYTES // 2**20} MB and {uploads.MAX_ROWS:,} rows: JSON as above; JSONL, each
line `{{"prediction": ..., "reference": ...}}`; CSV with the columns {uploads.COLUMNS}; Parquet with
the columns predictions and references; or two .npy files, (N, C) scores and (N,) positions of the
golds. `tied` may be left out where it is 1; `query_id` (in Parquet `query_ids`) may be added. Data too
large for this may still fit as ranks of the golds. Files are deleted within two hours.
"""
EXAMPLES = {
    "Scores of a pool": """\
{"predictions": [[0.9, 0.5, 0.1, 0.3], [0.2, 0.3, 0.8, 0.1], [0.7, 0.1, 0.6, 0.4]],
 "references": [0, 1, 3]}""",
    "Scores with ties": """\
{"predictions": [[0.9, 0.5, 0.1, 0.1, 0.0, 0.0], [0.5, 0.5, 0.1, 0.1, 0.0, 0.0],
                 [0.8, 0.2, 0.2, 0.2, 0.1, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                 [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [0.7, 0.7, 0.3, 0.2, 0.1, 0.1]],
 "references": [0, 1, 2, 3, 4, 0]}""",
    "Candidates, best first": """\
{"predictions": [["q3", "q1", "q2"], ["q2", "q3", "q1"], ["q1", "q2", "q3"]],
 "references": ["q1", "q2", "q3"],
 "query_ids": ["first", "second", "third"]}""",
}
MAX_DEPTH = 1_000_000
FREE = "the protocol's"
KINDS = {"read from the rows": None, **{kind: kind for kind in ("scores", "ranking", "ranks")}}


@common_page.or_message("", NO_PLOT, NO_PLOT, "")
def score(
    text: str,
    files: list[str] | None,
    kind: str,
    protocol: str,
    ties: str,
    missing: str,
    ndcg_k: str,
    recall_k: str,
    figures: str,
) -> tuple[Any, ...]:
    """All that the page shows for these inputs; where they are refused, only why."""
    options = {
        "protocol": protocol,
        "ties": None if ties == FREE else ties,
        "missing": missing,
        "ndcg_k": read_depths("NDCG at", ndcg_k, MAX_DEPTH),
        "recall_k": read_depths("Recall at", recall_k, MAX_DEPTH),
        "figures": read_figures("Figures", figures, MAX_DEPTH),
    }
    return scored(uploads.read(text, files), source(files), KINDS[kind], options)


def scored(
    upload: uploads.Upload, origin: str, kind: str | None, options: dict[str, Any]
) -> tuple[Any, ...]:
    """Status, table of figures, histogram, recall curve, table of queries."""
    metric = METRIC(*filter(None, [kind or upload.kind]), keep_in_memory=True)
    data = upload._asdict()
    data.pop("kind")
    with user_warnings() as warned:
        metric.add_batch(**data)
        read_as = metric.kind
        result = metric.compute(**options, per_query=True)
        signature, per_query = metric.signature, result.pop("per_query")
        at = views.depths(max([rank for rank in per_query["rank"] if rank] or [1]))
        curve = metric.compute(**data, **{**options, "figures": "Recall", "recall_k": at})
    as_kind = f", read as {read_as}" if read_as else ""
    head, rows = views.worst_first(per_query)
    told = [
        f"{counted(len(rows), 'query', 'queries')} of {origin}{as_kind}.",
        f"The figures are {signature}.",
        *warned,
    ]
    return (
        paragraphs(told),
        views.figures(result, metric.greater_is_better),
        gr.Plot(views.histogram(per_query["rank"]), visible=True),
        gr.Plot(views.recall_curve({k: curve[f"Recall@{k}"] for k in at}), visible=True),
        queries_table("Queries", head, rows),
    )


def page() -> gr.Blocks:
    """The inputs, the outputs, and the events that score the inputs again."""
    with common_page.page_of(NAME, INTRODUCTION, card(NAME), EXAMPLES) as (blocks, examples):
        with gr.Row():
            with gr.Column(min_width=300):
                text = gr.Textbox(label="Predictions and references, JSON", lines=6, max_lines=12)
                files = gr.File(
                    label="Or files (used in place of the text)",
                    file_count="multiple",
                    height=160,
                )
                with gr.Accordion("Forms of the input", open=False):
                    gr.Markdown(FORMS)
            with gr.Column(min_width=300):
                kind = gr.Dropdown(list(KINDS), label="Kind of the rows")
                protocol = gr.Radio(
                    ["standard", "released", "recipe"], value="standard", label="Protocol"
                )
                ties = gr.Radio(
                    [FREE, "expected", "optimistic", "pessimistic"], value=FREE, label="Ties"
                )
                missing = gr.Radio(
                    ["error", "zero"], value="error", label="A gold that is not in its list"
                )
                with gr.Row():
                    ndcg_k = gr.Textbox("5", label="NDCG at", min_width=100)
                    recall_k = gr.Textbox("1, 10, 100", label="Recall at", min_width=100)
                asked = common_page.figures_box("MRR@10, NDCG@10", NAMES)
        button = gr.Button("Score", variant="primary")
        status = gr.HTML(elem_id="status")
        figures = gr.HTML(elem_id="figures")
        with gr.Row():
            histogram = gr.Plot(show_label=False, label="Gold ranks", min_width=300, visible=False)
            curve = gr.Plot(show_label=False, label="Recall at k", min_width=300, visible=False)
        queries = gr.HTML(elem_id="queries")

        options = [kind, protocol, ties, missing, ndcg_k, recall_k, asked]
        inputs = [text, files, *options]
        outputs = [status, figures, histogram, curve, queries]
        chosen = [choice.input for choice in (kind, protocol, ties, missing)]
        typed = [line.submit for line in (ndcg_k, recall_k, asked)]
        given = [files.upload, files.clear]
        triggers = [button.click, text.submit, *chosen, *typed, *given]
        gr.on(triggers, score, inputs, outputs, **common_page.IN_TURN)
        at_first = [None, next(iter(KINDS)), "standard", FREE, "error", "5", "1, 10, 100", ""]
        values = [[example, *at_first] for example in EXAMPLES.values()]
        common_page.wire_examples(examples, values, score, inputs, outputs)
    return blocks


if __name__ == "__main__":
    common_page.serve(page())
