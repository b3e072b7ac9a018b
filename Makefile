# Only Python >= 3.11, make and git are needed; everything else comes from here.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: setup demo build lint format types lint-arch test test-race test-all bench docs proto check clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit("AWF needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.12" % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo 'Setting up $(VENV); this takes a minute the first time.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements-dev.txt -c constraints.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[otel,plugins,sandbox,postgres]' -c constraints.txt
	@$(BIN)/python -m compileall -q $(VENV)/lib src >/dev/null || true
	@touch $@

demo: setup
	@$(BIN)/awf demo

build: setup
	rm -rf dist
	$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w dist . -c constraints.txt

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

types: setup
	$(BIN)/mypy

lint-arch: setup
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/architecture

test: setup
	$(BIN)/python -m pytest -q -n auto

# The concurrency suites, again and again: asyncio debug mode, other work on every core, leak checks.
test-race: setup
	PYTHONASYNCIODEBUG=1 AWF_RACE_ROUNDS=$${AWF_RACE_ROUNDS:-3} $(BIN)/python -X dev -m pytest -q -m race -p no:xdist

test-all: test test-race

bench: setup
	$(BIN)/python -m bench

docs: setup
	$(BIN)/python -m awf.testing.docs

# After a change of plugin.proto; what it makes is kept in the tree.
proto: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check grpcio-tools==1.85.1
	cd src/awf/plugin/protocol && $(abspath $(BIN))/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. plugin.proto

check: lint types lint-arch test test-race build

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
