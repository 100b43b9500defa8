# SPDX-License-Identifier: Apache-2.0
"""What the pages share: style, opening, examples, messages, and how they are served.

An app imports this module before gradio, which reads its settings when it is imported.
"""

import functools
import html
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from texts import MAX_BYTES, section

NO_PLOT = gr.Plot(None, visible=False)
PRIVATE = {"api_visibility": "private"}
# One visitor at a time: a process has one list of warnings.
IN_TURN = {"concurrency_limit": 1, "concurrency_id": "score", **PRIVATE}
STYLE = """
.gradio-container { max-width: 1100px !important; margin: auto; }
.altair, .vega-embed, .chart-wrapper { width: 100%; }
#status p { overflow-wrap: anywhere; }
#status .refused { border-left: 4px solid currentColor; padding-left: .6em; font-weight: 600; }
.scroll { overflow: auto; max-height: 30em; contain: inline-size; }
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
# A screen reader reads out what appears in the status.
ANNOUNCE = """() => {
  const status = document.querySelector('#status');
  status.setAttribute('role', 'status');
  status.setAttribute('aria-live', 'polite');
}"""


# The page ---------------------------------------------------------------------------------------


@contextmanager
def page_of(
    name: str, introduction: str, card: str, examples: Mapping[str, str]
) -> Iterator[tuple[gr.Blocks, list[gr.Button]]]:
    """A page that opens with what it is for; its examples' buttons. Its caller adds the rest."""
    with gr.Blocks(title=name, analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
        gr.Markdown(introduction)
        with gr.Accordion("What the figures mean", open=False):
            gr.Markdown(section(card, "Description") + section(card, "Output values"))
        gr.Markdown("Examples:")
        with gr.Row():
            buttons = [gr.Button(example, size="sm", min_width=120) for example in examples]
        yield blocks, buttons
        blocks.load(None, js=ANNOUNCE)


def figures_box(example: str, known: Iterable[str]) -> gr.Textbox:
    """The box in which figures are asked for by name; `known` are the names there are."""
    info = (
        f"Separated by commas; empty: the defaults. There are {', '.join(known)}. "
        "k is a depth; a name without one is taken at those of the other boxes."
    )
    return gr.Textbox(label="Figures", placeholder=example, info=info)


def wire_examples(
    buttons: Sequence[gr.Button],
    values: Sequence[Sequence[Any]],
    score: Callable[..., Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
) -> None:
    """Let each button put its values into the inputs and have them scored."""
    for button, given in zip(buttons, values, strict=True):
        put = button.click(lambda given=given: given, None, inputs, **PRIVATE)
        put.then(score, inputs, outputs, **IN_TURN)


def serve(blocks: gr.Blocks, style: str = STYLE) -> None:
    """Serve the page until it is stopped; nothing is kept between two calls."""
    system = gr.themes.Default(  # fonts of the visitor's system: none is fetched
        font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    )
    blocks.queue(max_size=64).launch(
        theme=system,
        css=style,
        footer_links=[],
        max_file_size=3 * MAX_BYTES,  # up to this, the page itself says what is wrong
        ssr_mode=False,
    )


# What it says -----------------------------------------------------------------------------------


def or_message(*nothing: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Show why input is refused in place of the first output, and `nothing` in the others."""

    def guarded(score: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(score)
        def shown(*inputs: Any) -> Any:
            try:
                return score(*inputs)
            except (ValueError, TypeError) as error:
                message = str(error)
            except Exception as error:
                logging.exception("a visitor's input")
                message = f"{type(error).__name__}: {error}"
            return f'<p class="refused">Not scored: {html.escape(message)}</p>', *nothing

        return shown

    return guarded


def paragraphs(lines: Sequence[str]) -> str:
    """Lines of plain text as HTML."""
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def source(files: Sequence[str | None] | None) -> str:
    """Where the rows come from."""
    return " and ".join(Path(file).name for file in files or [] if file) or "the text"


@contextmanager
def user_warnings() -> Iterator[list[str]]:
    """The user warnings given inside, each once; the list is filled at the end."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning)
