# make help prints this list.
#
# Prerequisites: git, make, Go 1.26. Nothing else is needed to build, test and
# try Pawl; what tests need beyond Go modules they skip, saying so.

SHELL := /bin/bash
BIN   := bin/pawl
GO    ?= go
# The race detector needs cgo and a C compiler.
RACE  := $(shell command -v cc >/dev/null 2>&1 && [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)
# What .ci/run builds without the race detector is built with these settings, which are those of a
# release, so that what Pawl depends on is compiled once.
PLAIN := CGO_ENABLED=0 GOFLAGS="$(strip $(shell $(GO) env GOFLAGS) -trimpath)"
# Packages that are tested without the race detector. Those of SERIAL start no goroutine; for the
# kernel, TestPure checks that. The tests of COSTLY start thousands of processes of pawl,
# pawl-helper and git, or open thousands of databases, one after the other.
SERIAL    := ./internal/kernel/... ./internal/cli/replay ./internal/document/taskfolder ./internal/evidence/corpus \
	./internal/evidence/source ./internal/gate/command ./internal/git/index ./internal/instructions ./internal/sandbox/confine ./internal/view
COSTLY    := ./cmd/pawl ./internal/sandbox ./internal/store/sqlite ./internal/workspace/gitworktree
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

# TIMEOUT is how long the tests of a package may take. On two slow cores cmd/pawl's take half of that.
TIMEOUT ?= 60m

# run-tests NAME,FLAGS,PACKAGES,ENVIRONMENT runs the packages' tests. It prints a line for each
# package, the full output of tests that fail, and the ten slowest tests. It does not
# vet, since the targets that use it run go vet themselves.
define run-tests
	@mkdir -p bin
	@$(4) $(SUM) --format pkgname --format-hide-empty-pkg --hide-summary skipped --jsonfile-timing-events bin/$(1).json -- -vet=off $(2) $(3); \
	status=$$?; echo "The ten slowest tests:"; $(4) $(SUM) tool slowest --num 10 --threshold 1ms --jsonfile bin/$(1).json; exit $$status
endef

.PHONY: help build man install uninstall release demo check test soak test-agents lint notices rules bench fuzz faults mutants seams words tidy clean

help: ## print this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

build: ## build bin/pawl and bin/pawl-helper
	$(PLAIN) $(GO) build -ldflags "-s -w" -o $(BIN)-helper ./cmd/pawl-helper
	$(PLAIN) $(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/pawl

man: ## write the man pages, one a command, into bin/man/man1
	$(PLAIN) $(GO) run -tags man -ldflags "-X main.version=$(VERSION)" ./cmd/pawl bin/man/man1

install: build man ## install pawl, pawl-helper and the man pages in PREFIX (PREFIX=~/.local)
	@mkdir -p $(PREFIX)/bin $(PREFIX)/share/man/man1
	install bin/pawl bin/pawl-helper $(PREFIX)/bin
	install -m 644 bin/man/man1/*.1 $(PREFIX)/share/man/man1

uninstall: ## remove pawl, pawl-helper and the man pages from PREFIX
	rm -f $(PREFIX)/bin/pawl $(PREFIX)/bin/pawl-helper $(PREFIX)/share/man/man1/pawl.1 $(PREFIX)/share/man/man1/pawl-*.1

release: ## build an archive for each platform that Pawl runs on, with the licences, in bin/release
	@for p in $(RELEASES); do name=pawl-$(VERSION)-$${p%/*}-$${p#*/}; echo "bin/release/$$name.tar.gz"; \
		rm -rf bin/release/$$name && mkdir -p bin/release/$$name && \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(MAKE) -s build BIN=bin/release/$$name/pawl && \
		cp -r LICENSE THIRD_PARTY_NOTICES README.md docs bin/release/$$name && \
		tar -czf bin/release/$$name.tar.gz -C bin/release $$name || exit 1; done

demo: build ## run the main job offline: fail, feedback, fail, escalate, succeed
	@$(BIN) demo

check: ## vet, build and test in about two minutes, with smaller simulations and kill tests and no race detector
	$(PLAIN) $(GO) vet ./...
	$(PLAIN) $(GO) build ./...
	$(call run-tests,check,-short -timeout 20m,./...,$(PLAIN))

test: ## run every test, most with the race detector where there is a C compiler
	@if [ -z "$(RACE)" ]; then echo "make test: no C compiler, so the race detector is off"; fi
	$(PLAIN) $(GO) vet ./...
	$(call run-tests,plain,-timeout $(TIMEOUT),$(COSTLY) $(SERIAL),$(PLAIN))
	$(call run-tests,test,$(RACE) -timeout $(TIMEOUT),$$(comm -23 <($(GO) list ./... | sort) <($(GO) list $(COSTLY) $(SERIAL) | sort)),$(if $(RACE),,$(PLAIN)))
	$(if $(RACE),$(call run-tests,raced,$(RACE) -short -run '$(RACED)' -timeout $(TIMEOUT),$(COSTLY)))

soak: ## run every test in its largest size, which takes hours
	@PAWL_SOAK=1 $(MAKE) test TIMEOUT=10h

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
	$(BIN) bench

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
