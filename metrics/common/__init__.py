# SPDX-License-Identifier: Apache-2.0
"""Code that several metrics share, written once; `make copies` copies it into their folders."""
