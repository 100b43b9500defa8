# SPDX-License-Identifier: Apache-2.0
PYTHON ?= python3
EXAMPLES := -e '.[examples,trec]'
IN_PARALLEL := -n auto --dist loadfile
OLDEST := 'evaluate==0.4.3' 'datasets==3.6.*' 'numpy==1.26.*'

.PHONY: help demo copies export spaces test test-all test-oldest test-newest test-peers bench lint clean
.NOTPARALLEL:

help:
	@echo "make demo      score the baselines on the embedded sample"
	@echo "make test      the tests of the core"
	@echo "make copies    copy metrics/common/ into the folders of the metrics that use it"
	@echo "make export    datasets on disk as Parquet: QUOTER=DIR DU_DIV=DIR TREC_WEB=DIR OUT=DIR"
	@echo "make spaces    the Hub Spaces of both metrics: build/spaces"
	@echo "make test-all  the tests with torch, ranx and a browser, and on the oldest and newest versions supported"
	@echo "make bench     time and memory against every peer: benchmarks/RESULTS.md, some ten minutes"
	@echo "make lint      ruff and mypy"
	@echo "make clean     remove the environments and what was built"

demo: .venv/.ready-demo
	HF_HOME=$(CURDIR)/.venv/hf .venv/bin/python examples/score_baselines.py

copies:
	@$(PYTHON) .ci/copies.py

# make export OUT=build/datasets QUOTER=DIR DU_DIV=DIR TREC_WEB=DIR: those that are named
OUT ?= build/datasets
export: .venv/.ready-demo
	.venv/bin/python examples/export_datasets.py $(OUT) $(if $(QUOTER),--quoter $(QUOTER)) \
		$(if $(DU_DIV),--du-div $(DU_DIV)) $(if $(TREC_WEB),--trec-web $(TREC_WEB))

# A folder a Space, ready for `hf upload USER/NAME build/spaces/NAME --repo-type space`.
SPACES ?= build/spaces
spaces:
	@for name in quoter_rank search_diversity; do \
		rm -rf "$(SPACES)/$$name" && mkdir -p "$(SPACES)/$$name/space" && \
		cp LICENSE metrics/$$name/*.py metrics/$$name/requirements.txt "$(SPACES)/$$name" && \
		rm "$(SPACES)/$$name/__init__.py" && \
		cp metrics/$$name/space/*.py "$(SPACES)/$$name/space" && \
		cp cards/$$name.md "$(SPACES)/$$name/README.md" && echo "$(SPACES)/$$name" || exit 1; \
	done

test: .venv/.ready
	.venv/bin/pytest $(IN_PARALLEL)

test-all: test-oldest test-newest test-peers

test-oldest: .venv-oldest/.ready
	@echo "== The oldest supported: Python 3.10, $(OLDEST)"
	.venv-oldest/bin/pytest $(IN_PARALLEL)

test-newest: .venv-newest/.ready
	@echo "== The newest supported: Python 3.13"
	.venv-newest/bin/pytest $(IN_PARALLEL)

test-peers: .venv-peers/.ready
	@echo "== With torch, ranx and a browser"
	.venv-peers/bin/pytest

bench: .venv-bench/.ready
	.venv-bench/bin/python benchmarks/run.py

lint: .venv/.ready
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

clean:
	rm -rf .venv .venv-peers .venv-bench .venv-oldest .venv-newest build dist *.egg-info
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call set-up,INTERPRETER,WHAT TO INSTALL): the environment of the rule's target.
define set-up
	@echo "Setting up $(@D) (once, a minute or so)"
	@command -v $(1) >/dev/null || { echo $(1) not found: install it with pyenv, or put it on PATH. >&2; exit 1; }
	@$(1) -c "$$CHECK_VERSION"
	@$(1) -m venv $(@D)
	@$(@D)/bin/python -m pip install -qq $(2)
	@touch $@
endef

# $(call find-python,VERSION): pyenv's interpreter, else the one on PATH.
find-python = "$$(v=$$(pyenv latest $(1) 2>/dev/null) && echo "$$(pyenv prefix $$v)/bin/python" || echo python$(1))"

define CHECK_VERSION
import sys
if sys.version_info < (3, 10):
    sys.exit("quotediv needs Python 3.10 or newer, but $(PYTHON) is Python %d.%d. Name another: make PYTHON=python3.12" % sys.version_info[:2])
endef
export CHECK_VERSION

.venv/.ready-demo: pyproject.toml
	$(call set-up,$(PYTHON),$(EXAMPLES))

.venv/.ready: pyproject.toml
	$(call set-up,$(PYTHON),-e '.[dev]')

.venv-oldest/.ready: pyproject.toml
	$(call set-up,$(call find-python,3.10),$(OLDEST) -e '.[test]')

.venv-newest/.ready: pyproject.toml
	$(call set-up,$(call find-python,3.13),-e '.[test]')

.venv-peers/.ready: pyproject.toml .ci/constraints.txt
	$(call set-up,$(PYTHON),-c .ci/constraints.txt -e '.[peers]')

.venv-bench/.ready: pyproject.toml .ci/constraints.txt
	$(call set-up,$(PYTHON),-c .ci/constraints.txt -e '.[bench]')
