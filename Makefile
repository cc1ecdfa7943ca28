# Everything runs from here; `make help` lists what there is.
UV := .uv/bin/uv
PYTHON ?= python3
JAR := src/pyqbeast/jars/pyqbeast-bridge-spark-4.2.jar
# Certificates of the system, as pip and Python use them too.
export UV_SYSTEM_CERTS := 1
# Tests are collected in a third of the time where Python may keep what it compiled of them.
unexport PYTHONDONTWRITEBYTECODE
RUN := $(UV) run --frozen --all-extras
TPCHGEN := tpchgen-cli==4.0.0
MKDOCS := --with mkdocs==1.6.1 --with mkdocs-material==9.8.1 --with 'mkdocstrings[python]==1.0.8' --with ruff==0.17.5

.PHONY: help setup demo test test-fast test-oldest test-scans test-spark test-cluster test-s3 test-hdfs test-catalogs test-page docs test-docs notebooks fuzz faults kills protocol conflicts parsers soak check format benchmark tpch tpch-speed build clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(UV):
	$(PYTHON) -m venv .uv
	.uv/bin/pip install --quiet uv==0.13.8

# A jar that was deleted is not noticed by uv, so the package is installed again where it is missing.
setup: $(UV) ## Install everything into .venv and compile the bridge
	@$(UV) sync --quiet --frozen --all-extras
	@test -f $(JAR) || $(UV) sync --quiet --frozen --all-extras --reinstall-package pyqbeast

demo: setup ## Index real flights and compare samples with the exact answer
	@$(RUN) pyqbeast demo

# Each of the two processes has a core, and a Spark session that its tests share.
test: check ## Check the code and run all tests
	$(RUN) pytest -n 2 --dist worksteal

test-fast: check ## Check the code and run the tests that need no JVM and no tenths of a second, for every commit
	$(RUN) pytest -m "not jvm and not slow" -n 2 --dist worksteal

test-scans: setup ## Run all tests, and read every version of their tables by pyqbeast.scan and by Spark
	$(RUN) pytest --scans

# matplotlib 3.9 asks pyparsing for names that later versions warn of.
test-oldest: $(UV) ## Run the tests that need no JVM on the oldest Python and the oldest packages that pyproject.toml allows
	@$(UV) venv --quiet --clear --python $(or $(OLDEST),3.10) .venv-oldest
	@$(UV) pip install --quiet --python .venv-oldest --resolution lowest-direct -e '.[all]' --group dev 'pyparsing>=3.2,<3.3'
	.venv-oldest/bin/python -m pytest -m "not jvm" -n 2

# Older versions of PySpark leave sockets of their own open.
test-spark: $(UV) ## Run all tests on another version of Spark: VERSION=4.0 or 4.1
	@UV_PROJECT_ENVIRONMENT=.venv-spark-$(VERSION) $(UV) sync --quiet --frozen --all-extras
	@$(UV) pip install --quiet --python .venv-spark-$(VERSION) 'pyspark==$(VERSION).*'
	.venv-spark-$(VERSION)/bin/python -m pytest -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

test-cluster: setup ## Start a Spark cluster here, write and sample on it, and kill executors and Python workers meanwhile
	$(RUN) python -m tests.cluster.run

test-hdfs: setup ## Start an HDFS of two data nodes here, and see each operation on it, with failures
	$(RUN) python -m tests.stores.run_hdfs

test-s3: setup ## Start a server of S3 here, and see each operation on it, and the requests of a sample
	$(RUN) --with s3fs python -m tests.stores.run_s3

test-catalogs: setup ## Keep names in a Hive metastore, inside the session and as a server that several drivers ask
	$(RUN) python -m tests.stores.run_catalogs

fuzz: setup ## Treat random tables and plain Delta tables alike for SECONDS (600) and compare them after each step
	$(RUN) python -m tests.fuzz.run --seconds $(or $(SECONDS),600)

faults: setup ## Let each call to the storage fail once, in every way, for each operation listed in tests/sweep; an hour on an idle machine
	$(RUN) python -m tests.sweep.run

kills: setup ## Kill a driver KILLS (100) times at random points and compare the table with its journal; half an hour
	$(RUN) python -m tests.kills.run --kills $(or $(KILLS),100)

protocol: setup ## Walk all interleavings of up to three writers in a model, and replay TRACES (100) on real tables
	$(RUN) python -m tests.protocol.run --traces $(or $(TRACES),100)

conflicts: setup ## Run each pair of operations at once and write the tables of docs/concurrency.md
	$(RUN) python -m tests.protocol.matrix

soak: setup ## Let ten processes work on one table for SECONDS (600) and look for every row
	$(RUN) python -m tests.soak.run --seconds $(or $(SECONDS),600)

parsers: setup ## Attack each parser of stored bytes with inputs that the code itself leads to, for SECONDS (600) in all
	$(RUN) --with atheris python -m tests.parsers.run --seconds $(or $(SECONDS),600)

test-page: setup ## Use the page of `pyqbeast plot` in headless Chromium (CHROMIUM=path) and take screenshots of it
	$(RUN) --with playwright python -m pytest tests/plot/in_browser.py -s

docs: $(UV) ## Build the site in build/site, where a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(UV) run --no-project $(MKDOCS) mkdocs build --strict
	@echo "to read it: $(PYTHON) -m http.server --directory build/site"

test-docs: docs ## Open each page of the site in headless Chromium (CHROMIUM=path), search, and take screenshots
	$(RUN) --with playwright python -m pytest tests/pages/in_browser.py -s

notebooks: setup ## Run the notebooks of examples/ and keep what they show
	$(RUN) --with nbclient==0.11.0 --with ipykernel==7.4.0 python -m tests.notebooks.run

check: setup ## Lint, formats and types; the Java compiler has had its say in setup
	$(RUN) ruff check
	$(RUN) ruff format --check
# Status 2: the workers of mypy have not started within the three seconds that it gives them, as on a loaded machine.
	$(RUN) mypy || { [ $$? -eq 2 ] && $(RUN) mypy --num-workers 0; }

format: setup ## Format the Python code
	$(RUN) ruff format

benchmark: setup ## Measure all peers on ROWS (4000000) rows, or cases ONLY=boxes, and draw docs/benchmarks.md; half an hour
	$(RUN) python -m benchmarks.suite --rows $(or $(ROWS),4000000) $(if $(ONLY),--only $(ONLY))
	$(RUN) python -m benchmarks.report

tpch: setup ## Compare the 22 answers of TPC-H at SCALE (1) with plain Delta's
	$(RUN) --with $(TPCHGEN) python -m benchmarks.tpch.check --scale $(or $(SCALE),1)

tpch-speed: setup ## Time the 22 queries of TPC-H at SCALE (10) beside all peers
	$(RUN) --with $(TPCHGEN) python -m benchmarks.suite --only tpch --scale $(or $(SCALE),10) --runs 3
	$(RUN) python -m benchmarks.report

build: setup ## Make wheel and sdist in dist/
	$(UV) build --quiet

clean: ## Delete what was built
	rm -rf .venv .venv-oldest .venv-spark-* .uv dist build src/pyqbeast/jars .mypy_cache .ruff_cache .pytest_cache .hypothesis
