package peers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/bench/loadgen"
)

// Find returns a protocol by the name that a server announces. The empty name is Realtime, which is nil.
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

// protocols make a fresh one each, for one swarm.
var protocols = map[string]func() loadgen.Protocol{
	"colyseus":   newColyseus,
	"centrifuge": func() loadgen.Protocol { return centrifuge{} },
	"nano":       func() loadgen.Protocol { return nano{} },
}
