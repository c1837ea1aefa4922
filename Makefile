# Every target does its own set-up, in .venv and nowhere else.
PYTHON ?= python3
RUN := .venv/bin
INSTALL := $(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench serve chaos longchaos soak docs clean

help: ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: .venv/core ## a first result in about a minute, then the paper's experiment as a page in demo/
	@echo
	@echo "1 of 2: a clinic learns from 2,000 patients which test to buy (examples/quickstart.py)."
	@echo "A mammogram costs 1, an MRI costs 9, and a right decision is worth 100."
	@$(RUN)/python examples/quickstart.py
	@echo
	@echo "The learned policy: buy the mammogram for every patient, and the MRI only if it is high."
	@echo "cases: the share of the patients at this line; gain: their mean gain, with a 95 % interval;"
	@echo "stopping here: the best action without further tests, and its gain."
	@echo
	@echo "2 of 2: the paper's experiment, in about a minute."
	@$(MAKE) --no-print-directory .venv/report
	@$(RUN)/askwise reproduce --quick --output demo
	@echo
	@echo "best set, best steps: the best possible gain, with the tests bought at once or one by one;"
	@echo "nothing: the best gain without tests. Open demo/index.html for the figures."

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

longchaos: .venv/ready ## the same at length: 1,000 kills and a million events in all
	PYTHONPATH=tests $(RUN)/python -m chaos --kills 500 --events 500000 --held 48 --seconds 36000

soak: .venv/ready ## ask the service 100,000 things and more, and compare every answer
	PYTHONPATH=tests $(RUN)/python -m soak --requests 100000

docs: .venv/docs ## the site, in site/; every block of code in it is run
	$(RUN)/pytest tests/test_docs.py
	$(RUN)/zensical build --strict --config-file mkdocs.yml

clean: ## remove what the other targets made
	rm -rf .venv demo site .cache askwise-demo.db* .pytest_cache .hypothesis .mypy_cache .ruff_cache

# The demo needs the core alone; each stamp installs what is missing for it.
.venv/core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("askwise needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Installing askwise into .venv; this takes half a minute or more."
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --no-compile -e .
	@touch $@

.venv/report: .venv/core
	@echo "Installing Matplotlib and Jinja for the page."
	@$(INSTALL) -e '.[report]'
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
