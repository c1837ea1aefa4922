# Every target does its own set-up, in .venv and nowhere else.
PYTHON ?= python3
RUN := .venv/bin
INSTALL := $(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench serve chaos docs clean

help: ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: .venv/core ## a first result in about a minute, then the paper's experiment as a page in demo/
	@echo "A clinic learns from 2,000 patients which test to buy (examples/quickstart.py):"
	@$(RUN)/python examples/quickstart.py
	@echo "Now the paper's experiment, in about a minute:"
	@$(MAKE) --no-print-directory .venv/report
	$(RUN)/askwise reproduce --quick --output demo

test: .venv/ready ## everything that must hold
	$(RUN)/pytest -n 4 --dist worksteal

lint: .venv/ready ## format, style, types, import order
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports --no-cache

bench: .venv/bench ## how fast it is, as ratios
	$(RUN)/python benchmarks/planning.py
	$(RUN)/python benchmarks/simulation.py
	$(RUN)/python benchmarks/radii.py
	$(RUN)/python benchmarks/scale.py
	$(RUN)/python benchmarks/service.py

serve: .venv/service ## the service, with a dashboard and simulated patients, in askwise-demo.db
	$(RUN)/askwise serve --demo --db askwise-demo.db

chaos: .venv/ready ## kill the service 200 times on each database, and see that nothing is lost
	PYTHONPATH=tests $(RUN)/python -m chaos --kills 200 --events 100000

docs: .venv/docs ## the site, in site/; every block of code in it is run
	$(RUN)/pytest tests/test_docs.py
	$(RUN)/zensical build --strict --config-file mkdocs.yml

clean: ## remove what the other targets made
	rm -rf .venv demo site .cache askwise-demo.db* .pytest_cache .hypothesis .mypy_cache .ruff_cache

# The demo needs the core alone; each stamp installs what is missing for it.
.venv/core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("askwise needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(INSTALL) --no-compile -e .
	@touch $@

.venv/report: .venv/core
	$(INSTALL) -e '.[report]'
	@touch $@

.venv/service: .venv/core
	$(INSTALL) -e '.[service]'
	@touch $@

.venv/ready: .venv/core
	$(INSTALL) -e '.[dev]'
	@touch $@

.venv/bench: .venv/ready
	$(INSTALL) -e '.[bench]'
	@touch $@

.venv/docs: .venv/ready
	$(INSTALL) -e '.[docs]'
	@touch $@
