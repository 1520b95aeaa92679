package fleet

import (
	"slices"

	"github.com/google/uuid"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// onCreateFleet makes a fleet, which becomes ACTIVE once its script runs. The answer
// shows it as NEW, whatever it is by then.
func (r *Registry) onCreateFleet(c *stage.Context, m stage.Request[messages.CreateFleet, *messages.Fleet]) {
	q := m.Request
	var made *messages.Fleet
	id := messages.FleetID("fleet-" + uuid.NewString())
	uses := locationKeys(q.Locations)
	if !q.Anywhere {
		uses = append(uses, scriptKey(q.ScriptID))
	}
	r.ledger.Do(ledger.Transaction{Key: fleetKey(id), Uses: uses, Reply: one(m.Reply, &made), Decide: func() (ledger.Entry, error) {
		f, err := r.newFleet(c, id, q)
		if err != nil {
			return ledger.Entry{}, err
		}
		if q.Anywhere {
			f.events.add(c.Now(), eventCreated, "the fleet was created")
			r.setUnregistrable(c, f)
		}
		made = f.record
		return ledger.Entry{Changes: []store.Change{f.put()}, Claim: ledger.Claim{Count: 1}, Apply: func() {
			r.fleets[id] = f
			c.Log().Info().Str("fleet_id", string(id)).Str("script_id", string(f.record.ScriptID)).Msg("fleet created")
			if !q.Anywhere {
				r.open(c, f)
			}
		}}, nil
	}})
}

// setUnregistrable shows that an ANYWHERE fleet is of no use: processes elsewhere cannot
// register with this host.
func (r *Registry) setUnregistrable(c *stage.Context, f *fleetEntry) {
	f.events.add(c.Now(), eventNotRunnable, "no process can register with this host from elsewhere")
	r.setFleetStatus(c, f, messages.FleetErrored)
}

func (r *Registry) newFleet(c *stage.Context, id messages.FleetID, q messages.CreateFleet) (*fleetEntry, error) {
	if r.drain.on {
		return nil, unavailable()
	}
	r.forgetOld(c)
	if _, err := changedPorts(nil, messages.UpdatePorts{Add: q.Ports}); err != nil {
		return nil, err
	}
	f := newFleetEntry(&messages.Fleet{
		ID: id, Name: q.Name, Description: q.Description, Status: messages.FleetNew,
		Created: c.Now(), Locations: q.Locations, Certificates: q.Certificates, Anywhere: q.Anywhere, ScriptID: q.ScriptID,
		LaunchPath: q.LaunchPath, LaunchParams: q.LaunchParams, Runtime: q.Runtime, Standby: -1, CreatorLimit: q.CreatorLimit, Ports: q.Ports, Shown: q.Shown, Tags: q.Tags,
	})
	unknown := r.unknownLocation(q.Locations)
	switch {
	case unknown != "":
		return nil, noLocation(unknown)
	case !q.Anywhere && concurrent(f.runtime()) > r.o.ProcessesMax:
		return nil, messages.Errorf(messages.InvalidRequest, "the processes of RuntimeConfiguration are %d together; at most %d are allowed",
			concurrent(f.runtime()), r.o.ProcessesMax)
	case !q.Anywhere && r.scripts[q.ScriptID] == nil:
		return nil, r.noScript(q.ScriptID)
	case len(r.fleets)-len(r.deleted)+r.ledger.Claimed(store.Fleet).Count >= fleetsMax:
		return nil, messages.Errorf(messages.LimitExceeded, "there are %d fleets already", fleetsMax)
	}
	return f, nil
}

// fleetChange is a change of a fleet's record, and with it maybe of its events. What follows
// from it, then, may be nil. Set may be called again: while the change is on its way to the
// store, the fleet may get another status or other events, which stay.
type fleetChange struct {
	set  func(*messages.Fleet, *events)
	then func()
}

// changeFleet makes the change that decide has found to be right for a fleet that is not on
// its way out, and answers.
func (r *Registry) changeFleet(c *stage.Context, id messages.FleetID, uses []ledger.Key, reply func(*messages.Fleet, error), decide func(*fleetEntry) (fleetChange, error)) {
	var changed *messages.Fleet
	r.ledger.Do(ledger.Transaction{Key: fleetKey(id), Uses: uses, Reply: one(reply, &changed), Decide: func() (ledger.Entry, error) {
		f, err := r.living(c, id)
		if err != nil {
			return ledger.Entry{}, err
		}
		change, err := decide(f)
		if err != nil {
			return ledger.Entry{}, err
		}
		return r.fleetAs(f, change, &changed), nil
	}})
}

// fleetAs is the entry that changes a fleet, and says what has become of it.
func (r *Registry) fleetAs(f *fleetEntry, change fleetChange, changed **messages.Fleet) ledger.Entry {
	was, said := f.record, slices.Clone(f.events)
	now, saying := *was, slices.Clone(f.events)
	change.set(&now, &saying)
	put := store.Put(store.Fleet, string(now.ID), fleetRecord{now, saying, f.configured})
	return ledger.Entry{Changes: []store.Change{put}, Apply: func() {
		if f.record == was && slices.Equal(f.events, said) {
			r.setRecord(f, &now)
			f.events = saying
		} else {
			r.change(f, func(n *messages.Fleet) { change.set(n, &f.events) })
			r.noteFleet(f)
		}
		*changed = f.record
		if change.then != nil {
			change.then()
		}
	}}
}

// noteFleet stores a fleet whose status or events have changed by themselves.
func (r *Registry) noteFleet(f *fleetEntry) {
	key := fleetKey(f.record.ID)
	r.ledger.Note(key, nil, ledger.Record{Key: key, Change: f.put})
}

// living finds a fleet that is not on its way out.
func (r *Registry) living(c *stage.Context, id messages.FleetID) (*fleetEntry, error) {
	r.forgetOld(c)
	f, err := r.resolve(id, "")
	if err != nil {
		return nil, err
	}
	if s := f.record.Status; s == messages.FleetDeleting || s == messages.FleetTerminated {
		return nil, messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s", id, s)
	}
	return f, nil
}

// onUpdateFleet changes what is shown of a fleet, and the protection of game sessions
// from then on.
func (r *Registry) onUpdateFleet(c *stage.Context, m stage.Request[messages.UpdateFleet, *messages.Fleet]) {
	q := m.Request
	r.changeFleet(c, q.FleetID, nil, m.Reply, func(f *fleetEntry) (fleetChange, error) {
		if q.Cost != nil && !f.record.Anywhere {
			return fleetChange{}, messages.Errorf(messages.InvalidRequest, "AnywhereConfiguration goes with ComputeType ANYWHERE")
		}
		return fleetChange{set: func(n *messages.Fleet, e *events) {
			if q.Protection != nil && *q.Protection != n.Shown.Protection {
				e.add(c.Now(), eventProtection, "the protection of new game sessions was changed")
			}
			replace(&n.Name, q.Name)
			replace(&n.Description, q.Description)
			replace(&n.Shown.Protection, q.Protection)
			replace(&n.Shown.Cost, q.Cost)
			if q.CreatorLimit != nil {
				n.CreatorLimit = q.CreatorLimit
			}
			if q.MetricGroups != nil {
				n.Shown.MetricGroups = q.MetricGroups
			}
		}}, nil
	})
}

// replace sets a member to what is given, if it is.
func replace[T any](member, given *T) {
	if given != nil {
		*member = *given
	}
}

// runtime is what a fleet with a script runs: one process of it if it does not
// say (D-204).
func (f *fleetEntry) runtime() messages.RuntimeConfiguration {
	rc := f.record.Runtime
	if len(rc.Processes) == 0 {
		rc.Processes = []messages.ServerProcess{{
			LaunchPath: f.record.LaunchPath, Parameters: f.record.LaunchParams, Concurrent: max(1, f.record.GameSessionsMax),
		}}
	}
	return rc
}

// open brings a fleet with a script to life.
func (r *Registry) open(c *stage.Context, f *fleetEntry) {
	r.change(f, func(n *messages.Fleet) { n.Runtime, n.Status = f.runtime(), messages.FleetNew })
	if len(f.events) == 0 { // else an earlier process made it
		f.events.add(c.Now(), eventCreated, "the fleet was created")
	}
	r.setFleetStatus(c, f, messages.FleetDownloading)
	r.setFleetStatus(c, f, messages.FleetValidating)
	r.hosting.Configure(f.record)
}

// change replaces the record: others may hold the old one.
func (r *Registry) change(f *fleetEntry, set func(*messages.Fleet)) {
	record := *f.record
	set(&record)
	r.setRecord(f, &record)
}

func (r *Registry) setRecord(f *fleetEntry, record *messages.Fleet) {
	f.record = record
	r.hosting.Changed(record)
}

func (r *Registry) setFleetStatus(c *stage.Context, f *fleetEntry, s messages.FleetStatus) {
	r.change(f, func(n *messages.Fleet) { n.Status = s })
	if s != messages.FleetTerminated && s != messages.FleetDeleting { // those have no event of their own
		f.events.add(c.Now(), eventStatePrefix+s.String(), "the fleet is "+s.String())
	}
	c.Log().Info().Str("fleet_id", string(f.record.ID)).Stringer("status", s).Msg("fleet")
	r.tellRoom(f, "") // if it is ACTIVE
	if (s == messages.FleetActive || s == messages.FleetErrored) && !f.configured && !f.record.Anywhere {
		r.noteFleet(f) // with its events
	}
}

// onUpdateRuntime replaces what a fleet runs. Running game sessions stay.
func (r *Registry) onUpdateRuntime(c *stage.Context, m stage.Request[messages.UpdateRuntime, *messages.Fleet]) {
	q := m.Request
	r.changeFleet(c, q.FleetID, nil, m.Reply, func(f *fleetEntry) (fleetChange, error) {
		if f.record.ScriptID == "" {
			return fleetChange{}, messages.Errorf(messages.InvalidRequest, "fleet %s has no script: it has no runtime configuration", f.record.ID)
		}
		if most := max(r.o.ProcessesMax, f.record.GameSessionsMax); concurrent(q.Runtime) > most {
			return fleetChange{}, messages.Errorf(messages.LimitExceeded, "the processes of RuntimeConfiguration are %d together; at most %d are allowed", concurrent(q.Runtime), most)
		}
		return fleetChange{set: func(n *messages.Fleet, _ *events) { n.Runtime = q.Runtime }, then: func() { r.hosting.Configure(f.record) }}, nil
	})
}

// onDeleteFleet ends what runs on a fleet; it is TERMINATED when all has ended.
func (r *Registry) onDeleteFleet(c *stage.Context, m stage.Request[DropFleet, stage.None]) {
	r.changeFleet(c, m.Request.ID, nil, func(_ *messages.Fleet, err error) { m.Reply(stage.None{}, err) }, func(f *fleetEntry) (fleetChange, error) {
		return fleetChange{set: func(n *messages.Fleet, _ *events) { n.Status = messages.FleetDeleting }, then: func() { r.closeFleet(c, f) }}, nil
	})
}

// closeFleet ends what runs on a fleet that is DELETING.
func (r *Registry) closeFleet(c *stage.Context, f *fleetEntry) {
	r.setFleetStatus(c, f, messages.FleetDeleting)
	r.hosting.Remove(f.record.ID)
	for _, e := range r.order {
		if e.fleet == f && e.ref != nil && !e.over {
			e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "fleet deleted"})
		}
	}
	r.finishFleet(c, f)
}

