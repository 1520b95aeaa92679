package builds

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFile leaves a file to sync: 20,000 of them took 31 s one by one, and 3 s together.
func syncFile(*os.File) error { return nil }

// sync makes all files and folders durable, with the rest of their file system.
func (w *writer) sync() error {
	dir, err := w.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(dir.Fd())), dir.Close())
}
