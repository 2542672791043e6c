# Every word sets up what it needs in .venv; a machine with Python 3.11+, make, gcc and git is enough.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo serve test test-all kernels browser check bench docs format clean

demo: .venv/ready-paper
	$(BIN)/bursar reproduce --quick

serve: .venv/ready-service
	$(BIN)/bursar serve --demo $(SERVE)

PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup --durations 25 --durations-min 1

# the tests start hundreds of processes; each would compile all modules anew
unexport PYTHONDONTWRITEBYTECODE

test: .venv/ready-test browser kernels
	$(PYTEST) -m "not slow"

# the slow tests too, and the long grids whole instead of a sample of them
test-all: .venv/ready-test browser kernels
	BURSAR_TEST_ALL=1 $(PYTEST)

# compiled once by two processes, so that the workers of pytest only load machine code
kernels: .venv/ready-test
	$(BIN)/python tests/compile_kernels.py

# for the tests that look at pages; only root on Debian can be helped, others are told what is missing
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& echo "installing chromium for the browser tests" \
		&& apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
		|| echo "no chromium here: the browser tests will say so (Debian: apt-get install chromium)"

check: .venv/ready-check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready-paper .venv/ready-service .venv-peers/ready
	$(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/engine.py $(ARGS)
	$(BIN)/python benchmarks/paper.py --engines $(PAPER)
	$(BIN)/python benchmarks/campaign.py $(CAMPAIGN)
	$(BIN)/python benchmarks/service.py $(SERVICE)

docs: .venv/ready-docs
	$(BIN)/python docs/pictures.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: .venv/ready-check
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf .venv .venv-peers site dist .pytest_cache .hypothesis .mypy_cache .ruff_cache

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "bursar needs Python 3.11 or newer, got $$($(PYTHON) --version 2>&1); try make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	@touch $@

# the libraries that `make bench` compares with; without them it says so and goes on
.venv-peers/ready: benchmarks/peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement $< \
		&& touch $@ || echo "the peers are not installed: make bench goes on without them"

.venv/ready-%: .venv/ready
	$(PIP) --editable ".[$*]"
	@touch $@
