package store

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// errTaken says that another process has the store open.
var errTaken = errors.New("another process has it open")

// lock takes a lock file for this process. The file is never removed: otherwise two processes
// could lock two different files.
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
	if err = take(f); err != nil {
		var who [32]byte
		if n, _ := f.ReadAt(who[:], 0); n > 0 && errors.Is(err, errTaken) {
			if pid, bad := strconv.Atoi(strings.TrimSpace(string(who[:n]))); bad == nil {
				err = fmt.Errorf("%w: process %d", err, pid)
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
	return func() { release(f); f.Close() }, nil
}
