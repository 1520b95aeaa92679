package suite

import (
	"slices"
	"strings"

	"troupe/bench/peers"
	"troupe/bench/server"
)

// peers are the servers that the caller has named. Those that are missing are told of in the result.
func (r *run) peers() (all []served) {
	for _, p := range r.o.Peers {
		if p.Missing != "" {
			r.absent = append(r.absent, p.Name+": "+p.Missing)
			continue
		}
		all = append(all, served{p.Name, server.Spec{Name: p.Name, Kind: server.Bare, Bin: p.Command[0], Args: p.Command[1:]}})
	}
	return all
}

// isPeer reports whether a subject is one that the caller has named.
func (r *run) isPeer(name string) bool {
	return slices.ContainsFunc(r.o.Peers, func(p peers.Peer) bool { return p.Name == name })
}

// without goes on without a peer that could not be measured.
func (r *run) without(name string, err error) {
	if r.gone == nil {
		r.gone = make(map[string]bool)
	}
	r.gone[name] = true
	first, _, _ := strings.Cut(err.Error(), "\n")
	r.absent = append(r.absent, name+": "+first)
	r.o.Watch.End("not measured: " + first)
}
