# Needs Python 3.11 or newer, pip and make. Everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUITE ?= -n 2

.PHONY: demo test torture lint bench format clean

demo: $(VENV)/.base  ## remember, correct and recall a two-week conversation
	$(BIN)/memhub demo

test: lint  ## everything that must pass before a change lands
	$(BIN)/python -m pytest $(SUITE)

torture: $(VENV)/.dev  ## the long crash runs, which `make test` leaves out
	$(BIN)/python -m pytest -m torture

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## measure the SQLite store against sqlite3 and FTS5 by hand; BENCH=--million for more
	$(BIN)/python bench/sqlite_store.py $(BENCH)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist

# Some systems ship Python without ensurepip; there, the system's pip fills the new environment.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Memhub needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { \
	  $(PYTHON) -m venv --clear --without-pip $(VENV) \
	  && $(PYTHON) -m pip --python $@ install --quiet pip; }

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml requirements/constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint requirements/constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.base
