//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/actors/actorstest/assert"
)

// A copy of the lock file's descriptor, as a child process has until its exec, does not hold
// the lock.
func TestACopyOfTheDescriptorDoesNotHoldTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	assert.NoError(t, err)
	assert.NoError(t, lockFile(f))
	copied, err := unix.Dup(int(f.Fd()))
	assert.NoError(t, err)
	defer unix.Close(copied)
	unlockFile(f)
	assert.NoError(t, f.Close())
	unlock, err := lock(path)
	assert.NoError(t, err)
	unlock()
}
