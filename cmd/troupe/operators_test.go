package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
func TestAPlayerWithALongIDIsBanned(t *testing.T) {
	h, g := adminHost(t)
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
		var out, said bytes.Buffer
		args := append(append([]string{"admin"}, test.args...), "--endpoint", h.Addrs().APIURL)
		if code := run(args, streams{out: &out, err: &said}); code != 0 || !strings.Contains(out.String(), test.want) {
			t.Errorf("admin %s: %d %.200s%.200s", test.args[0], code, out.String(), said.String())
		}
	}
}

// No flag is passed over in silence.
func TestAdminCommandsTakeNoFlagInVain(t *testing.T) {
	h, _ := adminHost(t)
	for _, args := range [][]string{{"ban", "ann", "--for", "24h", "--lift"}, {"connections", "--player", "ann"}, {"connections", "--by", "host"}} {
		var out, said bytes.Buffer
		if code := run(append(append([]string{"admin"}, args...), "--endpoint", h.Addrs().APIURL), streams{out: &out, err: &said}); code != exitUsage {
			t.Errorf("%v: %d %s%s", args, code, out.String(), said.String())
		}
	}
}

// A wrong command line is told apart from a failure by its exit code, as docs/operations.md says.
func TestWrongCommandLinesHaveAnExitCodeOfTheirOwn(t *testing.T) {
	for _, args := range [][]string{{"logs", "--follow"}, {"admin", "drain", "--grace=-1s"}, {"dev", "--engine", "node"}, {"dev", "--main", "a.js"}, {"client", "--group=-1"}, {"client", "--bots=-1"}} {
		var out, said bytes.Buffer
		if code := run(args, streams{out: &out, err: &said}); code != exitUsage || said.Len() == 0 {
			t.Errorf("%v: %d %s%s", args, code, out.String(), said.String())
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
func TestHealth(t *testing.T) {
	h, _ := adminHost(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	draining := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			http.Error(w, "draining", http.StatusServiceUnavailable)
		}
	}))
	defer draining.Close()
	for _, c := range []struct {
		url   string
		ready bool
		code  int
	}{{h.Addrs().APIURL, false, 0}, {h.Addrs().APIURL, true, 0}, {draining.URL, false, 0}, {draining.URL, true, exitFailure}, {gone.URL, false, exitFailure}} {
		args := []string{"health", "--endpoint", c.url}
		if c.ready {
			args = append(args, "--ready")
		}
		var out, said bytes.Buffer
		if code := run(args, streams{out: &out, err: &said}); code != c.code || (code == 0) != (out.String() == "ok\n") {
			t.Errorf("%v: %d %s%s", args, code, out.String(), said.String())
		}
	}
}

// Tables show game sessions shorter than their ARNs, and flags take both.
func TestGameSessionsAreNamedAsTablesShowThem(t *testing.T) {
	h, g := adminHost(t)
	c := caller{Region: "us-east-1"}
	short := c.shortGame(string(g.ID))
	if len(short) > 60 || c.gameARN(short) != string(g.ID) || c.gameARN(string(g.ID)) != string(g.ID) || (&caller{Region: "eu-west-1"}).shortGame(string(g.ID)) != string(g.ID) {
		t.Fatal(short)
	}
	for _, args := range [][]string{{"sessions"}, {"sessions", "--game-session", short}, {"sessions", "--game-session", string(g.ID)}, {"players", "--game-session", short}} {
		var out, said bytes.Buffer
		if code := run(append(append([]string{"admin"}, args...), "--endpoint", h.Addrs().APIURL, "--region", "us-east-1"), streams{out: &out, err: &said}); code != 0 || !strings.Contains(out.String(), short) || strings.Contains(out.String(), "arn:") {
			t.Errorf("%v: %d %s%s", args, code, out.String(), said.String())
		}
	}
}

// The end of a stream of events is a sentence.
func TestTheEndOfEventsIsASentence(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event: recent\ndata: {}\n\n")
	}))
	defer server.Close()
	var out, said bytes.Buffer
	if code := run([]string{"admin", "events", "--follow", "--endpoint", server.URL}, streams{out: &out, err: &said}); code != exitFailure || strings.Contains(said.String(), "nil") {
		t.Errorf("%d %s%s", code, out.String(), said.String())
	}
}
