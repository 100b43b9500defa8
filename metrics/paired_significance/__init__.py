# SPDX-License-Identifier: Apache-2.0
"""`paired_significance`: two systems' figures a query compared, as an `evaluate` comparison."""

from .paired_significance import PairedSignificance

__all__ = ["PairedSignificance"]
