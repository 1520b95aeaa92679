package catalog

import (
	"maps"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// tagged is a resource with tags, together with a function that returns the change of these tags.
type tagged struct {
	tags map[string]string
	as   func(tags map[string]string) ledger.Entry
}

// resource returns a resource with tags. The kind and id in the request may be invalid.
func (c *Catalog) resource(q messages.Resource) (tagged, error) {
	switch store.Kind(q.Kind) {
	case store.Fleet:
		if f := c.fleets[messages.FleetID(q.ID)]; f != nil {
			return tagged{f.record.Tags, func(t map[string]string) ledger.Entry {
				return c.fleetAs(f, fleetChange{set: func(n *messages.Fleet, _ *events) { n.Tags = t }}, new(*messages.Fleet))
			}}, nil
		}
	case store.Script:
		if s := c.scripts[messages.ScriptID(q.ID)]; s != nil {
			return tagged{s.record.Tags, func(t map[string]string) ledger.Entry {
				changed := *s.record
				changed.Tags = t
				return c.scriptAs(s, &changed)
			}}, nil
		}
	case store.Build:
		if b := c.builds[messages.BuildID(q.ID)]; b != nil {
			return tagged{b.Tags, func(t map[string]string) ledger.Entry {
				changed := *b
				changed.Tags = t
				return c.buildAs(&changed)
			}}, nil
		}
	case store.Alias:
		if a := c.aliases[messages.AliasID(q.ID)]; a != nil {
			return tagged{a.Tags, func(t map[string]string) ledger.Entry {
				changed := *a
				changed.Tags = t
				return c.aliasAs(&changed)
			}}, nil
		}
	case store.Location:
		if l, ok := c.locations[q.ID]; ok && messages.CustomLocation(q.ID) {
			return tagged{l.Tags, func(t map[string]string) ledger.Entry {
				l.Tags = t
				return c.locationAs(l)
			}}, nil
		}
	}
	return tagged{}, messages.Errorf(messages.NotFound, "there is no %s %s here that has tags", q.Kind, q.ID)
}

func (c *Catalog) tags(q messages.Resource) (map[string]string, error) {
	found, err := c.resource(q)
	return maps.Clone(found.tags), err
}

// onUpdateTags sets and removes tags (service-api.md 2.11). It creates a new map because records share the old one.
func (c *Catalog) onUpdateTags(m stage.Request[messages.UpdateTags, map[string]string]) {
	q := m.Request
	var answer map[string]string
	key := ledger.Key{Kind: store.Kind(q.Resource.Kind), ID: q.Resource.ID}
	c.ledger.Do(ledger.Transaction{Key: key, Reply: m.With(&answer), Decide: func() (ledger.Entry, error) {
		found, err := c.resource(q.Resource)
		if err != nil {
			return ledger.Entry{}, err
		}
		now, err := messages.ChangeTags(found.tags, q)
		if err != nil {
			return ledger.Entry{}, err
		}
		answer = maps.Clone(now)
		return found.as(now), nil
	}})
}
