# SPDX-License-Identifier: Apache-2.0
"""TREC Web Track 2009-2012, diversity task, as `datasets`, and TREC run files."""

from .runs import align, read_run
from .trec_web import TrecWeb, load, years_in

__all__ = ["TrecWeb", "align", "load", "read_run", "years_in"]
