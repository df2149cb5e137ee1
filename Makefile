# `make help` lists what there is. JOBS=N limits how much runs at once.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
GUEST_ROUNDS ?= 50
CRASH_SEED ?= $(shell date +%s)
CRASH_IMAGES ?= 10M
TOOL := build/bin/durahash
PREFIX ?= /usr/local
DESTDIR ?=

.DEFAULT_GOAL := help
.PHONY: help setup build docs aarch64 server server-test server-demo bench-server install deb explorer demo test check python nightly bench bench-disk bench-readers bench-tables crash asan tsan coverage fuzz guest guest-disk gpu-report format tidy clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## install what a bare Debian 12 lacks (the other targets do it by themselves)
	@scripts/setup.sh

build: setup  ## the tool, at build/bin/durahash, and the libraries of C and C++
	@scripts/build.sh release durahash_tool durahash_shared
	@echo "$(TOOL) is ready" >&2

install: build  ## into PREFIX (/usr/local): tool, libraries, headers, pkg-config and CMake packages; DESTDIR puts a root before it
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

deb:  ## libdurahash0, libdurahash-dev and durahash as Debian packages, in build/deb-packages
	@scripts/setup.sh deb
	@scripts/deb.sh

explorer: build  ## and the crash explorer beside it, which `durahash crash` starts
	@scripts/build.sh release durahash_explorer

demo: build  ## index a real file tree while being killed again and again, and lose nothing (half a minute)
	@$(TOOL) demo

test: setup  ## everything that must hold before a change is merged
	@JOBS=$(JOBS) scripts/test.sh

nightly: setup  ## what make test has no time for: all setups, all sanitized tests, the explorer at length, fuzzing, the guest
	@JOBS=$(JOBS) scripts/nightly.sh

check: setup  ## the tests of the release build alone
	@scripts/build.sh check
	@ctest --preset check -j $(JOBS)

server: setup  ## the module for redis-server 7.0 and Valkey, at build/lib/durahash.so
	@scripts/server.sh build

server-demo: setup  ## a cluster with killed nodes, a failover and slots that move; what was acknowledged is found (2 minutes)
	@scripts/server.sh demo $(SERVER_DEMO)

bench-server: setup  ## DH.SET and DH.GET beside SET and HSET with AOF off, everysec, always, in turns (10 minutes)
	@scripts/server.sh bench $(BENCH_SERVER)

server-test: setup  ## its tests, on redis-server and valkey-server; PYTEST="-k restart" and so on
	@scripts/server.sh test $(PYTEST)

python: setup  ## the Python package and its tests; PYTEST="-k rows" and so on
	@scripts/python.sh test $(PYTEST)

bench: build  ## measure this machine; BENCH="--engine turbo --keys 10000000" and so on
	@scripts/build.sh release durahash_bench_program durahash_reproduce_program
	@$(TOOL) bench $(BENCH)

bench-disk: setup  ## durahash on a disk beside SQLite, LMDB and RocksDB (installs them; 20 minutes); BENCH_DISK="--folder DIR" and so on
	@scripts/bench_disk.py $(BENCH_DISK)

bench-readers: setup  ## durahash and LMDB with readers in other processes (installs LMDB; 3 minutes); BENCH_READERS="--rounds 1" and so on
	@scripts/bench_readers.py $(BENCH_READERS)

bench-tables: setup  ## durahash and other hash tables in memory, in turns (5 minutes); BENCH_TABLES="--sources DIR" has their checkouts
	@scripts/bench_tables.py $(BENCH_TABLES)

crash: setup  ## the long search for a crash that loses something: CRASH_IMAGES (10M) images, CRASH_SEED; then every planted bug
	@scripts/build.sh release durahash_tool durahash_explorer
	@$(TOOL) crash --engine all --deep --images $(CRASH_IMAGES) --seed $(CRASH_SEED)
	@$(TOOL) crash --engine all --mutants --seed $(CRASH_SEED)

asan: setup  ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/build.sh asan
	@ctest --preset asan -j $(JOBS)

tsan: setup  ## all tests under ThreadSanitizer
	@scripts/build.sh tsan
	@scripts/with_tsan.sh ctest --preset tsan -j $(JOBS)

coverage: setup  ## which lines the tests run: build/coverage/report; COVERAGE="persist_test" takes a test alone
	@scripts/setup.sh coverage
	@scripts/coverage.sh $(COVERAGE)

fuzz:  ## open and check damaged pools for FUZZ_SECONDS (60)
	@scripts/setup.sh clang
	@scripts/build.sh fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

guest:  ## conformance, kill -9 and GUEST_ROUNDS (50) power cuts in a QEMU guest with a real DAX file system (5 to 8 minutes on 2 cores); GUEST="--help" for more
	@scripts/setup.sh guest
	@scripts/build.sh check durahash_tool store_test
	@test/guest/guest.py --bin build/check/bin --cuts $(GUEST_ROUNDS) $(GUEST)

guest-disk:  ## GUEST_ROUNDS (50) power cuts on a disk that loses what was not flushed (8 minutes on 2 cores); GUEST="--help" for more
	@scripts/setup.sh guest
	@scripts/build.sh check durahash_tool create_pool
	@test/guest/disk_guest.py --bin build/check/bin --cuts $(GUEST_ROUNDS) $(GUEST)

gpu-report: setup  ## the CUDA backend: registers of its kernels; where there is a GPU its tests, compute-sanitizer and throughput, too
	@scripts/gpu_report.sh

aarch64:  ## by a cross compiler, under qemu-user: conformance, model, and the explorer for a moment; "headers" in make test
	@JOBS=$(JOBS) scripts/aarch64.sh

docs:  ## the reference of the public headers as HTML, a page for each operation: build/docs/html/index.html
	@scripts/docs.sh

format:  ## clang-format over our sources
	@scripts/setup.sh format
	@git ls-files -z '*.hpp' '*.cpp' '*.h' 'test/c/*.c' 'examples/**.c' '*.cu' ':!third_party' | xargs -0 clang-format -i

tidy: setup  ## clang-tidy over all our sources
	@scripts/setup.sh lint
	@scripts/build.sh dev durahash_commit
	@scripts/tidy.py

clean:  ## remove all that was built
	rm -rf build
