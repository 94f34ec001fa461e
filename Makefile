# make help prints this list.
#
# Prerequisites: git, make, Go 1.26. Nothing else is needed to build, test and
# try Pawl; what tests need beyond Go modules they skip, saying so.

SHELL := /bin/bash
BIN   := bin/pawl
GO    ?= go
# The race detector needs cgo and a C compiler.
RACE  := $(shell command -v cc >/dev/null 2>&1 && [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: help build demo test lint bench fuzz docs tidy clean

help: ## print this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

build: ## build bin/pawl
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/pawl

demo: build ## run the main job offline: fail, feedback, fail, escalate, succeed
	@$(BIN) demo

test: ## run every test, with the race detector where there is a C compiler
	@if [ -z "$(RACE)" ]; then echo "make test: no C compiler, so the race detector is off"; fi
	$(GO) vet ./...
	$(GO) test $(RACE) -timeout 40m ./...

lint: ## run the linters (golangci-lint is built from source the first time)
	$(GO) tool -modfile=tools/golangci-lint/go.mod golangci-lint run ./...

bench: build ## measure, as docs/benchmarks.md says
	$(BIN) bench

fuzz: ## fuzz every target for a while (FUZZTIME=30s each)
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-30s} $$p || exit 1; done; done

tidy: ## check that go.mod and the formatting are as they should be
	$(GO) mod tidy -diff
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

clean: ## remove what was built
	rm -rf bin
