package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Peer is another server to measure.
type Peer struct {
	Name    string   `json:"name"`
	Command []string `json:"command,omitempty"`
	Missing string   `json:"missing,omitempty"` // why there is none; then there is no command
}

// Parse reads NAME=COMMAND, whose words are separated by spaces.
func Parse(text string) (Peer, error) {
	name, command, _ := strings.Cut(text, "=")
	p := Peer{Name: name, Command: strings.Fields(command)}
	if p.Name == "" || len(p.Command) == 0 {
		return p, fmt.Errorf("--peer %s is not like NAME=COMMAND", text)
	}
	return p, nil
}

// ReadList reads a JSON list of peers, which bench/peers/install writes.
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
