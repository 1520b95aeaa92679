package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// awaitResults checks before a long run that its results can be written: the file of --json, and the files in the
// folder of --report. It creates the folder. json and folder may be empty.
func awaitResults(json, folder string, files ...string) error {
	if json != "" {
		if err := writable(json); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	for _, name := range files {
		if err := writable(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	return nil
}

// writable checks that a file can be opened for writing, without changing it.
func writable(file string) error {
	_, missing := os.Stat(file)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = f.Close()
	if missing != nil {
		_ = os.Remove(file)
	}
	return err
}
