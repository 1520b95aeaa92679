package fleet

import (
	"maps"

	"troupe/actors/stage"
	"troupe/messages"
)

// tagged is a resource of the registry that has tags. Change gives it others, once that is
// durable, and answers.
type tagged struct {
	tags   map[string]string
	change func(c *stage.Context, tags map[string]string, answer func(error))
}

// resource finds a resource of the registry; what it is of has passed no check.
func (r *Registry) resource(q messages.Resource) (tagged, error) {
	switch q.Kind {
	case "fleet":
		if f := r.fleets[messages.FleetID(q.ID)]; f != nil {
			return tagged{f.record.Tags, func(c *stage.Context, t map[string]string, answer func(error)) {
				r.changeFleet(c, f, func(n *messages.Fleet, _ *events) { n.Tags = t }, nil, func(_ *messages.Fleet, err error) { answer(err) })
			}}, nil
		}
	case "script":
		if s := r.scripts[messages.ScriptID(q.ID)]; s != nil {
			return tagged{s.record.Tags, func(c *stage.Context, t map[string]string, answer func(error)) {
				changed := *s.record
				changed.Tags = t
				r.changeScript(c, s, &changed, func() {}, answer)
			}}, nil
		}
	case "alias":
		if a := r.aliases[messages.AliasID(q.ID)]; a != nil {
			return tagged{a.Tags, func(c *stage.Context, t map[string]string, answer func(error)) {
				r.changeAlias(c, a, func(n *messages.Alias) { n.Tags = t }, func(_ *messages.Alias, err error) { answer(err) })
			}}, nil
		}
	case "location":
		if l, ok := r.locations[q.ID]; ok && messages.CustomLocation(q.ID) {
			return tagged{l.Tags, func(c *stage.Context, t map[string]string, answer func(error)) {
				was := l
				l.Tags = t
				r.locations[q.ID] = l
				r.commit(c, func() { r.locations[q.ID] = was }, answer, putLocation(l))
			}}, nil
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
	found.change(c, now, one(m.Reply, maps.Clone(now)))
}
