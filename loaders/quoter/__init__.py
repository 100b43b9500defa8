# SPDX-License-Identifier: Apache-2.0
"""QuoteR's contexts and quotes in three languages, as `datasets`."""

from .quoter import BOUNDARIES, LANGUAGES, Quoter, load

__all__ = ["BOUNDARIES", "LANGUAGES", "Quoter", "load"]
