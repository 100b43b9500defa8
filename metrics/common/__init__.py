# SPDX-License-Identifier: Apache-2.0
"""What more than one metric needs, written once; `make copies` copies it into their folders."""
