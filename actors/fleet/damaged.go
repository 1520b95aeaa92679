package fleet

import (
	"errors"
	"fmt"
	"strings"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// unread are stored records that the host goes on without, by kind and id. They stay in the
// store.
type unread map[store.Kind]map[string]bool

func (u unread) has(kind store.Kind, id string) bool { return u[kind][id] }

func (u unread) add(kind store.Kind, id string) {
	if u[kind] == nil {
		u[kind] = make(map[string]bool)
	}
	u[kind][id] = true
}

// read is Load of the store, without the records that are not what was written.
func (r *Registry) read(kind store.Kind, f func(id string, value []byte) error) error {
	damaged, err := r.o.Store.Load(kind, f)
	for _, d := range damaged {
		r.without(d.Kind, d.ID, d.Err)
	}
	return err
}

// without takes note of a stored record that the host goes on without. It stays in the
// store, until something else is stored in its place.
func (r *Registry) without(kind store.Kind, id string, err error) {
	r.restored.damaged = append(r.restored.damaged, store.Damage{Kind: kind, ID: id, Err: err})
	r.unread.add(kind, id)
}

// Damaged returns the stored records that the registry goes on without. It is for whoever
// has called New, before the registry is spawned.
func (r *Registry) Damaged() []store.Damage { return r.restored.damaged }

// Unread reports whether the host goes on without a stored record. Only the actor may call
// it, and whoever made the Registry before it is spawned.
func (r *Registry) Unread(kind store.Kind, id string) bool { return r.unread.has(kind, id) }

var errIncomplete = errors.New("is not complete")

// checkScripts takes note of scripts that fleets run and that are not there: the API
// deletes none that is in use.
func (r *Registry) checkScripts() {
	for _, f := range r.fleets {
		id, s := f.record.ScriptID, f.record.Status
		if id == "" || s == messages.FleetDeleting || s == messages.FleetTerminated || r.scripts[id] != nil || r.unread.has(store.Script, string(id)) {
			continue
		}
		r.without(store.Script, string(id), fmt.Errorf("%w, and fleet %s runs it", errNotThere, f.record.ID))
	}
}

// unknown is the error for a fleet, alias or script that is not there.
func (r *Registry) unknown(kind store.Kind, id string) error {
	if r.unread.has(kind, id) {
		return messages.Errorf(messages.NotFound, "%s %s is not known here: its record in the store is damaged", kind, id)
	}
	return messages.Errorf(messages.NotFound, "%s %s is not known here", kind, id)
}

func (r *Registry) noScript(id messages.ScriptID) error {
	return r.unknown(store.Script, string(id))
}

// tellDamage shows damaged records in the events of the fleets that they concern.
func (r *Registry) tellDamage(c *stage.Context) {
	games := make(map[messages.FleetID]int)
	for id := range r.unread[store.GameSession] {
		games[fleetOf(id)]++
	}
	for id, f := range r.fleets {
		if f.record.Status == messages.FleetTerminated {
			continue
		}
		if r.unread.has(store.Fleet, string(id)) {
			f.events.add(c.Now(), eventGeneric, "the fleet's record in the store is damaged: it is as the configuration says, and what the API has changed is lost")
		}
		if n := games[id]; n > 0 {
			f.events.add(c.Now(), eventGeneric, fmt.Sprintf("the records of %d ended game sessions in the store are damaged: they are not shown, and their ids stay taken", n))
		}
		for _, l := range f.record.Locations {
			if r.unread.has(store.Location, l) {
				f.events.add(c.Now(), eventGeneric, "the record of location "+l+" in the store is damaged: create the location again")
			}
		}
	}
	for _, a := range r.aliases {
		if a.FleetID != "" && r.fleets[a.FleetID] == nil {
			c.Log().Warn().Str("alias_id", string(a.ID)).AnErr("error", r.unknown(store.Fleet, string(a.FleetID))).Msg("an alias leads to no fleet: update it")
		}
	}
}

// fleetOf is the fleet in the id of a game session.
func fleetOf(id string) messages.FleetID {
	_, tail, _ := strings.Cut(id, ":gamesession/")
	fleet, _, _ := strings.Cut(tail, "/")
	return messages.FleetID(fleet)
}
