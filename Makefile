# make demo and make test set up everything they need; see README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HEAVY := .venv-heavy
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# With its bytecode at hand, each command that a test starts needs a fifth less time to load.
unexport PYTHONDONTWRITEBYTECODE
# Where a network has certificates of its own, they are the system's: pip takes them from there, uv looks here.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export UV_SYSTEM_CERTS = 1
endif

.PHONY: demo test test-all test-heavy test-promptstability test-ray simulate conformance interruptions leaves damage mutants certify lint docs gallery bench numerics published release setup setup-heavy lock browser tex R clean

setup: $(VENV)/ready

setup-heavy: $(HEAVY)/ready

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

# Every extra, torch among them, beside the default environment. Which build of torch is right depends on the machine: pip takes the one it is shown
# (PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL with a CPU build), and gigabytes of CUDA where it is shown none.
$(HEAVY)/ready: heavy.lock installer.lock pyproject.toml
	$(PYTHON) -m venv $(HEAVY)
	$(HEAVY)/bin/pip install --quiet --require-hashes --no-deps -r installer.lock
	$(HEAVY)/bin/pip install --quiet "$$(grep -o 'torch==[0-9.]*' pyproject.toml)"
	$(HEAVY)/bin/uv pip install --quiet --python $(HEAVY)/bin/python --no-deps --require-hashes -r heavy.lock
	$(HEAVY)/bin/uv pip install --quiet --python $(HEAVY)/bin/python --no-deps --no-build-isolation --no-index -e .
	@touch $@

demo: setup
	$(BIN)/quaver demo

# Two at a time, a file as a whole: what a file's tests share is made once. The longest files come first.
test: setup
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m "not long"

# With kills, simulations, browsers and real models, which take most of the time.
test-all: setup browser tex R
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# The tests that need one of the heavy extras; without these, `make test` says that it skipped them.
test-heavy: setup-heavy
	$(HEAVY)/bin/pytest -m heavy

# The newest promptstability of the registry beside `quaver.promptstability`: its README's steps and its numbers. It asks for an
# older Python and for libraries that it needs to paraphrase alone, so it lies beside the environment, without them.
test-promptstability: setup
	rm -rf .promptstability
	$(BIN)/uv pip install --quiet --target .promptstability --no-deps \
	  "$$($(PYTHON) -m pip download --quiet --no-deps --ignore-requires-python --dest .promptstability promptstability >&2; \
	  ls .promptstability/promptstability-*.whl)"
	$(BIN)/uv pip install --quiet --target .promptstability --no-deps simpledorff matplotlib contourpy cycler fonttools kiwisolver pillow pyparsing
	PYTHONPATH=.promptstability $(BIN)/pytest -rs tests/promptstability

# Real Ray, three nodes on this machine: 20 nodes and 20 drivers are killed (make test-ray KILLS=50 RAY_SEED=7).
# Ray gives up where a node takes 15 seconds to start, so leave the machine idle.
KILLS ?= 20
RAY_SEED ?= 1
test-ray: setup-heavy
	QUAVER_RAY_KILLS=$(KILLS) QUAVER_RAY_SEED=$(RAY_SEED) $(HEAVY)/bin/pytest -m heavy tests/models/ray

# A study's life under kills, full disks, faulty servers and edits, thousands of times: make simulate SEEDS=10000.
# A history that went wrong prints its seed: make simulate SEED=17 lives through that one again.
SEEDS ?= 1000
FIRST ?= 0
simulate: setup
	$(BIN)/python -m tests.simulation.run $(if $(SEED),--seed $(SEED),--first $(FIRST) --seeds $(SEEDS))

# The bytes and lines at which a kept file could lose something: make conformance FIRST=7
conformance: setup
	QUAVER_CONFORMANCE=all QUAVER_CONFORMANCE_SEED=$(FIRST) $(BIN)/pytest -q tests/core/test_conformance.py

# Commands ended at so many changes of their files, drawn with a seed, then run again: make interruptions FIRST=7
POINTS ?= 11
interruptions: setup
	QUAVER_POINTS=$(POINTS) QUAVER_CONFORMANCE_SEED=$(FIRST) $(BIN)/pytest -q -s tests/interruptions

