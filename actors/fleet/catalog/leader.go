package catalog

import (
	"maps"
	"slices"
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Leader is the actor of a cluster's catalog. It runs on the leading node and decides on all changes. The catalogs of
// all nodes, including the Leader's node, follow its records (see Options.Follow) and report the state of fleets and
// scripts.
type Leader struct {
	*Catalog
	names   func() []string
	nodes   map[string]bool // nodes that are alive
	reports map[string]report
	updates []*contentUpdate
}

// NodesChanged tells a Leader that nodes have joined or left.
type NodesChanged struct{}

// contentUpdate is an update of a script that waits until each node has tried the new content.
type contentUpdate struct {
	script   messages.ScriptID
	contents int
	done     func(refused []string, pending bool)
}

type contentUpdateDue struct{ u *contentUpdate }

// NewLeader returns a Leader that starts with the records in o.Store. generation is the generation of the configured
// resources in o. If it is higher than the generation in the store, the configured resources replace those in the
// store. Otherwise the records in the store stay as they are. names returns the names of the nodes that are alive; any
// goroutine may call it.
func NewLeader(o Options, generation int64, names func() []string) (*Leader, error) {
	l := &Leader{names: names, nodes: make(map[string]bool), reports: make(map[string]report)}
	o.Listener = l
	configured := o
	o.Fleets, o.Aliases, o.Scripts = nil, nil, nil
	before, err := generationOf(o.Store)
	if err == nil {
		l.Catalog, err = newCatalog(o, true)
	}
	if err == nil {
		err = l.restoreCharges()
	}
	if err == nil && generation > before {
		err = l.configure(configured, generation)
	}
	return l, err
}

// Damaged returns the records that could not be read.
func (l *Leader) Damaged() []store.Damage { return l.unread.Damaged() }

// Started implements stage.Actor.
func (l *Leader) Started(c *stage.Context) {
	l.Catalog.Started(c)
	l.onNodesChanged()
	l.sweepCharges()
	for _, changes := range l.first {
		l.ledger.CommitAsync(changes...) // if the store refuses the changes, the next Leader makes them again
	}
	l.first = nil
	for _, f := range l.fleets {
		if s := f.record.Status; s != messages.FleetTerminated && s != messages.FleetDeleting && s != messages.FleetErrored &&
			f.record.ScriptID != "" && l.scripts[f.record.ScriptID] == nil {
			f.events.add(c.Now(), EventNotRunnable, l.noScript(f.record.ScriptID).Error())
			l.setFleetStatus(f, messages.FleetErrored)
		}
	}
}

// Stopped implements stage.Actor.
func (l *Leader) Stopped(*stage.Context) { l.Catalog.Stopped(false) }

// Receive implements stage.Actor.
func (l *Leader) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case NodesChanged:
		l.onNodesChanged()
	case contentUpdateDue:
		l.endUpdate(m.u, true)
	case chargesDue:
		l.sweepCharges()
	case stage.Ask:
		l.ask(c, m)
	default:
		if !l.Catalog.Receive(msg) {
			c.Unknown(msg)
		}
	}
}

func (l *Leader) ask(c *stage.Context, a stage.Ask) {
	switch q := a.Request.(type) {
	case messages.ReportFleets:
		l.onReport(q)
		a.Reply(stage.None{}, nil)
	case messages.ChargeCreator:
		l.onCharge(stage.As(q, a))
	default:
		if !l.Ask(a) {
			c.Unknown(a)
		}
	}
}

func (l *Leader) onNodesChanged() {
	clear(l.nodes)
	for _, name := range l.names() {
		l.nodes[name] = true
	}
	if len(l.reports) > 2*len(l.nodes)+absentMax {
		maps.DeleteFunc(l.reports, func(name string, _ report) bool { return !l.nodes[name] })
	}
	l.judge()
}

// absentMax is the maximum number of reports kept from nodes that are not alive. Such a node may return without sending
// another report.
const absentMax = 16

// report is the last report of a node.
type report struct {
	fleets  map[messages.FleetID]messages.FleetReport
	scripts map[messages.ScriptID]messages.ScriptReport
}

