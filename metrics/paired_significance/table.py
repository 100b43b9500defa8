# SPDX-License-Identifier: Apache-2.0
"""The table of all pairs of systems."""

from typing import Any


class Table(list[dict[str, Any]]):
    """A list of dicts, one per pair; `print` aligns them, `pandas.DataFrame(table)` accepts them."""

    def __str__(self) -> str:
        """The rows in aligned columns: floats with four decimals, None as "none"."""
        if not self:
            return "no pairs"
        rows = [
            list(self[0]),
            *([_shown(key, value) for key, value in row.items()] for row in self),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def to_pandas(self) -> Any:
        """A DataFrame of the rows."""
        import pandas as pd

        return pd.DataFrame(list(self))


def _shown(key: str, value: Any) -> str:
    if key in ("p_value", "p_corrected") and 0 < value < 0.0001:
        return "<.0001"
    if isinstance(value, list):
        return f"[{', '.join(_shown(key, end) for end in value)}]"
    if value is None:
        return "none"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
