# The first target is the default one.
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Modules of their own, each with its own dependencies.
NESTED := $(patsubst %/go.mod,%,$(wildcard integration/go.mod bench/go.mod adapters/*/go.mod observe/*/go.mod))

WITH_SERVERS := go run ./internal/testing/servers/cmd/with-servers

# A fifth less CPU for the compiler and for tests that make much garbage, above all miniredis with its scripts.
test test-all race lint plugin-real: export GOGC ?= 400

test: servers ## Run the tests, those against real servers included
	@./scripts/test.sh . $(NESTED)

test-all: servers ## Run what test leaves out: long tests, and those in a browser
	@./scripts/servers.sh chromium
	@UNWATCH_ALL_TESTS=1 ./scripts/test.sh . $(NESTED)

servers: ## Install redis-server, nutcracker, etcd, ZooKeeper, PostgreSQL, MariaDB and Prometheus if missing
	@./scripts/servers.sh redis-server nutcracker etcd-server zookeeper postgresql mariadb-server prometheus

# One P: two goroutines of a testing/synctest bubble that each run a channel timer which
# is due share one race context (bubble.timers.raceCtx in Go 1.26's runtime/time.go,
# unlockAndRun called from maybeRunChan), and the detector itself crashes, 1 run in ~50.
# What is a race is decided by happens-before, not by what runs in parallel. The examples
# need processes side by side for their controls, and have two small bubbles only.
#
# With -short, rapid draws a fifth of its cases, and tests that call long.Repeats are skipped.
#
# Only packages that start goroutines or synchronize can have races. Of migrate-check, that is lexical; the model
# of waiters calls none. Package lockupdate takes longest, so it comes first.
race: ## Run the tests of the root module under the race detector
	@packages=$$(go list -f '{{.Dir}}' ./... | grep -v -e /examples/ -e '/lockupdate$$' -e /migrate-check -e '/poll/scale$$' | \
		while read -r dir; do ! grep -qE '"sync(/atomic)?"|\<go func|\.Go\(' "$$dir"/*.go || echo "$$dir"; done) && set -x && \
	go test -race -short -cpu 1 -p 4 -timeout 30m ./lockupdate ./cmd/migrate-check/internal/lexical $$packages
	go test -race -short -timeout 30m ./examples/...

LINT := go tool -modfile=tools/go.mod golangci-lint
BROKEN := internal/testing/archtest/testdata/broken

# The linter govet of golangci-lint runs all analyzers of go vet. The first run is a negative control: a list of depguard
# whose paths match nothing reports nothing.
lint: ## Run gofmt, go fix and golangci-lint, govet included; measure comments and commit subjects
	@found=$$(gofmt -l .); if [ -n "$$found" ]; then echo "run gofmt -w on:"; echo "$$found"; exit 1; fi
	go fix -diff ./...
	go -C tools run ./prose ..
	@git log --since=2026-11-25T18:00:00Z --format=%s | awk -f scripts/subjects.awk
	@$(LINT) run --enable-only depguard,gochecknoglobals,gochecknoinits,revive --issues-exit-code 0 --show-stats=false \
		--output.text.print-issued-lines=false ./$(BROKEN) | diff $(BROKEN).golden -
	$(LINT) run ./...
	@root=$$PWD; for module in $(NESTED); do echo "golangci-lint in $$module"; \
		(cd $$module && go tool -modfile=$$root/tools/go.mod golangci-lint run -c $$root/.golangci.yml ./...) || exit 1; done

fuzz: ## Run each fuzz target for FUZZTIME=30s; takes a quarter of an hour, so CI runs their seeds only
	@FUZZTIME=$(or $(FUZZTIME),30s) ./scripts/fuzz.sh

# Of all modules, since each has its own dependencies.
vuln: ## Look for known vulnerabilities with govulncheck; asks the database vuln.go.dev, so CI does not
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...
	@for module in $(NESTED); do echo "govulncheck in $$module"; go -C $$module run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./... || exit 1; done

docs: ## Check the documents: code, commands and links
	go test -count=1 -v -run TestDocs ./internal/docs/doccheck/

rehearsal: ## Play the whole migration in this process; needs no server
	@echo "go run compiles first; on a new machine that takes a minute"
	go run ./examples/rehearsal

rehearsal-real: servers ## Play the whole migration against real servers and a real proxy
	$(WITH_SERVERS) -redis 3 -nutcracker 1 -- \
		go run ./examples/rehearsal -legacy 'redis://{redis0}' -proxy '{nutcracker0}' -profile twemproxy

proxies: ## Write docs/proxies.md and docs/proxies from the profiles
	go run ./internal/docs/proxydoc docs

scale: ## Write docs/results/scale.md: how up to 1,000 processes wait for one lock, in a model; needs no server
	go run ./lockupdate/internal/poll/scale > scale.md && mv scale.md docs/results/scale.md

domains: ## Write docs/domains.md and the transition tables of the packages' docs
	go run ./internal/docs/domaindoc .

probe-real: servers ## Have migrate-check probe recognise real servers: a Redis, a nutcracker and a Redis Cluster
	$(WITH_SERVERS) -redis 3 -nutcracker 1 -cluster 3 -- \
		./scripts/probe.sh redis={redis0} twemproxy={nutcracker0} cluster={cluster0} cluster={cluster1} cluster={cluster2}

plugin-real: ## Build golangci-lint with the plugin of migrate-check, and hold it against migrate-check
	./scripts/golangci-plugin.sh

# How long, from which seed (0: of the clock), which cells, and where failures are kept: make torture ONLY=redis/stall OUT=/tmp
SEED ?= 0
ONLY ?=
OUT ?=

torture: DURATION ?= 5m
torture: servers ## Try to make updates get lost, on real servers: DURATION=5m SEED=0 ONLY=redis/stall
	go -C integration run ./cmd/torture -duration $(DURATION) -seed $(SEED) -only '$(ONLY)' -out '$(abspath $(OUT))'

bench: servers ## Measure against the peers, in a quarter of an hour; wants the machine for itself
	go -C bench run ./cmd/bench -out results.txt > bench/tables.md
	@cat bench/tables.md
	UNWATCH_BENCH_TABLES=$(abspath bench/tables.md) go -C bench test -count=1 -run 'TestFloors$$' ./internal/report

dashboard: servers ## Draw docs/observe/dashboard.svg from a service with real faults
	DASHBOARD_SVG=../docs/observe/dashboard.svg UNWATCH_ALL_TESTS=1 go -C integration test -count=1 -run TestLongDashboardAndAlerts .

ci: ## Do everything that CI does
	./.ci/run

.PHONY: help test test-all servers race lint fuzz vuln docs rehearsal rehearsal-real probe-real plugin-real torture bench dashboard proxies domains ci
