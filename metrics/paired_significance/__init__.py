# SPDX-License-Identifier: Apache-2.0
"""`paired_significance`: two systems compared by their per-query figures, as an `evaluate` comparison."""

from .paired_significance import PairedSignificance

__all__ = ["PairedSignificance"]
