# What a newcomer needs: make demo, make test. Everything runs in .venv, which `make install` makes from the locks.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help install demo test check bench controlplane image crds lock
help:            ## Say what can be made
	@sed -n 's/^\([a-z]*\): .*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

install: $(INSTALLED)  ## Make .venv with moorage and all it needs
$(INSTALLED): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys, ensurepip; assert (3, 11) <= sys.version_info < (3, 14)' 2>/dev/null || \
	  { echo "moorage needs Python 3.11 to 3.13 with venv and pip; set PYTHON=..., or install python3-venv" >&2; exit 1; }
	@echo "making $(VENV): a minute or two, the first time"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: install  ## Schedule the examples on an embedded API server (no cluster needed)
	$(BIN)/moorage demo

test: install  ## Run the tests; those on a real control plane where it has been built
	$(BIN)/python -m pytest

check: install  ## Lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install  ## Measure the engine, and the whole path against kube-scheduler
	$(BIN)/python tests/benchmarks/run.py

controlplane:  ## Build etcd, kube-apiserver, kube-scheduler and friends for the tests (needs Go; about 10 minutes once)
	$(PYTHON) tests/controlplane/build.py

image:  ## Build the container image with docker or buildah
	./hack/image.sh

crds: install  ## Write the CRD, here and in the chart, from the models
	$(BIN)/moorage crd > crds/scheduling.moorage.dev_schedulingpolicies.yaml
	$(BIN)/moorage crd --chart > charts/moorage/templates/crd.yaml

lock: install  ## Resolve the dependencies anew
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  pyproject.toml --extra sandbox --group dev -o requirements-dev.lock
