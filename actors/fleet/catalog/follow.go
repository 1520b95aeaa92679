package catalog

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"troupe/actors/script/bundle"
	"troupe/actors/store"
	"troupe/messages"
)

// follower is the state of a Catalog that follows the decisions of a Leader (see Options.Follow).
type follower struct {
	Follow
	share   map[string]Share
	fleets  map[messages.FleetID]*messages.FleetReport
	scripts map[messages.ScriptID]*messages.ScriptReport
	events  []messages.ReportedEvent
	sent    int // the first of them, which are in the report that has no answer yet
	state   reportState
}

// Follow makes a Catalog follow the decisions of a Leader.
type Follow struct {
	Node string // name of this node
	// Report sends a report to the Leader. It calls reply exactly once, from any goroutine.
	Report func(q messages.ReportFleets, reply func(error))
}

type reportState uint8

const (
	reported  reportState = iota // nothing has changed since the last report
	reportDue                    // a timer will send the next report
	reporting                    // a report has been sent but not answered
	changed                      // like reporting, and there are changes that this report does not contain
)

// Messages to a fleet actor whose catalog follows a Leader.
type (
	// Replicated holds changes of the catalog's records, in order. The changes of one transaction are in the same
	// message. NewReplicated makes it. Done is called once the changes have been applied; it may be nil.
	Replicated struct {
		changes  []store.Change
		contents map[string]content // of scripts, by their keys
		done     func()
	}
	// Shares maps each location that this node serves to the node's Share of it, and "" to that of all others.
	Shares map[string]Share
	// ReportAgain asks for a report, because another node has become the Leader.
	ReportAgain struct{}

	reportTimer struct{}
	reportDone  struct{ err error }
)

type content struct {
	bundle *bundle.Bundle
	err    error
}

// NewReplicated returns a message with changes. It unpacks the contents of scripts, which may take long.
func NewReplicated(changes []store.Change, done func()) Replicated {
	m := Replicated{changes: changes, contents: make(map[string]content), done: done}
	for _, c := range changes {
		if c.Kind == store.Content && c.Value != nil {
			b, err := bundle.FromZip(c.Value, restoredMax)
			m.contents[c.ID] = content{b, err}
		}
	}
	return m
}

// Share is the rank of a node among the Of nodes that serve a location, sorted by name.
type Share struct{ Rank, Of int }

// of returns this node's part of n process groups.
func (s Share) of(n int) int {
	if s.Of == 0 {
		return 0
	}
	part := n / s.Of
	if s.Rank < n%s.Of {
		part++
	}
	return part
}

const (
	reportPause   = 50 * time.Millisecond // collects changes that belong together
	reportRetry   = time.Second           // delay after a report that failed
	eventsWaiting = 1000                  // limits the queued events; the oldest are dropped
)

// receiveFollower handles the messages to a follower. It returns false for other messages.
func (c *Catalog) receiveFollower(msg any) bool {
	f := c.follower
	if f == nil {
		return false
	}
	switch m := msg.(type) {
	case Replicated:
		c.replicate(m)
		if m.done != nil {
			m.done()
		}
	case Shares:
		c.setShares(m)
	case ReportAgain:
		c.reportSoon()
	case reportTimer:
		c.report()
	case reportDone:
		c.onReported(m)
	default:
		return false
	}
	return true
}

// replicate applies changes that the Leader has decided on. It applies scripts before the fleets that run them.
func (c *Catalog) replicate(m Replicated) {
	for _, kind := range []store.Kind{store.Location, store.Script, store.Build, store.Fleet, store.Compute, store.Alias} {
		for _, change := range m.changes {
			if change.Kind == kind {
				c.follow(change, m.contents)
			}
		}
	}
}

// follow applies one change. If a record cannot be read, the error is logged and the old state is kept.
func (c *Catalog) follow(change store.Change, contents map[string]content) {
	var err error
	switch change.Kind {
	case store.Location:
		err = decode(change, c.followLocation)
	case store.Script:
		err = decode(change, func(id string, s *scriptRecord) { c.followScript(messages.ScriptID(id), s, contents) })
	case store.Fleet:
		err = decode(change, func(id string, f *fleetRecord) { c.followFleet(messages.FleetID(id), f) })
	case store.Build:
		err = decode(change, c.followBuild)
	case store.Compute:
		err = decode(change, c.followCompute)
	case store.Alias:
		err = decode(change, c.followAlias)
	}
	if err != nil {
		c.context.Log().Error().Err(err).Str("kind", string(change.Kind)).Str("id", change.ID).Msg("a record of the cluster cannot be read")
		if !c.unread.Has(change.Kind, change.ID) {
			c.unread.Add(change.Kind, change.ID, err)
		}
	}
}

