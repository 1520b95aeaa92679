package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// What the store keeps. What is of the configuration is not there without it.
type (
	fleetRecord struct {
		Fleet      messages.Fleet
		Events     events
		Configured bool `json:",omitempty"`
	}
	scriptRecord struct {
		Script     messages.Script
		Configured bool     `json:",omitempty"`
		Key        string   `json:",omitempty"` // of the newest content; empty: the script's id
		Good       *earlier `json:",omitempty"`
	}
	aliasRecord struct {
		Alias      messages.Alias
		Configured bool `json:",omitempty"`
	}
)

// put is the change that stores a fleet as it is now.
func (f *fleetEntry) put() store.Change {
	return store.Put(store.Fleet, string(f.record.ID), fleetRecord{*f.record, f.events, f.configured})
}

// put is the change that stores a script as it is now, without its content.
func (s *scriptEntry) put() store.Change {
	return store.Put(store.Script, string(s.record.ID), scriptRecord{*s.record, s.configured, s.key, s.good})
}

func (r *Registry) putAlias(a *messages.Alias) store.Change {
	return store.Put(store.Alias, string(a.ID), aliasRecord{*a, r.configuredAlias(a.ID)})
}

func (r *Registry) configuredAlias(id messages.AliasID) bool {
	return slices.ContainsFunc(r.o.Aliases, func(a *messages.Alias) bool { return a.ID == id })
}

// restore reads what an earlier process has stored. What the configuration names is as
// it says: of a stored fleet, script or alias with the same id only what the
// configuration has no words for is taken.
func (r *Registry) restore() error {
	for _, step := range []func() error{
		func() error {
			return load(r, store.Location, func(l *messages.Location) string { return l.Name }, r.restoreLocation)
		},
		func() error {
			return load(r, store.Script, func(s *scriptRecord) string { return string(s.Script.ID) }, r.restoreScript)
		},
		r.restoreContents,
		func() error { return load(r, store.Fleet, (*fleetRecord).id, r.restoreFleet) },
		func() error {
			return load(r, store.Alias, func(a *aliasRecord) string { return string(a.Alias.ID) }, r.restoreAlias)
		},
		r.restoreSessions,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	r.checkScripts()
	return nil
}

// id is that of a record with what nothing works without; else it is none.
func (f *fleetRecord) id() string {
	if len(f.Fleet.Locations) == 0 || f.Fleet.Status == 0 {
		return ""
	}
	return string(f.Fleet.ID)
}

// load calls f with all records of a kind that make sense. No record of the host's own
// keeps it from starting.
func load[T any](r *Registry, kind store.Kind, named func(*T) string, f func(*T)) error {
	return r.read(kind, func(id string, value []byte) error {
		record := new(T)
		switch err := json.Unmarshal(value, record); {
		case err != nil:
			r.without(kind, id, fmt.Errorf("cannot be read: %w", err))
		case named(record) != id:
			r.without(kind, id, errIncomplete)
		default:
			f(record)
		}
		return nil
	})
}

func (r *Registry) restoreLocation(l *messages.Location) {
	if _, configured := r.locations[l.Name]; !configured {
		r.locations[l.Name] = *l
	}
}

func (r *Registry) restoreScript(stored *scriptRecord) {
	record := &stored.Script
	if s := r.scripts[record.ID]; s != nil {
		changed := *s.record
		changed.Tags = record.Tags
		s.record = &changed
	} else if !stored.Configured {
		r.scripts[record.ID] = &scriptEntry{record: record, key: stored.Key, good: stored.Good}
	}
}

func (r *Registry) restoreFleet(stored *fleetRecord) {
	record := &stored.Fleet
	if f := r.fleets[record.ID]; f != nil {
		if s := record.Status; s != messages.FleetDeleting && s != messages.FleetTerminated {
			r.change(f, func(n *messages.Fleet) {
				n.Groups, n.CreatorLimit, n.Ports, n.Shown, n.Tags = record.Groups, record.CreatorLimit, record.Ports, record.Shown, record.Tags
			})
		}
		return
	}
	if stored.Configured {
		return
	}
	f := newFleetEntry(record)
	f.events = stored.Events
	r.fleets[record.ID] = f
	if record.Status == messages.FleetTerminated {
		r.deleted = append(r.deleted, f)
		slices.SortFunc(r.deleted, func(a, b *fleetEntry) int { return a.record.Terminated.Compare(b.record.Terminated) })
	}
}

func (r *Registry) restoreAlias(stored *aliasRecord) {
	record := &stored.Alias
	if a := r.aliases[record.ID]; a != nil {
		changed := *a
		changed.Description, changed.Tags = record.Description, record.Tags
		r.aliases[record.ID] = &changed
	} else if !stored.Configured {
		r.aliases[record.ID] = record
	}
}

// revive brings the fleets that are there from the start to life.
func (r *Registry) revive(c *stage.Context) {
	r.tellDamage(c)
	r.endRestored(c)
	for _, f := range r.fleets {
		switch {
		case f.record.Status == messages.FleetTerminated:
		case f.record.Status == messages.FleetDeleting:
			r.finishFleet(c, f)
		case f.record.Anywhere && f.record.Status != messages.FleetErrored:
			r.setUnregistrable(c, f)
		case f.record.ScriptID == "":
		case r.scripts[f.record.ScriptID] == nil:
			f.events.add(c.Now(), eventNotRunnable, r.noScript(f.record.ScriptID).Error()+": delete the fleet, and create it again with another script")
			r.setFleetStatus(c, f, messages.FleetErrored)
		default:
			r.open(c, f)
		}
	}
}

// forgetFleets drops fleets that were terminated long ago, and the oldest of too many.
func (r *Registry) forgetFleets(now time.Time) {
	n := 0
	var dropped []store.Change
	for ; n < len(r.deleted); n++ {
		f := r.deleted[n].record
		if len(r.deleted)-n <= terminatedMax && now.Sub(f.Terminated) <= terminatedKeep {
			break
		}
		delete(r.fleets, f.ID)
		r.ledger.Discard(fleetKey(f.ID))
		dropped = append(dropped, store.Delete(store.Fleet, string(f.ID)))
	}
	r.deleted = slices.Delete(r.deleted, 0, n)
	if dropped != nil {
		r.ledger.Forget(dropped...) // tried again at the next start
	}
}
