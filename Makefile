# `make help` lists the targets. Everything installs into .venv; nothing outside the checkout is written.

VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= $(firstword $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do command -v $$p; done))
STAMP  := $(VENV)/.installed
CONFIG ?= configs/quick.toml
N      ?= 5000

# PyTorch's CPU wheels lie on an index of their own; name it here where plain pip does not find torch==…+cpu.
TORCH_CPU_INDEX ?=

.DEFAULT_GOAL := help
.PHONY: help setup bench bench-gpu calibrate test check format compat conformance fuzz mutants kills lock plots clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## build .venv with the pinned CPU stack, or the GPU stack where a GPU answers

bench: $(STAMP) ## compare list and dict: proof, pairs, verdict table; CONFIG=configs/quick.toml
	$(BIN)/python -m bench run $(CONFIG)

bench-gpu: ## the engine tier on a GPU with a real model's shape; a stack of its own in .venv-gpu
	@command -v nvidia-smi >/dev/null && nvidia-smi -L | grep -q GPU || \
	  { echo "error: no GPU: nvidia-smi lists none on this machine; make bench-gpu needs one of 80 GB" >&2; exit 2; }
	$(MAKE) setup VENV=.venv-gpu
	.venv-gpu/bin/python -m bench run configs/gpu.toml

calibrate: AA = 100
calibrate: $(STAMP) ## AA=100 gates of identical schedulers: false alarms, power, coverage; about 40 s a gate, resumable
	$(BIN)/python -m bench calibrate --aa $(AA)

test: check ## format, lint, types, then every test
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(STAMP) ## format, lint (ruff) and types (mypy --strict); the import table is a test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP) ## put the code into its format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

compat: $(STAMP) ## fetch the scheduler sources of other vLLM versions and try the dict rewrite on each
	$(BIN)/python -m bench variants compat --sources .build/sources --fetch

conformance: $(STAMP) ## vLLM's own scheduler tests on dict and on list; fetches vLLM's source release
	$(BIN)/python -m bench conformance --candidate dict --vllm-source .build/release --fetch

fuzz: $(STAMP) ## list against dict on N=5000 random traces
	PYTHONHASHSEED=0 $(BIN)/python -m bench.parity.fuzz --num $(N)

mutants: $(STAMP) ## plant every known fault in the dict variant; each must be refused
	PYTHONHASHSEED=0 $(BIN)/python -m bench.parity.mutants

kills: N = 20
kills: $(STAMP) ## kill a small run N=20 times with -9, resume it each time; nothing finished may be lost or done twice
	$(BIN)/python -m tests.measure.kills $(N)

lock: $(STAMP) ## take the hashes of requirements/cpu.txt anew, into cpu.lock
	$(BIN)/python requirements/lock.py

plots: $(STAMP) ## make the plots of the committed reference run again
	$(BIN)/python -m bench report results/reference
	$(BIN)/python -m bench.report.gallery results/reference plots docs/gallery.md

clean: ## remove .venv and everything generated; results stay
	rm -rf $(VENV) .venv-gpu .build

$(STAMP): requirements/cpu.lock requirements/uv.lock requirements/torch-cpu.txt requirements/gpu.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no python3 found; install Python 3.11 or newer" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than Python 3.11; name a newer one: make setup PYTHON=…" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python requirements/install.py --torch-cpu-index "$(TORCH_CPU_INDEX)"
	touch $@
