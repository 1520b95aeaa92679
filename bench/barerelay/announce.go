package barerelay

import (
	"encoding/json"
	"fmt"
	"os"
)

// writeAnnounce writes the bound address, and that /stats is there, as JSON, complete or not at all.
func writeAnnounce(path, ws string) error {
	b, err := json.Marshal(map[string]any{"ws": ws, "stats": true})
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
