package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