// decode calls f with the decoded record. If the record was deleted, it calls f with nil.
func decode[T any](change store.Change, f func(id string, record *T)) error {
	if change.Value == nil {
		f(change.ID, nil)
		return nil
	}
	record := new(T)
	if err := json.Unmarshal(change.Value, record); err != nil {
		return err
	}
	f(change.ID, record)
	return nil
}

func (c *Catalog) followLocation(name string, l *messages.Location) {
	switch {
	case slices.ContainsFunc(c.o.Locations, func(o messages.Location) bool { return o.Name == name }) || name == c.o.Region:
	case l == nil:
		delete(c.locations, name)
	default:
		c.locations[name] = *l
	}
}

func (c *Catalog) followCompute(id string, m *messages.Compute) {
	if m == nil {
		c.forgetCompute(id)
		return
	}
	c.computes[id] = m
}

func (c *Catalog) followAlias(id string, stored *aliasRecord) {
	if stored == nil {
		delete(c.aliases, messages.AliasID(id))
		return
	}
	c.aliases[messages.AliasID(id)] = &stored.Alias
}

func (c *Catalog) followScript(id messages.ScriptID, stored *scriptRecord, contents map[string]content) {
	s := c.scripts[id]
	switch {
	case stored == nil:
		delete(c.scripts, id)
		delete(c.follower.scripts, id)
		return
	case s == nil:
		s = &script{record: new(messages.Script)}
		c.scripts[id] = s
	}
	had := s.record.Contents
	s.record, s.good = &stored.Script, nil
	if stored.Script.Contents == had {
		c.o.Listener.VersionRenamed(id)
		return
	}
	s.key = stored.Key
	newest := contents[s.contentKey()]
	if s.bundle, s.missing = newest.bundle, newest.err; s.bundle == nil && s.missing == nil {
		s.missing = errNotThere
	}
	c.follower.scripts[id] = &messages.ScriptReport{ScriptID: id, Contents: stored.Script.Contents}
	c.o.Listener.ContentChanged(id, UpdateWait, func(refused []string, pending bool) {
		if r := c.follower.scripts[id]; r != nil && r.Contents == stored.Script.Contents {
			r.Refused, r.Tried = refused, !pending
			c.reportSoon()
		}
	})
}

func (c *Catalog) followFleet(id messages.FleetID, stored *fleetRecord) {
	f := c.fleets[id]
	if stored == nil {
		if f != nil && !f.removed {
			c.removeFollowed(f)
		}
		return
	}
	if f == nil {
		f = new(fleet)
		c.fleets[id] = f
	}
	was := f.own
	f.record, f.events, f.removed = &stored.Fleet, stored.Events, false
	c.setOwn(f)
	if was == nil || closed(was) && !closed(f.own) {
		delete(c.follower.fleets, id)
		c.reviveFollowed(f)
		return
	}
	c.tellChanged(f, was)
}

// closed reports whether a fleet has no processes any more.
func closed(f *messages.Fleet) bool {
	return f.Status == messages.FleetDeleting || f.Status == messages.FleetTerminated
}

// removeFollowed ends the processes of a fleet whose record no longer exists. The fleet is forgotten once it has no game
// sessions. Game sessions may still run if the cluster's coordinator was restored from a backup.
func (c *Catalog) removeFollowed(f *fleet) {
	gone := *f.record
	gone.Status = messages.FleetDeleting
	f.record, f.removed = &gone, true
	c.setOwn(f)
	c.o.Listener.FleetClosed(f.own)
}

func (c *Catalog) forgetFollowed(id messages.FleetID) {
	delete(c.fleets, id)
	delete(c.follower.fleets, id)
	c.o.Listener.FleetForgotten(id)
}

