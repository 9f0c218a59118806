# `make demo` and `make test` need nothing but git, make and a Rust toolchain: tools/setup brings the rest.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

FADELAB := $(or $(CARGO_TARGET_DIR),target)/release/fadelab
# Results of the demo; each run makes a numbered folder in it.
DEMO := satellite satellite-fading lte

# The chart library of the report is a dependency like any other: npm fetches what web/package-lock.json names.
WEB := $(if $(wildcard web/package-lock.json),web/node_modules/.package-lock.json)
# Drives the browser in the tests of the page; nobody needs it to build.
WEB_TEST := web/test/node_modules/.package-lock.json

.PHONY: help demo demo-kernel build test lint bless validate modules prove bench ledgers determinism scenarios soak \
	kills newest fuzz mutants fmt install deb clean setup-demo setup-kernel setup-test setup-fuzz setup-validate \
	setup-prove setup-bench

help: ## This list
	@list() { sed -n "s/^\([a-z-]*\):.*$$1 \(.*\)/make \1|\2/p" Makefile | \
		while IFS='|' read -r name text; do printf '  %-18s%s\n' "$$name" "$$text"; done; }; \
	list '##'; \
	printf '\nLong lanes, and what each takes on two cores once built; .ci/run takes all or a part of each:\n'; \
	list '##+'

demo: build ## Build, then run the main job: satellite, satellite with fading, a cellular trace
	@for name in $(DEMO); do $(FADELAB) run scenarios/$$name.toml; done

demo-kernel: setup-kernel build ## As root: VCP, XCP and Linux's CUBIC in this kernel over a fading link, live
	@$(FADELAB) testbed run wireless --ground live --seeds 1 --set run.duration='"25 s"' \
		--set flow.law='["vcp", "xcp", "linux:cubic"]'

build: setup-demo $(WEB) ## Build the command `fadelab`, optimised
	@cargo build --release --locked -p fadelab

test: setup-test $(WEB) $(WEB_TEST) ## All checks and tests, and what was skipped
	@tools/test

lint: setup-test $(WEB) ## The checks alone: formatting, clippy, shell, the rules of the house
	@tools/lint

validate: setup-validate build ##+ 8 min: compare with closed forms, ns-2 and Linux's modules, write docs/validation.md
	@cargo run --release --locked -p fadelab-validate

modules: setup-validate build ##+ 40 min: Veno and Westwood+ beside Linux's modules, more paths and seeds
	@cargo run --release --locked -p fadelab-validate -- modules

bench: setup-bench build ## Speed and memory beside ns-2 against their bounds, into docs/performance.md
	@cargo run --release --locked --quiet -p fadelab-bench -- --fadelab $(FADELAB) --page docs/performance.md

ledgers: build ##+ 7 min: run every claim of every paper again, and compare the verdicts with the recorded ones
	@for paper in papers/*/; do $(FADELAB) reproduce $$(basename $$paper); done

determinism: setup-test build ## Debug and release builds give the same bytes
	@FADELAB_RELEASE=$(abspath $(FADELAB)) cargo test --workspace --locked --test determinism

scenarios: setup-test $(WEB) ##+ 2 min: FADELAB_RANDOM_SCENARIOS (3000) random scenarios end clean
	@FADELAB_RANDOM_SCENARIOS=$(or $(FADELAB_RANDOM_SCENARIOS),3000) \
		cargo test --workspace --locked --test random_scenarios random_scenarios_end_clean -- --nocapture

soak: setup-test $(WEB) ##+ an hour (FADELAB_SOAK_SECONDS): a service through kills, alone on the machine
	@FADELAB_SOAK_SECONDS=$(or $(FADELAB_SOAK_SECONDS),3600) FADELAB_SOAK_ALONE=$(or $(FADELAB_SOAK_ALONE),1) \
		cargo test --workspace --locked --test kernel_soak -- --nocapture

kills: setup-test $(WEB) ##+ 5 min: links in real time and what runs on them, killed FADELAB_KILLS (100) times
	@FADELAB_KILLS=$(or $(FADELAB_KILLS),100) FADELAB_REQUIRE_BPF=1 \
		cargo test --workspace --locked --test kills -- --nocapture

newest: setup-test $(WEB) ##+ 3 min: laws and routers in guests, the newest of Debian among them
	@FADELAB_NEWEST_KERNEL=1 cargo test --workspace --locked --test kernel_record what_a_guest -- --nocapture

fuzz: setup-fuzz ##+ 10 min: inputs of chance for scenarios, --set and traces, for FADELAB_FUZZ_SECONDS (600)
	@tools/fuzz

mutants: setup-test $(WEB) $(WEB_TEST) ##+ an hour or so: break one thing at a time; FADELAB_MUTANTS_SECONDS limits it
	@tools/mutants $(if $(FADELAB_MUTANTS_SECONDS),--seconds $(FADELAB_MUTANTS_SECONDS))

prove: setup-prove ##+ 2 min: no law overflows, all results are in range, and faults are refuted
	@tools/prove
	@tools/prove --check-controls

bless: setup-test $(WEB) ## Write anew what is made from the sources: pages of laws and keys, schema, golden tables
	@FADELAB_BLESS=1 cargo test --locked -p fadelab-laws --test catalogue
	@FADELAB_BLESS=1 cargo test --locked -p fadelab-scenario --test keys
	@FADELAB_BLESS=1 cargo test --locked -p fadelab-results
	@FADELAB_BLESS=1 cargo test --workspace --locked --test golden_tables --test determinism --test recorded_links
	@git status --short docs tests/golden

fmt: setup-test ## Format the sources in place
	@cargo fmt --all
	@cargo fmt --manifest-path fuzz/Cargo.toml
	@git ls-files -z -- '*.[ch]' | xargs -0 -r clang-format -i

install: build ## Put the command and its documentation under PREFIX (/usr/local)
	@tools/install $(FADELAB) $(or $(PREFIX),/usr/local)

deb: build ## Make a Debian package in target/deb
	@tools/deb $(FADELAB) $(dir $(FADELAB))../deb

clean: ## Remove what was built, not what was measured
	@cargo clean
	@rm -rf web/node_modules web/test/node_modules

setup-demo setup-kernel setup-test setup-fuzz setup-validate setup-prove setup-bench: setup-%:
	@tools/setup $*

%/node_modules/.package-lock.json: %/package-lock.json %/package.json | setup-demo
	@npm ci --prefix $* --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
