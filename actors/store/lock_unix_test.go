//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/actors/actorstest/assert"
)

// A copy of the lock file's descriptor does not hold the lock. A child process has such a copy until its exec.
func TestACopyOfTheDescriptorDoesNotHoldTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := assert.Value(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600))(t)
	assert.NoError(t, lockFile(f))
	copied := assert.Value(unix.Dup(int(f.Fd())))(t)
	defer unix.Close(copied)
	unlockFile(f)
	assert.NoError(t, f.Close())
	unlock := assert.Value(lock(path))(t)
	unlock()
}
