package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"troupe/transport/host"
)

// announce writes the addresses as one JSON object. It creates the file atomically, so a process that waits for the
// file never reads a partial one.
func announce(path string, a host.Announcement) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("announce: %w", err)
	}
	return nil
}
