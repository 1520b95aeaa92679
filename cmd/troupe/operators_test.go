package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/actors/script/bundle"
	"troupe/messages"
)

// troupe dev takes scripts as large as script.unpackedMax says, and no larger ones.
func TestDevTakesWhatTheConfigurationAllows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string][]byte{"main.js": []byte("exports.ssExports = { init() {} };"), "map.bin": make([]byte, 2<<20)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for most, good := range map[int64]bool{1 << 20: false, 3 << 20: true, 0: true} {
		d := devScript{path: dir, main: "main.js", limits: bundle.Limits{UnpackedMax: most}}
		if err := d.check(); err == nil != good {
			t.Errorf("at most %d: %v", most, err)
		}
	}
}

// What keeps troupe serve from starting is found by troupe config check, also in OpenTelemetry's variables, and troupe
// config print shows what they change.
func TestConfigKnowsTheVariablesOfOpenTelemetry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	if err := os.WriteFile(file, []byte("store: {memory: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hush")
	var out, said bytes.Buffer
	if code := run([]string{"config", "print", "--config", file}, streams{out: &out, err: &said}); code != 0 || strings.Contains(out.String(), "hush") {
		t.Error(code, out.String(), said.String())
	}
	for _, want := range []string{"sampleRatio: 0.25", "# environment OTEL_TRACES_SAMPLER_ARG", "- name: api-key", "# environment OTEL_EXPORTER_OTLP_HEADERS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in\n%s", want, out.String()[strings.Index(out.String(), "traces:"):])
		}
	}
	t.Setenv("OTEL_TRACES_SAMPLER", "jaeger_remote")
	for _, args := range [][]string{{"serve", "--config", file, "--api-addr", "nowhere"}, {"config", "check", file}, {"config", "print", "--config", file}} {
		said.Reset()
		if code := run(args, streams{out: &out, err: &said}); code != exitFailure || !strings.Contains(said.String(), "OTEL_TRACES_SAMPLER: ") {
			t.Errorf("%v: %d %s", args, code, said.String())
		}
	}
}

// A player id has up to 1,024 characters, of any number of bytes (service-api.md 2.3): such a player is found, kicked and banned, too.
func TestAPlayerWithALongIDIsBanned(t *testing.T) { synctest.Test(t, aPlayerWithALongIDIsBanned) }

func aPlayerWithALongIDIsBanned(t *testing.T) {
	h, g := adminHost(t, nil)
	long := strings.Repeat("☃", 1024)
	if _, err := h.System().CreatePlayerSessions(t.Context(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: messages.PlayerID(long)}}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"players", "--player", long}, "RESERVED"}, {[]string{"connections", "--closed", "--player", long}, "WHY"}, {[]string{"kick", long}, "that end: 1"},
		{[]string{"ban", long, "--for", "1h"}, "banned until"}, {[]string{"ban", long, "--lift"}, "lifted"},
	} {
		if code, out, said := h.call(append([]string{"admin"}, test.args...)...); code != 0 || !strings.Contains(out, test.want) {
			t.Errorf("admin %s: %d %.200s%.200s", test.args[0], code, out, said)
		}
	}
}

// A wrong command line is told apart from a failure by its exit code, as docs/operations.md says. No flag is passed over in silence.
func TestWrongCommandLinesHaveAnExitCodeOfTheirOwn(t *testing.T) {
	for _, args := range [][]string{{"logs", "--follow"}, {"admin", "drain", "--grace=-1s"}, {"dev", "--engine", "node"}, {"dev", "--main", "a.js"}, {"client", "--group=-1"}, {"client", "--bots=-1"},
		{"admin", "ban", "ann", "--for", "24h", "--lift"}, {"admin", "connections", "--player", "ann"}, {"admin", "connections", "--by", "host"}} {
		if code, out, said := call(args...); code != exitUsage || said == "" {
			t.Errorf("%v: %d %s%s", args, code, out, said)
		}
	}
}

// What people try first is understood: help of a command, and a scenario without the word run.
func TestWhatPeopleTryFirst(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"help"}, 0, "Usage: troupe <command>"}, {[]string{"help", "faults", "run"}, 0, "troupe faults run"},
		{[]string{"faults", "nothing-like-it"}, exitUsage, "nothing-like-it"},
	} {
		var out bytes.Buffer
		if code := run(c.args, streams{out: &out, err: &out}); code != c.code || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "unexpected argument") {
			t.Errorf("%v: %d %.300s", c.args, code, out.String())
		}
	}
}

// troupe health succeeds if the host's page does, and fails otherwise.
func TestHealth(t *testing.T) { synctest.Test(t, health) }

func health(t *testing.T) {
	up := startHost(t, nil, plainHost()).place
	draining := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			http.Error(w, "draining", http.StatusServiceUnavailable)
		}
	})
	for _, c := range []struct {
		at   place
		args string
		code int
	}{{up, "health", 0}, {up, "health --ready", 0}, {draining, "health", 0}, {draining, "health --ready", exitFailure}, {place{up.net, "http://127.0.0.1:1"}, "health", exitFailure}} {
		if code, out, said := c.at.call(strings.Fields(c.args)...); code != c.code || (code == 0) != (out == "ok\n") {
			t.Errorf("%s of %s: %d %s%s", c.args, c.at.url, code, out, said)
		}
	}
}

// Tables show game sessions shorter than their ARNs, and flags take both.
func TestGameSessionsAreNamedAsTablesShowThem(t *testing.T) {
	synctest.Test(t, gameSessionsAreNamedAsTablesShowThem)
}

func gameSessionsAreNamedAsTablesShowThem(t *testing.T) {
	h, g := adminHost(t, nil)
	c := caller{Region: "us-east-1"}
	short := c.shortGame(string(g.ID))
	if len(short) > 60 || c.gameARN(short) != string(g.ID) || c.gameARN(string(g.ID)) != string(g.ID) || (&caller{Region: "eu-west-1"}).shortGame(string(g.ID)) != string(g.ID) {
		t.Fatal(short)
	}
	for _, args := range []string{"sessions", "sessions --game-session " + short, "sessions --game-session " + string(g.ID), "players --game-session " + short} {
		if code, out, said := h.call(append([]string{"admin"}, strings.Fields(args)...)...); code != 0 || !strings.Contains(out, short) || strings.Contains(out, "arn:") {
			t.Errorf("%s: %d %s%s", args, code, out, said)
		}
	}
}

// The end of a stream of events is a sentence.
func TestTheEndOfEventsIsASentence(t *testing.T) { synctest.Test(t, theEndOfEventsIsASentence) }

func theEndOfEventsIsASentence(t *testing.T) {
	host := standIn(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event: recent\ndata: {}\n\n")
	})
	if code, out, said := host.call("admin", "events", "--follow"); code != exitFailure || out != "{}\n" || said != "troupe: admin: the host has ended the stream\n" {
		t.Errorf("%d %s%s", code, out, said)
	}
}
