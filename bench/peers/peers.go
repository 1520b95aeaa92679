package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"troupe/bench/loadgen"
)

// Peer is another server to compare with.
type Peer struct {
	Name    string   `json:"name"`
	Command []string `json:"command,omitempty"`
	Missing string   `json:"missing,omitempty"` // why the peer is not available; then Command is empty
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

// Find returns the protocol with the name that a server announces. For the empty name, which means Realtime, it returns
// nil.
func Find(name string) (loadgen.Protocol, error) {
	if name == "" {
		return nil, nil
	}
	p, ok := protocols[name]
	if !ok {
		return nil, fmt.Errorf("the protocol %q is not known; there are %s", name, strings.Join(slices.Sorted(maps.Keys(protocols)), ", "))
	}
	return p(), nil
}

// protocols holds a constructor for each protocol. Each swarm needs its own instance.
var protocols = map[string]func() loadgen.Protocol{
	"colyseus":   newColyseus,
	"centrifuge": func() loadgen.Protocol { return centrifuge{} },
	"nano":       func() loadgen.Protocol { return nano{} },
}
