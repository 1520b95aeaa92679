package fleet

import (
	"maps"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// tagged is a resource of the registry that has tags.
type tagged struct {
	tags map[string]string
	set  func(map[string]string) (undo func())
	put  func() store.Change
}

// resource finds a resource of the registry; what it is of has passed no check.
func (r *Registry) resource(q messages.Resource) (tagged, error) {
	switch q.Kind {
	case "fleet":
		if f := r.fleets[messages.FleetID(q.ID)]; f != nil {
			return tagged{f.record.Tags, func(t map[string]string) func() {
				was := f.record
				f.change(func(n *messages.Fleet) { n.Tags = t })
				return back(&f.record, was)
			}, f.put}, nil
		}
	case "script":
		if s := r.scripts[messages.ScriptID(q.ID)]; s != nil {
			return tagged{s.record.Tags, func(t map[string]string) func() {
				was, changed := s.record, *s.record
				changed.Tags, s.record = t, &changed
				return back(&s.record, was)
			}, s.put}, nil
		}
	case "alias":
		if a := r.aliases[messages.AliasID(q.ID)]; a != nil {
			return tagged{a.Tags, func(t map[string]string) func() {
				changed := *a
				changed.Tags, r.aliases[a.ID] = t, &changed
				return func() {
					if r.aliases[a.ID] == &changed {
						r.aliases[a.ID] = a
					}
				}
			}, func() store.Change { return r.putAlias(r.aliases[a.ID]) }}, nil
		}
	case "location":
		if l, ok := r.locations[q.ID]; ok && messages.CustomLocation(q.ID) {
			return tagged{l.Tags, func(t map[string]string) func() {
				changed := l
				changed.Tags = t
				r.locations[q.ID] = changed
				return func() {
					if now, ok := r.locations[q.ID]; ok && maps.Equal(now.Tags, t) {
						r.locations[q.ID] = l
					}
				}
			}, func() store.Change { return putLocation(r.locations[q.ID]) }}, nil
		}
	}
	return tagged{}, messages.Errorf(messages.NotFound, "there is no %s %s here that has tags", q.Kind, q.ID)
}

// tags reads the tags of a resource.
func (r *Registry) tags(q messages.Resource) (map[string]string, error) {
	found, err := r.resource(q)
	return maps.Clone(found.tags), err
}

// onUpdateTags sets and removes tags (service-api.md 2.11). A map of tags is never
// changed: records share it.
func (r *Registry) onUpdateTags(c *stage.Context, m Request[messages.UpdateTags, map[string]string]) {
	q := m.Request
	found, err := r.resource(q.Resource)
	if err != nil {
		m.Reply(nil, err)
		return
	}
	now, err := messages.ChangeTags(found.tags, q)
	if err != nil {
		m.Reply(nil, err)
		return
	}
	r.commit(c, found.set(now), one(m.Reply, maps.Clone(now)), found.put())
}

// back puts a record back where it has just been replaced, unless it is replaced again.
func back[T any](record **T, was *T) func() {
	now := *record
	return func() {
		if *record == now {
			*record = was
		}
	}
}
