# make demo and make test set up everything they need; see README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Where a network has certificates of its own, they are the system's: pip is told of them, uv looks here.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export UV_SYSTEM_CERTS = 1
endif

.PHONY: demo test lint bench setup lock browser clean

setup: $(VENV)/ready

$(VENV)/ready: requirements.lock installer.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Quaver needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "Python's venv module is missing; install it with: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes --no-deps -r installer.lock
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --no-index -e .
	@touch $@

demo: setup
	$(BIN)/quaver demo

test: setup browser
	$(BIN)/pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python benchmarks/run.py

# The tests open the report in a real browser; without one they say that they did not.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "chromium is not installed: the report's browser tests will be skipped"

# After a change of the dependencies in pyproject.toml. No address is recorded.
lock: $(VENV)/ready
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --all-extras --group dev \
	  --generate-hashes --no-annotate --no-header -o requirements.lock
	echo uv | $(BIN)/uv pip compile - --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header -o installer.lock

clean:
	rm -rf $(VENV) demo
