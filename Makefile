# Two commands do everything: `make demo` plays a match, `make test` checks the whole.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One process more than processors: many tests wait for others' processes. One that crashes ends the run: xdist
# would run its test again in another one.
PYTEST := $(BIN)/pytest -n $(shell expr $$(nproc) + 1) --dist loadfile --no-loadscope-reorder --max-worker-restart 0
# For tests that may take longer than the others.
PATIENT := -o timeout=3600 -o faulthandler_timeout=3660

# Tests start hundreds of processes: each would compile all sources anew where the environment forbids to keep that.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-containers test-slow extras warm docs check clean

demo: $(READY) warm
	$(BIN)/ggp match tictactoe mcts random --startclock 5 --playclock 1

test: $(READY) warm
	$(PYTEST)

# Images are made, and containers run: minutes of waiting for most of the time.
test-containers: $(READY)
	$(BIN)/pytest $(PATIENT) -m "docker and not slow" tests/test_containers.py

# The long and statistical tests: run before a release.
test-slow: $(READY) warm
	$(PYTEST) $(PATIENT) -m slow

# The optional parts: tests in a browser, a cluster, PostgreSQL, environments. Without them their tests are skipped.
extras: $(READY)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --no-compile --disable-pip-version-check \
		--editable '.[dev,browser,cluster,docs,openspiel,oracles,postgresql,rl,tables]'

# Compiles the kernels once for these sources, so that neither clocks nor tests wait for it.
warm: $(READY)
	@$(BIN)/ggp cache warm

# The documentation as static pages, in build/docs.
docs: $(READY)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev,docs]'
	$(BIN)/mkdocs build --strict

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The versions of everything, build tools included, come from constraints.txt.
$(READY): pyproject.toml constraints.txt tools/make-venv
	PYTHON=$(PYTHON) tools/make-venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist
