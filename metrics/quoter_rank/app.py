# SPDX-License-Identifier: Apache-2.0
"""The Space of `quoter_rank`: paste or upload rankings, see their figures, ranks and curves."""

import html
import logging
import os
import warnings
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("HF_UPDATE_DOWNLOAD_COUNTS", "0")

import evaluate
import gradio as gr
import uploads
import views
from tables import counted
from texts import MAX_BYTES, read_depths, section

HERE = Path(__file__).resolve().parent
CARDS = (HERE / "README.md", HERE.parent.parent / "cards" / "quoter_rank.md")
CARD = next(card for card in CARDS if card.exists()).read_text(encoding="utf-8")
METRIC = type(evaluate.load(str(HERE / "quoter_rank.py"), keep_in_memory=True))

INTRODUCTION = """\
# quoter_rank

A quote recommender ranks a pool of quotes for each writing context; one of them, the gold quote, is
the right one. Give rankings and golds: here are their MRR, NDCG and Recall under a named definition.
"""
FORMS = f"""\
One row a query, in JSON: `{uploads.KEYS}`. A row of predictions is the **scores** of a pool
(floats; the reference is the gold's position, from 0), or a **ranking**, candidates best first (the
reference is the gold itself), or the gold's **rank** (choose that kind; the reference is the number
of candidates tied with it, the gold included). `"query_ids": [...]` may be added.

Files, up to {MAX_BYTES // 2**20} MB and {uploads.MAX_ROWS:,} rows: JSON as above; JSONL,
`{{"prediction": ..., "reference": ...}}` a line; CSV with the columns {uploads.COLUMNS}; Parquet with
the columns predictions and references; or two .npy files, (N, C) scores and (N,) positions of the
golds. `tied` may be left out, where it is 1; `query_id` (in Parquet `query_ids`) may be added. What is
larger than this fits as the ranks of the golds. Files are deleted within two hours.
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
CSS = """
.gradio-container { max-width: 1100px !important; margin: auto; }
.altair, .vega-embed, .chart-wrapper { width: 100%; }
#status p { overflow-wrap: anywhere; }
#status .refused { border-left: 4px solid currentColor; padding-left: .6em; font-weight: 600; }
.scroll { overflow: auto; max-height: 26em; contain: inline-size; }
.scroll table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.caption { font-weight: 600; margin: .6em 0 .3em; }
.scroll th, .scroll td { border: 1px solid var(--border-color-primary); padding: .25em .6em; }
.scroll td { text-align: right; }
.scroll thead th { position: sticky; top: 0; background: var(--background-fill-secondary); }
.vega-embed svg text { fill: var(--body-text-color) !important; }
.vega-embed svg line, .vega-embed svg path.domain { stroke: var(--border-color-primary); }
@media (max-width: 600px) { .scroll small { display: none; } }
a.save { text-decoration: underline; }
"""
NO_PLOT = gr.Plot(None, visible=False)
# What changes in this place is read aloud.
ANNOUNCE = """() => {
  const status = document.querySelector('#status');
  status.setAttribute('role', 'status');
  status.setAttribute('aria-live', 'polite');
}"""


def score(
    text: str,
    files: list[str] | None,
    kind: str,
    protocol: str,
    ties: str,
    missing: str,
    ndcg_k: str,
    recall_k: str,
) -> tuple[Any, ...]:
    """All that the page shows of these inputs; of bad input the message alone."""
    try:
        options = {
            "protocol": protocol,
            "ties": None if ties == FREE else ties,
            "missing": missing,
            "ndcg_k": read_depths("NDCG at", ndcg_k, MAX_DEPTH),
            "recall_k": read_depths("Recall at", recall_k, MAX_DEPTH),
        }
        return scored(uploads.read(text, files), source(files), KINDS[kind], options)
    except (ValueError, TypeError) as error:
        message = str(error)
    except Exception as error:
        logging.exception("a visitor's input")
        message = f"{type(error).__name__}: {error}"
    return f'<p class="refused">Not scored: {html.escape(message)}</p>', "", NO_PLOT, NO_PLOT, ""


def source(files: list[str] | None) -> str:
    """Where the rows come from."""
    return " and ".join(Path(file).name for file in files or []) or "the text"


def scored(
    upload: uploads.Upload, source: str, kind: str | None, options: dict[str, Any]
) -> tuple[Any, ...]:
    """Status, table of figures, histogram, recall curve, table of queries."""
    metric = METRIC(*filter(None, [kind or upload.kind]), keep_in_memory=True)
    data = upload._asdict()
    data.pop("kind")
    with warnings.catch_warnings(record=True) as caught:  # one visitor at a time, see `page`
        warnings.simplefilter("always")
        metric.add_batch(**data)
        read_as = metric.kind
        result = metric.compute(**options, per_query=True)
        signature, per_query = metric.signature, result.pop("per_query")
        at = views.depths(max([rank for rank in per_query["rank"] if rank] or [1]))
        curve = metric.compute(**data, **{**options, "recall_k": at})
    warned = dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning)
    as_kind = f", read as {read_as}" if read_as else ""
    head, rows = views.worst_first(per_query)
    told = [
        f"{counted(len(rows), 'query', 'queries')} of {source}{as_kind}.",
        f"Figures are {signature}.",
        *warned,
    ]
    return (
        "".join(f"<p>{html.escape(line)}</p>" for line in told),
        views.figures(result, metric.greater_is_better),
        gr.Plot(views.histogram(per_query["rank"]), visible=True),
        gr.Plot(views.recall_curve({k: curve[f"Recall@{k}"] for k in at}), visible=True),
        views.queries(head, rows),
    )


def page() -> gr.Blocks:
    """The page; visitors are served in turn, and nothing is kept between two calls."""
    with gr.Blocks(
        title="quoter_rank", analytics_enabled=False, delete_cache=(3600, 3600)
    ) as blocks:
        gr.Markdown(INTRODUCTION)
        with gr.Accordion("What the figures mean", open=False):
            gr.Markdown(section(CARD, "Description") + section(CARD, "Output values"))
        gr.Markdown("Examples:")
        with gr.Row():
            examples = [gr.Button(name, size="sm", min_width=120) for name in EXAMPLES]
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
        button = gr.Button("Score", variant="primary")
        status = gr.HTML(elem_id="status")
        figures = gr.HTML(elem_id="figures")
        with gr.Row():
            histogram = gr.Plot(show_label=False, label="Gold ranks", min_width=300, visible=False)
            curve = gr.Plot(show_label=False, label="Recall at k", min_width=300, visible=False)
        queries = gr.HTML(elem_id="queries")

        options = [kind, protocol, ties, missing, ndcg_k, recall_k]
        inputs = [text, files, *options]
        outputs = [status, figures, histogram, curve, queries]
        in_turn = {"concurrency_limit": 1, "concurrency_id": "score", "api_visibility": "private"}
        chosen = [choice.input for choice in (kind, protocol, ties, missing)]
        typed = [depth.submit for depth in (ndcg_k, recall_k)]
        given = [files.upload, files.clear]
        gr.on(
            [button.click, text.submit, *chosen, *typed, *given], score, inputs, outputs, **in_turn
        )
        for example, name in zip(examples, EXAMPLES, strict=True):
            reset = [
                EXAMPLES[name],
                None,
                next(iter(KINDS)),
                "standard",
                FREE,
                "error",
                "5",
                "1, 10, 100",
            ]
            example.click(lambda reset=reset: reset, None, inputs, api_visibility="private").then(
                score, inputs, outputs, **in_turn
            )
        blocks.load(None, js=ANNOUNCE)
    return blocks


if __name__ == "__main__":
    system = gr.themes.Default(  # fonts of the visitor's system: none is fetched
        font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    )
    page().queue(max_size=64).launch(
        theme=system,
        css=CSS,
        footer_links=[],
        max_file_size=3 * MAX_BYTES,  # below it the page says what is wrong
        ssr_mode=False,
    )
