# The version of upstream that the fork is built on.
BASE ?= v2.5.0
export BASE

# Ignore any go.work above the repository.
export GOWORK := off

# Go's caches know what they have compiled and tested in another folder.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)

# Linters are run at exact versions and come through the Go module proxy.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
APIDIFF := golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e

# The tool that looks for published vulnerabilities, and the database, in which "make advisories VULNDB=golang.org/x/vulndb@latest" has the newest.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB := golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018

UPSTREAM := go.mongodb.org/mongo-driver/v2

# The modules of this repository that are linted.
LINTED ?= . contrib/otel contrib/prometheus contrib/dashboard lab lab/limits bench

# Platforms that the fork is compiled for, besides the one it is built on.
CROSS := linux/386 linux/arm64 windows/amd64 darwin/arm64

# All versions of upstream that the fork can be built on, in ascending order.
BASES := $(shell ls etc/bases | sort -t. -k2,2n -k3,3n)

MONGOFORK := go run ./tools/cmd/mongofork

# The rig is built before it runs, because "go run" leaves it behind when it is killed. HELD ends what follows, the last command of a line,
# with make, even if that is killed; what a shell starts that has more to do ends with the shell.
RIG := build/rig
HELD = exec env END_WITH=$$PPID

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

.PHONY: fork
fork: ##! Build the fork in build/$(BASE)
	$(MONGOFORK) build
	$(LINK)

# Suites of "make test" that run upstream's tests or need a server, separated by commas; "go run ./tools/cmd/rig test --help" names
# them. All but two by default, and then what else "make test" has.
ONLY ?=

# What "make test" starts of the mongod and mongos on the PATH, of any version, such as sharded:2, and what "make lab" looks like.
TOPOLOGY ?=

# The race detector needs a C compiler.
RACE := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null && echo -race)

# The modules of this repository, all of which have tests.
MODULES = . $(patsubst %/go.mod,%,$(shell git ls-files '*/go.mod' ':!**/testdata/**'))

.PHONY: rig
rig:
	@go build -o $(RIG) ./tools/cmd/rig

# The fork and the untouched module, which the suites and the soak compare; and those of all bases.
.PHONY: trees all-trees
trees: fork
	@$(MONGOFORK) build --pristine >/dev/null
all-trees:
	@for base in $(BASES); do $(MONGOFORK) --base $$base build || exit; \
		$(MONGOFORK) --base $$base build --pristine || exit; done >/dev/null

# A part of "make test", and how long it took.
timed-%:
	@start=$$(date +%s); $(MAKE) --no-print-directory $* || exit; echo "make $*: $$(($$(date +%s) - start)) s"

.PHONY: test
test: timed-trees ##! Run everything that a change has to pass, or some suites: make test ONLY=upstream,spec
	@$(if $(ONLY),,$(MAKE) --no-print-directory -j3 timed-check timed-builder timed-modules timed-compared)
	@$(MAKE) --no-print-directory -j2 timed-suites $(if $(ONLY),,timed-proof)
	$(if $(ONLY),,$(if $(wildcard build/cse/made),$(CSE)))
	@cat build/incomplete # what did not run, once more

# The overload lab, as a program.
LAB := build/lab

.PHONY: lab-program
lab-program:
	@go -C lab build -o ../$(LAB) ./cmd/lab

.PHONY: suites
suites: rig lab-program
	$(HELD) $(if $(TOPOLOGY),$(RIG) server --topology $(TOPOLOGY) -- )$(RIG) test $(addprefix --,$(subst -,,$(RACE))) $(addprefix --only ,$(ONLY))

# The fork and upstream's driver of the oldest and the newest base, which "make bench" compares.
COMPARED := $(firstword $(BASES)) $(lastword $(BASES))
COMPARED += $(addprefix pristine/,$(COMPARED))

# The soak's plan is always the same, so that only a change can make it fail.
.PHONY: proof
proof: rig
	$(HELD) $(RIG) soak --fork $(BASE) -- --seed 1 --duration 45s

# The builder does one thing after the other, on the whole driver: with the race detector that takes minutes. The overlay's packages that
# compile where they lie are tested in the fork.
BUILDER = ./tools/fork/... ./tools/cmd/mongofork
OTHERS = grep -v '^mongofork/\(internal\|tools/fork\|tools/cmd/mongofork\)'

