package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Aliases (service-api.md 2.4). Deleting a fleet does not delete its aliases.

func (c *Catalog) onCreateAlias(m stage.Request[messages.CreateAlias, *messages.Alias]) {
	q := m.Request
	a := &messages.Alias{ID: q.ID, Name: q.Name, Description: q.Description, FleetID: q.FleetID, Message: q.Message, Tags: q.Tags, Call: q.Call}
	c.ledger.Do(ledger.Transaction{
		Key: aliasKey(a.ID), Uses: led(q.FleetID), Reply: m.With(&a),
		Decide: func() (ledger.Entry, error) {
			if old := c.aliases[a.ID]; old != nil && messages.SameCall(old.Call, a.Call) {
				a = old
				return ledger.Entry{}, nil
			} else if old != nil {
				return ledger.Entry{}, exists(store.Alias, a.ID)
			}
			if err := c.leads(q.FleetID, messages.InvalidRequest); err != nil {
				return ledger.Entry{}, err
			}
			if len(c.aliases)+c.ledger.Claimed(store.Alias).Count >= aliasesMax {
				return ledger.Entry{}, messages.Errorf(messages.LimitExceeded, "there are %d aliases already", aliasesMax)
			}
			a.Created = c.context.Now()
			return ledger.Entry{Changes: []store.Change{c.putAlias(a)}, Claim: ledger.Claim{Count: 1}, Apply: func() {
				c.aliases[a.ID] = a
				c.context.Log().Info().Str("alias_id", string(a.ID)).Str("fleet_id", string(a.FleetID)).Msg("alias created")
			}}, nil
		},
	})
}

// led returns the key of an alias's fleet, which must not be deleted while the alias is being changed. It returns none
// for an empty id.
func led(id messages.FleetID) []ledger.Key {
	if id == "" {
		return nil
	}
	return []ledger.Key{fleetKey(id)}
}

// leads checks the fleet of an alias. An empty id is valid: it means TERMINAL routing.
func (c *Catalog) leads(id messages.FleetID, unknown messages.ErrorCode) error {
	if id == "" {
		return nil
	}
	if _, err := c.living(id); err != nil {
		return messages.Errorf(unknown, "an alias cannot lead to fleet %s: %v", id, err)
	}
	return nil
}

func (c *Catalog) onUpdateAlias(m stage.Request[messages.UpdateAlias, *messages.Alias]) {
	q := m.Request
	var uses []ledger.Key
	if q.Routing != nil {
		uses = led(q.Routing.FleetID)
	}
	var changed *messages.Alias
	c.ledger.Do(ledger.Transaction{Key: aliasKey(q.ID), Uses: uses, Reply: m.With(&changed), Decide: func() (ledger.Entry, error) {
		a, err := c.alias(q.ID)
		if err == nil && q.Routing != nil {
			err = c.leads(q.Routing.FleetID, messages.NotFound)
		}
		if err != nil {
			return ledger.Entry{}, err
		}
		now := *a
		messages.Replace(&now.Name, q.Name)
		messages.Replace(&now.Description, q.Description)
		if q.Routing != nil {
			now.FleetID, now.Message = q.Routing.FleetID, q.Routing.Message
		}
		now.Updated = c.context.Now()
		changed = &now
		return c.aliasAs(changed), nil
	}})
}

func (c *Catalog) aliasAs(a *messages.Alias) ledger.Entry {
	return ledger.Entry{Changes: []store.Change{c.putAlias(a)}, Apply: func() { c.aliases[a.ID] = a }}
}

func (c *Catalog) onDeleteAlias(m stage.Request[messages.DeleteAlias, stage.None]) {
	id := m.Request.ID
	c.ledger.Do(ledger.Transaction{Key: aliasKey(id), Reply: m.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
		if _, err := c.alias(id); err != nil {
			return ledger.Entry{}, err
		}
		return ledger.Entry{Changes: []store.Change{store.Delete(store.Alias, string(id))}, Apply: func() {
			delete(c.aliases, id)
			c.context.Log().Info().Str("alias_id", string(id)).Msg("alias deleted")
		}}, nil
	}})
}

func (c *Catalog) alias(id messages.AliasID) (*messages.Alias, error) {
	if a := c.aliases[id]; a != nil {
		return a, nil
	}
	return nil, c.unknown(store.Alias, string(id))
}

func (c *Catalog) describeAliases(id messages.AliasID) ([]*messages.Alias, error) {
	if id != "" {
		a, err := c.alias(id)
		if err != nil {
			return nil, err
		}
		return []*messages.Alias{a}, nil
	}
	return slices.SortedFunc(maps.Values(c.aliases), func(a, b *messages.Alias) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	}), nil
}

// CheckDestinations implements the request of the same name.
func (c *Catalog) CheckDestinations(destinations []string) error {
	with, without := false, false
	for _, arn := range destinations {
		id := arn[strings.LastIndexByte(arn, '/')+1:]
		fleet := messages.FleetID(id)
		if strings.HasPrefix(id, "alias-") {
			a := c.aliases[messages.AliasID(id)]
			if a == nil {
				return c.unknown(store.Alias, id)
			}
			fleet = a.FleetID // "" if the alias is TERMINAL; the fleet may be deleted
		}
		f := c.fleets[fleet]
		switch {
		case f == nil && fleet == messages.FleetID(id):
			return c.unknown(store.Fleet, id)
		case f == nil:
		case fleet == messages.FleetID(id) && (f.record.Status == messages.FleetDeleting || f.record.Status == messages.FleetTerminated):
			return messages.Errorf(messages.InvalidRequest, "fleet %s is %s", id, f.record.Status)
		case f.record.Certificates:
			with = true
		default:
			without = true
		}
	}
	if with && without {
		return messages.Errorf(messages.InvalidRequest, "the fleets of a queue must all have certificates, or none of them")
	}
	return nil
}
