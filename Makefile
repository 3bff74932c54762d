# A thin front of CMake. Each target installs from the distribution what it lacks (scripts/install_dependencies.sh).
#
#   PRESET   CMakePresets.json: default, dev, asan, tsan, fuzz, aarch64 (a cross compiler and an emulator); the build is build/$(PRESET)
#   PREFIX, DESTDIR   where `make install` puts things
#   LABEL    for `make test`: only the tests with this label, e.g. slow
#   PYTHON_TEST=no    for `make test`: without the Python module, whose tests need packages from PyPI
PRESET ?= default
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
BUILD = build/$(PRESET)
INSTALL_DEPENDENCIES = scripts/install_dependencies.sh

.DEFAULT_GOAL := help
.PHONY: help demo build test python-test gpu-test gpu-receipt-check lint format bench bench-peers install wheels old-system deb docs site site-test clean dependencies configure

help:
	@echo 'make demo      convolve real recordings; the results are in demo/'
	@echo 'make test      build and run the tests (LABEL=slow: the long ones)'
	@echo 'make python-test   the Python module: its wheel and its tests (part of make test)'
	@echo 'make build     build the library and the command into $(BUILD)'
	@echo 'make gpu-test  on a machine with a GPU: its tests, compute-sanitizer and the bars'
	@echo 'make gpu-receipt-check   whether that was done on this tree, and held'
	@echo 'make bench     measure this machine: share of the copy speed'
	@echo 'make bench-peers   beside NumPy, SciPy, OpenCV, IPP, MKL and others: docs/peers.md'
	@echo 'make install   install into PREFIX ($(PREFIX)) below DESTDIR'
	@echo 'make wheels    wheels for other machines: build/wheels/dist (PYTHONS="python3.11 python3.12")'
	@echo 'make deb       Debian packages: build/deb'
	@echo 'make docs      the API reference: build/docs/html/index.html'
	@echo 'make site      the site: build/site/html/index.html; make site-test: in a headless browser'
	@echo 'make lint      clang-format and clang-tidy, ruff and mypy; make format: rewrite'
	@echo 'make clean     remove build/ and demo/'

dependencies:
	@$(INSTALL_DEPENDENCIES) build $(if $(filter asan tsan fuzz,$(PRESET)),sanitize) $(filter aarch64,$(PRESET))

configure: dependencies
	cmake --preset $(PRESET) -DTAPLINE_OLD_SYSTEM=$(OLD_SYSTEM) $(CMAKE_ARGS)

build: configure
	cmake --build $(BUILD) -j $(JOBS)

test: build
	ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure --no-tests=error $(if $(LABEL),-L '^$(LABEL)$$',-LE slow)
ifeq ($(LABEL)$(PYTHON_TEST)$(filter-out default dev,$(PRESET)),)
	$(MAKE) --no-print-directory python-test
endif

python-test: configure
	@$(INSTALL_DEPENDENCIES) python
	cmake --build $(BUILD) -j $(JOBS) --target tapline tapline_cli emulated_cuda
	PRESET=$(PRESET) scripts/python_test.sh

# Results go to tests/gpu/receipt.json. GPU_BUNDLE=DIR runs the programs that scripts/gpu_bundle.sh collected.
gpu-test:
	PRESET=$(PRESET) scripts/gpu_test.sh

# Exit status 0 or 1, the reason on the last line. A failing command would make it 2 and add a line of make's own, but under -q make
# runs nothing, prints nothing and exits with 1 for a target that is out of date, as this one always is. Beside other targets it is
# an ordinary one.
ifeq ($(MAKECMDGOALS),gpu-receipt-check)
$(info $(shell scripts/gpu_receipt.py check))
ifneq ($(.SHELLSTATUS),0)
MAKEFLAGS += -q
endif
gpu-receipt-check:
	@:
else
gpu-receipt-check:
	@scripts/gpu_receipt.py check
endif

demo: configure
	@$(INSTALL_DEPENDENCIES) demo
	cmake --build $(BUILD) -j $(JOBS) --target tapline_cli
	scripts/demo.sh $(BUILD)/bin/tapline

bench: configure
	cmake --build $(BUILD) -j $(JOBS) --target tapline_cli
	$(BUILD)/bin/tapline bench --json $(BUILD)/bench.json
	@echo 'written: $(BUILD)/bench.json'

# NumPy, SciPy, OpenCV, IPP, MKL, soxr; on a GPU CuPy, PyTorch, JAX, cuFFT: checked, measured, written to docs/peers.md.
bench-peers: configure
	@$(INSTALL_DEPENDENCIES) python
	cmake --build $(BUILD) -j $(JOBS) --target tapline tapline_cli
	PRESET=$(PRESET) PEERS="$(PEERS)" scripts/bench_peers.sh $(BENCH_PEERS)

# As root into the running system the loader's cache is renewed, so that programs find libtapline.so.
install: configure
	cmake --build $(BUILD) -j $(JOBS) --target tapline_installed
	DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

# Wheels for other machines, in build/wheels/dist. PYTHONS: for which interpreters.
wheels: OLD_SYSTEM = $(CURDIR)/build/old_system/$(if $(filter aarch64,$(PRESET)),aarch64,$(shell uname -m))
wheels: old-system configure
	@$(INSTALL_DEPENDENCIES) python
	cmake --build $(BUILD) -j $(JOBS) --target tapline_in_wheels
	PRESET=$(PRESET) OLD_SYSTEM=$(OLD_SYSTEM) scripts/wheels.sh

# OLD_SYSTEM= links against this system instead, for wheels that run on no older one.
old-system: dependencies
	@[ -z '$(OLD_SYSTEM)' ] || $(INSTALL_DEPENDENCIES) wheels
	@[ -z '$(OLD_SYSTEM)' ] || scripts/old_system.sh $(OLD_SYSTEM) $(notdir $(OLD_SYSTEM))

# Debian packages, in build/deb.
deb: configure
	@$(INSTALL_DEPENDENCIES) deb
	packaging/debian/deb.sh $(BUILD) build/deb

docs:
	@$(INSTALL_DEPENDENCIES) docs
	mkdir -p build/docs
	doxygen docs/Doxyfile
	@echo 'written: build/docs/html/index.html'

# Pages, reference and recipes, which are run: build/site/html/index.html. site-test looks at it in a headless browser.
site: configure
	@$(INSTALL_DEPENDENCIES) python site
	cmake --build $(BUILD) -j $(JOBS) --target tapline tapline_cli
	PRESET=$(PRESET) scripts/site/site.sh

site-test: site
	build/site/env/bin/python tests/site/site_test.py

lint:
	@$(INSTALL_DEPENDENCIES) lint
	PRESET=$(PRESET) scripts/lint.sh

format:
	@$(INSTALL_DEPENDENCIES) lint
	scripts/lint.sh --fix-format

clean:
	rm -rf build demo
