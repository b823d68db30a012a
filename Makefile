# The version of upstream that the fork is built on.
BASE ?= v2.5.0
export BASE

# A git work tree of upstream's repository, the commit of which takes the place of the base's files, in the targets that say so.
SOURCE ?=

# Linters are run at exact versions and come through the Go module proxy.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
APIDIFF := golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e

UPSTREAM := go.mongodb.org/mongo-driver/v2

# The modules of this repository that are linted.
LINTED ?= . contrib/otel contrib/prometheus contrib/dashboard lab lab/limits bench examples/overload

# Platforms that the fork is compiled for, besides the one it is built on.
CROSS := linux/386 linux/arm64 windows/amd64 darwin/arm64

# All versions of upstream that the fork can be built on.
BASES := $(notdir $(patsubst %/fork.lock,%,$(wildcard etc/bases/*/fork.lock)))

MONGOFORK := go run ./tools/cmd/mongofork
RIG := go run ./tools/cmd/rig
ON_SOURCE := $(MONGOFORK) $(addprefix --source ,$(SOURCE))

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

.PHONY: fork
fork: ## Build the fork in build/$(BASE); with SOURCE=DIR of the commit that is checked out there
	$(ON_SOURCE) build $(if $(SOURCE),,--link)

.PHONY: test
test: ## Run everything that a change has to pass
	$(RIG) test

.PHONY: quick
quick: ## Check formatting, vet and assertions, and run the overlay's tests without a server, in about a minute
	$(RIG) quick

.PHONY: check
check: ## Check formatting, vet, the overlay's assertions, and compile the fork; with SOURCE=DIR only the assertions
	$(if $(SOURCE),$(ON_SOURCE) check,$(RIG) test --only check)

.PHONY: check-bases
check-bases: ## Check, compile and test the fork on every base, as far as no server is needed
	@for base in $(BASES); do BASE=$$base $(RIG) test --only check,fork || exit; done

.PHONY: test-unit
test-unit: ## Run the tests of this module
	$(RIG) test --only unit

.PHONY: test-fork
test-fork: ## Run the tests that the overlay adds to the driver, with the race detector
	$(RIG) test --only fork

.PHONY: test-upstream
test-upstream: ## Run upstream's tests in the fork; compare with the record of the untouched module
	$(RIG) upstream

.PHONY: test-spec
test-spec: ## Run the specification's tests on real servers
	$(RIG) spec

.PHONY: test-throttling
test-throttling: ## Run the fork's tests, and the specification's about overload, with adaptiveThrottling on
	$(RIG) throttling

# How often "make baseline" runs upstream's tests in the untouched module.
RUNS ?= 2

.PHONY: baseline
baseline: ## Record the outcomes of upstream's tests in the untouched module in etc/bases/$(BASE)/outcomes
	$(RIG) baseline --runs $(RUNS)

.PHONY: check-baseline
check-baseline: ## Compare the outcomes of upstream's tests in the untouched module with the record
	$(RIG) baseline --runs $(RUNS) --check

.PHONY: test-integration
test-integration: ## Run all of upstream's tests that need a server, on a real replica set, plain and with TLS and users; takes half an hour
	$(RIG) integration

.PHONY: test-server
test-server: ## Run the specification's tests on mongod and mongos from the PATH, of any version: make test-server TOPOLOGY=sharded:2
	$(RIG) server --topology $(TOPOLOGY) -- $(MAKE) test-spec

.PHONY: test-contrib
test-contrib: fork ## Run the tests of the adapters with the race detector
	go -C contrib/otel test -race ./...
	go -C contrib/prometheus test -race ./...
	go -C contrib/dashboard test ./...

.PHONY: test-lab
test-lab: fork ## Run the lab's tests, with the race detector
	go -C lab test -race ./...
	go -C lab/limits test -race ./...

.PHONY: race
race: ## Run the policy's tests with the race detector, many times over
	go test -race -count=20 ./internal/retry/...

.PHONY: server
server: ## Start a MongoDB server for tests; it runs until it is interrupted: make server SERVER=secantus
	$(RIG) server

# What clients of the lab, or the servers of "make test-server", see; "build/lab serve --help" has the others.
TOPOLOGY ?= replicaset:3

.PHONY: lab
lab: ## Start the overload lab: make lab TOPOLOGY=members:3 before real members, or sharded:2 before one server
	go -C lab build -o ../build/ ./cmd/lab
	$(if $(filter members%,$(TOPOLOGY)),build/lab serve --topology $(TOPOLOGY) --mongod "$$($(RIG) mongod)" --dir build/server, \
		$(RIG) server --for-lab -- build/lab serve --topology $(TOPOLOGY))

.PHONY: test-topologies
test-topologies: ## Run the specification's tests on every topology that the lab makes of a server; takes half an hour
	$(RIG) topologies

.PHONY: test-limits
test-limits: ## Run an application against a server's own limits, those of mongod 8.2 on the PATH if there is one
	$(RIG) test --only limits

# How long the soak takes in all, by how many plans, and the seed of the first; 0 takes any.
SECONDS ?= 120
SEEDS ?= 1
SEED ?= 0

.PHONY: soak
soak: ## Make everything go wrong for applications with all drivers, and compare: make soak SECONDS=1800 SEEDS=10 SEED=1
	$(RIG) soak --duration $(SECONDS)s --seeds $(SEEDS) --seed $(SEED)

.PHONY: demo
demo: ## Show the fork and upstream's driver on a replica set that sheds load
	$(RIG) demo

.PHONY: patch
patch: ## Write the fork as a patch against upstream's repository, or the commit in SOURCE=DIR
	$(ON_SOURCE) patch

.PHONY: series
series: ## Write the fork as a series of patches against upstream's repository, to build/series/$(BASE), or the commit in SOURCE=DIR
	$(ON_SOURCE) series

.PHONY: verify-series
verify-series: ## Apply the series, to the commit in SOURCE=DIR if given; after each patch build, vet and test the tree
	$(ON_SOURCE) series --verify --apidiff $(APIDIFF) --linter $(GOLANGCI_LINT)

.PHONY: api
api: fork ## Report what the fork adds to upstream's exported API, and what it breaks
	@$(MONGOFORK) build --pristine -o build/pristine/$(BASE) >/dev/null
	@cd build/pristine/$(BASE) && go run $(APIDIFF) -m -w ../../$(BASE).upstream.api $(UPSTREAM) 2>/dev/null
	@cd build/$(BASE) && go run $(APIDIFF) -m -w ../$(BASE).fork.api $(UPSTREAM) 2>/dev/null
	@go run $(APIDIFF) -m build/$(BASE).upstream.api build/$(BASE).fork.api 2>/dev/null | grep -v '^Ignoring internal package'

.PHONY: drift
drift: ## Show what upstream's releases changed under the overlay; in detail with TO=v2.9.3, or SOURCE=DIR for a commit
	$(ON_SOURCE) drift $(TO)

# The version that a release has to have, if it is given; version/fork.go says which one it is.
RELEASE ?=

.PHONY: release
release: ## Write the fork as a module that a GOPROXY can serve
	$(MONGOFORK) release $(addprefix --version ,$(RELEASE))

.PHONY: verify-release
verify-release: release ## Write the release again elsewhere, and compare the bytes
	@rm -rf build/release-again
	@$(MONGOFORK) release $(addprefix --version ,$(RELEASE)) -o build/release-again >build/release-again.log
	cd build/release && sha256sum --check ../release-again/SHA256SUMS

.PHONY: verify
verify: ## Build the fork twice and compare with the lock
	$(MONGOFORK) check --twice

.PHONY: lock
lock: ## Record upstream's present declarations in the locks of all bases
	@for base in $(BASES); do BASE=$$base $(MONGOFORK) accept --all || exit; done

.PHONY: fmt
fmt: ## Format the Go files
	gofmt -l -w $$(git ls-files --cached --others --exclude-standard '*.go' ':!**/testdata/**')

.PHONY: cross
cross: fork ## Compile the fork for other platforms
	@for platform in $(CROSS); do echo "$$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go -C build/$(BASE) build ./... || exit; done

.PHONY: oldest-go
oldest-go: fork ## Compile the fork with the oldest Go that this version of upstream supports
	cd build/$(BASE) && GOTOOLCHAIN=go$$(go list -m -f '{{.GoVersion}}') go build ./...

.PHONY: lint
lint: fork ## Run golangci-lint on the modules of this repository
	@for module in $(LINTED); do echo "$$module"; go -C $$module run $(GOLANGCI_LINT) run ./... || exit; done

.PHONY: lint-workflows
lint-workflows: ## Check the workflows of GitHub Actions
	go run $(ACTIONLINT) .github/workflows/*.yml

.PHONY: test-bench
test-bench: ## Run the tests of the benchmarks
	go -C bench vet ./...
	go -C bench test ./...

.PHONY: bench-cost
bench-cost: ## Measure the fork's cost when all is well, against upstream's driver, on an idle machine
	go -C bench run ./cmd/bench cost
