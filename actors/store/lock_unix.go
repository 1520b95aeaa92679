//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// take locks a file until it is closed, or the process ends.
func take(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errTaken
	}
	return err
}

// release ends the lock. Closing the file is not enough: a process that is being started at this
// moment holds a copy of it until it runs its own program.
func release(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
