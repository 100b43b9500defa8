# SPDX-License-Identifier: Apache-2.0
"""The Space of `search_diversity`: rankings under three definitions, and why they score as they do."""

from typing import Any

import common_page
import gradio as gr
import picture
import uploads
import views
from common_metric import card, metric_class, metric_module
from common_page import NO_PLOT, paragraphs, source, user_warnings
from common_tables import counted, queries_table
from common_texts import KEYS, MAX_BYTES, UploadError, read_depths, read_figures

NAME = "search_diversity"
METRIC = metric_class(NAME)
FIGURES = metric_module(NAME, "scoring").FIGURES
PROTOCOLS = ("standard", "released", "recipe")
MAX_DEPTH = 1000
SHOWN_RANKS = 50
CHOICES = 500  # at most so many queries to choose from, the worst ones

INTRODUCTION = """\
# search_diversity

A query has subtopics, a document covers some of them, and the top of a ranking should cover many.
Give rankings and judgements to get alpha-NDCG, ERR-IA and S-recall under three definitions that go by
these names: TREC's (standard), the MA4DIV code's (released) and the benchmark description's (recipe).
The box "Figures" asks for others, such as NRBP, which only TREC's defines.
"""
FORMS = f"""\
In JSON, one entry per query: `{KEYS}`. A prediction is a list of document ids, best first (or of
their positions in the reference, or of scores: floats in the order of the reference). A reference is
`{{"document": ["subtopic", ...], ...}}` with all judged documents, or a 0/1 matrix of documents x
subtopics. `"query_ids": [...]` may be added.

Or two files, scored in place of the text, each up to {MAX_BYTES // 2**20} MB: judgements, a TREC diversity qrels file ({uploads.QRELS})
or DU-DIV's JSON, `{{query: {{document: [subtopic, ...]}}}}`; and a ranking, a TREC run ({uploads.RUN})
or JSON, `{uploads.RANKING}`. Files are deleted within two hours.
"""
EXAMPLES = {
    "Three subtopics": """\
{"predictions": [["b", "a", "x", "c"], ["c", "a", "b"]],
 "references": [{"a": ["1", "2"], "b": ["1"], "c": ["3"], "x": []},
                {"a": ["1", "2"], "b": ["1"], "c": ["3"], "x": []}],
 "query_ids": ["one", "two"]}""",
    "Equal scores": """\
{"predictions": [[0.5, 0.5, 0.5, 0.1]],
 "references": [{"a": ["1"], "b": ["1"], "c": ["2", "3"], "x": []}]}""",
    "Documents nobody judged": """\
{"predictions": [["y", "a", "b", "z", "c"]],
 "references": [{"a": ["1", "2"], "b": ["3"], "c": ["1"]}]}""",
}
STYLE = (
    common_page.STYLE
    + """\
.scroll td.first { background: #2f5d8a; text-align: center; }
.scroll td.first span { color: #fff; }
.scroll td.again { background: #d9e3ee; text-align: center; }
.scroll td.again span { color: #1b1b1b; }
.scroll td.document { text-align: left; }
.beside { display: flex; flex-wrap: wrap; gap: 0 1em; }
.beside > .captioned { flex: 1 1 18em; }
.beside.wide > .captioned { flex-basis: 100%; }
.scroll.whole { max-height: none; }
.scroll.whole th, .scroll.whole td { padding: .25em .4em; }
"""
)


@common_page.or_message("", gr.Dropdown(choices=[], value=None), "", NO_PLOT, "")
def score(
    text: str,
    judged: str | None,
    ranked: str | None,
    order: str,
    alpha: float,
    beta: float,
    k: str,
    asked: str,
    protocol: str,
    chosen: str | None,
) -> tuple[Any, ...]:
    """All that the page shows for these inputs; where they are refused, only why."""
    upload = uploads.read(text, judged, ranked, order)
    figures = read_figures("Figures", asked, MAX_DEPTH)
    options = {"alpha": alpha, "beta": beta, "k": read_depths("k", k, MAX_DEPTH)}
    return scored(upload, source([judged, ranked]), options, figures, protocol, chosen)


def defined(figures: list[str] | None, protocol: str) -> list[str] | None:
    """Those that the protocol defines, and names of no figure, which the metric refuses."""
    if figures is None:
        return None
    rows = [(name, name.partition("@")[0]) for name in figures]
    known = [(name, FIGURES.get(bare) or FIGURES.get(f"{bare}@k")) for name, bare in rows]
    return [name for name, figure in known if figure is None or protocol in figure.protocols]


def not_defined(protocol: str) -> UploadError:
    """What to say where the chosen protocol defines none of the figures asked for."""
    there = ", ".join(row for row, figure in FIGURES.items() if protocol in figure.protocols)
    return UploadError(
        f"Figures: {protocol}, the protocol of what follows, defines none of these; "
        f"it defines {there}. Choose another protocol or other figures."
    )


