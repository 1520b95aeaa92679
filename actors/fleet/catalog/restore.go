package catalog

import (
	"fmt"
	"maps"
	"slices"

	"troupe/actors/store"
	"troupe/messages"
)

// Records in the store. The record of a configured resource is used only as long as the configuration contains the
// resource.
type (
	fleetRecord struct {
		Fleet      messages.Fleet
		Events     events
		Configured bool `json:",omitempty"`
	}
	scriptRecord struct {
		Script     messages.Script
		Configured bool     `json:",omitempty"`
		Key        string   `json:",omitempty"` // key of the newest content; empty means the script's id
		Good       *earlier `json:",omitempty"`
	}
	aliasRecord struct {
		Alias      messages.Alias
		Configured bool `json:",omitempty"`
	}
)

func (f *fleet) put() store.Change {
	return store.Put(store.Fleet, string(f.record.ID), fleetRecord{*f.record, f.events, f.configured})
}

// put returns the change that stores the current state of a script without its content.
func (s *script) put() store.Change {
	return store.Put(store.Script, string(s.record.ID), scriptRecord{*s.record, s.configured, s.key, s.good})
}

func (c *Catalog) putAlias(a *messages.Alias) store.Change {
	configured := slices.ContainsFunc(c.o.Aliases, func(o *messages.Alias) bool { return o.ID == a.ID })
	return store.Put(store.Alias, string(a.ID), aliasRecord{*a, configured})
}

