//go:build unix

package child

import (
	"io/fs"
	"os"
	"syscall"
)

// lock opens and locks a folder. The lock is released when the folder is closed or this process ends. Systems that clean
// up the folder for temporary files leave a locked one alone (tmpfiles.d(5)).
func lock(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// own reports whether a file belongs to the user of this process.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
