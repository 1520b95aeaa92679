package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Aliases (service-api.md 2.4). Deleting a fleet leaves those that lead to it.

func (r *Registry) onCreateAlias(c *stage.Context, m Request[messages.CreateAlias, *messages.Alias]) {
	q := m.Request
	err := r.leads(c, q.FleetID, messages.InvalidRequest)
	if err == nil && len(r.aliases) >= aliasesMax {
		err = messages.Errorf(messages.LimitExceeded, "there are %d aliases already", aliasesMax)
	}
	if err != nil {
		m.Reply(nil, err)
		return
	}
	a := &messages.Alias{
		ID: messages.AliasID("alias-" + uuid.NewString()), Name: q.Name, Description: q.Description,
		FleetID: q.FleetID, Message: q.Message, Created: c.Now(), Tags: q.Tags,
	}
	r.aliases[a.ID] = a
	c.Log().Info().Str("alias_id", string(a.ID)).Str("fleet_id", string(a.FleetID)).Msg("alias created")
	r.commit(c, func() { delete(r.aliases, a.ID) }, one(m.Reply, a), r.putAlias(a))
}

// leads checks that an alias may lead to a fleet; an empty id is TERMINAL routing.
func (r *Registry) leads(c *stage.Context, id messages.FleetID, unknown messages.ErrorCode) error {
	if id == "" {
		return nil
	}
	if _, err := r.living(c, id); err != nil {
		return messages.Errorf(unknown, "an alias cannot lead to fleet %s: %v", id, err)
	}
	return nil
}

func (r *Registry) onUpdateAlias(c *stage.Context, m Request[messages.UpdateAlias, *messages.Alias]) {
	q := m.Request
	a, err := r.alias(q.ID)
	if err == nil && q.Routing != nil {
		err = r.leads(c, q.Routing.FleetID, messages.NotFound)
	}
	if err != nil {
		m.Reply(nil, err)
		return
	}
	r.changeAlias(c, a, func(n *messages.Alias) {
		replace(&n.Name, q.Name)
		replace(&n.Description, q.Description)
		if q.Routing != nil {
			n.FleetID, n.Message = q.Routing.FleetID, q.Routing.Message
		}
		n.Updated = c.Now()
	}, m.Reply)
}

// changeAlias replaces an alias by a changed one, and answers once that is durable.
func (r *Registry) changeAlias(c *stage.Context, was *messages.Alias, set func(*messages.Alias), reply func(*messages.Alias, error)) {
	now := *was
	set(&now)
	r.aliases[now.ID] = &now
	r.commit(c, func() { r.aliases[now.ID] = was }, one(reply, &now), r.putAlias(&now))
}

func (r *Registry) onDeleteAlias(c *stage.Context, m Request[DropAlias, None]) {
	a, err := r.alias(m.Request.ID)
	if err != nil {
		m.Reply(None{}, err)
		return
	}
	delete(r.aliases, a.ID)
	c.Log().Info().Str("alias_id", string(a.ID)).Msg("alias deleted")
	r.commit(c, func() { r.aliases[a.ID] = a }, nothing(m.Reply), store.Delete(store.Alias, string(a.ID)))
}

func (r *Registry) alias(id messages.AliasID) (*messages.Alias, error) {
	if a := r.aliases[id]; a != nil {
		return a, nil
	}
	return nil, messages.Errorf(messages.NotFound, "alias %s is not known here", id)
}

// describeAliases reads one alias, or all.
func (r *Registry) describeAliases(id messages.AliasID) ([]*messages.Alias, error) {
	if id != "" {
		a, err := r.alias(id)
		if err != nil {
			return nil, err
		}
		return []*messages.Alias{a}, nil
	}
	return slices.SortedFunc(maps.Values(r.aliases), func(a, b *messages.Alias) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	}), nil
}
