package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inputs are what reliability.md 10 has to be fuzzed, and by which target.
var inputs = map[string]string{
	"frames": "messages/wire FuzzUnit", "packets": "messages/wire FuzzPacketDecode", "JSON packets": "messages/wire FuzzJSONPacket",
	"WebSocket bytes": "transport/websocket FuzzWebSocketFrames", "UDP datagrams": "transport/fast FuzzUDPDatagram",
	"DTLS records": "transport/dtls FuzzDatagram", "KCP segments": "transport/kcp FuzzSegments", "logins": "messages/wire FuzzLoginCommand",
	"signatures": "transport/awswire FuzzSigV4Request", "API bodies in both protocols": "transport/serviceapi FuzzAPIJSONAndCBOR",
	"search expressions": "transport/serviceapi/search FuzzFilter", "scripts in archives": "actors/script/bundle FuzzFromZip",
	"stored records": "actors/store FuzzOpen", "the configuration": "cmd/internal/config FuzzConfigFile",
}

var root = filepath.Join("..", "..", "..")

// The list of reliability.md 10 and the targets fit each other, and each target has inputs to begin with:
// in its code, or in testdata.
func TestEveryInputHasATargetAndACorpus(t *testing.T) {
	all, err := targets(root)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := os.ReadFile(filepath.Join(root, "docs", "spec", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(spec), "**Fuzz** (native, crashers committed): ")
	list, _, _ = strings.Cut(regexp.MustCompile(` \([^)]*\)`).ReplaceAllString(list, ""), ".\n")
	named := strings.Split(list, ", ")
	for _, input := range named {
		dir, name, _ := strings.Cut(inputs[input], " ")
		if !slices.Contains(all, target{filepath.FromSlash(dir), name}) {
			t.Errorf("%s have no target %q", input, inputs[input])
		}
	}
	if len(named) != len(inputs) {
		t.Errorf("%d inputs are named, %d have a target here: %q", len(named), len(inputs), named)
	}
	for _, g := range all {
		if n := corpus(t, g); n == 0 {
			t.Errorf("%s %s has no corpus", g.dir, g.name)
		}
	}
	if len(all) < 30 {
		t.Errorf("only %d targets", len(all))
	}
}

// corpus returns how many inputs, or places that add some, a target has.
func corpus(t *testing.T, g target) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, g.dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, body, ok := strings.Cut(string(text), "func "+g.name+"("); ok {
			body, _, _ = strings.Cut(body, "\n}\n")
			n += strings.Count(body, "f.Add(") + strings.Count(body, "(f,")
		}
	}
	kept, err := filepath.Glob(filepath.Join(root, g.dir, "testdata", "fuzz", g.name, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return n + len(kept)
}

func TestEachTargetHasItsDay(t *testing.T) {
	all, err := targets(root)
	if err != nil {
		t.Fatal(err)
	}
	days := make(map[target]int)
	for day := range 3 {
		chosen := part(all, 3, 20_000+day)
		if len(chosen) == 0 || len(chosen) > len(all)/2 {
			t.Errorf("day %d has %d of %d targets", day, len(chosen), len(all))
		}
		for _, g := range chosen {
			days[g]++
		}
	}
	for _, g := range all {
		if days[g] != 1 {
			t.Errorf("%v has %d days of three", g, days[g])
		}
	}
}

// What package testing prints when the end of -fuzztime meets an input on its way, and what is like it.
func TestOnlyTheEndOfTimeIsNoFinding(t *testing.T) {
	const begin = "fuzz: elapsed: 3s, execs: 183311 (61102/sec)\nfuzz: elapsed: 3s, execs: 183311 (0/sec)\n"
	for _, c := range []struct {
		out  string
		want bool
	}{
		{begin + "--- FAIL: FuzzFrame (3.06s)\n    context deadline exceeded\nFAIL\n", true},
		{begin + "--- FAIL: FuzzFrame (3.06s)\n    --- FAIL: FuzzFrame (0.00s)\n        frame_test.go:9: context deadline exceeded\n    \n" +
			"    Failing input written to testdata/fuzz/FuzzFrame/771e938e4458e983\nFAIL\n", false},
		{begin + "--- FAIL: FuzzFrame (3.06s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n" +
			"    Failing input written to testdata/fuzz/FuzzFrame/771e938e4458e983\n--- FAIL: FuzzFrame (3.06s)\n    context deadline exceeded\nFAIL\n", false},
		{begin + "fuzz: minimizing 31-byte failing input file\n--- FAIL: FuzzFrame (3.06s)\n    context deadline exceeded\nFAIL\n", false},
		{begin + "panic: index out of range\n", false},
		{"", false},
	} {
		if got := onlyTimeEnded([]byte(c.out)); got != c.want {
			t.Errorf("%v for %q", got, c.out)
		}
	}
}
