# Start with `make demo` and `make test`. Everything runs in .venv, which `make install` creates from the lock files.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALLED := $(VENV)/.installed
STRICT_PYTHON ?= $(lastword python3.13 $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python3.13))

.PHONY: help install demo test test-end-to-end test-tls check bench controlplane browser image crds lock
help:            ## List the targets
	@sed -n 's/^\([a-z-]*\): .*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

install: $(INSTALLED)  ## Create .venv with moorage and its dependencies
$(INSTALLED): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys, ensurepip; assert (3, 11) <= sys.version_info < (3, 14)' 2>/dev/null || \
	  { echo "moorage needs Python 3.11 to 3.13 with venv and pip; set PYTHON=..., or install python3-venv" >&2; exit 1; }
	@echo "1/3 creating $(VENV) (the three steps take 1 to 3 minutes, once)"
	@$(PYTHON) -m venv $(VENV)
	@echo "2/3 installing up to $$(grep -c == requirements-dev.lock) packages from PyPI"
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@echo "3/3 installing moorage"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@echo "done$(if $(filter .venv,$(VENV)),; put the commands on your PATH: . $(BIN)/activate)"
	@touch $@

demo: install  ## Schedule the examples on an embedded API server (needs no cluster)
	$(BIN)/moorage demo

test: install  ## Run the tests; also those on a real control plane if `make controlplane` built one
	$(BIN)/python -m pytest --ignore=tests/e2e

test-end-to-end: install  ## Run the tests that start moorage as users do, on the sandbox and on a real control plane
	$(BIN)/python -m pytest tests/e2e

test-tls:  ## Run the tests that open TLS on Python 3.13, whose own checks of certificates are stricter
	@if $(STRICT_PYTHON) -c 'import ensurepip' 2>/dev/null; then \
	  $(MAKE) --no-print-directory install VENV=$(VENV)-strict PYTHON=$(STRICT_PYTHON) && \
	  $(VENV)-strict/bin/python -m pytest -m tls; \
	else echo "test-tls: left out, because there is no $(STRICT_PYTHON)"; fi

check: install  ## Check lint, format, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install  ## Measure the engine alone, and the whole path compared with kube-scheduler
	$(BIN)/python tests/benchmarks/run.py

controlplane:  ## Build etcd, kube-apiserver, kube-scheduler, ... for the tests (needs Go; about 10 minutes, once)
	$(PYTHON) tests/controlplane/build.py

browser:  ## Install Chromium for the tests of pages, on Debian as root; without it, these tests are skipped
	@command -v chromium >/dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; } \
	  || echo "browser: Chromium could not be installed; the tests of pages will be skipped" >&2

image:  ## Build the container image with docker or buildah
	./hack/image.sh

crds: install  ## Generate the CRD from the models, in crds/ and in the chart
	$(BIN)/moorage crd > crds/scheduling.moorage.dev_schedulingpolicies.yaml
	$(BIN)/moorage crd --chart > charts/moorage/templates/crd.yaml

lock: install  ## Resolve the dependencies and rewrite the lock files
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  pyproject.toml --extra sandbox --extra plots --extra tune --group dev -o requirements-dev.lock
