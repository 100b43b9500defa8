# A copy of metrics/common/space/charts.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""What the charts of the pages have in common."""

from typing import Any

import altair as alt
import pandas as pd

INK = "#4a7fb5"
SHOWN_ALONE = {"actions": False, "renderer": "svg"}  # no menu: its links leave the page


def chart(rows: list[dict[str, Any]], title: str | alt.Title, described: str) -> alt.Chart:
    """A chart without marks as yet, as wide as its place; `described` is for screen readers."""
    return alt.Chart(
        pd.DataFrame(rows),
        title=title,
        description=described,
        width="container",
        height=220,
        background="transparent",
        usermeta={"embedOptions": SHOWN_ALONE},
    )
