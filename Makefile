# make help prints this list.
#
# Prerequisites: git, make, Go 1.26. Nothing else is needed to build, test and
# try Pawl; what tests need beyond Go modules they skip, saying so.

SHELL := /bin/bash
GO    ?= go
# The race detector needs cgo and a C compiler.
RACE  := $(shell command -v cc >/dev/null 2>&1 && [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)
# No debugger's tables are made, which a release does not have, and calls of functions of the vendors' SDKs, which are
# half of all that is compiled, are not inlined: a turn of a model calls a handful of them.
SDKS  := github.com/openai/openai-go github.com/anthropics/anthropic-sdk-go
FLAGS := $(shell $(GO) env GOFLAGS) -gcflags=all=-dwarf=false $(SDKS:%='-gcflags=%/...=-dwarf=false -l')
# All that is built without the race detector is built with these settings, which are those of a release, so that
# nothing is compiled twice.
PLAIN := CGO_ENABLED=0 GOFLAGS="$(strip $(FLAGS) -trimpath)"
# What is built with the race detector, where there is a C compiler.
WATCHED := $(if $(RACE),GOFLAGS="$(strip $(FLAGS))",$(PLAIN))
# Packages that are tested without the race detector. Those of SERIAL start no goroutine; for the
# kernel, TestPure checks that. The tests of COSTLY start thousands of processes of pawl,
# pawl-helper and git, or open thousands of databases, one after the other.
SERIAL    := ./internal/kernel/... ./internal/cli/replay ./internal/document/taskfolder ./internal/evidence/corpus \
	./internal/evidence/source ./internal/gate/command ./internal/git/index ./internal/instructions ./internal/sandbox/confine ./internal/view
COSTLY    := ./cmd/pawl ./internal/sandbox ./internal/store/sqlite ./internal/workspace/gitworktree
# Packages whose cases of all turns take more than ten minutes of processor time, with the race detector where they have it.
DEAR      := ./cmd/pawl ./internal/bench ./internal/kernel ./internal/workspace/gitworktree
# The tests of COSTLY in which one process does several things at once. They run once more, as
# small as with -short, with the race detector.
RACED := ^Test(.*Daemon.*|Night|RunOverTheWire|StartOverTheAPI|Log|WithdrawnUnit|SweepDuringAppends|MemoryConcurrently|FullDisk|Workspaces|Locks|StoreIsBuiltOnce|BoxesSideBySide|ManyAtOnce|PreparedLayerIsKeptWhilePruning|DelegateRoomsTakeTurns|DelegateCloseEndsCommands|DelegateSocket|Input|StartAwaitsTheGroup|ChangesAndComposeCalls|BackgroundHasItsShellsKeys)$$
# The platforms whose types make lint checks, beside the one it runs on, which is linux/amd64 for
# .ci/run. darwin/amd64 would add nothing: no file is for it alone.
PLATFORMS := darwin/arm64 linux/arm64 windows/amd64
# Those that Pawl also runs on. On Windows it runs in WSL 2.
RELEASES := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
# Where make install puts the programs, below $(PREFIX)/bin.
PREFIX  ?= $(HOME)/.local
NOTICES := $(sort $(PLATFORMS) $(RELEASES))
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Tools that are built from source on first use. Each has its own go.mod.
LINT    := $(GO) tool -modfile=tools/golangci-lint/go.mod golangci-lint
SUM     := $(GO) tool -modfile=tools/gotestsum/go.mod gotestsum
MUTANTS := $(GO) tool -modfile=tools/gremlins/go.mod gremlins

# TIMEOUT is how long the tests of a package may take.
TIMEOUT ?= 60m

# A turn is a tenth of the cases of expensive tests, such as kills and simulated worlds. The commit decides which.
TURN ?= $(shell echo $$((0x0$$(git rev-parse --short=7 HEAD 2>/dev/null) % 10)))
# CHANGED lists folders of packages that run the cases of all turns, such as CHANGED="internal/git internal/kernel". These
# are the packages that the last 30 commits changed, except those of DEAR. Without these commits, as in a shallow clone,
# there are none.
CHANGED ?= $(filter-out $(DEAR:./%=%),$(filter $(shell git grep -l 'testsize\.' -- '*_test.go' 2>/dev/null | xargs -rn1 dirname), \
	$(shell [ "$$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ] && git log -30 --format= --name-only | sed -nE 's,/(testdata/.*|[^/]*\.go)$$,,p' | sort -u)))

# run-tests NAME,FLAGS,PACKAGES,ENVIRONMENT runs the packages' tests. It prints a line for each
# package, the full output of tests that fail, and the ten slowest tests. It does not
# vet, since make lint does. Temporary files are in a folder whose own folders ext4 puts into different
# groups of blocks (chattr +T). In one group, and without a journal, it searches the files that were removed in
# the last minutes whenever it makes one, which took a fifth of all processor time.
define run-tests
	@mkdir -p bin
	@tmp=$$(mktemp -d "$${TMPDIR:-/tmp}/pXXXX") && chmod 755 "$$tmp" || exit 1; export TMPDIR=$$tmp; chattr +T "$$tmp" 2>/dev/null; trap 'chmod -R u+w "$$TMPDIR"; rm -rf "$$TMPDIR"' EXIT; \
	$(4) $(SUM) --format pkgname --format-hide-empty-pkg --hide-summary skipped --jsonfile-timing-events bin/$(1).json -- -vet=off $(2) $(3); \
	status=$$?; echo "The ten slowest tests:"; $(4) $(SUM) tool slowest --num 10 --threshold 1ms --jsonfile bin/$(1).json; exit $$status
endef

.PHONY: help build install uninstall release demo test test-all deep soak test-agents lint notices rules bench fuzz faults mutants seams words tidy clean

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

# BIN is where the programs are built.
BIN := bin
# GOGC lets the compiler, whose processes are short, collect garbage less often.
build: ## build pawl and pawl-helper in bin, naming each package that is compiled
	$(PLAIN) GOGC=400 $(GO) build -v -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/ ./cmd/...

install: build ## install pawl, pawl-helper and the man pages in PREFIX (PREFIX=~/.local)
	@mkdir -p $(PREFIX)/bin
	install $(BIN)/pawl $(BIN)/pawl-helper $(PREFIX)/bin
	$(BIN)/pawl man $(PREFIX)/share/man/man1

uninstall: ## remove pawl, pawl-helper and the man pages from PREFIX
	rm -f $(PREFIX)/bin/pawl $(PREFIX)/bin/pawl-helper $(PREFIX)/share/man/man1/pawl.1 $(PREFIX)/share/man/man1/pawl-*.1

release: ## build an archive for each platform that Pawl runs on, with the licences, in bin/release
	@for p in $(RELEASES); do name=pawl-$(VERSION)-$${p%/*}-$${p#*/}; echo "bin/release/$$name.tar.gz"; \
		rm -rf bin/release/$$name && mkdir -p bin/release/$$name && \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(MAKE) -s build BIN=bin/release/$$name && \
		cp -r LICENSE THIRD_PARTY_NOTICES README.md docs bin/release/$$name && \
		tar -czf bin/release/$$name.tar.gz -C bin/release $$name || exit 1; done

demo: build ## run the main job offline: fail, feedback, fail, escalate, succeed
	@$(BIN)/pawl demo

test: ## run every test in its short form, without the race detector
	$(call run-tests,test,-short -count 1 -timeout 20m,./...,$(PLAIN))

test-all: test deep ## run make test, then every test with this turn's cases (TURN=3 repeats a turn), with the race detector where there is a C compiler

deep: # what test-all adds to test
	@echo "== $(if $(PAWL_SOAK),all turns,turn $(TURN) of 0 to 9; make test-all TURN=$(TURN) repeats it.$(if $(CHANGED), All cases run in $(CHANGED).))"
	@if [ -z "$(RACE)" ]; then echo "There is no C compiler, so the race detector is off."; fi
	$(call run-tests,plain,-count 1 -timeout $(TIMEOUT),$(COSTLY) $(SERIAL),$(PLAIN) PAWL_TURN=$(TURN) PAWL_CHANGED="$(CHANGED)")
	$(call run-tests,race,$(RACE) -count 1 -timeout $(TIMEOUT),$$(comm -23 <($(GO) list ./... | sort) <($(GO) list $(COSTLY) $(SERIAL) | sort)),$(WATCHED) PAWL_TURN=$(TURN) PAWL_CHANGED="$(CHANGED)")
	$(if $(RACE),$(call run-tests,raced,$(RACE) -count 1 -short -run '$(RACED)' -timeout $(TIMEOUT),$(COSTLY),$(WATCHED)))

soak: ## run every test with the cases of all turns, which takes hours
	@PAWL_SOAK=1 $(MAKE) deep TIMEOUT=10h

# The agents are installed in a folder of their own, unless PAWL_AGENTS names one with their programs.
test-agents: ## run the tests with real coding agents, which it installs from npm (PAWL_AGENTS=FOLDER uses those in a folder)
	@$(if $(PAWL_AGENTS),,tools/agents/install bin/agents)
	@mkdir -p bin
	$(PLAIN) PAWL_AGENTS=$(or $(PAWL_AGENTS),$(CURDIR)/bin/agents/bin) $(SUM) --format testname -- -count 1 -parallel 2 -timeout 60m \
		-run '^(TestTableOfAgents|TestAgentsFallSilent|TestAgents)$$' ./internal/delegate ./cmd/pawl

lint: ## run the linters, and check THIRD_PARTY_NOTICES and the types for other platforms
	$(PLAIN) $(GO) run ./tools/notices $(NOTICES)
	$(PLAIN) $(LINT) run ./...
	$(PLAIN) $(GO) run ./tools/platforms $(PLATFORMS)

notices: ## write THIRD_PARTY_NOTICES anew, after a dependency has changed
	$(GO) run ./tools/notices -write $(NOTICES)

rules: ## write the rules for secrets anew, after the version of gitleaks in tools/gitleaks/go.mod has changed
	$(GO) -C tools/gitleaks run . ../../internal/secret

bench: build ## measure, as docs/benchmarks.md says
	$(BIN)/pawl bench

fuzz: ## fuzz every target for a while (FUZZTIME=30s each)
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-30s} $$p || exit 1; done; done

faults: ## let N=500 faults meet runs of every recipe (SEED=1 repeats them), and print what became of the runs
	@mkdir -p bin && rm -f bin/faults.txt
	@PAWL_FAULTS=$(or $(N),500) $(if $(SEED),PAWL_FAULTS_SEED=$(SEED)) PAWL_FAULTS_TABLE=$(CURDIR)/bin/faults.txt \
		$(GO) test ./cmd/pawl -run '^TestFaults$$' -count 1 -timeout 80m; status=$$?; cat bin/faults.txt; exit $$status

mutants: ## plant mutants and list those that no test catches (PKG=./internal/governor SINCE=REV for changed lines only)
	GOFLAGS="$$($(GO) env GOFLAGS) -short" $(MUTANTS) unleash $(if $(SINCE),--diff $(SINCE)) --workers 1 --timeout-coefficient 10 --output-statuses lctv $(or $(PKG),.)
	$(if $(SINCE),,$(GO) run ./tools/mutate -cases -in '$(patsubst ./%,^pawl/%$$$$,$(PKG))')

words: ## draw N=40 texts that users read, with SEED=1, to read them aloud
	@$(GO) run ./tools/words -seed $(or $(SEED),1) -n $(or $(N),40)

seams: ## plant N=60 mutants where packages call each other, drawn with SEED=1, and list those that no test catches
	$(GO) run ./tools/mutate -calls -seed $(or $(SEED),1) -n $(or $(N),60)

tidy: ## check that go.mod and the formatting are as they should be
	$(GO) mod tidy -diff
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

clean: ## remove what was built
	rm -rf bin
