//go:build unix

package suite

import (
	"fmt"
	"syscall"
)

// enoughFiles says whether a process may have so many files open. Go has raised the limit as far as it may.
func enoughFiles(need int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if have := uint64(limit.Cur); have < uint64(need) {
		return fmt.Errorf("%d open files are needed and %d are allowed: ulimit -n %d, or fewer --rooms", need, have, need)
	}
	return nil
}
