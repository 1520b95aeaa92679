package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGeneratedCodeIsCurrent regenerates the code and compares it with what is
// committed, so that packet.proto and pb cannot drift apart.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go tool: skipped in short mode")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go tool on the path: nothing to run the generator with")
	}
	out := t.TempDir()
	if err := generate(t.Context(), filepath.Join("..", "..", "packet.proto"), out); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Fatalf("generated %d files, want 1", len(entries))
	}
	for _, entry := range entries {
		got, err := os.ReadFile(filepath.Join(out, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "pb", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("pb/%s is out of date: run go generate ./messages/wire", entry.Name())
		}
	}
}

func TestGenerateReportsABadFile(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.proto")
	if err := os.WriteFile(bad, []byte("syntax = \"proto3\"; message {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := generate(t.Context(), bad, t.TempDir()); err == nil {
		t.Fatal("a file that does not parse was compiled")
	}
}
