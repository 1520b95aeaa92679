package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/actors/fleet"
	"troupe/transport/host"
)

// fakeHost drains until its context ends if waits is true, otherwise at once.
type fakeHost struct {
	waits           bool
	draining        func()
	cancelled       int // number of drains to cancel
	operator        chan struct{}
	drained, closed bool
}

func (f *fakeHost) Drained() <-chan struct{} { return f.operator }

func (f *fakeHost) Drain(ctx context.Context) error {
	if f.draining != nil {
		f.draining()
	}
	if f.waits {
		<-ctx.Done()
	}
	if f.cancelled > 0 {
		if f.cancelled--; f.operator != nil {
			close(f.operator) // the operator then drains and ends the host
		}
		f.waits = false
		return fleet.ErrDrainCancelled
	}
	f.drained = true
	return nil
}

func (f *fakeHost) Close() { f.closed = true }

func TestUntilOver(t *testing.T) {
	over := make(chan struct{})
	close(over)
	for _, c := range []struct {
		name             string
		signals          int
		failure, failing string // before the drain, and during the drain
		host             fakeHost
		want             string
		drained          bool
	}{
		{name: "a signal drains", signals: 1, drained: true},
		{name: "a second signal skips the waiting", signals: 2, host: fakeHost{waits: true}, drained: true},
		{name: "a drain that is cancelled is not the end", signals: 1, host: fakeHost{cancelled: 1, operator: make(chan struct{})}, drained: false},
		{name: "a signal while it is cancelled drains again", signals: 2, host: fakeHost{waits: true, cancelled: 1}, drained: true},
		{name: "an operator's drain", host: fakeHost{operator: over}, drained: false},
		{name: "a failure closes", failure: "broken", want: "the host cannot go on: broken"},
		{name: "a failure while it drains", signals: 1, failing: "late", want: "failed while it drained: late", drained: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // earlier tests have left goroutines of hosts
			signals, failed := make(chan os.Signal, 2), make(chan string, 1)
			for range c.signals {
				signals <- syscall.SIGTERM
			}
			if c.failure != "" {
				failed <- c.failure
			}
			if c.failing != "" {
				c.host.draining = func() { failed <- c.failing }
			}
			err := untilOver(&c.host, signals, failed, zerolog.Nop())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.host.drained != c.drained || c.host.closed != (c.failure != "") {
				t.Errorf("drained %v, closed %v", c.host.drained, c.host.closed)
			}
		})
	}
}

func TestAnnounce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "addrs.json")
	if err := os.WriteFile(path, []byte("from an earlier run, and longer than what comes now .........................................."), 0o600); err != nil {
		t.Fatal(err)
	}
	want := host.Announcement{API: "127.0.0.1:1", WS: "127.0.0.1:2"}
	if err := announce(path, want); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != `{"api":"127.0.0.1:1","ws":"127.0.0.1:2"}`+"\n" {
		t.Errorf("got %s, %v", text, err)
	}
	var got host.Announcement
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := announce(filepath.Join(dir, "no", "such"), want); err == nil || !strings.HasPrefix(err.Error(), "announce: ") {
		t.Errorf("no directory: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := announce(filepath.Join(dir, "taken"), want); err == nil {
		t.Error("wrote over a directory")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, ".*")); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

func TestDescribeBuild(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for name, c := range map[string]struct {
		settings []debug.BuildSetting
		want     build
		version  string
	}{
		"nothing known": {nil, build{"unknown", "go1", false}, release},
		"clean":         {[]debug.BuildSetting{setting("vcs.revision", "0123456789abcdef"), setting("vcs.modified", "false")}, build{"0123456789abcdef", "go1", false}, release + "+0123456789ab"},
		"changed":       {[]debug.BuildSetting{setting("vcs.modified", "true"), setting("vcs.revision", "abc")}, build{"abc", "go1", true}, release + "+abc.changed"},
	} {
		got := describeBuild(&debug.BuildInfo{GoVersion: "go1", Settings: c.settings})
		if got != c.want || got.version() != c.version {
			t.Errorf("%s: got %+v, %s, want %+v, %s", name, got, got.version(), c.want, c.version)
		}
	}
}

// The first section of the changelog has the current version.
func TestChangelogBeginsWithTheVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(string(text), "\n## ")
	if first, _, _ := strings.Cut(sections, "\n"); first != release {
		t.Errorf("CHANGELOG.md begins with %q, and troupe version says %s", first, release)
	}
}

// TestDefaultFleet checks that the client's default fleet exists in the host's defaults.
func TestDefaultFleet(t *testing.T) {
	if id := host.Defaults().Fleets[0].ID; id != defaultFleet {
		t.Errorf("the first fleet is %s", id)
	}
}
