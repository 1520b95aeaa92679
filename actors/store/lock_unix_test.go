//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A copy of the lock file's descriptor, as a process that is being started has, does not keep
// the lock.
func TestACopyOfTheLockKeepsNobodyOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	must(t, err)
	must(t, take(f))
	copied, err := unix.Dup(int(f.Fd()))
	must(t, err)
	defer unix.Close(copied)
	release(f)
	must(t, f.Close())
	unlock, err := lock(path)
	must(t, err)
	unlock()
}
