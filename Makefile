# Two commands do everything on a fresh machine: make demo, make test.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Container images often tell Python to compile all modules again in each process.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
READY := .venv/.ready
JAVA_READY := .venv/.java-ready
PROGRAMS_READY := .venv/.programs-ready

.PHONY: help setup demo demo-accounts test quick test-leadsman test-lab test-reading test-accounts test-watch test-topics test-clients test-texts check lab bench bench-compare lock lambda-package spark-archive docs clean

help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) $(JAVA_READY) $(PROGRAMS_READY) ## Install all that is needed; leaves .venv/bin/leadsman
	@echo "Ready: $(BIN)/leadsman"

$(READY): requirements.lock scripts/installer.lock scripts/install.sh pyproject.toml packages/clients/pyproject.toml reference/account_linking/pyproject.toml
	scripts/install.sh
	@touch $@

$(JAVA_READY): $(READY) src/leadsman/java/jars.lock src/leadsman/lab/brokers/fast_start.py
	$(BIN)/leadsman setup
	@touch $@

$(PROGRAMS_READY): $(READY) scripts/programs.sh
	scripts/programs.sh
	@touch $@

demo: $(READY) $(JAVA_READY) ## Reproduce idle_disconnect on a real broker, diagnose it, then show its cure
	$(BIN)/leadsman demo

demo-accounts: $(READY) $(JAVA_READY) ## Run the account-linking application on one machine: a day of webhooks in a minute
	$(BIN)/python -m account_linking.demo $(ARGS)

check: $(READY) ## Lint, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Four parts at a time on two cores: tests wait for brokers and disks a third of their time. The order is that in which
# the parts end together. The checks and the texts need no Java, and run while Java, jars and programs are fetched.
test: ## Every check, and every test but the long ones
	$(MAKE) --no-print-directory --jobs 4 --keep-going check test-texts test-topics test-lab test-leadsman test-accounts test-reading test-watch test-clients

LAB := tests/collect tests/lab tests/remedies
CLIENTS := tests/clients
TEXTS := tests/gate tests/redaction tests/telemetry
READING := tests/pipeline
WATCH := tests/watch
TOPICS := tests/watch/kafka

# Left out: files that start a JVM for some of their tests, and those that take more than three seconds.
SLOW := tests/cli/test_daemon.py tests/cli/test_light_install.py tests/cli/test_usage.py tests/clients/test_provider_machine.py \
	tests/collect/test_logs.py tests/collect/test_prometheus.py tests/gate/test_language_server.py tests/lab tests/modes \
	tests/notify/test_sending.py tests/pipeline/test_batched_matches.py tests/pipeline/test_cached.py \
	tests/pipeline/test_failing_parts.py tests/pipeline/test_long_lines.py tests/pipeline/test_packed_events.py \
	tests/pipeline/test_pyspark_startup.py tests/pipeline/test_record.py tests/pipeline/test_record_batches.py \
	tests/pipeline/test_samples.py tests/pipeline/test_session.py tests/pipeline/test_splits.py tests/pipeline/test_tasks.py \
	tests/prevent tests/redaction/test_long_inputs.py tests/telemetry/test_outputs_fuzzed.py tests/test_additions.py \
	tests/test_bench.py tests/test_bench_forms.py $(WATCH)

# In two processes, which take the same time.
QUICK := $(BIN)/pytest -q -m "not spark and not lab and not browser and not long"
QUICK_FIRST := tests/collect tests/gate tests/pipeline tests/telemetry

quick: $(READY) ## The tests that need neither Java nor a broker and take seconds
	$(MAKE) --no-print-directory --jobs 2 --keep-going --output-sync quick-first quick-second

.PHONY: quick-first quick-second
quick-first:
	$(QUICK) $(addprefix --ignore=,$(SLOW)) $(QUICK_FIRST)

quick-second:
	$(QUICK) $(addprefix --ignore=,$(SLOW) $(QUICK_FIRST))

test-leadsman: setup
	$(BIN)/pytest -m "not long" $(addprefix --ignore=,$(LAB) $(CLIENTS) $(TEXTS) $(READING) $(WATCH))

JAVA_PARTS := test-lab test-reading test-accounts test-watch test-topics test-clients
$(JAVA_PARTS): setup

