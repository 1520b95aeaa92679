package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a file until it is closed or the process ends. It locks a byte far behind the process id in the file,
// so that other processes can still read the process id.
func lockFile(f *os.File) error {
	at := windows.Overlapped{Offset: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// unlockFile does nothing, because closing the file releases the lock.
func unlockFile(*os.File) {}

// syncDir does nothing, because Windows cannot sync folders.
func syncDir(string) error { return nil }