.PHONY: builder
builder:
	go test $(BUILDER)

.PHONY: modules
modules: fork rig
	@for module in $(MODULES); do echo "$$module"; \
		go -C $$module test $(RACE) $$(go -C $$module list ./... | $(OTHERS)) || exit; done
	$(RIG) with $(BASE) lab -- test ./virtual/...
	$(RIG) with $(BASE) bench -- test -count=1 -run Allocations ./cost
	@$(MAKE) --no-print-directory hostile SEEDS=300

CSE = export PROJECT_DIRECTORY=$$($(RIG) specifications); $(HELD) $(RIG) server --topology replicaset:3 -- etc/cse/test.sh

.PHONY: test-cse
test-cse: fork rig ## Get libmongocrypt from packages of Debian, on x86-64, and run the tests of encryption, as "make test" does from then on
	etc/cse/build.sh
	$(CSE)

.PHONY: limits
limits: fork rig ## Let an application meet the limit on requests of a server that has one, from 8.2 on: one on the PATH, or MONGODB_URI
	$(HELD) $(RIG) server --limits -- go -C lab/limits test -count=1 -v .

.PHONY: quick
quick: check trees rig ##! Check, and run the overlay's tests without a server and without the race detector
	$(HELD) $(RIG) test --only fork

GOFMT = git ls-files -z --cached --others --exclude-standard '*.go' ':!**/testdata/**' | xargs -0 gofmt -l

.PHONY: check
check: ## Check formatting, vet, the overlay's assertions, and compile the fork
	@unformatted=$$($(GOFMT)); [ -z "$$unformatted" ] || { echo "not formatted; run gofmt -w" $$unformatted; exit 1; }
	go vet ./...
	$(MONGOFORK) check
	@$(MONGOFORK) series >/dev/null
	$(MONGOFORK) build
	$(LINK)
	cd build/$(BASE) && go build ./...
	@# What vet finds in the package driverutil is in upstream's tests.
	cd build/$(BASE) && go vet -composites=false $$(go list ./... | grep -v /internal/driverutil$$)

# Print the newest base: export BASE=$(make -s newest).
.PHONY: newest
newest:
	@echo $(lastword $(BASES))

.PHONY: check-bases
check-bases: ## Check, compile and test the fork on every base, as far as no server is needed
	@for base in $(BASES); do $(MAKE) BASE=$$base check && $(MAKE) BASE=$$base test ONLY=fork || exit; done

.PHONY: server
server: rig ## Start a MongoDB server for tests; it runs until it is interrupted: make server SERVER=secantus
	$(HELD) $(RIG) server

.PHONY: lab
lab: rig lab-program ##! Start the overload lab: before three real members, or make lab TOPOLOGY=sharded:2 before one server
	@mkdir -p build/server
ifneq ($(filter-out replicaset:%,$(TOPOLOGY)),)
	$(HELD) $(RIG) server --topology replicaset:1 -- $(LAB) serve --topology $(TOPOLOGY)
else
	@mongod=$$($(RIG) mongod) && $(HELD) $(LAB) serve --mongod "$$mongod" --dir build/server --topology $(or $(TOPOLOGY),replicaset:3)
endif

# How long the soak takes in all, by how many plans, and the seed of the first; 0 takes any.
SECONDS ?= 120
SEEDS ?= 1
SEED ?= 0

.PHONY: soak
soak: all-trees rig ## Disturb applications with all drivers, and compare the drivers: make soak SECONDS=1800 SEEDS=10 SEED=1
	$(HELD) $(RIG) soak $(addprefix --fork ,$(BASES)) $(addprefix --other ,$(BASES)) -- \
		--duration $(SECONDS)s --seeds $(SEEDS) --seed $(SEED)

# A module that "make compare" judges, instead of the fork that it builds.
FORK ?=

.PHONY: compare
compare: SEEDS = 2000
compare: SEED = 1
compare: trees rig ## Judge the fork, or the module in FORK=DIR, by random plans in virtual time: make compare SEEDS=100000 SEED=1
	$(HELD) $(RIG) compare --seeds $(SEEDS) --seed $(SEED) $(addprefix --fork ,$(FORK))

