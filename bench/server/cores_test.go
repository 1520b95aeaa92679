package server

import (
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// coresOf starts a command on some cores and returns those it may use, as the kernel writes them.
func coresOf(t *testing.T, list []int) string {
	t.Helper()
	cmd := exec.Command("cat", "/proc/self/status")
	var out strings.Builder
	cmd.Stdout = &out
	if err := startOn(cmd, list); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if name, value, _ := strings.Cut(line, ":"); name == "Cpus_allowed_list" {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no cores in %s", &out)
	return ""
}

// Not parallel: it moves the whole process.
func TestCoresAreParted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	all, err := cores()
	if err != nil {
		t.Fatal(err)
	}
	if host, load := Halves(); len(all) > 1 && (len(host) == 0 || len(load) == 0 || !slices.Equal(slices.Concat(host, load), all)) {
		t.Errorf("%v and %v of %v", host, load, all)
	}
	first, last := all[:1], all[len(all)-1:]
	before := coresOf(t, nil)
	release, err := KeepTo(last)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := coresOf(t, nil), strconv.Itoa(last[0]); got != want {
		t.Errorf("kept to %s, want %s", got, want)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if got, want := coresOf(t, first), strconv.Itoa(first[0]); got != want {
		t.Errorf("a child is on %s, want %s", got, want)
	}
	if got := coresOf(t, nil); got != before {
		t.Errorf("afterwards on %s, want %s", got, before)
	}
}
