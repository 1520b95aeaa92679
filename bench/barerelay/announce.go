package barerelay

import (
	"encoding/json"
	"fmt"
	"os"
)

// Announce writes what is true of the server, its address "ws" above all, as JSON, complete or not at all.
func Announce(path string, what map[string]any) error {
	b, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode announce file: %w", err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write announce file: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("publish announce file: %w", err)
	}
	return nil
}
