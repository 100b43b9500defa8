# SPDX-License-Identifier: Apache-2.0
"""The dataset loaders of quotediv, one folder per dataset."""
