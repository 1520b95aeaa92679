package faults

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"troupe/bench/faults/kills"
)

// A host is killed twice under load, and started again: nothing that was answered is lost, and nothing has happened twice, neither of
// placements nor of matches that are accepted, nor of those by backfill. The failpoints are for make bench-kills: this host has none.
func TestAHostIsKilledUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a host, and kills it: some 40 s")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	binary := filepath.Join(t.TempDir(), "troupe")
	build := []string{"build", "-o", binary, "troupe/cmd/troupe"}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		build = slices.Insert(build, 1, "-race") // the packages are compiled with it already
	}
	if out, err := exec.CommandContext(ctx, "go", build...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	rows, err := kills.Run(ctx, kills.Options{Bin: binary, Rounds: 2, Workers: 14, Seed: 3, Load: 3 * time.Second, Patience: 2 * time.Minute, Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	r := rows[0]
	if !r.Good() {
		t.Errorf("%+v", r)
	}
	if r.Tickets == 0 || r.Backfills == 0 || r.Placements == 0 {
		t.Errorf("too little was answered before the kills: %+v", r)
	}
}
