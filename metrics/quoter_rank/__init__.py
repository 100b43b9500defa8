# SPDX-License-Identifier: Apache-2.0
"""`quoter_rank`: rank of the gold quote, as a Hugging Face `evaluate` metric."""

from .quoter_rank import QuoterRank

__all__ = ["QuoterRank"]
