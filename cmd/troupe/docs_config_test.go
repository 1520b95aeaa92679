package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"

	"troupe/cmd/internal/config"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// Secrets and files that the documented configurations assume.
var (
	documentedSecrets = []string{"GAME_SECRET=a-secret-of-the-documentation", "EVENTS_TOKEN=another-of-the-documentation"}
	documentedFiles   = map[string]string{ // content by path
		"/etc/troupe/collector-key": "Bearer a-secret-of-the-collector",
		"/etc/troupe/dashboard":     "a-secret-of-the-dashboard",
		"/etc/troupe/lobby.secret":  "a-secret-of-the-lobby",
		"/srv/arena/ArenaServer.sh": "#!/bin/sh\n",
		"/srv/storage/arena.zip":    "",
		"/srv/duel/server.js":       "exports.ssExports = { init() {} };\n",
	}
	// The paths that are moved into the folder of a test.
	movedPaths   = regexp.MustCompile(`/(var/lib/troupe|etc/troupe|srv/duel|srv/arena|srv/storage|srv/builds)\b`)
	absolutePath = regexp.MustCompile(`(?m)(?:^|[\s"'\[{(=])(/[a-z][\w./-]*)`)
)

// movePaths moves the paths in a text into a folder. It fails the test for an absolute path that it does not know.
func movePaths(t *testing.T, dir, text string) string {
	t.Helper()
	for _, at := range absolutePath.FindAllStringSubmatch(movedPaths.ReplaceAllString(text, "moved"), -1) {
		t.Errorf("%s is nowhere: add it to movedPaths", at[1])
	}
	for path, content := range documentedFiles {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return movedPaths.ReplaceAllString(text, filepath.ToSlash(dir)+"/$1")
}

// isFaultPlan reports whether a block is a plan for troupe faults. Such a plan has a test in bench/faults.
func isFaultPlan(text string) bool { return strings.Contains(text, "\nfaults:\n") }

// Each documented configuration loads unchanged, and a host starts with it. Only ports and paths differ.
func TestDocumentedConfigurations(t *testing.T) {
	tried := 0
	for _, b := range blocks(t) {
		if b.lang != "yaml" || isFaultPlan(b.text) {
			continue
		}
		tried++
		t.Run(b.String(), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "troupe.yaml")
			if err := os.WriteFile(file, []byte(movePaths(t, dir, b.text)), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := config.Load(config.Sources{Defaults: host.Defaults(), File: file, Environ: documentedSecrets})
			if err != nil {
				t.Fatal(err)
			}
			if c.Builds.AllowUploaded { // the user of documents is not here
				c.Builds.AllowUploaded, c.Builds.User = false, ""
			}
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			for i := range c.Fleets {
				if f := &c.Fleets[i]; f.Server.Path != "" { // the executables of documents are not here
					f.Server, f.GameSessionsMax = host.GameServer{}, 1
				}
			}
			synctest.Test(t, func(t *testing.T) { startDocumented(t, nil, c) })
		})
	}
	if tried < 6 {
		t.Errorf("only %d configurations", tried)
	}
}

// startDocumented starts a host on free ports and waits until its fleets are ACTIVE.
func startDocumented(t *testing.T, on hosttest.Network, c host.Config) running {
	t.Helper()
	h := startHost(t, on, onFreePorts(t, c))
	if c.Cluster.Name != "" {
		time.Sleep(time.Minute) // in a bubble: for an election
	}
	until(t, "ACTIVE fleets", func() error {
		fleets, err := messages.Do(t.Context(), h.System(), messages.FleetQuery{})
		if err != nil || len(fleets) != len(c.Fleets) {
			t.Fatalf("%d fleets of %d, %v", len(fleets), len(c.Fleets), err)
		}
		for _, f := range fleets {
			if f.Status == messages.FleetErrored {
				t.Fatalf("%s is in ERROR", f.ID)
			}
			if f.Status != messages.FleetActive {
				return fmt.Errorf("%s is %v", f.ID, f.Status)
			}
		}
		return nil
	})
	return h
}

// A path that is new in a document must not be created on the machine that runs the tests.
func TestPathsOfDocumentsAreMoved(t *testing.T) {
	for text, want := range map[string]string{
		"a: /var/lib/troupe/x": "", "a: {b: /opt/x}": "/opt/x", `["/home/x"]`: "/home/x", "u: http://a/b": "", "/srv/duels": "/srv/duels", "../a/b": "",
	} {
		found := absolutePath.FindStringSubmatch(movedPaths.ReplaceAllString(text, "moved"))
		if got := strings.Join(found[min(1, len(found)):], ""); got != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	// Go identifiers have capitals: script.Decision
	settingSpan = regexp.MustCompile(`\A([a-z][a-zA-Z]*(?:\[\])?(?:\.[a-z][a-zA-Z]*(?:\[\])?)+)(?:: (\S+))?\z`)
)

// scriptMembers are members of scripts that look like configuration keys.
var scriptMembers = []string{"session.gameProperties", "session.matchmakerData", "session.gameSession", "session.matchedPlayers"}

// Configuration keys and troupe commands that the text of a document mentions exist.
func TestDocumentedWords(t *testing.T) {
	parser, err := newParser(streams{out: io.Discard, err: io.Discard}, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	sections := reflect.VisibleFields(reflect.TypeFor[host.Config]())
	seen := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range codeSpan.FindAllStringSubmatch(string(text), -1) {
			said := strings.TrimPrefix(span[1], "bin/")
			if words := strings.Fields(said); words[0] == "troupe" && len(words) > 1 {
				seen++
				if _, err := parser.Parse(words[1:]); err != nil && !strings.Contains(err.Error(), "expected") && !strings.Contains(err.Error(), "missing ") {
					t.Errorf("%s: `%s`: %v", file, said, err)
				}
			}
			key := settingSpan.FindStringSubmatch(said)
			section, _, _ := strings.Cut(strings.TrimSuffix(said, "[]"), ".")
			section = strings.TrimSuffix(section, "[]")
			if key == nil || slices.Contains(scriptMembers, said) ||
				!slices.ContainsFunc(sections, func(f reflect.StructField) bool { return f.Tag.Get("config") == section }) {
				continue
			}
			seen++
			if err := settable(t, key[1], key[2]); err != nil {
				t.Errorf("%s: `%s`: %v", file, said, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands and keys", seen)
	}
	for said, want := range map[string]bool{"public.dnsName": false, "reconnect.overflow: none": false, "tls": true, "fleets[].script": true, "fleets[].scripts": false} {
		if key, value, _ := strings.Cut(said, ": "); (settable(t, key, value) == nil) != want {
			t.Errorf("%s: it is a setting: %v", said, !want)
		}
	}
}

// settable returns an error if a key does not exist or cannot have the value. An empty value means any value.
func settable(t *testing.T, key, value string) error {
	t.Helper()
	text, ends := "", ""
	for name := range strings.SplitSeq(key, ".") {
		if list, ok := strings.CutSuffix(name, "[]"); ok {
			text, ends = text+"{"+list+": [", "]}"+ends
		} else {
			text, ends = text+"{"+name+": ", "}"+ends
		}
	}
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	if err := os.WriteFile(file, []byte(text+value+ends), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(config.Sources{Defaults: host.Defaults(), File: file, Environ: []string{}})
	if err != nil && value == "" && !strings.Contains(err.Error(), "unknown key") {
		return nil
	}
	return err
}
