package catalog

import (
	"fmt"

	"troupe/actors/store"
	"troupe/messages"
)

// checkScripts records missing scripts of fleets as damaged: the API does not delete a script that
// is in use.
func (c *Catalog) checkScripts() {
	for _, f := range c.fleets {
		id, s := f.record.ScriptID, f.record.Status
		if id == "" || s == messages.FleetDeleting || s == messages.FleetTerminated || c.scripts[id] != nil || c.unread.Has(store.Script, string(id)) {
			continue
		}
		c.unread.Add(store.Script, string(id), fmt.Errorf("%w, and fleet %s runs it", errNotThere, f.record.ID))
	}
}

// unknown returns the error for a fleet, alias or script that does not exist.
func (c *Catalog) unknown(kind store.Kind, id string) error {
	if c.unread.Has(kind, id) {
		return messages.Errorf(messages.NotFound, "%s %s is not known here: its record in the store is damaged", kind, id)
	}
	return messages.Errorf(messages.NotFound, "%s %s is not known here", kind, id)
}

func (c *Catalog) noScript(id messages.ScriptID) error {
	return c.unknown(store.Script, string(id))
}

// tellDamage adds an event about damaged records to the fleets that they concern.
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
