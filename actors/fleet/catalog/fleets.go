package catalog

import (
	"slices"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// fleet is a fleet and its events.
type fleet struct {
	record     *messages.Fleet
	own        *messages.Fleet // only in a catalog that follows a Leader: the record with this node's share of the process groups
	removed    bool            // in a catalog that follows: the cluster has no record of it, but this node still has game sessions of it
	events     events
	configured bool // the fleet is in the configuration, which creates it again at each start
}

// onCreateFleet creates a fleet, which becomes ACTIVE when its script runs. The answer shows the fleet as NEW, even if
// it is already ACTIVE by then.
func (c *Catalog) onCreateFleet(m stage.Request[messages.CreateFleet, *messages.Fleet]) {
	q := m.Request
	var made *messages.Fleet
	id := q.ID
	uses := locationKeys(q.Locations)
	switch {
	case q.BuildID != "":
		uses = append(uses, buildKey(q.BuildID))
	case !q.Anywhere:
		uses = append(uses, scriptKey(q.ScriptID))
	}
	c.ledger.Do(ledger.Transaction{Key: fleetKey(id), Uses: uses, Reply: m.With(&made), Decide: func() (ledger.Entry, error) {
		if f := c.fleets[id]; f != nil && messages.SameCall(f.record.Call, q.Call) {
			made = f.record
			return ledger.Entry{}, nil
		} else if f != nil {
			return ledger.Entry{}, exists(store.Fleet, id)
		}
		f, err := c.newFleet(id, q)
		if err != nil {
			return ledger.Entry{}, err
		}
		if q.Anywhere { // nothing has to be loaded
			f.record.Status = messages.FleetActive
			f.events.add(c.context.Now(), EventCreated, "the fleet was created")
			f.events.add(c.context.Now(), eventStatePrefix+f.record.Status.String(), "the fleet is ACTIVE: computes may register")
		}
		release, err := c.claimPorts(f.record, q.Ports, q.Ports)
		if err != nil {
			return ledger.Entry{}, err
		}
		made = f.record
		return ledger.Entry{Changes: []store.Change{f.put()}, Claim: ledger.Claim{Count: 1}, Refused: release, Apply: func() {
			release()
			c.fleets[id] = f
			c.context.Log().Info().Str("fleet_id", string(id)).Str("script_id", string(f.record.ScriptID)).Str("build_id", string(f.record.BuildID)).Msg("fleet created")
			if q.Anywhere {
				c.o.Listener.FleetChanged(f.record)
			} else {
				c.open(f)
			}
		}}, nil
	}})
}

func (c *Catalog) newFleet(id messages.FleetID, q messages.CreateFleet) (*fleet, error) {
	if _, err := changedPorts(nil, messages.UpdatePorts{Add: q.Ports}); err != nil {
		return nil, err
	}
	f := &fleet{record: &messages.Fleet{
		ID: id, Name: q.Name, Description: q.Description, Status: messages.FleetNew,
		Created: c.context.Now(), Locations: q.Locations, Certificates: q.Certificates, Anywhere: q.Anywhere, ScriptID: q.ScriptID, BuildID: q.BuildID,
		LaunchPath: q.LaunchPath, LaunchParams: q.LaunchParams, Runtime: q.Runtime, Standby: -1, CreatorLimit: q.CreatorLimit, Ports: q.Ports, Shown: q.Shown, Tags: q.Tags,
		Call: q.Call,
	}}
	unknown := c.unknownLocation(q.Locations)
	switch {
	case unknown != "":
		return nil, noLocation(unknown)
	case !q.Anywhere && concurrent(f.runtime()) > c.o.ProcessesMax:
		return nil, messages.Errorf(messages.InvalidRequest, "the processes of RuntimeConfiguration are %d together; at most %d are allowed",
			concurrent(f.runtime()), c.o.ProcessesMax)
	case !q.Anywhere && q.BuildID == "" && c.scripts[q.ScriptID] == nil:
		return nil, c.noScript(q.ScriptID)
	case len(c.fleets)-len(c.deleted)+c.ledger.Claimed(store.Fleet).Count >= fleetsMax:
		return nil, messages.Errorf(messages.LimitExceeded, "there are %d fleets already", fleetsMax)
	}
	if q.BuildID != "" {
		return f, c.buildFleet(f)
	}
	return f, nil
}

// fleetChange is a change of a fleet's record and possibly its events. set may be called twice, because the fleet may
// get another status or other events while the change is being stored, and these must not be lost. then is called after
// the change, and refused if the store refuses it; they may be nil.
type fleetChange struct {
	set           func(*messages.Fleet, *events)
	then, refused func()
}

// changeFleet makes the change that decide returns and then replies. It returns an error if the fleet is DELETING or
// TERMINATED.
func (c *Catalog) changeFleet(id messages.FleetID, uses []ledger.Key, reply func(*messages.Fleet, error), decide func(*fleet) (fleetChange, error)) {
	var changed *messages.Fleet
	c.ledger.Do(ledger.Transaction{Key: fleetKey(id), Uses: uses, Reply: stage.Request[stage.None, *messages.Fleet]{Reply: reply}.With(&changed), Decide: func() (ledger.Entry, error) {
		f, err := c.living(id)
		if err != nil {
			return ledger.Entry{}, err
		}
		change, err := decide(f)
		if err != nil {
			return ledger.Entry{}, err
		}
		return c.fleetAs(f, change, &changed), nil
	}})
}

// fleetAs returns the ledger entry of a change. It sets *changed to the new record.
func (c *Catalog) fleetAs(f *fleet, change fleetChange, changed **messages.Fleet) ledger.Entry {
	was, said := f.record, slices.Clone(f.events)
	now, saying := *was, slices.Clone(f.events)
	change.set(&now, &saying)
	put := store.Put(store.Fleet, string(now.ID), fleetRecord{now, saying, f.configured})
	return ledger.Entry{Changes: []store.Change{put}, Refused: change.refused, Apply: func() {
		if f.record == was && slices.Equal(f.events, said) {
			c.setRecord(f, &now)
			f.events = saying
		} else {
			c.change(f, func(n *messages.Fleet) { change.set(n, &f.events) })
			c.noteFleet(f)
		}
		*changed = f.record
		if change.then != nil {
			change.then()
		}
	}}
}

// noteFleet stores a fleet whose status or events have changed without a request.
func (c *Catalog) noteFleet(f *fleet) {
	key := fleetKey(f.record.ID)
	c.ledger.Note(key, nil, ledger.Record{Key: key, Change: f.put})
}

// living returns a fleet that is neither DELETING nor TERMINATED.
func (c *Catalog) living(id messages.FleetID) (*fleet, error) {
	f, err := c.resolve(id, "")
	if err != nil {
		return nil, err
	}
	if s := f.record.Status; s == messages.FleetDeleting || s == messages.FleetTerminated {
		return nil, messages.Errorf(messages.InvalidFleetStatus, "fleet %s is %s", id, s)
	}
	return f, nil
}

// onUpdateFleet changes the attributes of a fleet and the protection of new game sessions.
func (c *Catalog) onUpdateFleet(m stage.Request[messages.UpdateFleet, *messages.Fleet]) {
	q := m.Request
	c.changeFleet(q.FleetID, nil, m.Reply, func(f *fleet) (fleetChange, error) {
		if q.Cost != nil && !f.record.Anywhere {
			return fleetChange{}, messages.Errorf(messages.InvalidRequest, "AnywhereConfiguration goes with ComputeType ANYWHERE")
		}
		return fleetChange{set: func(n *messages.Fleet, e *events) {
			if q.Protection != nil && *q.Protection != n.Shown.Protection {
				e.add(c.context.Now(), EventProtection, "the protection of new game sessions was changed")
			}
			messages.Replace(&n.Name, q.Name)
			messages.Replace(&n.Description, q.Description)
			messages.Replace(&n.Shown.Protection, q.Protection)
			messages.Replace(&n.Shown.Cost, q.Cost)
			if q.CreatorLimit != nil {
				n.CreatorLimit = q.CreatorLimit
			}
			if q.MetricGroups != nil {
				n.Shown.MetricGroups = q.MetricGroups
			}
		}}, nil
	})
}

// runtime returns the runtime configuration of a fleet with a script. The default is one process (D-204).
func (f *fleet) runtime() messages.RuntimeConfiguration {
	rc := f.record.Runtime
	if len(rc.Processes) == 0 {
		rc.Processes = []messages.ServerProcess{{
			LaunchPath: f.record.LaunchPath, Parameters: f.record.LaunchParams, Concurrent: max(1, f.record.GameSessionsMax),
		}}
	}
	return rc
}

// open starts a fleet with a script or a Server.
func (c *Catalog) open(f *fleet) {
	c.change(f, func(n *messages.Fleet) { n.Runtime, n.Status = f.runtime(), messages.FleetNew })
	if len(f.events) == 0 { // otherwise an earlier process of the host created the fleet
		f.events.add(c.context.Now(), EventCreated, "the fleet was created")
	}
	c.setFleetStatus(f, messages.FleetDownloading)
	c.setFleetStatus(f, messages.FleetValidating)
	c.o.Listener.FleetConfigured(f.record)
}

// change replaces the record by a modified copy, because others may hold the old record.
func (c *Catalog) change(f *fleet, set func(*messages.Fleet)) {
	record := *f.record
	set(&record)
	c.setRecord(f, &record)
}

func (c *Catalog) setRecord(f *fleet, record *messages.Fleet) {
	f.record = record
	c.o.Listener.FleetChanged(record)
}

func (c *Catalog) setFleetStatus(f *fleet, s messages.FleetStatus) {
	c.change(f, func(n *messages.Fleet) { n.Status = s })
	if s != messages.FleetTerminated && s != messages.FleetDeleting { // these statuses have no status event
		f.events.add(c.context.Now(), eventStatePrefix+s.String(), "the fleet is "+s.String())
	}
	c.context.Log().Info().Str("fleet_id", string(f.record.ID)).Stringer("status", s).Msg("fleet")
	if s == messages.FleetActive {
		c.o.Listener.FleetOpened(f.record)
	}
	if (s == messages.FleetActive || s == messages.FleetErrored) && (!f.configured || c.shared) {
		c.noteFleet(f) // stores the events too
	}
}

// onUpdateRuntime replaces the runtime configuration of a fleet. Running game sessions continue.
func (c *Catalog) onUpdateRuntime(m stage.Request[messages.UpdateRuntime, *messages.Fleet]) {
	q := m.Request
	c.changeFleet(q.FleetID, nil, m.Reply, func(f *fleet) (fleetChange, error) {
		if f.record.ScriptID == "" && !f.record.OnProcesses() {
			return fleetChange{}, messages.Errorf(messages.InvalidRequest, "fleet %s has no script: it has no runtime configuration", f.record.ID)
		}
		server, err := c.serverFor(f.record, q.Runtime)
		if err != nil {
			return fleetChange{}, err
		}
		if most := max(c.o.ProcessesMax, f.record.GameSessionsMax, concurrent(f.record.Runtime)); concurrent(q.Runtime) > most {
			return fleetChange{}, messages.Errorf(messages.LimitExceeded, "the processes of RuntimeConfiguration are %d together; at most %d are allowed", concurrent(q.Runtime), most)
		}
		return fleetChange{set: func(n *messages.Fleet, _ *events) { n.Runtime, n.Server = q.Runtime, server }, then: func() {
			if !f.record.Anywhere {
				c.o.Listener.FleetConfigured(f.record)
			}
		}}, nil
	})
}

// serverFor returns the Server of a fleet, which may be nil, with another runtime configuration. It returns an error if
// the fleet cannot have that. Without a build, only the operator says what runs on the hosts, so nothing but numbers and
// times may change.
func (c *Catalog) serverFor(f *messages.Fleet, rc messages.RuntimeConfiguration) (*messages.GameServer, error) {
	s := f.Server
	if s == nil {
		return nil, nil
	}
	n := *f
	n.Runtime = rc
	if f.BuildID != "" {
		err := c.serveBuild(&n)
		return n.Server, err
	}
	for _, p := range rc.Processes {
		if p.LaunchPath != s.Path || p.Parameters != s.Parameters() {
			return nil, messages.Errorf(messages.InvalidRequest, "fleet %s runs %s %s, which its operator has configured: LaunchPath and Parameters cannot be changed", f.ID, s.Path, s.Parameters())
		}
	}
	return s, EnoughPorts(&n)
}

// onDeleteFleet ends the game sessions of a fleet. The fleet is TERMINATED when all of them have ended.
func (c *Catalog) onDeleteFleet(m stage.Request[messages.DeleteFleet, stage.None]) {
	c.changeFleet(m.Request.ID, nil, func(_ *messages.Fleet, err error) {
		if f := c.fleets[m.Request.ID]; err != nil && f != nil && f.record.Status == messages.FleetTerminated {
			err = messages.Errorf(messages.NotFound, "fleet %s is deleted", m.Request.ID)
		}
		m.Reply(stage.None{}, err)
	}, func(f *fleet) (fleetChange, error) {
		return fleetChange{set: func(n *messages.Fleet, _ *events) { n.Status = messages.FleetDeleting }, then: func() {
			c.dropComputes(func(o *messages.Compute) bool { return o.FleetID == m.Request.ID })
			c.setFleetStatus(f, messages.FleetDeleting)
			c.o.Listener.FleetClosed(f.record)
		}}, nil
	})
}

// Emptied says that a fleet has no more game sessions. If the fleet is DELETING, it becomes TERMINATED.
func (c *Catalog) Emptied(id messages.FleetID) {
	f := c.fleets[id]
	if f == nil || f.record.Status != messages.FleetDeleting {
		return
	}
	if c.follower != nil && f.removed {
		c.forgetFollowed(id)
		return
	}
	if c.follower != nil {
		c.fleetReport(id).Empty = true
		return
	}
	c.setFleetStatus(f, messages.FleetTerminated)
	c.change(f, func(n *messages.Fleet) { n.Terminated = c.context.Now() })
	f.events.add(c.context.Now(), EventDeleted, "the fleet was deleted")
	c.deleted = append(c.deleted, f)
	c.noteFleet(f)
	c.forgetFleets()
}

func (c *Catalog) fleetEvents(id messages.FleetID) ([]messages.FleetEvent, error) {
	f, err := c.resolve(id, "")
	if err != nil {
		return nil, err
	}
	return slices.Clone(f.events), nil
}

// onUpdatePorts changes the port ranges of a fleet. They are only stored and shown, except that processes of a build get
// their ports from the first one.
func (c *Catalog) onUpdatePorts(m stage.Request[messages.UpdatePorts, *messages.Fleet]) {
	c.changeFleet(m.Request.FleetID, nil, m.Reply, func(f *fleet) (fleetChange, error) {
		ports, err := changedPorts(f.record.Ports, m.Request)
		server := f.record.Server
		if err == nil && f.record.BuildID != "" {
			n := *f.record
			n.Ports = ports
			err = c.serveBuild(&n)
			server = n.Server
		}
		if err != nil {
			return fleetChange{}, err
		}
		release, err := c.claimPorts(f.record, ports, m.Request.Add)
		return fleetChange{set: func(n *messages.Fleet, _ *events) { n.Ports, n.Server = ports, server }, then: release, refused: release}, err
	})
}

// changedPorts returns the port ranges after an update. An update first removes ranges, then adds ranges.
func changedPorts(had []messages.Port, q messages.UpdatePorts) ([]messages.Port, error) {
	ports := slices.Clone(had)
	for _, p := range q.Remove {
		i := slices.Index(ports, p)
		if i < 0 {
			return nil, messages.Errorf(messages.InvalidRequest, "the fleet has no %s ports %d to %d for %s", p.Protocol, p.From, p.To, p.Range)
		}
		ports = slices.Delete(ports, i, i+1)
	}
	for _, p := range q.Add {
		if slices.Contains(ports, p) {
			return nil, messages.Errorf(messages.Conflict, "the fleet has the %s ports %d to %d for %s already", p.Protocol, p.From, p.To, p.Range)
		}
		ports = append(ports, p)
	}
	if len(ports) > portsMax {
		return nil, messages.Errorf(messages.LimitExceeded, "a fleet has at most %d port ranges", portsMax)
	}
	return ports, nil
}
