package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// awaitResults makes sure, before a long run, that its results can be written: the file of --json, and the files of the folder of --report,
// which it makes. Either may be empty.
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

// writable opens a file for writing and changes nothing.
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
