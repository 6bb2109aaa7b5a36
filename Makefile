# overbrainer. `make quickstart` shows it at work, `make test` checks it.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BINARY   := bin/overbrainer

.PHONY: all build install quickstart setup test test-short lint generate generate-check fmt clean

all: build

build: ## the binary, version stamped
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BINARY) ./cmd/overbrainer

install:
	CGO_ENABLED=0 $(GO) install -trimpath -ldflags '$(LDFLAGS)' ./cmd/overbrainer

quickstart: build ## a real training job on the local simulator, from plan to verified results
	sh scripts/quickstart.sh "$(CURDIR)/$(BINARY)"

setup: ## what the tests need, by apt where it is missing
	sh scripts/setup.sh

test: setup ## everything a user relies on, with the race detector
	$(GO) test -race ./...

test-short:
	$(GO) test -short ./...

lint: setup
	test -z "$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"
	$(GO) vet ./...
	$(GO) run $(LINT) run ./...
	sh scripts/shellcheck.sh

generate: ## the gRPC code from provider.proto, with the generators pinned in tools/
	sh providers/plugin/proto/generate.sh

generate-check: generate
	git diff --exit-code -- providers/plugin

fmt:
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

clean:
	rm -rf bin
