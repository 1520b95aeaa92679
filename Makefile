SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
.DEFAULT_GOAL := help

GO ?= go
BIN := bin
FUZZTIME ?= 10s
ROUNDS ?= 5
RUN_FLAGS ?=
BENCH_FLAGS ?=
MUTANTS ?=
ROWS ?= .*
SOAK ?= 6m
export CGO_ENABLED ?= 0
# As a release is compiled, which a test builds: so CI compiles the tree and its dependencies twice, with the race
# detector and without, and not a third time.
GOFLAGS ?=
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

# Packages whose goroutines share memory: make test runs their tests with the race detector, and what counts allocations, which the
# race detector makes itself, without it. All others run without it; make test-full runs everything with it.
SHARED := $(addprefix ./actors/,stage player connection store ledger sessionlog script/watchdog) \
	$(addprefix ./transport/,gateway websocket fast kcp dtls client events) ./messages/wire
ALLOC := $(sort $(patsubst %/,./%,$(dir $(shell grep -lE 'func Test[A-Za-z]*Alloc' $(patsubst ./%,%,$(addsuffix /*_test.go,$(SHARED)))))))

# Packages with tests that need failpoints (actors/fault).
FAULTS := ./actors/fault ./actors/store ./actors/placement

# The race detector keeps each process for a second after its end, in case of a race in what
# is still running; TestMain has seen by then (goleak) that nothing is.
# Test binaries are linked without what a debugger needs: a third less work. As many packages run at once as there are cores.
TEST := $(GO) test -json -vet=off -shuffle=on -count=1 -timeout 10m -ldflags='-s -w' \
	-p $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
RACE := CGO_ENABLED=1 GORACE="atexit_sleep_ms=50" $(TEST) -race
REPORT := awk -f cmd/internal/testreport.awk

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help
help: ## show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: run
run: build ## the host with embedded defaults on loopback (RUN_FLAGS="...")
	$(BIN)/troupe dev $(RUN_FLAGS)

# Stripped like a release of what only debuggers read: a third smaller. Stack traces and profiles keep names and lines.
.PHONY: build
build: ## build bin/troupe
	@echo "compiling $(BIN)/troupe: some minutes on a new machine, once; each package that is compiled is a line"
	@$(GO) build -v -buildvcs=auto -ldflags='-s -w' -o $(BIN)/troupe ./cmd/troupe

.PHONY: test
test: lint-quick ## what CI runs: vet, the short tests, those of shared memory with the race detector; what was skipped, and what took time
	@echo "compiling the tests: some minutes on a new machine; then a line for each package"
	@{ rc=0; $(RACE) -short $(SHARED) || rc=1; \
		$(TEST) -short $$($(GO) list ./... | grep -vxF "$$($(GO) list $(SHARED))") || rc=1; \
		$(TEST) -short -run Alloc $(ALLOC) || rc=1; \
		$(TEST) -short -tags faults $(FAULTS) || rc=1; exit $$rc; } | $(REPORT)

.PHONY: test-full
test-full: lint-quick ## all tests, whole, with the race detector and without: long models, all hostile scripts, both engines' catalogues, every workload and scenario; an hour
	@echo "compiling the tests: some minutes on a new machine; then a line for each package"
	@{ rc=0; $(RACE) -timeout 1h ./... || rc=1; $(TEST) -timeout 1h ./... || rc=1; $(TEST) -tags faults $(FAULTS) || rc=1; exit $$rc; } | $(REPORT)

# A line for each package with fuzz targets: its folder and their names.
FUZZED := grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' actors bench cmd messages transport | \
	sed 's|/[^/]*:func | |' | sort | awk '$$1 != last { if (NR > 1) print ""; printf "%s", last = $$1 } { printf " %s", $$2 } END { print "" }'

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 10s) each, guided by coverage
	@$(FUZZED) | { rc=0; while read -r dir names; do for name in $$names; do \
		$(GO) test "./$$dir" -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) < /dev/null || rc=1; done; done; exit $$rc; }

# Without coverage instrumentation, for which go test -fuzz compiles all dependencies once more: inputs are then random
# changes of the corpus. A target may fail because its time is over (golang.org/issue/75804): that is no finding.
.PHONY: fuzz-short
fuzz-short: ## the fuzz targets of a third of the packages, by day, for 3 s each: what CI runs after the tests; under a minute
	@fuzz() { tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; $(GO) test -c -vet=off -o "$$tmp/test" "./$$1"; cd "$$1"; \
		for name in "$${@:2}"; do echo "$$1 $$name"; \
			"$$tmp/test" -test.run '^$$' -test.fuzz "^$$name$$" -test.fuzztime 3s -test.fuzzminimizetime 10x -test.parallel 1 -test.fuzzcachedir "$$tmp/cache" > "$$tmp/out" 2>&1 || \
			{ grep -q '^    context deadline exceeded' "$$tmp/out" && ! grep -qiE 'failing input|^panic' "$$tmp/out"; } || { cat "$$tmp/out"; exit 1; }; done; }; \
	export -f fuzz; $(FUZZED) | awk -v day=$$(($$(date +%s) / 86400)) 'NR % 3 == day % 3' | xargs -P "$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" -L 1 bash -euc 'fuzz "$$@"' fuzz

.PHONY: bench
bench: ## micro benchmarks with allocations, once each (compare with benchstat over 10 runs)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime 200ms ./messages/... ./actors/... ./transport/...

.PHONY: bench-relay
bench-relay: build ## CPU, latency and allocations per delivered message beside a bare relay
	$(BIN)/troupe bench relay-25x8 relay-4x50 --rounds $(ROUNDS) $(BENCH_FLAGS)

.PHONY: bench-idle
bench-idle: build ## memory per idle connection at 9,600 beside a bare relay
	$(BIN)/troupe bench idle $(BENCH_FLAGS)

PEERS := $(BIN)/peers
PEER_ROUNDS ?= 3

.PHONY: bench-peers
bench-peers: build peers ## beside Colyseus, centrifuge, nano and bare relays: tables, JSON, a page; an hour; takes node, npm and the network
	$(BIN)/troupe bench relay-25x8 relay-4x50 ramp ramp-coalesced idle ticks --rounds $(PEER_ROUNDS) --peers $(PEERS)/peers.json --report $(PEERS)/report $(BENCH_FLAGS)

# What cannot be installed is in the list with a reason, and is not measured. No lock file is written: it would name the registry.
.PHONY: peers
peers: build # installs the servers that bench-peers compares with, and lists them
	@mkdir -p $(PEERS)/colyseus && cp bench/peers/colyseus/{package.json,server.js} $(PEERS)/colyseus
	@add() { name=$$1 command=$$2; shift 2; if out=$$("$$@" 2>&1); then echo "$$name: ready" >&2; printf ', {"name": "%s", "command": [%s]}\n' "$$name" "$$command"; \
		else echo "$$name: not there: $$out" >&2; printf ', {"name": "%s", "missing": "%s failed"}\n' "$$name" "$$1"; fi; }; \
	{ echo '[{"name": "bare epoll", "command": ["$(abspath $(BIN))/troupe", "bench", "bare", "--engine", "epoll"]}'; \
	add colyseus '"node", "$(abspath $(PEERS))/colyseus/server.js"' npm install --prefix $(PEERS)/colyseus --omit=dev --no-audit --no-fund --no-package-lock --ignore-scripts; \
	for name in centrifuge nano; do add $$name "\"$(abspath $(PEERS))/$$name\"" $(GO) build -C bench/peers/$$name -o $(abspath $(PEERS))/$$name .; done; echo ']'; } > $(PEERS)/peers.json

.PHONY: proof-peers
proof-peers: peers ## the load generator plays with Colyseus, centrifuge and nano, and hears all that was said
	$(GO) test ./bench/suite -count=1 -timeout 5m -v -run RealServers -args -peers.file $(abspath $(PEERS))/peers.json

.PHONY: bench-transports
bench-transports: build ## the fast channel over DTLS beside plain UDP, and idle KCP players
	$(BIN)/troupe bench fast idle-kcp $(BENCH_FLAGS)

.PHONY: bench-script
bench-script: build ## what scripts cost: CPU per message, memory, and other games while a hostile script runs
	$(BIN)/troupe bench script-echo script-idle script-hostile $(BENCH_FLAGS)

.PHONY: bench-service
bench-service: build ## the durable control plane: placements, player sessions, searches, a start with many records
	$(BIN)/troupe bench placements player-sessions search start $(BENCH_FLAGS)

.PHONY: bench-reconnect
bench-reconnect: build ## players cut off and back, with and without acknowledgements, and what those cost
	$(BIN)/troupe bench reconnect-single reconnect-storm acks-25x8 acks-stock $(BENCH_FLAGS)

.PHONY: bench-kills
bench-kills: ## SIGKILL at every failpoint of the store under load: nothing answered is lost; some 9 min
	@echo "compiling $(BIN)/troupe-faults: each package that is compiled is a line"
	@$(GO) build -v -tags faults -o $(BIN)/troupe-faults ./cmd/troupe
	$(BIN)/troupe-faults faults run store-kills $(BENCH_FLAGS)

# A run waits most of the time, so three run at once. What a run printed is shown if a promise is broken.
FAULTS_RUN := out=$$("$$0" faults run "$$2" --seed 1 2>&1) && echo "holds  $$1 $$2" || { echo "BROKEN $$1 $$2"; echo "$$out"; exit 1; }

.PHONY: faults
faults: build ## each plan of the specification's fault matrix, and crowds that come back at once; some 6 min (ROWS="RL-10[1-3]")
	@$(BIN)/troupe faults list --matrix | grep -E '^($(ROWS)) ' | grep '^RL' | xargs -P 3 -L 1 bash -c '$(FAULTS_RUN)' $(BIN)/troupe
	$(BIN)/troupe bench reconnect-storm

.PHONY: faults-cluster
faults-cluster: build ## the rows of the failure matrix of a cluster that processes can make: three hosts and three members of etcd; some 20 min (ROWS="CL-10[1-3]")
	@$(BIN)/troupe faults list --matrix | grep -E '^($(ROWS)) ' | grep '^CL' | xargs -P 1 -L 1 bash -c '$(FAULTS_RUN)' $(BIN)/troupe

.PHONY: soak
soak: ## 1,000 players lose connections, leave, join, and games end and begin, with times divided by ten: what the process takes stays flat (SOAK=1h for an hour)
	$(GO) test ./transport/transporttest/acceptance -count=1 -timeout 150m -v -run 'TestChurn$$' -churn $(SOAK) | grep -v '"level"'

.PHONY: seeds
seeds: ## 20,000 seeds of the simulator, with the failures of each kind of plan; some 10 min (make test runs 500)
	$(GO) test ./transport/transporttest/sim -count=1 -timeout 2h -v -run 'TestSeeds$$' -sim.first 501 -sim.seeds 20000

.PHONY: mutants
mutants: ## deliberate bugs, one at a time: each must be found by its test; some 10 min (MUTANTS="-only REGEXP -output")
	$(GO) test ./cmd/internal/mutants -count=1 -timeout 2h -v -run 'TestEachBugIsFound$$' -args -try $(MUTANTS)

.PHONY: proof-crowds
proof-crowds: ## 2,000 DTLS handshakes from one address at once
	$(GO) test ./transport/dtls -count=1 -timeout 2m -v -run AVenueBehindOneAddress -crowd.handshakes 2000

.PHONY: proof-page
proof-page: ## the reports of troupe bench, troupe faults and troupe match draw their plots in headless Chromium, without an error
	$(GO) test ./bench/result ./bench/faults ./bench/suite -count=1 -timeout 5m -v -run PageInABrowser

.PHONY: proof-console
proof-console: ## what the console costs: main-thread time of each page, and the host's CPU while nobody and somebody looks, at 1,000 game sessions and 5,000 players; takes Chromium, some 3 min
	$(GO) test ./transport/host -count=1 -timeout 15m -v -run 'TheConsoleIsCheap' -args -console.cost | grep -v '"level"'

.PHONY: dist
dist: ## archives for six platforms with licences and a systemd unit, and their SHA-256 sums, in bin/dist; the same commit gives the same bytes
	$(GO) run ./cmd/internal/dist -to $(BIN)/dist -platforms "$(PLATFORMS)"

JS := transport/client/js

.PHONY: js
js: js-packages ## the TypeScript client: install tsc, check types (also those of new games), bundle dist/client.js, pack into bin (takes npm and the network)
	cd $(JS) && npm run check && npm run types
	$(GO) test ./$(JS) -count=1 -run TestTheBundleIsCurrent -update
	$(GO) test ./cmd/troupe -count=1 -run TestTypesOfNewGames
	mkdir -p $(BIN) && cd $(JS) && npm pack --pack-destination $(abspath $(BIN))

.PHONY: js-packages
js-packages: # tsc, and ws for tests in a Node.js that has no WebSocket
	cd $(JS) && npm ci --ignore-scripts --no-audit --no-fund

.PHONY: proof-js
proof-js: js-packages ## the TypeScript client in Node.js and Chromium, against real hosts: 20,000 messages each way through cuts, and its example (takes npm, certutil and the network)
	$(GO) test ./$(JS) -count=1 -timeout 15m -v -args -js.required -js.messages 20000 | grep -v '"level"'

.PHONY: lint-quick
lint-quick: # lint vets the files of other builds
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' | grep -v '\.pb\.go$$')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	@echo "compiling and checking the source: some minutes on a new machine, once; each package that is compiled is a line"
	@$(GO) vet -v ./...

.PHONY: notices
notices: ## write the licences of what the binary is linked from (after a change of dependencies)
	$(GO) run ./cmd/internal/dist -notices -platforms "$(PLATFORMS)"

.PHONY: lint
lint: lint-quick vuln ## format, vet, known flaws of dependencies, tidy, licences, and builds for all platforms
	$(GO) run ./cmd/internal/dist -notices -check -platforms "$(PLATFORMS)"
	$(GO) mod verify
	$(GO) mod tidy -diff
	@for p in $(PLATFORMS); do echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -v -o /dev/null ./cmd/troupe; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet ./cmd/... ./transport/... ./actors/... ./messages/...; done

# The database of known flaws: a URL, file:// included; empty: vuln.go.dev.
VULNDB ?=
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: vuln
vuln: ## known flaws that the code reaches, in dependencies and the standard library (VULNDB=file:///folder offline); skipped, with the reason, if the database cannot be read
	@GOBIN=$(abspath $(BIN)) $(GO) install $(GOVULNCHECK) || { echo "govulncheck skipped: it cannot be installed"; exit 0; }; \
	rc=0; out=$$($(BIN)/govulncheck $(if $(VULNDB),-db $(VULNDB)) ./... 2>&1) || rc=$$?; \
	if [ $$rc = 1 ] && grep -q 'fetching vulnerabilities' <<< "$$out"; then echo "govulncheck skipped: $$out"; exit 0; fi; \
	echo "$$out"; exit $$rc

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)
	$(GO) clean -testcache
