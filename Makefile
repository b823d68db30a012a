# The version of upstream that the fork is built on.
BASE ?= v2.5.0
export BASE

# Ignore any go.work above the repository.
export GOWORK := off

# With -trimpath, Go's caches also serve what was compiled and tested in another folder. What only a debugger reads is left out, unless
# GOFLAGS says how to compile.
BUILT := -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(strip $(BUILT) $(filter-out $(BUILT),$(GOFLAGS)))

# Linters are run at exact versions and come through the Go module proxy.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOFUMPT := mvdan.cc/gofumpt@v0.9.2
APIDIFF := golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e

# The tool that looks for known vulnerabilities, and its database. "make advisories VULNDB=golang.org/x/vulndb@latest" uses the newest.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB := golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018

UPSTREAM := go.mongodb.org/mongo-driver/v2

# The modules of this repository that are linted.
LINTED ?= . contrib/otel contrib/prometheus lab lab/limits bench

# Platforms that the fork is compiled for, besides the one it is built on.
CROSS := linux/386 linux/arm64 windows/amd64 darwin/arm64

# All versions of upstream that the fork can be built on, in ascending order.
BASES := $(shell ls etc/bases | sort -t. -k2,2n -k3,3n)

MONGOFORK := go run ./tools/cmd/mongofork

# The rig is built before it runs, because "go run" leaves its program running when it is killed. So would a shell, hence exec.
RIG := build/rig

.DEFAULT_GOAL := help

