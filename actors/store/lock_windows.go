package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// take locks a file, behind what is written there, until it is closed or the process ends.
func take(f *os.File) error {
	at := windows.Overlapped{Offset: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errTaken
	}
	return err
}

// release does nothing: closing the file ends the lock.
func release(*os.File) {}

// syncDir does nothing: folders cannot be synced here.
func syncDir(string) error { return nil }