// restore reads the records of earlier processes. For configured resources it uses only the fields that the
// configuration cannot set.
func (c *Catalog) restore() error {
	for _, step := range []func() error{
		func() error {
			return load(c, store.Location, func(l *messages.Location) string { return l.Name }, c.restoreLocation)
		},
		func() error {
			return load(c, store.Script, func(s *scriptRecord) string { return string(s.Script.ID) }, c.restoreScript)
		},
		c.restoreContents,
		func() error {
			return load(c, store.Build, buildID, func(b *messages.Build) { c.builds[b.ID] = b })
		},
		func() error { return load(c, store.Fleet, (*fleetRecord).id, c.restoreFleet) },
		func() error {
			id := func(m *messages.Compute) string { return computeID(m.FleetID, m.Name) }
			return load(c, store.Compute, id, func(m *messages.Compute) { c.computes[id(m)] = m })
		},
		func() error {
			return load(c, store.Alias, func(a *aliasRecord) string { return string(a.Alias.ID) }, c.restoreAlias)
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	c.checkScripts()
	return c.checkPorts()
}

// checkPorts refuses a configuration with too few ports for the process groups that UpdateFleetCapacity has set before.
// In a cluster, an event says so: its leader must lead.
func (c *Catalog) checkPorts() error {
	for _, id := range slices.Sorted(maps.Keys(c.fleets)) {
		if f := c.fleets[id]; f.configured && !c.shared {
			if err := EnoughPorts(f.record); err != nil {
				return fmt.Errorf("%w (the API has set its process groups): configure more ports, or fewer processes", err)
			}
		}
	}
	return nil
}

// id returns the id of a record. It returns "" if a required field is missing.
func (f *fleetRecord) id() string {
	if len(f.Fleet.Locations) == 0 || f.Fleet.Status == 0 {
		return ""
	}
	return string(f.Fleet.ID)
}

// load calls f with all valid records of a kind. It adds invalid records to c.unread, so that they do not prevent the
// host from starting.
func load[T any](c *Catalog, kind store.Kind, named func(*T) string, f func(*T)) error {
	return store.Read(c.o.Store, &c.unread, kind, func(id string, record *T, _ int) error {
		if named(record) != id {
			return store.ErrIncomplete
		}
		f(record)
		return nil
	})
}

func (c *Catalog) restoreLocation(l *messages.Location) {
	if _, configured := c.locations[l.Name]; !configured {
		c.locations[l.Name] = *l
	}
}

func (c *Catalog) restoreScript(stored *scriptRecord) {
	record := &stored.Script
	if s := c.scripts[record.ID]; s != nil {
		changed := *s.record
		changed.Tags = record.Tags
		s.record = &changed
	} else if !stored.Configured || c.shared {
		c.scripts[record.ID] = &script{record: record, key: stored.Key, good: stored.Good, configured: stored.Configured}
	}
}

func (c *Catalog) restoreFleet(stored *fleetRecord) {
	record := &stored.Fleet
	if f := c.fleets[record.ID]; f != nil {
		if s := record.Status; s != messages.FleetDeleting && s != messages.FleetTerminated {
			n := *f.record
			n.Groups, n.CreatorLimit, n.Ports, n.Shown, n.Tags = record.Groups, record.CreatorLimit, record.Ports, record.Shown, record.Tags
			f.record = &n
		}
		return
	}
	if stored.Configured && !c.shared {
		return
	}
	if record.Anywhere && record.Status == messages.FleetErrored { // by an earlier version, with which nothing could register
		record.Status = messages.FleetActive
	}
	f := &fleet{record: record, events: stored.Events, configured: stored.Configured}
	c.fleets[record.ID] = f
	if record.Status == messages.FleetTerminated {
		c.deleted = append(c.deleted, f)
		slices.SortFunc(c.deleted, func(a, b *fleet) int { return a.record.Terminated.Compare(b.record.Terminated) })
	}
}

func (c *Catalog) restoreAlias(stored *aliasRecord) {
	record := &stored.Alias
	if a := c.aliases[record.ID]; a != nil {
		changed := *a
		changed.Description, changed.Tags = record.Description, record.Tags
		c.aliases[record.ID] = &changed
	} else if !stored.Configured || c.shared {
		c.aliases[record.ID] = record
		if stored.Configured {
			c.o.Aliases = append(c.o.Aliases, record)
		}
	}
}

// Revive starts the configured and restored fleets. A catalog that follows a Leader has no fleets yet.
func (c *Catalog) Revive() {
	for _, f := range c.fleets {
		switch {
		case f.record.Status == messages.FleetTerminated:
		case f.record.Status == messages.FleetDeleting:
			c.o.Listener.FleetClosed(f.record)
		case f.record.BuildID != "" && c.builds[f.record.BuildID] == nil:
			f.events.add(c.context.Now(), EventNotRunnable, c.unknown(store.Build, string(f.record.BuildID)).Error()+": delete the fleet, and create it again with another build")
			c.setFleetStatus(f, messages.FleetErrored)
		case f.record.Server != nil:
			c.open(f)
		case f.record.ScriptID == "":
		case c.scripts[f.record.ScriptID] == nil:
			f.events.add(c.context.Now(), EventNotRunnable, c.noScript(f.record.ScriptID).Error()+": delete the fleet, and create it again with another script")
			c.setFleetStatus(f, messages.FleetErrored)
		default:
			c.open(f)
		}
	}
}

// forgetFleets drops fleets that were TERMINATED more than terminatedKeep ago, and the oldest ones beyond
// terminatedMax.
func (c *Catalog) forgetFleets() {
	if len(c.deleted) == 0 {
		return
	}
	now := c.context.Now()
	n := 0
	var dropped []store.Change
	for ; n < len(c.deleted); n++ {
		f := c.deleted[n].record
		if len(c.deleted)-n <= terminatedMax && now.Sub(f.Terminated) <= terminatedKeep {
			break
		}
		delete(c.fleets, f.ID)
		c.o.Listener.FleetForgotten(f.ID)
		c.ledger.Discard(fleetKey(f.ID))
		dropped = append(dropped, store.Delete(store.Fleet, string(f.ID)))
	}
	c.deleted = slices.Delete(c.deleted, 0, n)
	if dropped != nil {
		c.ledger.CommitAsync(dropped...) // if this fails, the next start tries again
	}
}

// checkScripts records scripts that fleets need but the store lacks as damaged. They must be damaged because the API
// does not delete a script that is in use.
func (c *Catalog) checkScripts() {
	for _, f := range c.fleets {
		id, s := f.record.ScriptID, f.record.Status
		if id == "" || s == messages.FleetDeleting || s == messages.FleetTerminated || c.scripts[id] != nil || c.unread.Has(store.Script, string(id)) {
			continue
		}
		c.unread.Add(store.Script, string(id), fmt.Errorf("%w, and fleet %s runs it", errNotThere, f.record.ID))
	}
}

// unknown returns the error for a fleet, alias, script or build that does not exist. It is Conflict for a build whose record may
// be damaged: hosts delete the files of builds that are NotFound. The ids in a store may be damaged, too; those of a Leader's
// records are not.
func (c *Catalog) unknown(kind store.Kind, id string) error {
	switch damaged := c.unread.IDs(kind); {
	case kind == store.Build && (damaged[id] || c.follower == nil && len(damaged) > 0):
		return messages.Errorf(messages.Conflict, "build %s is not known here, and records of builds in the store are damaged", id)
	case damaged[id]:
		return messages.Errorf(messages.NotFound, "%s %s is not known here: its record in the store is damaged", kind, id)
	}
	return messages.Errorf(messages.NotFound, "%s %s is not known here", kind, id)
}

func (c *Catalog) noScript(id messages.ScriptID) error { return c.unknown(store.Script, string(id)) }

// tellDamage adds an event about damaged records to each fleet that they affect.
func (c *Catalog) tellDamage() {
	for id, f := range c.fleets {
		if f.record.Status == messages.FleetTerminated {
			continue
		}
		if c.unread.Has(store.Fleet, string(id)) {
			f.events.add(c.context.Now(), EventGeneric, "the fleet's record in the store is damaged: it is as the configuration says, and what the API has changed is lost")
		}
		for _, l := range f.record.Locations {
			if c.unread.Has(store.Location, l) {
				f.events.add(c.context.Now(), EventGeneric, "the record of location "+l+" in the store is damaged: create the location again")
			}
		}
	}
	for _, a := range c.aliases {
		if a.FleetID != "" && c.fleets[a.FleetID] == nil {
			c.context.Log().Warn().Str("alias_id", string(a.ID)).AnErr("error", c.unknown(store.Fleet, string(a.FleetID))).Msg("an alias leads to no fleet: update it")
		}
	}
}
