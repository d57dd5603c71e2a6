# The daily commands. `make demo` and `make test` are all that a new machine needs.
CPP_SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh')

.PHONY: build demo test test-slow fuzz wheel format format-check lint layers clean FORCE

build: build/build.ninja  ## the program: build/cohort
	@begin=$$(date +%s); cmake --build build --target cohort && echo "build: took $$(($$(date +%s) - begin)) s"

demo: build  ## the main job, end to end, on the embedded default
	tools/demo.sh

test: build/build.ninja  ## everything, then the quick tests
	@tools/setup.sh --test "$$(cat build/torch-python)"
	cmake --build build --target all cohort_python
	ctest --test-dir build -LE slow --output-on-failure -j$$(($$(nproc) + 1))  # some tests wait

test-slow: test  ## the tests that take minutes, too
	@tools/setup.sh --clusters
	ctest --test-dir build -L slow --output-on-failure

fuzz: build/build.ninja  ## every fuzz target for ten minutes, from its seeds; FUZZ_SECONDS=60 for less
	@tools/setup.sh --fuzz
	tools/fuzz.sh $${FUZZ_SECONDS:-600}

wheel: build/torch-python  ## dist/: the sources and the wheel of the Python package, docs/python/install.md
	tools/make_wheel.sh "$$(cat build/torch-python)"

format:  ## rewrite the sources in the project's style
	@tools/setup.sh --tools
	@.venv-tools/bin/clang-format -i $(CPP_SOURCES)
	@.venv-tools/bin/ruff format --quiet .

format-check:
	@tools/setup.sh --tools
	@.venv-tools/bin/clang-format --dry-run -Werror $(CPP_SOURCES)
	@.venv-tools/bin/ruff format --check --quiet --diff .

lint: build/build.ninja  ## clang-tidy and ruff; takes minutes
	@tools/setup.sh --tools
	tools/lint.sh

layers:  ## which folder includes which
	python3 tools/check_layers.py

clean:
	rm -rf build

# Written anew only when another Python or device is chosen, so that a second run configures nothing.
build/torch-python: FORCE
	@tools/setup.sh $@

build/torch-device: build/torch-python

build/build.ninja: build/torch-python build/torch-device CMakePresets.json
	cmake --preset release -DCOHORT_PYTHON="$$(cat build/torch-python)"
	@touch $@