func (l *Leader) onReport(q messages.ReportFleets) {
	for _, e := range q.Events {
		l.FleetEvent(e.FleetID, e.Code, e.Message)
	}
	r := report{make(map[messages.FleetID]messages.FleetReport, len(q.Fleets)), make(map[messages.ScriptID]messages.ScriptReport, len(q.Scripts))}
	for _, f := range q.Fleets {
		r.fleets[f.FleetID] = f
	}
	for _, s := range q.Scripts {
		r.scripts[s.ScriptID] = s
	}
	l.reports[q.Node] = r
	l.judge()
}

// alive iterates over the reports of the nodes that are alive.
func (l *Leader) alive(yield func(report) bool) {
	for name := range l.nodes {
		if r, reported := l.reports[name]; reported && !yield(r) {
			return
		}
	}
}

// judge derives the status of fleets and scripts from the nodes' reports.
func (l *Leader) judge() {
	for id, f := range l.fleets {
		runs, fails, empty := 0, 0, 0
		for r := range l.alive {
			runs += count(r.fleets[id].Runs)
			fails += count(r.fleets[id].Fails)
			empty += count(r.fleets[id].Empty)
		}
		switch {
		case f.record.Status == messages.FleetDeleting && len(l.nodes) > 0 && empty == len(l.nodes):
			l.Emptied(id)
		case runs > 0:
			l.FleetRuns(id)
		case len(l.nodes) > 0 && fails == len(l.nodes):
			l.FleetFails(id)
		}
	}
	for id, s := range l.scripts {
		l.judgeScript(id, s.record.Contents)
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (l *Leader) judgeScript(id messages.ScriptID, contents int) {
	runs, everywhere, tried := 0, 0, 0
	for r := range l.alive {
		if s := r.scripts[id]; s.Contents == contents {
			runs, everywhere, tried = runs+count(s.Runs), everywhere+count(s.Everywhere), tried+count(s.Tried)
		}
	}
	if runs > 0 {
		l.ContentRuns(id, everywhere == len(l.nodes))
	}
	for _, u := range slices.Clone(l.updates) {
		if u.script == id && u.contents == contents && tried == len(l.nodes) {
			l.endUpdate(u, false)
		}
	}
}

// endUpdate answers the request that updated a script's content. It has no effect if the request has been answered.
func (l *Leader) endUpdate(u *contentUpdate, pending bool) {
	i := slices.Index(l.updates, u)
	if i < 0 {
		return
	}
	l.updates = slices.Delete(l.updates, i, i+1)
	var refused []string
	for r := range l.alive {
		if s := r.scripts[u.script]; s.Contents == u.contents {
			refused = append(refused, s.Refused...)
		}
	}
	slices.Sort(refused)
	u.done(slices.Compact(refused), pending)
}

// The following methods implement Listener for the Leader's own catalog. Most do nothing, because processes and game
// sessions are on the nodes that follow.

// FleetChanged implements Listener.
func (l *Leader) FleetChanged(*messages.Fleet) {}

// FleetConfigured implements Listener.
func (l *Leader) FleetConfigured(*messages.Fleet) {}

// FleetOpened implements Listener.
func (l *Leader) FleetOpened(*messages.Fleet) {}

// CapacityChanged implements Listener.
func (l *Leader) CapacityChanged(*messages.Fleet, string) {}

// LocationsRemoved implements Listener.
func (l *Leader) LocationsRemoved(*messages.Fleet, []string) {}

// FleetClosed implements Listener.
func (l *Leader) FleetClosed(*messages.Fleet) {}

// FleetForgotten implements Listener.
func (l *Leader) FleetForgotten(messages.FleetID) {}

// ComputeGone implements Listener.
func (l *Leader) ComputeGone(messages.FleetID, string) {}

// BuildChanged implements Listener.
func (l *Leader) BuildChanged(*messages.Build) {}

// BuildDeleted implements Listener.
func (l *Leader) BuildDeleted(messages.BuildID) {}

// VersionRenamed implements Listener.
func (l *Leader) VersionRenamed(messages.ScriptID) {}

// ContentChanged implements Listener. It calls done when each node has tried the content, or after limit.
func (l *Leader) ContentChanged(id messages.ScriptID, limit time.Duration, done func(refused []string, pending bool)) {
	u := &contentUpdate{script: id, contents: l.scripts[id].record.Contents, done: done}
	l.updates = append(l.updates, u)
	l.context.After(limit, contentUpdateDue{u})
}
