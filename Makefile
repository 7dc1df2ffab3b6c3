# Needs python3 (3.11 or newer) and make, nothing else. Another interpreter: make setup PYTHON=python3.12

PYTHON ?= python3
WORKERS ?= auto
SEED ?= 1
DURATION ?= 40s

BIN := .venv/bin
READY := .venv/.ready
KUBE := tests/testbed/real tests/contract tests/kube
LIFECYCLE := docs/lifecycle.md
REASONS := docs/reasons.md
SETTINGS := docs/configuration.md
KINDS := docs/kinds.md
CRDS := deploy/crds
# the pins hold for the build of the package too; the second name is what newer versions of pip read
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-kube up-kube check bench bench-kube soak docs

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## make .venv and install Phalanx with its tools (the other targets do it when needed)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "setup: Phalanx needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) -V 2>&1`" >&2; exit 1; }
	@echo "setup: virtual environment .venv with `$(PYTHON) -V`"
	@$(PYTHON) -m venv .venv
	@echo "setup: installing Phalanx and its tools, pinned by constraints.txt (the first time takes a minute or two)"
	@$(INSTALL) --editable '.[dev,fast]'
	@touch $@
	@echo "setup: ready"

demo: $(READY) ## place sample gangs on a drawn cluster and explain one refusal
	@$(BIN)/phalanx demo

test: $(READY) ## all tests that need no cluster, in parallel (WORKERS=n, ARGS="-k words" to choose)
	@$(BIN)/python -m pytest -q -n $(WORKERS) $(KUBE:%=--ignore=%) $(ARGS)

test-kube: $(READY) ## tests on a real control plane, built from Go modules the first time (ARGS="-k words")
	@$(BIN)/python -m testbed build
	@for suite in $(KUBE); do \
		echo "test-kube: $$suite"; \
		PHALANX_KUBE=1 $(BIN)/python -m pytest -q -n 0 $$suite $(ARGS) || \
			{ code=$$?; [ $$code = 5 ] && [ -n "$(ARGS)" ] || exit $$code; }; \
	done

up-kube: $(READY) ## a real control plane on this machine to look at; Ctrl-C ends it
	@$(BIN)/python -m testbed up

check: $(READY) ## lint, format, types, import rule, generated pages
	@echo "check: ruff";         $(BIN)/ruff check .
	@echo "check: ruff format";  $(BIN)/ruff format --check .
	@echo "check: mypy";         $(BIN)/mypy
	@echo "check: import rule";  $(BIN)/lint-imports --no-logo
	@echo "check: $(REASONS)";   $(BIN)/python -m phalanx.explain.reference --check $(REASONS)
	@echo "check: $(LIFECYCLE)"; $(BIN)/python -m phalanx.engine.diagram --check $(LIFECYCLE)
	@echo "check: $(SETTINGS)";  $(BIN)/python -m phalanx.kube.configuration --check $(SETTINGS)
	@echo "check: $(KINDS)";     $(BIN)/python -m phalanx.kube.kindpage --check $(KINDS)
	@echo "check: $(CRDS)";      $(BIN)/python -m phalanx.kube.crds --check $(CRDS)

bench: $(READY) ## quality and speed on large clusters, each row against its threshold
	@$(BIN)/python -m bench

bench-kube: $(READY) ## against the in-tree scheduler on a real API server
	@$(BIN)/python -m testbed build
	@$(BIN)/python -m bench.kube

soak: $(READY) ## random worlds with faults for as long as asked (SEED=n, DURATION=40s)
	@$(BIN)/python -m phalanx.sim.soak --seed $(SEED) --duration $(DURATION)

docs: $(READY) ## write the generated pages again
	@$(BIN)/python -m phalanx.explain.reference > $(REASONS).new
	@mv $(REASONS).new $(REASONS)
	@$(BIN)/python -m phalanx.engine.diagram > $(LIFECYCLE).new
	@mv $(LIFECYCLE).new $(LIFECYCLE)
	@$(BIN)/python -m phalanx.kube.kindpage > $(KINDS).new
	@mv $(KINDS).new $(KINDS)
	@$(BIN)/python -m phalanx.kube.configuration $(SETTINGS)
	@$(BIN)/python -m phalanx.kube.crds $(CRDS)
	@echo "docs: $(REASONS) $(LIFECYCLE) $(KINDS) $(SETTINGS) $(CRDS)"
