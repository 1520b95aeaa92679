package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchList(t *testing.T) {
	t.Parallel()
	code, out, _ := call("bench", "list")
	for _, want := range []string{"relay-25x8 ", "relay-4x50 ", "idle ", "join-storm ", "search "} {
		if code != 0 || !strings.Contains(out, "\n"+want) {
			t.Errorf("%d: no %q in\n%s", code, want, out)
		}
	}
}

// If something cannot be measured, a single line says what to do, before anything is started or written.
func TestBenchWrongUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "r.json")
	for line, want := range map[string]string{
		"relay-25x9":                         `there is no workload "relay-25x9": troupe bench list shows them`,
		"relay":                              `there is no workload "relay": relay-25x8 or relay-4x50 or relay-matching?`,
		"relay-25x8 idle2":                   `there is no workload "idle2": idle?`,
		"relay-25x8 --payload 3":             "relay-25x8: --payload must be 16 to 4096 bytes",
		"relay-25x8 --players 201":           "relay-25x8: --players must be 1 to 200: the service API takes no more in a game session",
		"relay-25x8 --rooms=-1":              "relay-25x8: --rooms must be 1 to 100000",
		"relay-25x8 --measure 1ms":           "relay-25x8: --measure must be 100ms to 10m0s",
		"relay-25x8 --only nobody":           `relay-25x8: it has no "nobody" to measure; it has bare, troupe, troupe 15 ms`,
		"relay-25x8 --script none.js":        "relay-25x8: --script: stat none.js: no such file or directory",
		"idle --script x.js":                 "idle: it does not run scripts: troupe bench list shows which do",
		"relay-25x8 --message hello":         "relay-25x8: --message and --op-code are what a script understands: name it with --script",
		"relay-25x8 --against h --set a=b":   "relay-25x8: --set and --peers are for hosts that are started here: leave them out, or --against",
		"acks-stock --against h":             "acks-stock: it starts hosts of its own: leave --against out",
		"search --rooms 100001":              "search: --rooms must be 1 to 100000",
		"placements --rate=-1":               "placements: --rate must be above 0 and at most 100000",
		"relay-25x8 --peers none.json":       "--peers: open none.json: no such file or directory",
		"relay-25x8 --against ftp://h":       "ftp://h is not the URL of a host: is it http://h?",
		"relay-25x8 --against h --ca none.p": "--ca: open none.p: no such file or directory",
	} {
		code, out, errs := call(append(append([]string{"bench"}, strings.Fields(line)...), "--json", file)...)
		if code != exitUsage || out != "" || errs != "troupe: bench: "+want+"\n" {
			t.Errorf("%s: %d, %q, %q, want %q", line, code, out, errs, want)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("half a result")
	}
}
