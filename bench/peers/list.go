package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Peer is another server to measure.
type Peer struct {
	Name    string   `json:"name"`
	Command []string `json:"command,omitempty"`
	Missing string   `json:"missing,omitempty"` // why there is none; then there is no command
}

// ReadList reads a JSON list of peers, which make peers writes.
func ReadList(file string) (peers []Peer, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--peers: %w", err)
	}
	if err := json.Unmarshal(text, &peers); err != nil {
		return nil, fmt.Errorf("--peers: %s is no list of peers: %w", file, err)
	}
	for _, p := range peers {
		if p.Name == "" || (len(p.Command) == 0) == (p.Missing == "") {
			return nil, errors.New("--peers: each of " + file + " needs a name, and a command or why it is missing")
		}
	}
	return peers, nil
}
