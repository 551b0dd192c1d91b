# The front door. Needs make and sh; tools/install-deps brings the rest (Debian 12, as root or with sudo).

PREFIX ?= /usr/local
DATA ?= ../shared/data
OUT ?= build/reproduce
WHAT ?= all
JOBS ?= $$(nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60

# a build of nothing but the product, for demo and install
PRODUCT = tools/install-deps build && cmake --preset product $(1) && cmake --build --preset product -j $(JOBS)

.PHONY: help demo test bench docs reproduce install asan tsan coverage fuzz format clean

help:
	@echo 'make demo               run on real data, print the result table and the path of the report'
	@echo 'make test               build and run every test, lint, the sanitizers and coverage'
	@echo 'make bench              benchmarks; writes bench/results/*.csv'
	@echo 'make docs               the documentation site, build/docs/index.html'
	@echo 'make reproduce DATA=dir the tables and figures of the paper, into OUT=$(OUT); QUICK=1, WHAT=coil20|mnist|pie'
	@echo 'make install PREFIX=dir library, headers, CMake package, pkg-config, program (default $(PREFIX); DESTDIR works)'
	@echo 'make asan | tsan        the tests under one sanitizer'
	@echo 'make coverage           the lines the tests reach, report in build/asan/coverage.html'
	@echo 'make fuzz               fuzz the file readers, FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make format             clang-format every source'
	@echo 'make clean              remove build/'

demo:
	@tools/install-deps demo
	@$(call PRODUCT,) --target pacewise-cli
	@build/product/pacewise demo

test:
	@tools/install-deps build test
	@tools/test

bench:
	@tools/install-deps build bench
	@tools/bench

docs:
	@tools/install-deps build python
	@$(call PRODUCT,) --target pacewise-cli
	@tools/docs

reproduce:
	@tools/install-deps build python
	@tools/python-env
	@"$${PACEWISE_VENV:-.venv}/bin/python" -m experiments.paper $(WHAT) --data "$(DATA)" --out "$(OUT)" $(if $(QUICK),--quick)

install:
	@$(call PRODUCT,-DCMAKE_INSTALL_PREFIX="$(abspath $(PREFIX))")
	@cmake --install build/product

asan tsan:
	@tools/install-deps build test
	@tools/sanitize $@

coverage:
	@tools/install-deps build test
	@tools/sanitize asan
	@tools/coverage

fuzz:
	@tools/install-deps build test
	@tools/fuzz $(FUZZ_SECONDS)

format:
	@tools/install-deps test
	@tools/sources cpp hpp | xargs clang-format-14 -i

clean:
	@rm -rf build