// setOwn computes f.own, this node's view of a fleet, and passes it to the Listener.
func (c *Catalog) setOwn(f *fleet) {
	n := *f.record
	if n.ScriptID != "" {
		n.Runtime = f.runtime()
	}
	n.Groups = make(map[string]messages.Groups, len(n.Locations))
	for _, l := range n.Locations {
		share, known := c.follower.share[l]
		if !known {
			share = c.follower.share[""]
		}
		g, set := f.record.Groups[l]
		if !set { // the default is one group on each node
			g = f.record.GroupsIn(l)
			g.Desired *= share.Of
		}
		g.Desired = share.of(g.Desired)
		n.Groups[l] = g
	}
	f.own = &n
	c.o.Listener.FleetChanged(f.own)
}

// tellChanged tells the Listener what has changed in this node's view of a fleet.
func (c *Catalog) tellChanged(f *fleet, was *messages.Fleet) {
	now := f.own
	if now.Status != was.Status {
		switch now.Status {
		case messages.FleetDeleting:
			c.o.Listener.FleetClosed(now)
		case messages.FleetActive:
			c.o.Listener.FleetOpened(now)
		}
	}
	if now.Status == messages.FleetDeleting || now.Status == messages.FleetTerminated {
		return
	}
	if now.ScriptID != "" && !reflect.DeepEqual(now.Runtime, was.Runtime) {
		c.o.Listener.FleetConfigured(now)
	}
	removed := slices.DeleteFunc(slices.Clone(was.Locations), func(l string) bool { return slices.Contains(now.Locations, l) })
	if len(removed) > 0 {
		c.o.Listener.LocationsRemoved(now, removed)
	}
	for _, l := range now.Locations {
		if now.Groups[l].Desired != was.Groups[l].Desired {
			c.o.Listener.CapacityChanged(now, l)
		}
	}
}

// setShares applies new Shares. They may change the number of a fleet's process groups on this node. A smaller share
// does not end game sessions.
func (c *Catalog) setShares(s Shares) {
	if maps.Equal(c.follower.share, s) {
		return
	}
	c.follower.share = s
	for _, f := range c.fleets {
		was := f.own
		if c.setOwn(f); maps.Equal(was.Groups, f.own.Groups) || f.own.Status == messages.FleetDeleting || f.own.Status == messages.FleetTerminated {
			continue
		}
		c.o.Listener.CapacityChanged(f.own, "")
	}
}

// reviveFollowed starts this node's part of a fleet.
func (c *Catalog) reviveFollowed(f *fleet) {
	switch s := f.own.Status; {
	case s == messages.FleetTerminated:
	case s == messages.FleetDeleting:
		c.o.Listener.FleetClosed(f.own)
	case f.own.Anywhere || f.own.ScriptID == "" && f.own.BuildID == "":
	default:
		c.o.Listener.FleetConfigured(f.own)
	}
}

// fleetReport returns the pending report on a fleet, which the caller then changes. It also schedules the report.
func (c *Catalog) fleetReport(id messages.FleetID) *messages.FleetReport {
	r := c.follower.fleets[id]
	if r == nil {
		r = &messages.FleetReport{FleetID: id}
		c.follower.fleets[id] = r
	}
	c.reportSoon()
	return r
}

func (c *Catalog) reportEvent(id messages.FleetID, code, message string) {
	f := c.follower
	if f.events = append(f.events, messages.ReportedEvent{FleetID: id, Code: code, Message: message}); len(f.events) > eventsWaiting {
		f.events = slices.Delete(f.events, 0, 1)
		f.sent = max(0, f.sent-1)
	}
	c.reportSoon()
}

func (c *Catalog) reportSoon() {
	switch f := c.follower; f.state {
	case reported:
		f.state = reportDue
		c.context.After(reportPause, reportTimer{})
	case reporting:
		f.state = changed
	}
}

// report sends the state of all fleets and scripts to the Leader.
func (c *Catalog) report() {
	f := c.follower
	q := messages.ReportFleets{Node: f.Node, Events: slices.Clone(f.events)}
	for _, r := range f.fleets {
		q.Fleets = append(q.Fleets, *r)
	}
	for _, r := range f.scripts {
		q.Scripts = append(q.Scripts, *r)
	}
	f.state = reporting
	self := c.context.Self()
	f.sent = len(f.events)
	f.Report(q, func(err error) { self.Tell(reportDone{err}) })
}

func (c *Catalog) onReported(m reportDone) {
	f := c.follower
	again := f.state == changed
	f.state = reported
	switch {
	case m.err != nil:
		f.state = reportDue
		c.context.After(reportRetry, reportTimer{})
		return
	case again:
		c.reportSoon()
	}
	f.events = slices.Delete(f.events, 0, f.sent)
}