$(JAVA_PARTS) test-texts: test-%: $(READY)
	$(BIN)/pytest -m "not long" --timeout $(TIMEOUT) $($*_TESTS) > .venv/test-$*.log 2>&1 || { cat .venv/test-$*.log; exit 1; }
	@echo "$*: $$(grep -E '^=+ .* in [0-9.]+s' .venv/test-$*.log | tail -n 1)"  # libraries may write after pytest

# Seconds for a test. Spark and brokers share two cores with the other part: what takes one minute alone took five beside it.
TIMEOUT := 900
lab_TESTS := $(LAB)
clients_TESTS := $(CLIENTS)
texts_TESTS := $(TEXTS)
reading_TESTS := $(READING)
watch_TESTS := $(WATCH) --ignore=$(TOPICS)
topics_TESTS := $(TOPICS)
accounts_TESTS := reference/account_linking/tests

lab: setup ## The long experiments; writes the tables of docs/clients.md, docs/prevention.md, docs/watch.md and of what frees producer ids
	$(BIN)/pytest -m long
	$(BIN)/pytest -m long reference/account_linking/tests
	$(BIN)/python -m leadsman.lab.survival
	$(BIN)/python -m leadsman.lab.survival.reuse
	$(BIN)/python -m leadsman.lab.freeing
	$(BIN)/python -m leadsman.lab.alerts
	$(BIN)/python -m leadsman.lab.watching
	$(BIN)/python -m leadsman.lab.fuzzing --minutes 120
	$(BIN)/python -m leadsman.lab.interrupting --times 500
	$(BIN)/python -m leadsman.lab.killing --times 200
	$(BIN)/python -m leadsman.lab.soaking
	$(BIN)/python -m bench.production

bench: setup ## Measure against ripgrep, Polars and DuckDB; writes docs/performance.md, docs/scale.md and tables of docs/clients.md and docs/watch.md
	$(BIN)/python -m bench
	$(BIN)/python -m bench.whole
	$(BIN)/python -m bench.forms
	$(BIN)/python -m bench.detectors
	$(BIN)/python -m bench.fleet
	$(BIN)/python -m bench.leaders
	$(BIN)/python -m bench.census
	$(BIN)/python -m bench.accounts
	$(BIN)/python -m bench.clients
	$(BIN)/python -m bench.scale
	$(BIN)/python -m bench.watch
	$(BIN)/python -m bench.watch_executors
	$(BIN)/python -m bench.watch_delay

REV ?= main
bench-compare: $(READY) ## Read every form with this tree and with revision REV by turns; fails where one is a fifth slower
	$(BIN)/python -m bench.forms --against $(REV) $(ARGS)

# Lambda's own Python has boto3 and what it needs.
IN_LAMBDA := boto3 botocore jmespath python-dateutil s3transfer six urllib3

lock: $(READY) ## Pin every Python package anew
	.venv/bin/uv pip compile pyproject.toml packages/clients/pyproject.toml reference/account_linking/pyproject.toml --all-extras --group dev --group bench --generate-hashes --no-emit-index-url --no-emit-package leadsman --no-emit-package leadsman-clients --no-emit-package account-linking --no-header --python-version 3.11 -o requirements.lock
	.venv/bin/uv pip compile reference/account_linking/pyproject.toml --extra aws --extra postgresql --constraint requirements.lock --generate-hashes --no-emit-index-url $(addprefix --no-emit-package ,leadsman-clients $(IN_LAMBDA)) --no-header --python-version 3.13 --python-platform x86_64-manylinux_2_28 -o reference/account_linking/deploy/lambda.lock

lambda-package: $(READY) ## Build the application's Lambda package: build/account-linking-lambda.zip
	$(BIN)/python reference/account_linking/deploy/lambda_package.py

spark-archive: $(READY) ## Build the archive of the application's Spark jobs: build/account-linking-spark.zip
	$(BIN)/python reference/account_linking/deploy/spark_archive.py

docs: $(READY) ## Generate what the documents take from the code
	$(BIN)/python docs/make.py

clean: ## Remove what was installed and built here; caches under ~/.cache stay
	rm -rf .venv build dist
