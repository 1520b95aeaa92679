package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/bench/peers"

	"troupe/bench/result"
	"troupe/bench/server"
)

// Workload is one row of the table of workloads.
type Workload struct {
	Name   string
	About  string
	Params Params
	Goals  []result.Goal
	// Against means that the workload can measure a host that is already running.
	Against bool
	// Script means that the workload can run the user's own script.
	Script bool
	// quick adjusts the parameters of a quick run after Workload.params has reduced them; nil: no adjustment.
	quick func(p *Params)
	// connections returns the number of connections of one process; nil: Rooms times Players.
	connections func(p Params) int
	// lasts returns the estimated duration of one measurement; nil: Params.lasts.
	lasts    func(p Params) time.Duration
	subjects func(r *run) []subject
}

// subject is one of the compared servers or configurations.
type subject struct {
	name    string
	build   string
	measure func(ctx context.Context) (result.Round, error)
}

// subject returns a subject that measures a server.
func (r *run) subject(name string, spec server.Spec, measure func(ctx context.Context) (result.Round, error)) subject {
	return subject{name, r.buildOf(spec), measure}
}

// Workloads returns all workloads in the order of their listing.
func Workloads() []Workload {
	return slices.Concat(relayWorkloads, rampWorkloads, scriptWorkloads, tickWorkloads, transportWorkloads, memoryWorkloads, joinWorkloads, reconnectWorkloads, serviceWorkloads, matchmakingWorkloads, ticketWorkloads, serverWorkloads, clusterWorkloads)
}

// sets are the prefixes that name several workloads.
var sets = []string{"cluster", "servers", "ticks"}

// Expand replaces the name of a set of workloads by the names of its workloads: "cluster" by those that begin with
// "cluster-".
func Expand(names []string) (all []string) {
	for _, name := range names {
		if !slices.Contains(sets, name) {
			all = append(all, name)
			continue
		}
		for _, w := range Workloads() {
			if strings.HasPrefix(w.Name, name+"-") {
				all = append(all, w.Name)
			}
		}
	}
	return all
}

// ErrUnknown means that there is no such workload.
var ErrUnknown = errors.New("there is no workload")

// Find returns the workload with a name. If there is none, the error wraps ErrUnknown and suggests similar names.
func Find(name string) (Workload, error) {
	var alike []string
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
		if strings.HasPrefix(w.Name, name) || strings.Contains(name, w.Name) {
			alike = append(alike, w.Name)
		}
	}
	if len(alike) > 0 {
		return Workload{}, fmt.Errorf("%w %q: %s?", ErrUnknown, name, strings.Join(alike, " or "))
	}
	return Workload{}, fmt.Errorf("%w %q: troupe bench list shows them", ErrUnknown, name)
}

// orDev returns the fleet, or the fleet of an unconfigured host if it is empty.
func orDev(fleet string) string { return cmp.Or(fleet, "fleet-dev") }

func percent(part, whole int64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// fileName replaces the spaces of a name.
func fileName(name string) string { return strings.ReplaceAll(name, " ", "-") }

// deniedText reports whether an AWS JSON error says that the caller lacks permission for the operation.
func deniedText(text string) bool {
	for _, name := range []string{"AccessDenied", "UnrecognizedClient", "InvalidSignature", "MissingAuthenticationToken", "UnauthorizedException", "IncompleteSignature"} {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// buildOf returns the build of a server, or "" if it is unknown.
func (r *run) buildOf(spec server.Spec) string {
	if r.o.Against != nil {
		return r.o.Against.Build
	}
	if spec.Kind == server.Bare && spec.Bin != r.o.Self.Bin {
		return "" // the server announces its version itself
	}
	build, err := result.BuildOf(spec.Bin)
	if err != nil {
		return ""
	}
	if len(spec.Sets) > 0 {
		build += ", " + strings.Join(spec.Sets, " ")
	}
	return build
}

// peers returns the peers that the caller has named. Missing ones are recorded in r.absent.
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

// isPeer reports whether a subject is a peer.
func (r *run) isPeer(name string) bool {
	return slices.ContainsFunc(r.o.Peers, func(p peers.Peer) bool { return p.Name == name })
}

// without drops a peer that could not be measured.
func (r *run) without(name string, err error) {
	if r.gone == nil {
		r.gone = make(map[string]bool)
	}
	r.gone[name] = true
	first, _, _ := strings.Cut(err.Error(), "\n")
	r.absent = append(r.absent, name+": "+first)
	r.o.Watch.End("not measured: " + first)
}
