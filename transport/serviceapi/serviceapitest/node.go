package serviceapitest

import (
	"bytes"
	"context"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed testdata/js
var script embed.FS

const (
	scriptDir  = "testdata/js"
	installFor = 5 * time.Minute
)

// Node is an installed copy of testdata/js: the scripts, and @aws-sdk/client-gamelift at pinned versions.
type Node struct{ dir string }

// InstallNode installs the scripts and their packages into a temporary directory. If node or npm is missing,
// it skips the test. If the package registry does not respond, it fails the test.
func InstallNode(tb testing.TB) *Node {
	tb.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			tb.Skipf("%s is not installed: the JavaScript SDK was not tried", tool)
		}
	}
	dir := tb.TempDir()
	entries, err := fs.ReadDir(script, scriptDir)
	if err != nil {
		tb.Fatalf("read the script: %v", err)
	}
	for _, e := range entries {
		text, err := script.ReadFile(scriptDir + "/" + e.Name())
		if err != nil {
			tb.Fatalf("read %s: %v", e.Name(), err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600); err != nil {
			tb.Fatalf("write %s: %v", e.Name(), err)
		}
	}
	n := &Node{dir: dir}
	n.Run(tb, installFor, nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	return n
}

// Dir returns the directory of the packages. Scripts in it can import them.
func (n *Node) Dir() string { return n.dir }

// Run runs a command in Dir with additional environment variables, and returns its output. An error of the
// command fails the test.
func (n *Node) Run(tb testing.TB, limit time.Duration, env []string, name string, args ...string) []byte {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, &out, &complaint
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s %v: %v\n%s%s", name, args, err, out.Bytes(), complaint.Bytes())
	}
	return out.Bytes()
}
