package fleet

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// createFleet makes a fleet, which becomes ACTIVE once its script runs.
func (r *Registry) createFleet(c *stage.Context, q messages.CreateFleet) (*messages.Fleet, error) {
	if r.draining {
		return nil, unavailable()
	}
	r.forgetOld(c.Now())
	record := &messages.Fleet{
		ID: messages.FleetID("fleet-" + uuid.NewString()), Name: q.Name, Description: q.Description, Status: messages.FleetNew,
		Created: c.Now(), Locations: q.Locations, Certificates: q.Certificates, Anywhere: q.Anywhere, ScriptID: q.ScriptID,
		LaunchPath: q.LaunchPath, LaunchParams: q.LaunchParams, Runtime: q.Runtime, Standby: -1, Shown: q.Shown, Tags: q.Tags,
	}
	f := newFleetEntry(record)
	switch {
	case r.unknownLocation(q.Locations) != "":
		return nil, noLocation(r.unknownLocation(q.Locations))
	case q.Anywhere:
	case concurrent(f.runtime()) > r.o.ProcessesMax:
		return nil, messages.Errorf(messages.InvalidRequest, "the processes of RuntimeConfiguration are %d together; at most %d are allowed",
			concurrent(f.runtime()), r.o.ProcessesMax)
	case r.scripts[q.ScriptID] == nil:
		return nil, noScript(q.ScriptID)
	}
	if len(r.fleets)-len(r.deleted) >= fleetsMax {
		return nil, messages.Errorf(messages.LimitExceeded, "there are %d fleets already", fleetsMax)
	}
	r.fleets[record.ID] = f
	c.Log().Info().Str("fleet_id", string(record.ID)).Str("script_id", string(record.ScriptID)).Msg("fleet created")
	if q.Anywhere {
		f.events.add(c.Now(), eventCreated, "the fleet was created")
		r.setFleetStatus(c, f, messages.FleetActive)
		return f.record, nil
	}
	r.open(c, f)
	return record, nil // NEW, whatever it is by now
}

// runtime is what a fleet with a script runs: one process of it if it does not
// say (service-api.md D4).
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
	f.change(func(n *messages.Fleet) { n.Runtime, n.Status = f.runtime(), messages.FleetNew })
	f.events.add(c.Now(), eventCreated, "the fleet was created")
	r.setFleetStatus(c, f, messages.FleetDownloading)
	r.setFleetStatus(c, f, messages.FleetValidating)
	r.configure(c, f)
}

// configure makes processes of what the runtime configuration says; those that
// it says as before stay, the others serve until something new runs.
func (r *Registry) configure(c *stage.Context, f *fleetEntry) {
	old := f.processes
	f.processes = nil
	for _, spec := range f.record.Runtime.Processes {
		same := func(p *process) bool {
			return p.spec.LaunchPath == spec.LaunchPath && p.spec.Parameters == spec.Parameters
		}
		if i := slices.IndexFunc(old, same); i >= 0 {
			p := old[i]
			old = slices.Delete(old, i, i+1)
			p.spec, p.leaving = spec, false
			f.processes = append(f.processes, p)
			r.fill(c, p)
			continue
		}
		p := &process{fleet: f, spec: spec, live: make(map[string]int)}
		f.processes = append(f.processes, p)
		r.inherit(p, old)
		r.load(c, p)
	}
	for _, p := range old {
		p.leaving = true
	}
	f.processes = append(f.processes, old...)
	r.judge(c, f)
}

// inherit gives a process with other parameters the program of one with the same
// launch path, which goes on if the newest content does not run.
func (r *Registry) inherit(p *process, from []*process) {
	for _, o := range from {
		if o.spec.LaunchPath == p.spec.LaunchPath && o.current != nil {
			p.current = o.current
			p.current.wanted++
			return
		}
	}
}

// change replaces the record: others may hold the old one.
func (f *fleetEntry) change(set func(*messages.Fleet)) {
	record := *f.record
	set(&record)
	f.record = &record
}

func (r *Registry) setFleetStatus(c *stage.Context, f *fleetEntry, s messages.FleetStatus) {
	f.change(func(n *messages.Fleet) { n.Status = s })
	if s != messages.FleetTerminated && s != messages.FleetDeleting { // those have no event of their own
		f.events.add(c.Now(), eventStatePrefix+s.String(), "the fleet is "+s.String())
	}
	c.Log().Info().Str("fleet_id", string(f.record.ID)).Stringer("status", s).Msg("fleet")
	r.tellRoom(f, "") // if it is ACTIVE
}

