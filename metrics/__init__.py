# SPDX-License-Identifier: Apache-2.0
"""The metrics of quotediv, one folder each, loaded by `evaluate.load`."""
