package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// troupe config check reports every mistake at once: in a single key, in a combination of keys, or in a file. Each
// message gives the key and the file. troupe serve rejects the same mistakes.
func TestConfigCheckReportsEveryMistakeAtOnce(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "troupe.yaml")
	text := strings.ReplaceAll(`regoin: us-east-1
workers: -1
store: {path: DIR/plain/store.db}
websocket: {addr: "127.0.0.1:1900"}
wss: {addr: "localhost:1901"}
dtls: {addr: ":33401"}
kcp: {addr: "127.0.0.1:33401"}
api: {addr: "127.0.0.1:1900", tls: true}
tls: {certFile: DIR/none.pem, keyFile: DIR/none.key}
fleets: [{id: fleet-a, gameSessionsMax: 5, script: DIR/none.js}]
queues: [{name: q, timeout: 10s, destinations: [fleet-a, fleet-b, fleet-8d7e8bd0-8d0c-4c3e-8b52-9d1ad7d6c8f1]}]
matchmaking: {ruleSets: [{name: r, file: DIR/none.json}], configurations: [{name: m, ruleSet: r, queue: p, requestTimeout: 10s}]}
events: {sinks: [{name: f, type: file, path: DIR/none/e, all: true}, {name: g, type: file, path: DIR/plain/e, all: true}, {name: h, type: file, path: DIR, all: true}], sse: {secretFile: DIR/none.secret}}
log: {gameSessions: {dir: DIR/plain/logs}}
`, "DIR", filepath.ToSlash(dir))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"config", "check", file}, {"serve", "--config", file}} {
		var out, said bytes.Buffer
		if code := run(args, streams{out: &out, err: &said}); code != exitFailure {
			t.Error(code, out.String())
		}
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		for _, want := range [][2]string{
			{"regoin", "region"}, {"api.keys", "dtls.addr"}, {"workers", "0 to 1024"}, {"websocket.addr", "api.addr"}, {"kcp.addr", "dtls.addr"},
			{"queues[0].destinations[1]", "fleet-b"}, {"matchmaking.configurations[0].queue", "p is not one of queues"}, {"log.gameSessions.dir", "plain"}, {"store.path", "plain"}, {"tls.certFile", "none.pem"}, {"tls.keyFile", "none.key"},
			{"fleets[0].script", "none.js"}, {"matchmaking.ruleSets[0].file", "none.json"}, {"events.sinks[0].path", "none"}, {"events.sinks[1].path", "plain"}, {"events.sinks[2].path", "is a folder"}, {"events.sse.secretFile", "none.secret"},
		} {
			if n := countLines(lines, want); n != 1 {
				t.Errorf("%s: %v is in %d lines of\n%s", args[0], want, n, said.String())
			}
		}
		if len(lines) != 17 {
			t.Errorf("%d lines\n%s", len(lines), said.String())
		}
	}
}

// countLines counts the lines about a key that contain a word.
func countLines(lines []string, want [2]string) (n int) {
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimPrefix(line, "troupe: config: "), want[0]) && strings.Contains(line, want[1]) {
			n++
		}
	}
	return n
}