// updateRuntime replaces what a fleet runs. Running game sessions stay.
func (r *Registry) updateRuntime(c *stage.Context, q messages.UpdateRuntime) (*messages.Fleet, error) {
	f, err := r.resolve(q.FleetID, "")
	if err != nil {
		return nil, err
	}
	switch {
	case f.record.Status >= messages.FleetDeleting && f.record.Status != messages.FleetErrored:
		return nil, messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s", f.record.ID, f.record.Status)
	case f.record.ScriptID == "":
		return nil, messages.Errorf(messages.InvalidRequest, "fleet %s has no script: it has no runtime configuration", f.record.ID)
	}
	if most := max(r.o.ProcessesMax, f.record.GameSessionsMax); concurrent(q.Runtime) > most {
		return nil, messages.Errorf(messages.LimitExceeded, "the processes of RuntimeConfiguration are %d together; at most %d are allowed", concurrent(q.Runtime), most)
	}
	f.change(func(n *messages.Fleet) { n.Runtime = q.Runtime })
	r.configure(c, f)
	return f.record, nil
}

// deleteFleet ends what runs on a fleet; it is TERMINATED when all has ended.
func (r *Registry) deleteFleet(c *stage.Context, id messages.FleetID) error {
	r.forgetOld(c.Now())
	f, err := r.resolve(id, "")
	if err != nil {
		return err
	}
	if s := f.record.Status; s == messages.FleetDeleting || s == messages.FleetTerminated {
		return messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s already", id, s)
	}
	r.setFleetStatus(c, f, messages.FleetDeleting)
	for _, p := range f.processes {
		r.retire(p)
	}
	f.processes = nil
	for _, e := range r.order {
		if e.fleet == f && e.ref != nil && !e.over {
			e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "fleet deleted"})
		}
	}
	r.finishFleet(c, f)
	return nil
}

func (r *Registry) finishFleet(c *stage.Context, f *fleetEntry) {
	if f.record.Status != messages.FleetDeleting || f.hosted() > 0 {
		return
	}
	r.setFleetStatus(c, f, messages.FleetTerminated)
	f.change(func(n *messages.Fleet) { n.Terminated = c.Now() })
	f.events.add(c.Now(), eventDeleted, "the fleet was deleted")
	r.deleted = append(r.deleted, f)
	r.forgetFleets(c.Now())
}

// forgetFleets drops fleets that were terminated long ago, and the oldest of too many.
func (r *Registry) forgetFleets(now time.Time) {
	n := 0
	for ; n < len(r.deleted); n++ {
		f := r.deleted[n].record
		if len(r.deleted)-n <= terminatedMax && now.Sub(f.Terminated) <= terminatedKeep {
			break
		}
		delete(r.fleets, f.ID)
	}
	r.deleted = slices.Delete(r.deleted, 0, n)
}

func (r *Registry) fleetEvents(id messages.FleetID) ([]messages.FleetEvent, error) {
	f, err := r.resolve(id, "")
	if err != nil {
		return nil, err
	}
	return slices.Clone(f.events), nil
}

// onSettled answers when nothing loads any more.
func (r *Registry) onSettled(m Request[Settled, None]) {
	w := &waiting{done: func() { m.Reply(None{}, nil) }}
	for _, f := range r.fleets {
		for _, p := range f.processes {
			w.on(p)
		}
	}
	w.begin()
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

// closePrograms closes all programs, once nothing runs them.
func (r *Registry) closePrograms() {
	all := make(map[*program]bool)
	for _, f := range r.fleets {
		for _, p := range f.processes {
			all[p.current], all[p.next] = true, true
			p.gone = true
			p.settle(shuttingDown)
		}
	}
	for _, e := range r.refs {
		all[e.program] = true
	}
	for _, i := range r.idles {
		all[i.program] = true
	}
	delete(all, nil)
	for p := range all {
		r.closeProgram(p)
	}
}

// Wait returns when nothing works beside the actor any more; it has stopped
// before.
func (r *Registry) Wait() { r.work.Wait() }
