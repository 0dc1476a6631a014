# make apply   the main job: a release's source is fetched, its stacks are applied
# make test    the whole suite, from an empty machine (LOCKED=1: with the pinned, hashed packages)
TARGET ?= v0.28.0
PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
LIMIT  ?= 20

BIN := $(VENV)/bin

.PHONY: apply check status lint test bench bench-audit bench-placement soak fuzz mutants lock clean

apply: $(VENV)/run.stamp
	$(BIN)/backport apply --target $(TARGET)

check: $(VENV)/run.stamp
	$(BIN)/backport check --all

status: $(VENV)/run.stamp
	$(BIN)/backport status

lint: $(VENV)/test.stamp
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/backport lint

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest $(ARGS)

bench: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.apply $(ARGS)
	$(BIN)/python -m benchmarks.check
	$(BIN)/python -m benchmarks.scan
	$(BIN)/python -m benchmarks.audit

bench-audit: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.audit_backports --pairs $(PAIRS) --repos $(REPOS) --limit $(LIMIT) $(ARGS)

soak: $(VENV)/test.stamp
	$(BIN)/python -m tests.faults.soak $(ARGS)

fuzz: $(VENV)/test.stamp
	$(BIN)/python -m tests.faults.fuzz $(ARGS)

mutants: $(VENV)/test.stamp
	$(BIN)/python -m tests.faults.mutants $(ARGS)

lock: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --generate-hashes --extra test --strip-extras --no-annotate --no-emit-options \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --unsafe-package torch \
		--no-header --output-file $(VENV)/lock.txt pyproject.toml
	( sed -n '/^#/p' requirements-dev.lock; sed '/^#/d' $(VENV)/lock.txt ) >requirements-dev.lock.part
	mv requirements-dev.lock.part requirements-dev.lock

bench-placement: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.placement --repos $(REPOS) --pairs $(PAIRS) --evaluate $(EVALUATE) $(ARGS)

$(VENV)/run.stamp: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp
ifdef LOCKED
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.lock
endif
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV)