# Each value in three bundles changed, one at a time: make leaves BUNDLE=asked MOST=3 (values of a kind of place)
leaves: setup
	$(BIN)/python -m tests.bundles.bundle_leaves $(BUNDLE) $(MOST)

# Damaged folders and watches, odd study files and tables, spreadsheets that unpack to gigabytes: make damage FIRST=7
damage: setup
	$(BIN)/python -m tests.damaged_folders $(FIRST) 900
	$(BIN)/python -m tests.damaged_folders $(FIRST) 300 watch
	$(BIN)/python -m tests.spreadsheet_bombs $(FIRST) 200
	$(BIN)/python -m tests.large_replies
	QUAVER_FIRST_FILE=$(FIRST) QUAVER_STUDY_FILES=3000 QUAVER_TABLE_FILES=1500 \
	  $(BIN)/pytest -q tests/design/test_study_files.py tests/test_table_files.py

# Faults planted in the code, each of which the tests must find.
mutants: setup
	$(BIN)/python -m tests.planted.run

# Every measure on simulated studies whose truth is known, for up to two hours; it goes on where it was stopped:
# make certify, make certify MEASURE=accuracy, make certify CELLS=3, make certify WHOLE=1
certify: setup
	$(BIN)/python -m tools.certificate $(if $(WHOLE),--whole) $(if $(MEASURE),--measure $(MEASURE)) \
	  $(if $(CELLS),--cells $(CELLS)) $(if $(REPLICATIONS),--replications $(REPLICATIONS)) \
	  $(if $(SECONDS),--seconds $(SECONDS))

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/words.py

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Brings the gallery's bundles to what this code writes, from the answers that they hold.
gallery: setup
	$(BIN)/python -m docs.gallery_reports

bench: setup
	$(BIN)/python benchmarks/run.py

# Builds dist/, installs the wheel into an empty environment and runs the demo from it; uploads nothing.
# make release FILES=1 only builds both files and checks them.
release: setup
	$(BIN)/python tools/release.py $(if $(TAG),--tag $(TAG)) $(if $(FILES),--files)

# The tests open the report in a real browser; without one they say that they did not.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "chromium is not installed: the report's browser tests will be skipped"

# A test sets every table of the papers with pdfLaTeX; without it, it says that it did not.
tex:
	@command -v pdflatex >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends texlive-latex-base \
	  texlive-latex-recommended >/dev/null; } \
	  || echo "pdflatex is not installed: the tables' LaTeX will not be compiled"

# R reads labelled copies beside their tables; without it, or a package, a test says that it did not.
R:
	@Rscript -e 'q(status = !all(sapply(c("haven", "jsonlite", "readxl"), requireNamespace, quietly = TRUE)))' \
	  >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends r-base-core r-cran-haven \
	  r-cran-jsonlite r-cran-readxl >/dev/null; } \
	  || echo "R is not installed: nothing compares labelled copies with their tables in R"

# The extras that the default environment has, and those that heavy.lock adds.
LIGHT := --extra evidence --extra local --extra pandas --extra pdf --extra pictures --extra start --extra stats --extra view
MORE := $(LIGHT) --extra gpt4all --extra pegasus --extra ray --extra testing

# After a change of the dependencies in pyproject.toml. No address is recorded.
lock: $(VENV)/ready
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 $(LIGHT) --group dev \
	  --generate-hashes --no-annotate --no-header -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 $(MORE) --group dev \
	  --no-emit-package torch --generate-hashes --no-annotate --no-header -o heavy.lock
	echo uv | $(BIN)/uv pip compile - --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header -o installer.lock

# Point values against R and NIST, digit by digit: prints the table and writes docs/numerics.md.
numerics: setup
	$(BIN)/python -m tests.numerics.run --page

# Published figures computed again from the repositories that DATA holds: writes docs/published.md.
published: setup
	$(BIN)/python examples/published/run.py "$(DATA)"

clean:
	rm -rf $(VENV) $(HEAVY) demo dist
