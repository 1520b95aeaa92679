package fleet

import (
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// changing is a fleet, alias, location or script with a change on its way to the store.
// Another change of it would be made on top of one that may yet be refused, and would
// store that, too: it waits until the first is durable or taken back, and is checked
// against what there is then.
type changing struct {
	waiting []any // requests, in the order of their arrival
	stale   bool  // it has changed by itself meanwhile, which is to be stored behind the change
}

// changesMax is how many changes of one resource may wait.
const changesMax = 16

// settled says that a change of a resource is durable, and has no consequences.
type settled struct{ of string }

// Undelivered implements stage.Undeliverable.
func (settled) Undelivered() {}

// beginChange takes note of the resource that changes are of, and returns its id; "" if
// they are of none.
func (r *Registry) beginChange(changes []store.Change) (of string) {
	if len(changes) == 0 {
		return ""
	}
	switch change := &changes[0]; change.Kind {
	case store.Fleet, store.Alias, store.Location, store.Script:
		r.changing[change.ID] = new(changing)
		return change.ID
	}
	return ""
}

// endChange lets the next change of a resource begin.
func (r *Registry) endChange(c *stage.Context, of string) {
	ch := r.changing[of]
	if ch == nil {
		return
	}
	delete(r.changing, of)
	if ch.stale {
		if f := r.fleets[messages.FleetID(of)]; f != nil {
			r.note(c, f.put())
		}
		if s := r.scripts[messages.ScriptID(of)]; s != nil {
			r.dropEarlier(c, s)
		}
	}
	for _, m := range ch.waiting { // the first that is not refused has the others wait again
		r.receiveResources(c, m)
	}
}

// deferred reports whether what a resource has become by itself must wait for a change of
// it that is under way; endChange goes on with it.
func (r *Registry) deferred(of string) bool {
	ch := r.changing[of]
	if ch != nil {
		ch.stale = true
	}
	return ch != nil
}

// waits has a request to change a resource wait, if another change of that is under way.
func (r *Registry) waits(msg any) bool {
	of := target(msg)
	if of == "" {
		return false
	}
	ch := r.changing[of]
	if ch == nil {
		return false
	}
	if len(ch.waiting) < changesMax {
		ch.waiting = append(ch.waiting, msg)
	} else if m, ok := msg.(refusable); ok {
		m.refuse(messages.Errorf(messages.Conflict, "%d changes of %s wait for the store already: try again", changesMax, of))
	}
	return true
}

// refuseWaiting answers the changes that wait as the registry stops.
func (r *Registry) refuseWaiting() {
	for _, ch := range r.changing {
		for _, msg := range ch.waiting {
			if m, ok := msg.(refusable); ok {
				m.refuse(unavailable())
			}
		}
	}
	clear(r.changing)
}

// refusable is a request that can be answered with an error alone.
type refusable interface{ refuse(err error) }

func (m Request[Q, A]) refuse(err error) {
	var none A
	m.Reply(none, err)
}

// target is the id of the resource that a request changes; "" if it changes none, or makes
// a new one.
func target(msg any) string {
	switch m := msg.(type) {
	case Request[ChangeScript, Changed]:
		return string(m.Request.Request.ID)
	case Request[DropScript, None]:
		return string(m.Request.ID)
	case Request[DropFleet, None]:
		return string(m.Request.ID)
	case Request[messages.UpdateFleet, *messages.Fleet]:
		return string(m.Request.FleetID)
	case Request[messages.UpdateRuntime, *messages.Fleet]:
		return string(m.Request.FleetID)
	case Request[messages.UpdateCapacity, *messages.Fleet]:
		return string(m.Request.FleetID)
	case Request[messages.UpdatePorts, *messages.Fleet]:
		return string(m.Request.FleetID)
	case Request[AddLocations, *messages.Fleet]:
		return string(m.Request.FleetID)
	case Request[RemoveLocations, *messages.Fleet]:
		return string(m.Request.FleetID)
	case Request[messages.UpdateAlias, *messages.Alias]:
		return string(m.Request.ID)
	case Request[DropAlias, None]:
		return string(m.Request.ID)
	case Request[messages.Location, messages.Location]:
		return m.Request.Name
	case Request[DropLocation, None]:
		return m.Request.Name
	case Request[messages.UpdateTags, map[string]string]:
		return m.Request.Resource.ID
	}
	return ""
}
