package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Aliases (service-api.md 2.4). Deleting a fleet leaves those that lead to it.

func (r *Registry) onCreateAlias(c *stage.Context, m stage.Request[messages.CreateAlias, *messages.Alias]) {
	q := m.Request
	a := &messages.Alias{
		ID: messages.AliasID("alias-" + uuid.NewString()), Name: q.Name, Description: q.Description,
		FleetID: q.FleetID, Message: q.Message, Tags: q.Tags,
	}
	r.ledger.Do(ledger.Transaction{
		Key: aliasKey(a.ID), Uses: led(q.FleetID), Reply: one(m.Reply, &a),
		Decide: func() (ledger.Entry, error) {
			if err := r.leads(c, q.FleetID, messages.InvalidRequest); err != nil {
				return ledger.Entry{}, err
			}
			if len(r.aliases)+r.ledger.Claimed(store.Alias).Count >= aliasesMax {
				return ledger.Entry{}, messages.Errorf(messages.LimitExceeded, "there are %d aliases already", aliasesMax)
			}
			a.Created = c.Now()
			return ledger.Entry{Changes: []store.Change{r.putAlias(a)}, Claim: ledger.Claim{Count: 1}, Apply: func() {
				r.aliases[a.ID] = a
				c.Log().Info().Str("alias_id", string(a.ID)).Str("fleet_id", string(a.FleetID)).Msg("alias created")
			}}, nil
		},
	})
}

// led is the fleet that an alias leads to, which must not be deleted meanwhile.
func led(id messages.FleetID) []ledger.Key {
	if id == "" {
		return nil
	}
	return []ledger.Key{fleetKey(id)}
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

func (r *Registry) onUpdateAlias(c *stage.Context, m stage.Request[messages.UpdateAlias, *messages.Alias]) {
	q := m.Request
	var uses []ledger.Key
	if q.Routing != nil {
		uses = led(q.Routing.FleetID)
	}
	var changed *messages.Alias
	r.ledger.Do(ledger.Transaction{Key: aliasKey(q.ID), Uses: uses, Reply: one(m.Reply, &changed), Decide: func() (ledger.Entry, error) {
		a, err := r.alias(q.ID)
		if err == nil && q.Routing != nil {
			err = r.leads(c, q.Routing.FleetID, messages.NotFound)
		}
		if err != nil {
			return ledger.Entry{}, err
		}
		now := *a
		replace(&now.Name, q.Name)
		replace(&now.Description, q.Description)
		if q.Routing != nil {
			now.FleetID, now.Message = q.Routing.FleetID, q.Routing.Message
		}
		now.Updated = c.Now()
		changed = &now
		return r.aliasAs(changed), nil
	}})
}

// aliasAs replaces an alias by a changed one.
func (r *Registry) aliasAs(a *messages.Alias) ledger.Entry {
	return ledger.Entry{Changes: []store.Change{r.putAlias(a)}, Apply: func() { r.aliases[a.ID] = a }}
}

func (r *Registry) onDeleteAlias(c *stage.Context, m stage.Request[DropAlias, stage.None]) {
	id := m.Request.ID
	r.ledger.Do(ledger.Transaction{Key: aliasKey(id), Reply: nothing(m.Reply), Decide: func() (ledger.Entry, error) {
		if _, err := r.alias(id); err != nil {
			return ledger.Entry{}, err
		}
		return ledger.Entry{Changes: []store.Change{store.Delete(store.Alias, string(id))}, Apply: func() {
			delete(r.aliases, id)
			c.Log().Info().Str("alias_id", string(id)).Msg("alias deleted")
		}}, nil
	}})
}

func (r *Registry) alias(id messages.AliasID) (*messages.Alias, error) {
	if a := r.aliases[id]; a != nil {
		return a, nil
	}
	return nil, r.unknown(store.Alias, string(id))
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
