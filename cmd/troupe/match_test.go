package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The example of docs/matchmaking.md, executed as a game designer would.
func TestMatchCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "docs", "matchmaking.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var files []string
	for i, block := range strings.Split(string(text), "```json\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		files = append(files, filepath.Join(dir, []string{"duel.json", "players.json"}[i]))
		if err := os.WriteFile(files[i], []byte(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		exit int
		want string
	}{
		{"validate duel.json", 0, "valid: 2 teams, 2 players at most, 2 rules, 1 steps of expansions"},
		{"validate bad.json", exitUsage, "E_VERSION: $.ruleLanguageVersion"},
		{"simulate duel.json --generate 300 --rate 2 --parties 0 --attribute skill=1500,300 --json out.json --report page", 0, "rules[Near].maxDistance 10 -> 100"},
		{"simulate duel.json --players players.json", 0, "too few other players"},
		{"simulate duel.json --generate 10 --attribute elo=1", exitUsage, `no player attribute "elo"`},
		{"simulate duel.json", exitUsage, "--generate"},
		{"simulate duel.json --generate 0", exitUsage, "--generate must be more than 0"},
		{"simulate duel.json --generate 10 --parties 7", exitUsage, "--parties a share"},
		{"simulate duel.json --generate 10", 0, "are made up: skill=100,25"},
	} {
		args := []string{"match"}
		for _, word := range strings.Fields(c.args) {
			if strings.HasSuffix(word, ".json") || word == "page" {
				word = filepath.Join(dir, word)
			}
			args = append(args, word)
		}
		var out bytes.Buffer
		if exit := run(args, streams{out: &out, err: &out}); exit != c.exit || !strings.Contains(out.String(), c.want) {
			t.Errorf("match %s: exit %d, want %d and %q in\n%s", c.args, exit, c.exit, c.want, &out)
		}
	}
	for file, want := range map[string]string{"out.json": `"waitP99"`, "page/report.html": `<div id="waits">`} {
		if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: %v, without %s", file, err, want)
		}
	}
}
