//go:build !linux

package builds

import (
	"os"
	"path/filepath"
)

// syncFile makes a file durable.
func syncFile(f *os.File) error { return f.Sync() }

// sync makes the names of all files and folders durable. The files are.
func (w *writer) sync(*os.File) error {
	for _, name := range append(w.made, ".") {
		if err := syncFolder(w.root.Open(filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}
