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

// Workload is one row of the table.
type Workload struct {
	Name   string
	About  string
	Params Params
	Goals  []result.Goal
	// Against: it can measure a host that runs already.
	Against bool
	// Script: it can be played on the user's own script.
	Script bool
	// quick makes the parameters of a quick run even smaller, or larger; nil: they are as Params.quick has them.
	quick func(p *Params)
	// connections are those of one process; nil: Rooms times Players.
	connections func(p Params) int
	// lasts is about how long one measurement takes; nil: as long as the parameters say.
	lasts    func(p Params) time.Duration
	subjects func(r *run) []subject
}

// subject is one of those compared.
type subject struct {
	name    string
	build   string
	measure func(ctx context.Context) (result.Round, error)
}

// subject measures a server.
func (r *run) subject(name string, spec server.Spec, measure func(ctx context.Context) (result.Round, error)) subject {
	return subject{name, r.buildOf(spec), measure}
}

// Workloads is the table, in the order in which it is shown.
func Workloads() []Workload {
	return slices.Concat(relayWorkloads, rampWorkloads, scriptWorkloads, transportWorkloads, memoryWorkloads, joinWorkloads, reconnectWorkloads, serviceWorkloads, matchmakingWorkloads, ticketWorkloads)
}

// ErrUnknown says that there is no such workload.
var ErrUnknown = errors.New("there is no workload")

// Find returns the workload of a name. The error matches ErrUnknown and names those that are alike.
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

// orDev is a fleet, or that of a host that nobody has configured.
func orDev(fleet string) string { return cmp.Or(fleet, "fleet-dev") }

func percent(part, whole int64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// fileName is a name without what a file should not be called.
func fileName(name string) string { return strings.ReplaceAll(name, " ", "-") }

// deniedText reports whether an answer of AWS JSON says that the caller has no right to the operation.
func deniedText(text string) bool {
	for _, name := range []string{"AccessDenied", "UnrecognizedClient", "InvalidSignature", "MissingAuthenticationToken", "UnauthorizedException", "IncompleteSignature"} {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// buildOf names the build of a server, as far as it is known.
func (r *run) buildOf(spec server.Spec) string {
	if r.o.Against != nil {
		return r.o.Against.Build
	}
	if spec.Kind == server.Bare && spec.Bin != r.o.Self.Bin {
		return "" // it says so itself
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

// peers are the servers that the caller has named. The result names those that are missing.
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
