package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// Each example starts when only its folder is given, both in devScript.check and in the host.
func TestExamplesStartByTheirFolder(t *testing.T) { synctest.Test(t, examplesStartByTheirFolder) }

func examplesStartByTheirFolder(t *testing.T) {
	const examples = "../../docs/scripts/examples"
	folders, err := os.ReadDir(examples)
	if err != nil || len(folders) < 5 {
		t.Fatalf("%d examples, %v", len(folders), err)
	}
	cfg := hosttest.Config(t)
	cfg.Fleets, cfg.Aliases, cfg.Queues = nil, nil, nil
	var scripts []*devScript
	for _, f := range folders {
		d := devScript{path: filepath.Join(examples, f.Name()), fleet: messages.FleetID("fleet-" + f.Name())}
		cfg.Fleets = append(cfg.Fleets, host.Fleet{ID: string(d.fleet), Name: f.Name(), GameSessionsMax: 1, Script: d.path})
		scripts = append(scripts, &d)
	}
	h := startHost(t, nil, cfg)
	for _, d := range scripts {
		if err := d.check(); err != nil {
			t.Errorf("%s: %v", d.path, err)
		}
		if err := d.runs(h.Host); err != nil {
			t.Errorf("%s: the host: %v", d.path, err)
		}
	}
}

func TestTheFileToStartIsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.js", "b.js"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("exports.ssExports = {};"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for main, want := range map[string]string{"a.js": "", "b.js": "", "": "not clear", "c.js": "no such file"} {
		d := devScript{path: dir, main: main}
		if err := d.check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("main %q: %v", main, err)
		}
	}
}
