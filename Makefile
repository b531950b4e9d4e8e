# Two commands for a newcomer: `make demo` and `make test`. Each sets everything up on a fresh machine.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo_output
# two processes: one runs lmms-eval's runs, which share their launches, the other everything else; JOBS= for one
JOBS   ?= -n 2
STAMP  := $(VENV)/.installed

WORDNET := $(VENV)/.wordnet
DEBIAN := wordnet-base wordnet-sense-index

DEMO_TASKS := contextcanvas_demo,critiquecanvas_demo,vab_demo

# What `make demo` makes in $(OUT). Only this is removed again, and only where the mark says that it was made here.
DEMO_MARK := .lmms-aes-demo
DEMO_PARTS := tiny-qwen3-vl runs submissions board.json leaderboard
REMOVE_DEMO = if [ -e "$(OUT)/$(DEMO_MARK)" ]; then cd "$(OUT)" && rm -rf $(DEMO_PARTS) $(DEMO_MARK); fi

SUBMISSIONS := $(OUT)/submissions
DEMO_MODELS := random-baseline oracle-80-baseline tiny-qwen3-vl
# any of these serves the page's tests
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

.PHONY: setup demo demo-board test test-python python-checks chromium lint clean help

help:
	@echo "make setup  create .venv with all extras, pinned by constraints.txt"
	@echo "make demo   run the demo tasks with two baselines and a tiny random Qwen3-VL, make verified entries of"
	@echo "            the leaderboard of them, and show them; everything in $(OUT)/"
	@echo "make test   lint, type-check and run every test"
	@echo "make test-python PYTHON=python3.12   setup, demo and the tests without the harness under another Python, in"
	@echo "            .venv-3.12 and $(OUT)-3.12/"
	@echo "make lint   ruff and mypy only"
	@echo "make clean  remove .venv, $(OUT)/ and those of other Pythons"

setup: $(STAMP) $(WORDNET)

# --no-compile would save little: what counts is that torch and torchvision come as one matching pair.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[qwen3-vl,demo,test]"
	@touch $(STAMP)

# METEOR's WordNet: from Debian's packages where they are, else from NLTK's server, else the packages are installed.
$(WORDNET): $(STAMP)
	@$(BIN)/lmms-aes data fetch wordnet --to $(VENV)/nltk_data 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get install -qq -y $(DEBIAN) >/dev/null || { apt-get update -qq && apt-get install -qq -y $(DEBIAN) >/dev/null; }; \
	  else \
	    echo "WordNet is missing: sudo apt-get install $(DEBIAN)   (then run make again)"; exit 1; \
	  fi; \
	  $(BIN)/lmms-aes data fetch wordnet --to $(VENV)/nltk_data; }
	@touch "$@"

# lmms-eval exits 0 even when it fails, so `runs` looks for what every run must have written. The embedding metrics are
# left out: their encoders would be a gigabyte to download.
demo: export LMMS_AES_EMBEDDINGS := off
demo: setup
	@if [ -e "$(OUT)" ] && [ ! -e "$(OUT)/$(DEMO_MARK)" ] && { [ ! -d "$(OUT)" ] || [ -n "$$(ls -A "$(OUT)")" ]; }; then \
	  echo "$(OUT) holds what make demo did not make, and stays as it is: make demo OUT=another-folder"; exit 2; fi
	@$(REMOVE_DEMO)
	@mkdir -p "$(OUT)" && touch "$(OUT)/$(DEMO_MARK)"
	$(BIN)/lmms-aes tiny-model "$(OUT)/tiny-qwen3-vl"
	$(BIN)/lmms-eval --model aes_baseline --model_args strategy=random,seed=0 \
	  --tasks $(DEMO_TASKS) --output_path "$(OUT)/runs/random-baseline" --log_samples
	$(BIN)/lmms-eval --model aes_baseline --model_args strategy=oracle,accuracy=0.8,seed=1 \
	  --tasks $(DEMO_TASKS) --output_path "$(OUT)/runs/oracle-80-baseline" --log_samples
	$(BIN)/lmms-eval --model qwen3_vl --model_args "pretrained=$(OUT)/tiny-qwen3-vl,device=cpu,device_map=cpu" \
	  --gen_kwargs max_new_tokens=16 --tasks $(DEMO_TASKS) --output_path "$(OUT)/runs/tiny-qwen3-vl" --log_samples
	$(BIN)/lmms-aes runs --expect 15 "$(OUT)/runs"
	@$(MAKE) --no-print-directory demo-board

# Runs in $(OUT)/runs/<model> become entries, the entries a board, and the board a page.
demo-board: export LMMS_AES_EMBEDDINGS := off
demo-board:
	for model in $(DEMO_MODELS); do \
	  entry="$(SUBMISSIONS)/lmms-aes__$$model/demo/run"; \
	  $(BIN)/lmms-aes leaderboard build "$(OUT)/runs/$$model" --out "$$entry" --force \
	    --model-id "lmms-aes/$$model" --revision demo --evaluator "make demo" || exit; \
	  $(BIN)/lmms-aes leaderboard verify "$$entry" || exit; \
	done
	$(BIN)/lmms-aes leaderboard merge "$(SUBMISSIONS)" --output "$(OUT)/board.json"
	$(BIN)/lmms-aes leaderboard page "$(OUT)/board.json" --out "$(OUT)/leaderboard" --title "Demo leaderboard"
	@echo "Done. Open $$(cd "$(OUT)" && pwd)/leaderboard/index.html"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The page is looked at in a real Chromium, which no Python package brings; without one those tests are skipped.
chromium:
	@for name in $(BROWSERS); do command -v "$$name" >/dev/null && exit; done; \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    { apt-get install -qq -y chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium >/dev/null; }; }; } \
	  || echo "No Chromium: the page's tests in a browser are skipped. To run them: sudo apt-get install chromium"

test: lint chromium
	$(BIN)/python -m pytest -m "not gpu" $(JOBS) $(PYTEST_ARGS)

# Another interpreter beside the one of .venv; what both could overwrite lies in folders of its own.
test-python:
	@version="$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')" && \
	  $(MAKE) --no-print-directory python-checks VENV=".venv-$$version" OUT="$(OUT)-$$version"

python-checks: demo
	$(BIN)/python -m pytest -m "not gpu and not harness" $(JOBS) $(PYTEST_ARGS)

clean:
	@for other in .venv-*; do if [ -e "$$other/pyvenv.cfg" ]; then rm -rf "$$other"; fi; done
	@if [ -e "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi
	@$(REMOVE_DEMO)
	@if [ -d "$(OUT)" ]; then rmdir "$(OUT)" 2>/dev/null || echo "$(OUT) holds what make demo did not make, and stays"; fi
