package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/bench/faults"
	"troupe/bench/faults/netns"
)

// needsNamespaces skips a test where a run in namespaces cannot be.
func needsNamespaces(t *testing.T, code int, text string) {
	t.Helper()
	if code == exitUsage && strings.Contains(text, netns.ErrUnsupported.Error()) {
		if !strings.Contains(text, "--layer proxies needs no rights") || strings.Count(text, "\n") != 1 {
			t.Errorf("%q does not say what can run", text)
		}
		t.Skip(text)
	}
}

// The promises hold over IP packets that are lost, and when the player's address changes; a report tells the layer, and the same is replayed there.
func TestFaultsInNamespaces(t *testing.T) {
	t.Parallel()
	long(t)
	for name, check := range map[string]func(f faults.Figures) bool{
		"lossy-5":     func(f faults.Figures) bool { return f.Network.Dropped > 0 },
		"wifi-to-lte": func(f faults.Figures) bool { return f.Resumes > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := filepath.Join(t.TempDir(), "1.json"), filepath.Join(t.TempDir(), "2.json")
			code, text := runFaults("run", name, "--quick", "--players", "4", "--seed", "5", "--layer", "namespaces", "--transport", "ws,kcp,wss", "--json", first)
			needsNamespaces(t, code, text)
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, text)
			}
			if code, text := runFaults("replay", first, "--json", second); code != 0 {
				t.Fatalf("exit code %d\n%s", code, text)
			}
			for _, file := range []string{first, second} {
				r := readReport(t, file, text)
				if f := r.Figures; r.Layer != faults.LayerNamespaces || f.Network == nil || f.Network.Packets == 0 || f.Sent == 0 || f.Delivered != 4*f.Sent || f.FastDelivered == 0 || !check(f) {
					t.Errorf("%s, %+v, %+v\n%s", r.Layer, f, f.Network, text)
				}
			}
		})
	}
}

// A run that is killed leaves no process behind, and so no namespace and no device.
func TestFaultsInNamespacesLeaveNothing(t *testing.T) {
	t.Parallel()
	long(t)
	troupe, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc tells which processes there are: ", err)
	}
	dir := t.TempDir()        // the host's command line has it
	hosts := func() (n int) { // the command line of the run has it too, but not the word announce
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range all {
			if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(dir)) && bytes.Contains(text, []byte("announce")) { // else it has ended
				n++
			}
		}
		return n
	}
	var out bytes.Buffer
	plan := filepath.Join(dir, "long.yaml") // it would go on for longer than this test waits
	if err := os.WriteFile(plan, []byte("length: 3m\nfaults:\n- {at: 0s, fault: reset, target: one}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(troupe, "faults", "run", plan, "--layer", "namespaces")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // also for the end of the process in the namespace, which has the same output
	until(t, "a host", func() error {
		select {
		case err := <-ended:
			needsNamespaces(t, cmd.ProcessState.ExitCode(), out.String())
			t.Fatalf("%v\n%s", err, &out)
		default:
		}
		if hosts() == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the process in the namespace goes on")
	}
	until(t, "the end of the host", func() error {
		if n := hosts(); n > 0 {
			return fmt.Errorf("%d go on", n)
		}
		return nil
	})
}
