# Everything a user or a contributor runs. Each target makes its own environment first; a second run starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INPUTS := pyproject.toml constraints.txt
# Further words for pytest, such as: make test PYTEST='-m "not slow"'
PYTEST ?=
# Tests and benchmarks start many interpreters, each of which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PINNED := --constraint constraints.txt --editable
# uv takes a third of pip's time; if it cannot be had, or does not reach the packages, pip does it.
UV := UV_SYSTEM_CERTS=1 UV_HTTP_TIMEOUT=20 $(BIN)/uv pip install --quiet --python $(BIN)/python
# Where PYTHONDONTWRITEBYTECODE is set, as in many containers, every command would compile assay and what it imports
# again, which doubles the time of a short one. Importing a package compiles it.
COMPILE := $(BIN)/python -m compileall -q src && $(BIN)/python -c 'import numpy, pydantic, rich.console, rich.progress, \
  rich.table, sqlalchemy.dialects.sqlite, typer, yaml'

TRAIN_TESTS := tests/events/training tests/runs/test_training.py \
  'tests/test_docs.py::test_every_python_block_runs[docs/guides/training.md]'

.PHONY: demo test test-train test-cluster check dist-check dist-test bench attack audit hashes sbom release docs pictures tutorials clean

demo: $(VENV)/.user           ## everything embedded: synthetic recordings, three models, tables and a report
	$(BIN)/assay demo

test: $(VENV)/.dev            ## the whole test suite
	$(BIN)/python -m pytest --ignore=tests/cluster $(PYTEST)

test-train: $(VENV)/.train    ## the tests of training loops, with PyTorch (the CPU build, if pip is shown one)
	ASSAY_REQUIRE_TRAIN=1 $(BIN)/python -m pytest $(TRAIN_TESTS)

test-cluster: $(VENV)/.ray    ## the tests on Ray clusters
	ASSAY_REQUIRE_RAY=1 $(BIN)/python -m pytest -n 0 tests/cluster

check: $(VENV)/.dev           ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

dist-check: $(VENV)/.dev      ## build wheel and sdist, install the wheel beside what it needs, and run it; no network
	$(BIN)/python -m tests.distribution

dist-test: $(VENV)/.dev       ## the same with empty environments that pip fills: a plain one, and one with everything
	$(BIN)/python -m tests.distribution --empty
	$(BIN)/python -m tests.distribution --empty all

bench: $(VENV)/.dev           ## speed and memory against peers, in one run
	$(BIN)/python -m benchmarks

attack: $(VENV)/.ray          ## hostile files, names, stores and agents, many times; prints what was tried, held and broke
	$(BIN)/python -m tests.attacks

audit: $(VENV)/.dev           ## known vulnerabilities of the tested versions, by pip-audit, which asks PyPI's database
	$(PIP) pip-audit
	$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip

sbom: $(VENV)/.user           ## the bill of materials of what is installed, as CycloneDX: sbom.cdx.json
	$(BIN)/python .ci/sbom.py sbom.cdx.json

hashes: $(VENV)/.dev          ## renew requirements-hashed.txt: what users install, with the digest of every file
	UV_SYSTEM_CERTS=1 $(BIN)/uv pip compile --quiet pyproject.toml --extra all --constraint constraints.txt \
	  --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --no-emit-find-links --output-file $(VENV)/hashed.txt
	{ sed -n '/^#/p;/^[^#]/q' requirements-hashed.txt; cat $(VENV)/hashed.txt; } > $(VENV)/renewed.txt
	mv $(VENV)/renewed.txt requirements-hashed.txt

release: $(VENV)/.dev         ## wheel, sdist, bill of materials, hashed requirements and their digests, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python .ci/sbom.py dist/sbom.cdx.json
	cp requirements-hashed.txt dist/
	cd dist && sha256sum * > SHA256SUMS

docs: $(VENV)/.docs           ## renew the generated part of the reference, build the site into site/, check its links
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --clean --strict
	$(BIN)/python docs/finish.py

pictures: $(VENV)/.dev        ## renew the pictures of README and gallery, from real runs in Chromium
	PYTHONPATH=. $(BIN)/python docs/pictures.py

tutorials: $(VENV)/.dev       ## follow the tutorials word for word, with real frameworks
	$(BIN)/python -m tests.tutorials

clean:                        ## forget the environment and what was generated
	rm -rf $(VENV) site assay-demo .pytest_cache .mypy_cache .ruff_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "assay needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(INPUTS) | $(VENV)/bin/python
	($(PIP) --constraint constraints.txt uv && $(UV) $(PINNED) '.[all]') || $(PIP) $(PINNED) '.[all]'
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: $(INPUTS) | $(VENV)/bin/python
	($(PIP) --constraint constraints.txt uv && $(UV) $(PINNED) '.[dev]') || $(PIP) $(PINNED) '.[dev]'
	@$(COMPILE)
	@touch $@ $(VENV)/.user

$(VENV)/.train: $(INPUTS) | $(VENV)/.dev
	$(PIP) --no-compile $(PINNED) '.[train]'
	@touch $@ $(VENV)/.dev $(VENV)/.user

$(VENV)/.docs: $(INPUTS) | $(VENV)/.dev
	$(PIP) --no-compile $(PINNED) '.[docs]'
	@touch $@

$(VENV)/.ray: $(INPUTS) | $(VENV)/.dev
	$(PIP) --no-compile $(PINNED) '.[ray]'
	@touch $@ $(VENV)/.dev $(VENV)/.user

$(VENV)/.train-ray: $(INPUTS) | $(VENV)/.dev
	$(PIP) --no-compile $(PINNED) '.[train,ray]'
	@touch $@ $(VENV)/.train $(VENV)/.ray $(VENV)/.dev $(VENV)/.user
