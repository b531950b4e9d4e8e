# Two commands for a newcomer: `make demo` and `make test`. Each sets everything up on a fresh machine.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo_output
# two processes: one runs lmms-eval's runs, which share their launches, the other everything else; JOBS= for one
JOBS   ?= -n 2 --dist loadgroup
STAMP  := $(VENV)/.installed

WORDNET := $(VENV)/.wordnet
DEBIAN := wordnet-base wordnet-sense-index

DEMO_TASKS := contextcanvas_demo,critiquecanvas_demo,vab_demo

.PHONY: setup demo test lint clean help

help:
	@echo "make setup  create .venv with all extras, pinned by constraints.txt"
	@echo "make demo   run the demo tasks with a baseline and a tiny random Qwen3-VL; results in $(OUT)/"
	@echo "make test   lint, type-check and run every test"
	@echo "make lint   ruff and mypy only"
	@echo "make clean  remove .venv and $(OUT)/"

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

# lmms-eval exits 0 even when it fails, so the last line looks for what both runs must have written. The embedding
# metrics are left out: their encoders would be a gigabyte to download.
demo: setup
	rm -rf "$(OUT)"
	$(BIN)/lmms-aes tiny-model "$(OUT)/tiny-qwen3-vl"
	LMMS_AES_EMBEDDINGS=off $(BIN)/lmms-eval --model aes_baseline --model_args strategy=random,seed=0 \
	  --tasks $(DEMO_TASKS) --output_path "$(OUT)/baseline" --log_samples
	LMMS_AES_EMBEDDINGS=off $(BIN)/lmms-eval --model qwen3_vl --model_args "pretrained=$(OUT)/tiny-qwen3-vl,device=cpu,device_map=cpu" \
	  --gen_kwargs max_new_tokens=16 --tasks $(DEMO_TASKS) --output_path "$(OUT)/tiny" --log_samples
	$(BIN)/lmms-aes runs --expect 10 "$(OUT)/baseline" "$(OUT)/tiny"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -m "not gpu" $(JOBS) $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) $(OUT)