def scored(
    upload: uploads.Upload,
    origin: str,
    options: dict[str, Any],
    figures: list[str] | None,
    protocol: str,
    chosen: str | None,
) -> tuple[Any, ...]:
    """Status, figures, choice of queries, coverage and gains of the chosen one, all queries."""
    metric = METRIC(keep_in_memory=True)
    data = {name: getattr(upload, name) for name in ("predictions", "references", "query_ids")}
    results: dict[str, dict[str, float]] = {}
    alpha, per_query, signatures = options["alpha"], {}, []
    with user_warnings() as warned:
        for name in PROTOCOLS:  # "standard", the first, defines every figure
            asked, results[name] = defined(figures, name), {}
            if asked == []:
                continue
            metric.add_batch(**data)
            kind = metric.kind
            given = {**options, "alpha": None if name == "recipe" else alpha, "figures": asked}
            result = metric.compute(protocol=name, **given, per_query=True)
            per_query[name], results[name] = result.pop("per_query"), result
            signatures.append(metric.signature)
    if not results[protocol]:
        raise not_defined(protocol)
    head, rows, order = views.worst_first(per_query[protocol])
    as_kind = f", read as {kind}" if kind else ""
    told = [f"{counted(len(rows), 'query', 'queries')} of {origin}{as_kind}."]
    told += [*upload.notes, *warned]
    told += ["The figures are " + ", ".join(signatures) + "."]
    names = [str(row[0]) for row in rows]
    shown = chosen if chosen in names else names[0]
    if chosen and chosen != shown:
        told.append(f"There is no query {chosen} to picture: {shown} is shown instead.")
    place = order[names.index(shown)]
    if upload.query_ids is not None:  # rows that repeat an id are scored once
        place = list(map(str, upload.query_ids)).index(shown)
    depth = max(int(key[7:]) for key in per_query[protocol] if key.startswith("Judged@"))
    return (
        paragraphs(told),
        views.figures(results),
        gr.Dropdown(choices=names[:CHOICES], value=shown),
        *pictured(upload, place, kind, protocol, alpha, min(depth, SHOWN_RANKS)),
        queries_table(f"Queries under {protocol}", head, rows),
    )


def pictured(
    upload: uploads.Upload, place: int, kind: str, protocol: str, alpha: float, depth: int
) -> tuple[str, Any]:
    """For one query, tables of what is covered and a chart of the gains."""
    reference, prediction = upload.references[place], upload.predictions[place]
    query = picture.read(prediction, reference, kind=kind, protocol=protocol)
    ours, ideal = picture.steps(query, protocol=protocol, alpha=alpha, depth=depth)
    subtopics = picture.names_of_subtopics(query)
    key = "<p>● covers a subtopic first, ○ covers it again; gains are those of the protocol.</p>"
    tables = (
        views.coverage("This ranking, ranks against subtopics", ours, subtopics),
        views.coverage("The protocol's ideal ranking", ideal, subtopics),
    )
    return key + views.beside(tables, len(subtopics)), gr.Plot(
        views.gains(ours, ideal), visible=True
    )


def page() -> gr.Blocks:
    """The inputs, the outputs, and the events that score the inputs again."""
    with common_page.page_of(NAME, INTRODUCTION, card(NAME), EXAMPLES) as (blocks, examples):
        with gr.Row():
            with gr.Column(min_width=300):
                text = gr.Textbox(label="Rankings and judgements, JSON", lines=6, max_lines=12)
                with gr.Accordion("Forms of the input", open=False):
                    gr.Markdown(FORMS)
            with gr.Column(min_width=300):
                judged = gr.File(label="Or judgements: qrels, DU-DIV", height=160)
                ranked = gr.File(label="and rankings: run, JSON", height=160)
                order = gr.Dropdown(list(uploads.RUN_ORDERS), label="Order of a run")
        with gr.Row():
            alpha = gr.Slider(0, 1, value=0.5, step=0.05, label="alpha", min_width=200)
            beta = gr.Slider(0, 1, value=0.5, step=0.05, label="beta, for NRBP", min_width=200)
            k = gr.Textbox("5, 10", label="k", min_width=100)
        asked = common_page.figures_box("ERR-IA@20, NRBP, P-IA@20", FIGURES)
        button = gr.Button("Score", variant="primary")
        status = gr.HTML(elem_id="status")
        figures = gr.HTML(elem_id="figures")
        with gr.Row():
            protocol = gr.Radio(PROTOCOLS, value="standard", label="Protocol of what follows")
            chosen = gr.Dropdown(
                [],
                label="Query of the picture (worst first, or type its id)",
                allow_custom_value=True,
            )
        coverage = gr.HTML(elem_id="coverage")
        gains = gr.Plot(show_label=False, label="Gain of each rank", visible=False)
        queries = gr.HTML(elem_id="queries")

        inputs = [text, judged, ranked, order, alpha, beta, k, asked, protocol, chosen]
        outputs = [status, figures, chosen, coverage, gains, queries]
        options = [order.input, protocol.input, chosen.input]
        files = [event for file in (judged, ranked) for event in (file.upload, file.clear)]
        triggers = [button.click, text.submit, k.submit, asked.submit, *options, *files]
        gr.on(triggers, score, inputs, outputs, **common_page.IN_TURN)
        for slider in (alpha, beta):
            slider.input(score, inputs, outputs, trigger_mode="always_last", **common_page.IN_TURN)
        at_first = [None, None, uploads.RUN_ORDERS[0], 0.5, 0.5, "5, 10", "", "standard", None]
        values = [[example, *at_first] for example in EXAMPLES.values()]
        common_page.wire_examples(examples, values, score, inputs, outputs)
    return blocks


if __name__ == "__main__":
    common_page.serve(page(), STYLE)