.PHONY: hostile
hostile: SEEDS = 1000
hostile: SEED = 1
hostile: fork rig ## Run the driver on servers that send whatever may harm it, in virtual time: make hostile SEEDS=10000 SEED=1
	@$(RIG) with $(BASE) lab -- build -buildvcs=false -o $(CURDIR)/build/with/$(BASE)/hostile ./cmd/hostile
	build/with/$(BASE)/hostile --seeds $(SEEDS) --seed $(SEED)

# The comparison, unless the same programs have passed it.
.PHONY: compared
compared: trees rig
	$(HELD) $(RIG) compare --once

# Names of defects in etc/planted.yaml; all by default.
DEFECTS ?=

# Who looks for them.
BY ?= compare,tests

.PHONY: planted
planted: SEEDS = 2000
planted: trees rig ## Plant the defects of etc/planted.yaml into the fork, one by one, and see what finds them
	nice $(RIG) planted --by $(BY) --seeds $(SEEDS) $(DEFECTS)

.PHONY: demo
demo: trees rig ##! Show the fork and upstream's driver on a replica set that sheds load: a short soak
	$(HELD) $(RIG) soak --fork $(BASE) --other $(BASE) -- --seed 1 --duration 12s --only overload

.PHONY: series
series: ## Write the fork as a series of patches against upstream's repository, to build/series/$(BASE)
	$(MONGOFORK) series

VERIFY = APIDIFF=$(APIDIFF) GOLANGCI_LINT=$(GOLANGCI_LINT) UPSTREAM=$(UPSTREAM) etc/series/

# Apply each fix of one defect alone to upstream's tree: its tests fail before and pass after.
.PHONY: verify-fixes
verify-fixes: trees
	$(VERIFY)fixes.sh

.PHONY: verify-series
verify-series: verify-fixes ## Apply the series; after each patch build, vet and test the tree
	$(VERIFY)verify.sh

.PHONY: layers
layers: trees ## Take out each fix, backport and extra, and test what remains: make layers LAYERS=fixes/pool
	etc/series/layers.sh

.PHONY: api
api: trees ## Report what the fork adds to upstream's exported API, and what it breaks
	@cd build/pristine/$(BASE) && go run $(APIDIFF) -m -w ../../$(BASE).upstream.api $(UPSTREAM) 2>/dev/null
	@cd build/$(BASE) && go run $(APIDIFF) -m -w ../$(BASE).fork.api $(UPSTREAM) 2>/dev/null
	@go run $(APIDIFF) -m build/$(BASE).upstream.api build/$(BASE).fork.api 2>/dev/null | grep -v '^Ignoring internal package'

.PHONY: drift
drift: ## Show what upstream's newest release changed under the overlay of the newest base: make drift TO=VERSION for another one
	$(MONGOFORK) --base $(lastword $(BASES)) drift $(or $(TO),$(shell go list -m -f '{{.Version}}' $(UPSTREAM)@latest))

# The version that a release has to have, if it is for good: it is then recorded in etc/released.sum.
RELEASE ?=

.PHONY: release
release: ## Write the fork to build/goproxy as a module that a GOPROXY can serve, twice, and compare the bytes
	go test ./tools/fork -run EveryBase # no advisory is open
	@rm -rf build/again
	@$(MONGOFORK) release $(addprefix --final ,$(RELEASE)) -o build/again >/dev/null
	@rm -rf build/goproxy
	$(MONGOFORK) release $(addprefix --final ,$(RELEASE)) -o build/goproxy
	cmp build/goproxy/SHA256SUMS build/again/SHA256SUMS

