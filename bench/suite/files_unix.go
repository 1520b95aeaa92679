//go:build unix

package suite

import (
	"fmt"
	"syscall"
)

// enoughFiles returns an error if a process may not have need files open. The Go runtime has already raised the soft
// limit to the hard limit.
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
