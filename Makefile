# Each target does the set-up it needs in $(VENV), and is quick the second time.

PYTHON ?= python3
VENV ?= .venv
DIR ?= .
PROMPT ?= Survey this repository: what is it, where does it start, how is it tested, what needs attention?

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq --no-input
APP := $(VENV)/.fido-app
DEV := $(VENV)/.fido-dev
INTEROP := $(VENV)/.fido-interop
# The built-in model answers when nothing of the person's own settings is in sight.
NO_KEY := for name in $$(env | sed -n 's/^\(\(OPENAI\|FIDO\)_[A-Z0-9_]*\)=.*/\1/p'); do unset "$$name"; done; \
	export XDG_CONFIG_HOME="$(abspath $(VENV))/no-config"

.DEFAULT_GOAL := help
.PHONY: help setup demo run test check faults interop bench docs clean

help: ## Tell what each target does.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

setup: $(APP) ## Make the environment that Fido runs in.
	@echo "Fido is ready: $(BIN)/fido"

demo: $(APP) ## Watch Fido survey a folder without a key (DIR=..., default: this one).
	@$(NO_KEY); if [ -t 0 ] && [ -t 1 ]; then \
		exec $(BIN)/fido --workspace "$(DIR)" "$(PROMPT)"; \
	else \
		exec $(BIN)/fido run --workspace "$(DIR)" "$(PROMPT)"; \
	fi

run: $(APP) ## Open the screen in DIR with your own settings (ARGS="..." are passed on).
	@exec $(BIN)/fido --workspace "$(DIR)" $(ARGS)

test: $(DEV) ## Run the tests (ARGS="tests/test_turn.py -x": only these).
	@if [ -n "$(ARGS)" ]; then exec $(BIN)/python -m pytest -q $(ARGS); fi; \
	$(BIN)/python -m pytest -q -n 2 -m "not fault and not interop" && $(BIN)/python -m pytest -q -m fault

check: $(DEV) ## Lint, formatting and types.
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy --no-error-summary
	@echo "check: clean"

faults: $(DEV) ## Kill, stop and starve everything, long form; docs/faults.md tells how it went.
	@FIDO_FAULTS=long $(BIN)/python -m pytest -q -m fault $(if $(ARGS),$(ARGS),--fault-table=docs/faults.md)

interop: $(INTEROP) ## Real sessions with a real model server, llama.cpp's; downloads 130 MB once.
	@$(BIN)/python -m pytest -q -m interop tests/interop $(ARGS)

bench: $(DEV) ## Measure against floors measured in the same run.
	@$(BIN)/python -m tests.bench $(ARGS)

docs: $(DEV) ## Write the generated pages and the pictures again.
	@$(BIN)/python -m docs.generate
	@$(BIN)/python -m docs.pictures

clean: ## Remove the environment and what the tools left.
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON). Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Fido needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (once, about a minute)" >&2
	@$(PYTHON) -m venv $(VENV) >$(VENV).log 2>&1 || { cat $(VENV).log >&2; rm -rf $(VENV) $(VENV).log; echo "Python cannot make a virtual environment. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@rm -f $(VENV).log

$(APP): $(BIN)/python requirements.txt requirements-build.txt pyproject.toml actors/fido.sh
	@$(PIP) -r requirements.txt -r requirements-build.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): $(APP) requirements-dev.txt
	@$(PIP) -r requirements-dev.txt
	@touch $@

$(INTEROP): $(DEV) requirements-interop.txt
	@$(PIP) --no-deps -r requirements-interop.txt
	@touch $@
