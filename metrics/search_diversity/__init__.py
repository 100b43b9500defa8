# SPDX-License-Identifier: Apache-2.0
"""`search_diversity`: alpha-NDCG, ERR-IA and S-recall, as a Hugging Face `evaluate` metric."""

from .search_diversity import SearchDiversity

__all__ = ["SearchDiversity"]
