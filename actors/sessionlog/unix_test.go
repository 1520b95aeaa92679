//go:build unix

package sessionlog

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
)

// A log exists while its first lines are being written, no matter how long the disk takes. In this test the log file is
// a pipe that has no reader yet.
func TestALogIsThereWhileItsFirstLinesAreWritten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	name, _ := base("a")
	pipe := file(filepath.Join(dir, name), 1)
	assert.NoError(t, syscall.Mkfifo(pipe, 0o600))
	k := s.Open("a")
	k.Write(line("0"))
	waits := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.logs["a"].pending) > 0
	}
	for waits() {
		time.Sleep(time.Millisecond)
	}
	if list := s.List(); !s.Has("a") || len(list) != 1 {
		t.Errorf("nothing is there: %+v", list)
	}
	f := assert.Value(os.OpenFile(pipe, os.O_RDWR, 0))(t) // now the writer can continue
	defer f.Close()
	k.Close()
	s.Close()
	if list := s.List(); len(list) != 1 || list[0].Bytes == 0 {
		t.Errorf("%+v", list)
	}
}

// Scripts may log anything, so only the host's user may access the logs and their folder.
func TestLogsAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	s := open(t, dir, Options{})
	k := s.Open("a")
	k.Write(line("0"))
	k.Close()
	read(t, s, "a")
	name, _ := base("a")
	for path, want := range map[string]os.FileMode{file(filepath.Join(dir, name), 1): 0o600, dir: 0o700, filepath.Dir(dir): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
