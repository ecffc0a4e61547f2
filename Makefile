# make demo   the main job on three examples, answers replayed from cassettes (no key, no model call)
# make test   lint, types, import direction, tests
# make docs   the help texts of docs/cli.md;  make startup   processor time of starting;  make clean
# make check-kernelbench KB=DIR   the translations that come with the project against a KernelBench checkout
# make bench-kernelbench KB=DIR   all problems of levels 1 to 3 by the built-in rules, into build/kernelbench.json
# TORCH_INDEX=https://download.pytorch.org/whl/cpu fetches the small CPU wheel of torch on Linux.

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
KB ?=
ARCH ?= H100_PCIe,B200
EXAMPLES ?= masked_attention rmsnorm_swiglu mobilenet_block
WORKERS ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export OMP_NUM_THREADS ?= 1

.PHONY: help python demo test lint types imports pytest docs check-kernelbench bench-kernelbench startup clean

help:
	@sed -n '/^$$/q; s/^# //p' Makefile

python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else 1)' || \
	{ echo "error: solar-agent needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1); run make PYTHON=python3.12 …" >&2; exit 1; }

$(VENV)/bin/python: | python
	$(PYTHON) -m venv $(VENV)

# Only torch itself comes from TORCH_INDEX; what it needs has other versions there.
$(VENV)/.torch: constraints.txt | $(VENV)/bin/python
	$(if $(TORCH_INDEX),$(PIP) --no-deps --index-url $(TORCH_INDEX) -c constraints.txt torch)
	@touch $@

$(VENV)/.installed: pyproject.toml constraints.txt $(VENV)/.torch
	$(PIP) -c constraints.txt -e '.[torch]'
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) -c constraints.txt -e '.[torch,dev]'
	@touch $@

demo: $(VENV)/.installed
	@for name in $(EXAMPLES); do \
	  echo; echo "$$ solar-agent translate examples/$$name.py --translator replay:cassettes/$$name --arch $(ARCH)"; \
	  $(BIN)/solar-agent translate examples/$$name.py --translator replay:cassettes/$$name --arch $(ARCH) || exit $$?; \
	done

test: $(VENV)/.dev
	@$(MAKE) --no-print-directory --keep-going lint types imports pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .

# The rooms are checked as they are shipped, under the name solar_agent.
types: $(VENV)/.dev
	rm -rf build/typed build/lib build/bdist.*
	$(PIP) --no-deps --no-build-isolation --target build/typed .
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS)

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

$(VENV)/.bench: $(VENV)/.installed
	$(PIP) -c constraints.txt -e '.[torch,bench]'
	@touch $@

check-kernelbench: $(VENV)/.bench
	@test -n "$(KB)" || { echo "error: no KernelBench checkout named; run make check-kernelbench KB=path/to/KernelBench" >&2; exit 2; }
	$(BIN)/python benchmarks/check_kernelbench.py $(KB)
	$(BIN)/python benchmarks/check_wrong_texts.py $(KB)

bench-kernelbench: $(VENV)/.bench
	@test -n "$(KB)" || { echo "error: no KernelBench checkout named; run make bench-kernelbench KB=path/to/KernelBench" >&2; exit 2; }
	$(BIN)/solar-agent bench kernelbench --root $(KB) --out build/kernelbench.json

startup: $(VENV)/.installed
	$(BIN)/python benchmarks/startup.py

clean:
	rm -rf build dist .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
