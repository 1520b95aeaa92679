package store

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

var errLocked = errors.New("another process has it open")

// lock locks a lock file for this process. The file is never removed, because otherwise two processes could lock two
// different files.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err = lockFile(f); err != nil {
		var owner [32]byte
		if n, _ := f.ReadAt(owner[:], 0); n > 0 && errors.Is(err, errLocked) {
			if pid, bad := strconv.Atoi(strings.TrimSpace(string(owner[:n]))); bad == nil {
				err = fmt.Errorf("%w: process %d: stop it, or name another file", err, pid)
			}
		}
		return nil, err
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, err
	}
	return func() { unlockFile(f); f.Close() }, nil
}
