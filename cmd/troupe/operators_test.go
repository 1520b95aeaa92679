package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/actors/script/bundle"
	"troupe/transport/transporttest/hosttest"
)

// troupe dev accepts scripts up to the size in script.unpackedMax, and rejects larger ones.
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

// An invalid command line has a different exit code than a failure, as docs/operations.md says. No flag is silently
// ignored.
func TestWrongCommandLinesHaveAnExitCodeOfTheirOwn(t *testing.T) {
	for _, args := range [][]string{{"logs", "--follow"}, {"admin", "drain", "--grace=-1s"}, {"dev", "--engine", "node"}, {"dev", "--main", "a.js"}, {"client", "--group=-1"}, {"client", "--bots=-1"},
		{"admin", "ban", "ann", "--for", "24h", "--lift"}, {"admin", "connections", "--player", "ann"}, {"admin", "connections", "--by", "host"}} {
		if code, out, said := call(args...); code != exitUsage || said == "" {
			t.Errorf("%v: %d %s%s", args, code, out, said)
		}
	}
}

// Plausible first attempts work: help for a command, and a scenario without the word run.
func TestWhatPeopleTryFirst(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"help"}, 0, "Usage: troupe <command>"}, {[]string{"help", "faults", "run"}, 0, "troupe faults run"},
		{[]string{"faults", "nothing-like-it"}, exitUsage, "nothing-like-it"},
	} {
		if code, out, said := call(c.args...); code != c.code || !strings.Contains(out+said, c.want) || strings.Contains(out+said, "unexpected argument") {
			t.Errorf("%v: %d %.300s", c.args, code, out+said)
		}
	}
}

// troupe health succeeds if the host's health page does, and fails otherwise.
func TestHealth(t *testing.T) { synctest.Test(t, health) }

func health(t *testing.T) {
	up := startHost(t, nil, hosttest.Config(t)).place
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
	config := hosttest.Config(t)
	config.API.TLS, config.TLS.Dir = true, t.TempDir()
	secured := startHost(t, nil, config).place
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	for _, c := range []struct {
		at   place
		addr string // configured address
		tls  bool
		code int
	}{
		{up, "127.0.0.1", false, 0}, {up, "", false, 0}, {up, "0.0.0.0", false, 0}, {up, "127.0.0.1", true, exitFailure},
		{secured, "127.0.0.1", true, 0}, {secured, "127.0.0.1", false, exitFailure},
	} {
		if err := os.WriteFile(file, fmt.Appendf(nil, "api: {addr: %q, tls: %t}\n", c.addr+c.at.url[strings.LastIndexByte(c.at.url, ':'):], c.tls), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, said := callOn(c.at.net, "health", "--config", file); code != c.code || (code == 0) != (out == "ok\n") {
			t.Errorf("%+v: %d %s%s", c, code, out, said)
		}
	}
	if code, _, said := callOn(up.net, "health", "--config", "none.yaml"); code != exitFailure || !strings.Contains(said, "none.yaml") {
		t.Errorf("no file: %d %s", code, said)
	}
}

// If a stream of events ends, the error is a readable sentence.
func TestTheEndOfEventsIsASentence(t *testing.T) { synctest.Test(t, theEndOfEventsIsASentence) }

func theEndOfEventsIsASentence(t *testing.T) {
	host := standIn(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event: recent\ndata: {}\n\n")
	})
	if code, out, said := host.call("admin", "events", "--follow"); code != exitFailure || out != "{}\n" || said != "troupe: admin: the host has ended the stream\n" {
		t.Errorf("%d %s%s", code, out, said)
	}
}