# What the workflow publishes of build/goproxy: an archive of it, the lines for go.sum, and the documents. It needs GNU's tar.
.PHONY: assets
assets:
	@rm -rf build/assets && mkdir build/assets && cp build/goproxy/go.sum build/goproxy/$(UPSTREAM)/@v/*.json build/assets
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C build/goproxy -c . | \
		gzip -9n >build/assets/$$(basename build/assets/*.cdx.json .cdx.json).tar.gz
	cd build/assets && sha256sum * >SHA256SUMS

.PHONY: lock
lock: ## Record upstream's present declarations in the locks of all bases
	@for base in $(BASES); do BASE=$$base $(MONGOFORK) accept || exit; done

# OLDEST runs a go command with the oldest Go that the module it is in supports.
OLDEST = GOTOOLCHAIN=go$$(go list -m -f '{{.GoVersion}}') go

.PHONY: advisories
advisories: rig ## Look for published vulnerabilities of what the fork of each base, and this repository's modules, depend on
	@for base in $(BASES); do $(MONGOFORK) --base $$base build >/dev/null || exit; done
	$(LINK)
	$(RIG) advisories --database $(VULNDB) --tool $(GOVULNCHECK) $(MODULES)

.PHONY: cross
cross: ## Compile the fork of every base for other platforms, and test it and the adapters with the oldest Go that they support
	@for base in $(BASES); do $(MONGOFORK) --base $$base build || exit; \
		echo "$$base, oldest Go"; (cd build/$$base && $(OLDEST) build ./... && $(OLDEST) test ./event ./internal/retry \
			./internal/backpressure && $(OLDEST) test -run '^Test(Execut|Retr|Throttl)' ./x/mongo/driver) || exit; \
		for platform in $(CROSS); do echo "$$base $$platform"; \
			GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go -C build/$$base build ./... || exit; done; done
	$(LINK)
	@for adapter in contrib/otel contrib/prometheus; do (cd $$adapter && $(OLDEST) test ./...) || exit; done

# Packages that only tests import; they count as tests.
TESTING := tools/fork/forktest lab/internal/handlertest

SIZED = git ls-files 'tools/*.go' 'lab/*.go' 'bench/*.go' 'contrib/*.go' 'docs/*.go' ':!**/testdata/**' | \
	grep $(1) '_test.go' $(patsubst %,-e '^%/',$(TESTING)) | xargs cat | wc -l

PAGES = README.md CONTRIBUTING.md SECURITY.md docs/*.md

# Count what a team has to carry, beside the driver.
.PHONY: size
size:
	@echo "lines of Go: $$($(call SIZED,-v -e)), and of tests, with $(TESTING): $$($(call SIZED,-e))"
	@echo "lines of the overlay, without tests and internal/scripted:"
	@for layer in 'event internal mongo x' fixes backports extras; do \
		echo "  $$layer: $$(git ls-files $$layer | grep '\.go$$' | grep -v -e _test.go -e ^internal/scripted/ | xargs cat | wc -l)"; done
	@echo "targets of make with help: $$($(MAKE) -s help | grep -c '^  ')"
	@echo "pages: $$(ls $(PAGES) | wc -l), words: $$(cat $(PAGES) | wc -w)"
	@echo "layers: $$(ls -d fixes/* backports/* extras/* | wc -l)"

.PHONY: lint
lint: fork ## Run golangci-lint on the modules of this repository and on the overlay, and check the workflows of GitHub Actions
	@for module in $(LINTED); do echo "$$module"; go -C $$module run $(GOLANGCI_LINT) run ./... || exit; done
	@for base in $(BASES); do echo "overlay, $$base"; $(MONGOFORK) --base $$base build >/dev/null && \
		$(MONGOFORK) --base $$base patch >build/$$base.patch && \
		go -C build/$$base run $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --new-from-patch=../$$base.patch ./... || exit; done
	go run $(ACTIONLINT) .github/workflows/*.yml

# TAGS says what a driver has: the fork classes of operations, and newer drivers a generator of the package for jitter.
TAGS = -tags $(if $(filter pristine/%,$(1)),,criticality),$$([ ! -e build/$(1)/internal/randutil/jitter.go ] || echo jitter)

# What "make bench" measures: "overload", in virtual time, or the "cost" when all is well.
WHAT ?= overload

.PHONY: bench
bench: all-trees rig ## Compare the fork with upstream's driver under overload; WHAT=cost when all is well
ifeq ($(filter overload cost,$(WHAT)),)
	@echo "WHAT=$(WHAT): give overload or cost"; exit 1
else ifeq ($(WHAT),cost)
	@$(foreach driver,$(COMPARED),$(RIG) with --programs $(driver) bench -- test -c ./cost &&) true
	bench/cost/cost.sh $(firstword $(BASES)) $(lastword $(BASES))
else
	@$(foreach driver,$(COMPARED),$(RIG) with --programs $(driver) bench -- test -c $(call TAGS,$(driver)) ./overload &&) true
	go -C bench run ./cmd/bench --older $(firstword $(BASES)) --newer $(lastword $(BASES))
endif