func (r *Registry) finishFleet(c *stage.Context, f *fleetEntry) {
	if f.record.Status != messages.FleetDeleting || f.hosted() > 0 {
		return
	}
	r.setFleetStatus(c, f, messages.FleetTerminated)
	r.change(f, func(n *messages.Fleet) { n.Terminated = c.Now() })
	f.events.add(c.Now(), eventDeleted, "the fleet was deleted")
	r.deleted = append(r.deleted, f)
	r.noteFleet(f)
	r.forgetFleets(c.Now())
}

func (r *Registry) fleetEvents(id messages.FleetID) ([]messages.FleetEvent, error) {
	f, err := r.resolve(id, "")
	if err != nil {
		return nil, err
	}
	return slices.Clone(f.events), nil
}

// onScriptsLoaded answers when nothing loads any more.
func (r *Registry) onScriptsLoaded(m stage.Request[ScriptsLoaded, stage.None]) {
	r.hosting.AwaitLoaded(func() { m.Reply(stage.None{}, nil) })
}

// onActivationDue ends a game session that took too long to be ACTIVE.
func (r *Registry) onActivationDue(c *stage.Context, m activationDue) {
	e := m.e
	if e.ref == nil || e.ref != m.ref || e.over || e.published.Session().Status != messages.GameSessionActivating {
		return
	}
	e.fleet.events.add(c.Now(), eventActivation, "a game session was not ACTIVE in time")
	e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "not ACTIVE in time", Force: true})
}

// Wait returns when nothing works beside the actor any more; it has stopped
// before.
func (r *Registry) Wait() {
	r.work.Wait()
	r.hosting.Wait()
}
