# Needs python3 (3.11 or newer) and make, nothing else. Another interpreter: make setup PYTHON=python3.12

PYTHON ?= python3
WORKERS ?= auto
SEED ?= 1
DURATION ?= 40s

BIN := .venv/bin
READY := .venv/.ready
LIFECYCLE := docs/lifecycle.md
REASONS := docs/reasons.md
# the pins hold for the build of the package too; the second name is what newer versions of pip read
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check bench soak docs

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## make .venv and install Phalanx with its tools (the other targets do it when needed)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "setup: Phalanx needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) -V 2>&1`" >&2; exit 1; }
	@echo "setup: virtual environment .venv with `$(PYTHON) -V`"
	@$(PYTHON) -m venv .venv
	@echo "setup: installing Phalanx and its tools, pinned by constraints.txt (the first time takes a minute or two)"
	@$(INSTALL) --editable '.[dev]'
	@touch $@
	@echo "setup: ready"

demo: $(READY) ## place sample gangs on a drawn cluster and explain one refusal
	@$(BIN)/phalanx demo

test: $(READY) ## all tests, in parallel (WORKERS=n, ARGS="-k words" to choose)
	@$(BIN)/python -m pytest -q -n $(WORKERS) $(ARGS)

check: $(READY) ## lint, format, types, import rule, generated pages
	@echo "check: ruff";         $(BIN)/ruff check .
	@echo "check: ruff format";  $(BIN)/ruff format --check .
	@echo "check: mypy";         $(BIN)/mypy
	@echo "check: import rule";  $(BIN)/lint-imports --no-logo
	@echo "check: $(REASONS)";   $(BIN)/python -m phalanx.explain.reference --check $(REASONS)

bench: $(READY) ## quality and speed on large clusters, each row against its threshold
	@$(BIN)/python -m bench

soak: $(READY) ## random worlds with faults for as long as asked (SEED=n, DURATION=40s)
	@$(BIN)/python -m phalanx.sim.soak --seed $(SEED) --duration $(DURATION)

docs: $(READY) ## write the generated pages again
	@$(BIN)/python -m phalanx.explain.reference > $(REASONS).new
	@mv $(REASONS).new $(REASONS)
	@$(BIN)/python -c "from phalanx.engine import diagram; print(diagram.page(), end='')" > $(LIFECYCLE).new
	@mv $(LIFECYCLE).new $(LIFECYCLE)
	@echo "docs: $(REASONS) $(LIFECYCLE)"
