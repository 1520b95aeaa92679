package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestOwn(t *testing.T) {
	const groups = "9:name=systemd:/\n4:cpu,memory:/a/b:c\n\nx\n0::/service\n"
	for controller, want := range map[string]string{"memory": "/a/b:c", "cpu": "/a/b:c", "": "/service", "name=systemd": "/", "pids": "none"} {
		if path, ok := Own(groups, controller); path != want && (ok || want != "none") {
			t.Errorf("%q: %s, %v", controller, path, ok)
		}
	}
}

func TestKills(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int{"low 0\noom 3\noom_kill 2\noom_group_kill 1\n": 2, "oom_kill_disable 0\nunder_oom 0\noom_kill 7": 7, "low 1\n": -1, "oom_kill x\n": -1} {
		if err := Write(dir, "memory.events", text); err != nil {
			t.Fatal(err)
		}
		if n, err := Kills(dir, "memory.events"); n != want && (err == nil || want >= 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if _, err := Kills(dir, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestRemoveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "group")
		if err := os.MkdirAll(filepath.Join(dir, "busy"), 0o755); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := Remove(dir, time.Second); err == nil || time.Since(began) < time.Second || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.AfterFunc(time.Second/2, func() { _ = os.Remove(filepath.Join(dir, "busy")) })
		if err := Remove(dir, time.Second); err != nil {
			t.Error(err)
		}
		if err := Remove(dir, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}
