# overbrainer. `make quickstart` shows it at work, `make test` checks it.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BINARY   := bin/overbrainer
N        ?= 200
BENCH    ?=
COUNT    ?= 6
GOBENCH  ?= ^Benchmark(Load10k|Plan|Encode|Decode|Update|Manifest|Tar|Events)$$

.PHONY: all build install quickstart transcript reference setup test test-all crash crash-faults chaos bench bench-go lint cross licences vuln release policy guard generate generate-check fmt clean

all: build

build: ## the binary, version stamped
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BINARY) ./cmd/overbrainer

install:
	CGO_ENABLED=0 $(GO) install -trimpath -ldflags '$(LDFLAGS)' ./cmd/overbrainer

quickstart: build ## a real training job on the local simulator, from plan to verified results
	sh scripts/quickstart.sh "$(CURDIR)/$(BINARY)"

transcript: build ## records docs/transcript.md anew; needs tmux
	sh scripts/record.sh "$(CURDIR)/$(BINARY)"

reference: build ## docs/reference anew, from the program's own tables
	$(BINARY) manual bin/manual && mkdir -p docs/reference && cp bin/manual/reference/* docs/reference/

setup: ## what the tests need, by apt where it is missing
	sh scripts/setup.sh

test: setup ## everything a user relies on, with the race detector
	$(GO) test -race -short -timeout 20m -parallel 4 ./... # tests of the binary mostly wait

crash: ## kills the process at every boundary of a scenario; apply or destroy must recover (up to 25 minutes)
	@$(GO) run ./internal/crash kills

crash-faults: ## the same scenario with each call of the API going wrong, in four ways
	@$(GO) run ./internal/crash faults

chaos: ## kills client and provider at N=200 random instants, with apply after each
	@$(GO) run ./internal/crash -n $(N) chaos

test-all: setup ## the same with every boundary, size and cut: minutes more
	$(GO) test -timeout 60m ./...

guard: ## a hundred made-up lives of pods: bills within caps, no pod past its bound, no result lost
	mkdir -p bin
	$(GO) test -c -o bin/guard.test ./cmd/overbrainer
	cd cmd/overbrainer && ../../bin/guard.test -test.run='^TestGuard$$' -test.timeout=3h -test.parallel=6 -lives=100

bench: setup ## what a user waits for, beside scp, rsync, tar, ssh and terraform: a report (half an hour)
	@$(GO) run ./internal/bench $(BENCH)

bench-go: ## evaluator, planner, state, manifest, tar, log stream, with allocations, for benchstat
	@$(GO) test -run '^$$' -bench '$(GOBENCH)' -benchmem -count $(COUNT) ./config ./plan ./state ./internal/job ./internal/remote ./providers/runpod

lint: setup
	test -z "$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"
	$(GO) vet ./...
	$(GO) vet -tags crash ./cmd/overbrainer ./internal/remote
	$(GO) run $(LINT) run ./...
	sh scripts/shellcheck.sh

# Where the program has to compile; its tests run on Linux.
CROSS := darwin/arm64 windows/amd64

cross: ## compiles for the other systems
	@for p in $(CROSS); do echo "cross $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build ./cmd/overbrainer ./config || exit 1; done

licences: ## every module that is built in has a licence that is known
	cd tools/release && $(GO) test . && $(GO) run . licences

vuln: ## known vulnerabilities; needs the network
	sh scripts/vuln.sh

# The same source, VERSION and time give the same bytes.
release: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
release: ## dist/: static binaries in archives, bills of materials, checksums
	cd tools/release && $(GO) run . -version "$(VERSION)"

policy: ## the policy of examples/ci, run by the engine pinned in tools/opa over real plans
	$(GO) test -run '^TestPolicy$$' -timeout 20m ./cmd/overbrainer

generate: ## the gRPC code from provider.proto, with the generators pinned in tools/
	sh providers/plugin/proto/generate.sh

generate-check: generate
	git diff --exit-code -- providers/plugin

fmt:
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

clean:
	rm -rf bin dist
