package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"troupe/transport/host"
)

// announce writes the addresses as one JSON object. The file appears atomically, so a
// process that waits for it never reads a part.
func announce(path string, a host.Announcement) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("announce: %w", err)
		}
	}()
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
