# The two commands: `make run` opens the chat window, `make test` runs every check. Both set everything up first.
PYTHON ?= python3
PY := .venv/bin/python
ARGS ?=
PYTEST := PYTHONDONTWRITEBYTECODE= QT_QPA_PLATFORM=offscreen $(PY) -m pytest -n auto --dist worksteal
TYPES := PYTHONPATH=. .venv/bin/lint-imports --no-logo; rooms=$$?; .venv/bin/mypy && [ $$rooms = 0 ]
# `make setup NATIVE=1` compiles ik_llama.cpp for this very processor (once, ten to twenty minutes on 2 cores) instead of taking the
# prebuilt library; later set-ups keep that, NATIVE=0 goes back.
NATIVE ?=
# `make setup TRAINING=1` also brings PyTorch, for training/ alone (docs/midlayer.md); later set-ups keep it, TRAINING=0 removes it.
TRAINING ?=

.PHONY: setup run chat lint lint-first test test-research test-slow test-assertions fuzz mutants audit bench translations screenshots vulkan package test-native test-package test-machines test-processors test-windows package-windows clean
setup:
	@$(PYTHON) packaging/prepare.py $(PURPOSE) $(if $(NATIVE),--native $(NATIVE)) $(if $(TRAINING),--training $(TRAINING))

# Without waiting for llama.cpp's compile, which the window has done in the background: see packaging/set_up.py. The terminal needs no Qt.
run: PURPOSE := --without-waiting
chat: PURPOSE := --without-waiting --terminal
# Compiled modules are kept, whatever the user's environment says: compiling them takes 0.7 s of each start.
run: setup
	@PYTHONDONTWRITEBYTECODE= $(PY) -m app $(ARGS)

chat: setup
	@$(PY) -m engine chat $(ARGS)

# What the sources alone tell: lint-first takes seconds, mypy and import-linter a minute.
lint: lint-first
	@$(TYPES)

lint-first: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check -q .
	@.venv/bin/actionlint
	@.venv/bin/zizmor --offline --quiet --persona pedantic .github
	@$(PYTEST) -n 0 -q tests/sources

# mypy and import-linter run beside pytest, which waits now and then; what they say comes last. Either fails the target.
# Compiled modules are kept, whatever the user's environment says: every one of some hundred processes would compile them.
test: lint-first
	@mkdir -p build; { $(TYPES); } >build/types.log 2>&1 & types=$$!; \
	$(PYTEST) $(ARGS); tests=$$?; \
	wait $$types; types=$$?; cat build/types.log; \
	[ $$types = 0 ] || echo "mypy or import-linter failed: see above" >&2; \
	[ $$tests = 0 ] && [ $$types = 0 ]

# The programs of benchmarks/ and training/, which no user runs.
test-research: setup
	@$(PYTEST) -m "" tests/benchmarks tests/training $(ARGS)

# What takes long and is proven in a small form by `make test`: the same proofs at full length.
test-slow: setup
	@$(PYTEST) -m slow $(ARGS)

# All tests, each of which must have executed an assertion, and each property in most of its examples: see tests/assertions.py.
# The counting code is compiled into files of its own.
test-assertions: setup
	@PYTHONPYCACHEPREFIX=build/assertions $(PYTEST) -p tests.assertions -o enable_assertion_pass_hook=true $(ARGS)

# Strange files, templates and requests for every program, other ones each time: ARGS="--minutes 10", "--seed S", "--help".
fuzz: setup
	@$(PY) -m tests.fuzz $(ARGS)

# What the tests would notice: breaks lines one by one. ARGS="--only kv/saved --sample 40"; resumable, all of it takes a day.
mutants: setup build/mutants/tools
	@PYTHONPATH="$(CURDIR)/build/mutants/tools" $(PY) -m tests.mutants $(ARGS)

build/mutants/tools: packaging/mutants.lock
	@rm -rf $@
	@$(PY) -m pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --target $@ -r $<
	@touch $@

# Known vulnerabilities of what the lock files name; asks the package index's list of them.
audit:
	@CHICKADEE_VENV="$(CURDIR)/build/audit" $(PYTHON) packaging/vulnerabilities.py $(ARGS)

bench: setup
	@$(PY) -m benchmarks.decode $(ARGS)

# After a change of words: new ones get an empty place in assets/translations/*.ts, for which a test then asks.
translations: setup
	@$(PY) packaging/translations.py

# The window's main states as pictures in screenshots/, to be looked at.
screenshots: setup
	@$(PY) -m tests.screenshots screenshots $(ARGS)

# The backend by which graphics processors compute, for the engine of this checkout (20 minutes, once): docs/notes/graphics.md.
vulkan: setup
	@$(PYTHON) packaging/vulkan.py

# Installers of this system in dist/: see packaging/README.md.
package:
	@CHICKADEE_VENV="$(CURDIR)/build/venv" $(PYTHON) packaging/package.py $(ARGS)

# Our native code for ik_llama.cpp under AddressSanitizer and UBSan (five minutes): ARGS="-k stop".
test-native: setup
	@$(PY) packaging/check_native.py $(ARGS)

test-package:
	@packaging/test_deb.sh
	@packaging/test_archive.sh

# README's commands in bare Debians 12, 13 and testing, as root: ARGS="--only 12", ARGS="--case disk".
test-machines:
	@$(PYTHON) packaging/machines.py $(ARGS)

# The tests with the kernels of processors without AVX-512, and without AVX: ARGS="--only haswell -- tests/engine".
test-processors:
	@CHICKADEE_VENV="$(CURDIR)/build/processors" $(PYTHON) packaging/processors.py $(ARGS)

# Engine, window and tests as on Windows, by Windows' Python under Wine: ARGS="--only ik", ARGS="--only suite -- tests/common".
test-windows: setup
	@$(PY) packaging/check_windows.py $(ARGS)

# Windows' installers in dist/windows, made and tried under Wine.
package-windows: setup
	@$(PY) packaging/package_windows.py $(ARGS)

clean:
	rm -rf .venv .venv.lock build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