# List the targets.
.PHONY: help
help:
	@echo "If you are new here:"
	@$(call LISTED,##!)
	@echo "All others:"
	@$(call LISTED,##)

# LISTED prints the targets whose help follows a mark: "##!" is for newcomers.
LISTED = awk -F ':.*$(1) ' '/^[a-z-]+:.*$(1) / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

# LINK makes build/fork lead to the base. On Windows only a junction needs no rights.
ifeq ($(OS),Windows_NT)
LINK = @rm -f build/fork; [ ! -d build/fork ] || cmd //c "rmdir build\fork"; cmd //c "mklink /J build\fork build\$(BASE)" >/dev/null
else
LINK = @ln -sfn $(BASE) build/fork
endif

# MADE says that "make test" has made the trees and the rig, and tests the series of all bases.
MADE ?=

.PHONY: fork
fork: ##! Build the fork, in build/fork
	$(if $(MADE),,$(MONGOFORK) build)
	$(if $(MADE),,$(LINK))

# Suites that "make test" runs, separated by commas: those that run upstream's tests or need a server. "go run ./tools/cmd/rig test --help"
# names them. By default "make test" runs all but two of them, and its other parts.
ONLY ?=

# The deployment, such as sharded:2, that "make test" starts with the mongod and mongos on the PATH, and that "make lab" pretends to be.
TOPOLOGY ?=

# The race detector needs a C compiler.
RACE := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null && echo -race)

# The modules of this repository.
MODULES = . $(patsubst %/go.mod,%,$(shell git ls-files '*/go.mod' ':!**/testdata/**'))

.PHONY: rig
rig:
	@$(if $(MADE),,go build -o $(RIG) ./tools/cmd/rig)

# The suites and the soak compare the fork with the untouched module. all-trees builds both for all bases.
.PHONY: trees all-trees
trees: fork
	@$(if $(MADE),,$(MONGOFORK) build --pristine >/dev/null)
all-trees:
	@for base in $(BASES); do $(MONGOFORK) --base $$base build || exit; \
		$(MONGOFORK) --base $$base build --pristine || exit; done >/dev/null
	$(LINK)

# Run a part of "make test", and print how long it took. With more memory, compilers and the builder take less time.
timed-%: export GOGC := $(or $(GOGC),400)
timed-%:
	@start=$$(date +%s); $(MAKE) --no-print-directory $* || exit; echo "make $*: $$(($$(date +%s) - start)) s"

.PHONY: test
test: rig timed-trees ##! Run everything that a change has to pass, or some suites only: make test ONLY=upstream,spec
	@$(if $(ONLY),,$(MAKE) --no-print-directory MADE=1 -j3 timed-modules timed-builder timed-check timed-unraced timed-parallel)
	@# The suites mostly wait for servers, and what runs beside them does not.
	@$(MAKE) --no-print-directory MADE=1 -j2 timed-suites $(if $(ONLY),,timed-proof timed-compare)
	$(if $(ONLY),,$(if $(wildcard build/cse/made),$(CSE)))
	@cat build/incomplete # what did not run, once more

# The overload lab, as a program.
LAB := build/lab

.PHONY: lab-program
lab-program: fork
	@go -C lab build -o ../$(LAB) ./cmd/lab

.PHONY: suites
suites: rig lab-program
	$(if $(TOPOLOGY),$(RIG) server --topology $(TOPOLOGY) -- )$(RIG) test $(addprefix --,$(subst -,,$(RACE))) $(addprefix --only ,$(ONLY))

# The fork and upstream's driver of the oldest and the newest base, which "make bench" compares.
COMPARED := $(firstword $(BASES)) $(lastword $(BASES))
COMPARED += $(addprefix pristine/,$(COMPARED))

# SOAK lets applications work, with the forks of some bases, and upstream's driver of others, while real members are disturbed.
SOAK = $(foreach driver,$(1) $(addprefix pristine/,$(2)),$(RIG) with --programs $(driver) lab -- build ./cmd/lab &&) mkdir -p build/server && \
	mongod=$$($(RIG) mongod) && exec build/with/$(firstword $(1))/lab soak --mongod "$$mongod" --dir build/server \
	$(foreach base,$(1),--fork "fork of $(base)=build/with/$(base)/lab") $(foreach base,$(2),--other "$(base)=build/with/pristine/$(base)/lab")

# The soak's plan is always the same, so that only a change can make it fail.
.PHONY: proof
proof: rig
	@$(call SOAK,$(BASE)) --seed 1 --duration 45s

# The builder's tests run without the race detector, with which they take minutes, because they have no concurrency and work on the whole
# driver. The overlay's packages that compile where they lie are tested in the fork.
BUILDER = ./tools/fork/... ./tools/cmd/mongofork
OTHERS = grep -v '^mongofork/\(internal\|tools/fork\|tools/cmd/mongofork\)'

.PHONY: builder
builder:
	go test -vet=off -timeout 30m $(BUILDER)

# Tests that run without the race detector: they take minutes of processor time with it, or count allocations.
UNRACED := ^(TestWaits|TestSlowServers|TestLoops|TestEveryCall|TestAllocations|TestLargeWrites)$$

# The modules that all use the driver agree on the versions of what they require, and these three are tested in one workspace, so that the
# driver is compiled once for all of them.
.PHONY: modules
modules: fork rig
	packages=$$(go list ./...) && $(RIG) with $(BASE) . -- test $(RACE) -skip '$(UNRACED)' $$(echo "$$packages" | $(OTHERS)) \
		mongofork/lab/... mongofork/bench/...
	@for module in $(filter-out . lab bench,$(MODULES)); do echo "$$module"; go -C $$module test $(RACE) ./... || exit; done

.PHONY: unraced
unraced: fork rig
	$(RIG) with $(BASE) . -- test -run '$(UNRACED)' mongofork/lab/virtual/... mongofork/bench/cost
	@$(MAKE) --no-print-directory hostile SEEDS=300

CSE = export PROJECT_DIRECTORY=$$($(RIG) specifications); exec $(RIG) server --topology replicaset:3 -- etc/cse/test.sh

.PHONY: test-cse
test-cse: fork rig ## Install libmongocrypt from packages of Debian, on x86-64, and test encryption; from then on "make test" does, too
	etc/cse/build.sh
	$(CSE)

.PHONY: limits
limits: fork rig ## Run an application against the request limiter of a real server, 8.2 or later: the one on the PATH, or MONGODB_URI
	$(if $(MONGODB_URI),,$(RIG) server --topology replicaset:1 --users -- )go -C lab/limits test -count=1 -v .

.PHONY: quick
quick: check trees rig ##! Check everything, and run the overlay's tests that need no server, without the race detector
	$(RIG) test --only fork

GOFMT = git ls-files -z --cached --others --exclude-standard '*.go' ':!**/testdata/**' | xargs -0 gofmt -l

.PHONY: check
check: fork ## Check formatting and the overlay's assertions, and vet and compile the fork
	@unformatted=$$($(GOFMT)); [ -z "$$unformatted" ] || { echo "not formatted; run gofmt -w" $$unformatted; exit 1; }
	go vet ./...
	@$(if $(MADE),,$(MONGOFORK) series >/dev/null)
	cd build/$(BASE) && go build ./...
	@# In the package driverutil, vet finds lost cancel functions in upstream's own tests.
	cd build/$(BASE) && go vet -composites=false $$(go list ./... | grep -v /internal/driverutil$$)
	cd build/$(BASE) && go vet -composites=false -lostcancel=false ./internal/driverutil

# Print the newest base: export BASE=$(make -s newest).
.PHONY: newest
newest:
	@echo $(lastword $(BASES))

.PHONY: server
server: rig ## Start a MongoDB server for tests, until you interrupt it: make server SERVER=secantus
	$(RIG) server

.PHONY: lab
lab: rig lab-program ##! Start the overload lab in front of three real members, or in front of one server: make lab TOPOLOGY=sharded:2
	@mkdir -p build/server
ifneq ($(filter-out replicaset:%,$(TOPOLOGY)),)
	$(RIG) server --topology replicaset:1 -- $(LAB) serve --topology $(TOPOLOGY)
else
	@mongod=$$($(RIG) mongod) && exec $(LAB) serve --mongod "$$mongod" --dir build/server --topology $(or $(TOPOLOGY),replicaset:3)
endif

# For how long the soak runs, with how many plans, and the seed of the first; 0 stands for a random seed.
SECONDS ?= 120
SEEDS ?= 1
SEED ?= 0

.PHONY: soak
soak: all-trees rig ## Compare all drivers while members are killed, stopped and overloaded: make soak SECONDS=1800 SEEDS=10 SEED=1
	@$(call SOAK,$(BASES),$(BASES)) --duration $(SECONDS)s --seeds $(SEEDS) --seed $(SEED)

# A module that "make compare" judges, instead of the fork that it builds.
FORK ?=

.PHONY: compare
compare: SEEDS = 2000
compare: SEED = 1
compare: trees rig ## Compare the fork, or the module in FORK=DIR, with upstream, in virtual time: make compare SEEDS=100000 SEED=1
	nice $(RIG) compare --seeds $(SEEDS) --seed $(SEED) $(addprefix --fork ,$(FORK))

.PHONY: hostile
hostile: SEEDS = 1000
hostile: SEED = 1
hostile: fork ## Run the driver against hostile servers, in virtual time: make hostile SEEDS=10000 SEED=1
	@go -C lab build -buildvcs=false -o ../build/fuzz ./cmd/fuzz
	build/fuzz hostile --seeds $(SEEDS) --seed $(SEED)

# The driver is FORK=DIR, or FORK=pristine/v2.5.0 for the untouched module, instead of the fork.
.PHONY: parallel
parallel: SECONDS = 60
parallel: SEED = 1
parallel: trees rig ## Run the fork with 32 goroutines in real time, and with the race detector: make parallel SECONDS=1800 SEED=7
	@$(RIG) with --programs $(or $(FORK),$(BASE)) lab -- build -buildvcs=false $(RACE) -o ../build/with/$(or $(FORK),$(BASE))/parallel ./cmd/fuzz
	nice build/with/$(or $(FORK),$(BASE))/parallel parallel --seed $(SEED) --duration $(SECONDS)s

# How many mutants are made, or which defects of etc/planted.yaml instead: DEFECTS=all plants all of them.
COUNT ?= 300
DEFECTS ?=

# What looks for them, in this order.
BY ?= tests,compare,parallel

.PHONY: mutants
mutants: SEEDS = 500
mutants: SEED = 1
mutants: trees rig ## Change our functions of the fork, and report what nothing notices: make mutants COUNT=300 SEED=7
	nice $(RIG) mutants --by $(BY) $(addprefix --,$(subst -,,$(RACE))) --seeds $(SEEDS) --count $(COUNT) --seed $(SEED) $(DEFECTS)

.PHONY: demo
demo: trees rig ##! Compare the fork with upstream's driver on a replica set that sheds load
	@$(call SOAK,$(BASE),$(BASE)) --seed 1 --duration 12s --only overload

.PHONY: series
series: ## Write the fork to build/series as patches for upstream's repository
	$(MONGOFORK) series

# Each of these can do a part: make verify-fixes FIXES=pool, make verify-series FROM=0008, make verify-layers LAYERS=layers/fixes/pool.
.PHONY: verify
verify: ## Apply and test each patch; "make verify-layers" removes each layer, "make verify-api" compares the APIs
	@$(MAKE) verify-fixes
	@$(MAKE) verify-series

verify-fixes verify-series verify-layers: verify-%: trees
	APIDIFF=$(APIDIFF) GOFUMPT=$(GOFUMPT) GOLANGCI_LINT=$(GOLANGCI_LINT) UPSTREAM=$(UPSTREAM) etc/series/$*.sh

.PHONY: verify-fixes verify-series verify-layers verify-api
verify-api: trees
	@cd build/pristine/$(BASE) && go run $(APIDIFF) -m -w ../../$(BASE).upstream.api $(UPSTREAM) 2>/dev/null
	@cd build/$(BASE) && go run $(APIDIFF) -m -w ../$(BASE).fork.api $(UPSTREAM) 2>/dev/null
	@go run $(APIDIFF) -m build/$(BASE).upstream.api build/$(BASE).fork.api 2>/dev/null | grep -v '^Ignoring internal package'

.PHONY: drift
drift: ## Show what upstream's newest release changed that the overlay relies on; for another one: make drift TO=VERSION
	$(MONGOFORK) --base $(lastword $(BASES)) drift $(or $(TO),$(shell go list -m -f '{{.Version}}' $(UPSTREAM)@latest))

# The version of a release that will be published. Its hash is recorded in etc/released.sum.
RELEASE ?=

.PHONY: release
release: ## Write the fork to build/goproxy as a module for a GOPROXY; build it twice, and compare the bytes
	go test ./tools/fork -run TestAdvisories # none is open
	@rm -rf build/again
	@$(MONGOFORK) release $(addprefix --final ,$(RELEASE)) -o build/again >/dev/null
	@rm -rf build/goproxy
	$(MONGOFORK) release $(addprefix --final ,$(RELEASE)) -o build/goproxy
	cmp build/goproxy/SHA256SUMS build/again/SHA256SUMS

# Write what the workflow publishes: an archive of build/goproxy, the lines for go.sum, the SBOM and the VEX. This needs GNU tar.
.PHONY: assets
assets:
	@rm -rf build/assets && mkdir build/assets && cp build/goproxy/go.sum build/goproxy/$(UPSTREAM)/@v/*.json build/assets
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C build/goproxy -c . | \
		gzip -9n >build/assets/$$(basename build/assets/*.cdx.json .cdx.json).tar.gz
	cd build/assets && sha256sum * >SHA256SUMS

# OLDEST runs a go command with the oldest Go that the module it is in supports.
OLDEST = GOTOOLCHAIN=go$$(go list -m -f '{{.GoVersion}}') go

.PHONY: advisories
advisories: rig ## Look for known vulnerabilities in the dependencies of every base's fork and of this repository's modules
	@for base in $(BASES); do $(MONGOFORK) --base $$base build >/dev/null || exit; done
	$(LINK)
	$(RIG) advisories --database $(VULNDB) --tool $(GOVULNCHECK) $(MODULES)

.PHONY: cross
cross: ## Compile the fork of every base for other platforms, and test with the oldest Go that it supports
	@for base in $(BASES); do $(MONGOFORK) --base $$base build || exit; \
		echo "$$base, oldest Go"; (cd build/$$base && $(OLDEST) build ./... && $(OLDEST) test ./event ./internal/retry \
			./internal/backpressure && $(OLDEST) test -run '^Test(Execut|Retr|Throttl)' ./x/mongo/driver) || exit; \
		for platform in $(CROSS); do echo "$$base $$platform"; \
			GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go -C build/$$base build ./... || exit; done; done
	$(LINK)
	@for adapter in contrib/otel contrib/prometheus; do (cd $$adapter && $(OLDEST) test ./...) || exit; done

# Files of tests, with two packages that only tests import.
TESTS := -e '_test\.go$$' -e ^tools/fork/forktest/ -e ^lab/internal/handlertest/

# ROW prints a name, and how many lines the tracked files have that are not tests and that are, each with the most that a team carries.
ROW = @files=$$(git ls-files $(2) ':!**/testdata/**'); lines() { echo "$$files" | grep $$1 $(TESTS) | xargs cat /dev/null | wc -l; }; \
	printf '%-40s %6d %-9s %6d %s\n' '$(1)' $$(lines -v) '$(3)' $$(lines) '$(4)'

BEHIND := tools lab bench contrib

# What only tests of the driver use: the deployment that answers from a script, and the runner of unified tests.
FOR_TESTS := internal/scripted internal/integration

PAGES = README.md CONTRIBUTING.md SECURITY.md docs/*.md

# Count what a team has to carry.
.PHONY: size
size:
	@printf '%-40s %6s %-9s %6s\n' lines code '' tests
	$(call ROW,Go behind the driver: $(BEHIND),$(BEHIND:%='%/*.go'),of 16000,of 9000)
	$(call ROW,Go of the overlay,'*.go' $(BEHIND:%=':!%') $(FOR_TESTS:%=':!%') ':!*standalone/*',of 12500)
	$(call ROW,  of these the mission,'*.go' $(BEHIND:%=':!%') $(FOR_TESTS:%=':!%') ':!layers',of 3500)
	$(call ROW,  of these performance,'*performance/*.go')
	$(call ROW,for its tests: $(FOR_TESTS),$(FOR_TESTS:%='%/*.go'))
	$(call ROW,Go of standalone patches,'*standalone/*.go')
	$(call ROW,edits.yaml of the overlay,'*/edits.yaml' ':!*standalone/*')
	$(call ROW,edits.yaml of standalone patches,'*standalone/*/edits.yaml')
	@echo "targets of make with help: $$($(MAKE) -s help | grep -c '^  ')"
	@echo "pages: $$(ls $(PAGES) | wc -l), words: $$(cat $(PAGES) | wc -w)"
	@echo "layers: $$(git ls-files '*/README.md' | grep -c -e fixes/ -e backports/ -e extras/ -e performance/)"

.PHONY: lint
lint: fork ## Run golangci-lint on this repository's modules and the overlay, and actionlint on its workflows
	@for module in $(LINTED); do echo "$$module"; go -C $$module run $(GOLANGCI_LINT) run ./... || exit; done
	@for base in $(BASES); do echo "overlay, $$base"; $(MONGOFORK) --base $$base build >/dev/null && \
		$(MONGOFORK) --base $$base build --pristine >/dev/null && \
		{ git -C build diff --no-index --no-color pristine/$$base $$base | sed "s,^+++ b/$$base/,+++ b/," >build/$$base.patch; } && \
		go -C build/$$base run $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --new-from-patch=../$$base.patch ./... || exit; done
	go run $(ACTIONLINT) .github/workflows/*.yml

# TAGS are the build tags for what a driver has: the fork has classes of operations, and newer drivers a random generator for jitter.
TAGS = -tags $(if $(filter pristine/%,$(1)),,criticality),$$([ ! -e build/$(1)/internal/randutil/jitter.go ] || echo jitter)

# What "make bench" measures: drivers under "overload", in virtual time, or their "cost" without overload.
WHAT ?= overload

.PHONY: bench
bench: all-trees rig ## Measure all drivers under overload, for docs/performance; without overload: make bench WHAT=cost
ifeq ($(filter overload cost,$(WHAT)),)
	@echo "WHAT=$(WHAT): give overload or cost"; exit 1
else ifeq ($(WHAT),cost)
	@$(foreach driver,$(COMPARED),$(RIG) with --programs $(driver) bench -- test -c ./cost &&) true
	$(RIG) server -- bench/cost/cost.sh $(firstword $(BASES)) $(lastword $(BASES))
else
	@$(foreach driver,$(COMPARED),$(RIG) with --programs $(driver) bench -- test -c $(call TAGS,$(driver)) ./overload &&) true
	go -C bench run ./cmd/bench $(firstword $(BASES)) $(lastword $(BASES))
endif
