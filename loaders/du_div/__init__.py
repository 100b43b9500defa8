# SPDX-License-Identifier: Apache-2.0
"""DU-DIV's queries, documents and subtopics, as `datasets`."""

from .du_div import DuDiv, load

__all__ = ["DuDiv", "load"]
