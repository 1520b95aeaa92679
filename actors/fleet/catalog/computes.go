package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/google/uuid"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

const (
	// computesMax limits the number of computes of all fleets.
	computesMax = 10_000
	// tokenLife is how long a process may connect with a token (D-401). A token is handed out again for tokenReuse, so
	// callers that ask often add neither records nor writes.
	tokenLife  = 3 * time.Hour
	tokenReuse = 15 * time.Minute
	// tokensMax limits the valid tokens of a compute. Because of tokenReuse, only a host that restarts every few
	// minutes reaches it.
	tokensMax = 64
	// computeWaitingMax limits the requests that wait for one compute, or for its fleet. All processes of a compute ask for
	// their next token at the same time.
	computeWaitingMax = 1000
)

func computeID(fleet messages.FleetID, name string) string { return string(fleet) + "/" + name }

func computeKey(id string) ledger.Key { return ledger.Key{Kind: store.Compute, ID: id} }

func putCompute(m *messages.Compute) store.Change {
	return store.Put(store.Compute, computeID(m.FleetID, m.Name), m)
}

// compute returns a compute of a fleet that is neither DELETING nor TERMINATED. One in a location that is no longer the
// fleet's does not count: the configuration may take a location from a fleet.
func (c *Catalog) compute(fleet messages.FleetID, name string) (*messages.Compute, error) {
	f, err := c.living(fleet)
	if err != nil {
		return nil, err
	}
	if m := c.computes[computeID(fleet, name)]; m != nil && slices.Contains(f.record.Locations, m.Location) {
		return m, nil
	}
	return nil, messages.Errorf(messages.NotFound, "fleet %s has no compute %s", fleet, name)
}

// Compute returns a compute that processes may connect for, or nil.
func (c *Catalog) Compute(fleet messages.FleetID, name string) *messages.Compute {
	m, err := c.compute(fleet, name)
	if err != nil {
		return nil
	}
	return m
}

// changeCompute makes the change that decide returns. The fleet cannot be deleted meanwhile.
func (c *Catalog) changeCompute(fleet messages.FleetID, name string, reply func(error), decide func() (ledger.Entry, error)) {
	id := computeID(fleet, name)
	c.ledger.Do(ledger.Transaction{Key: computeKey(id), Uses: []ledger.Key{fleetKey(fleet)}, WaitingMax: computeWaitingMax, Reply: reply, Decide: decide})
}

func (c *Catalog) onRegisterCompute(m stage.Request[messages.RegisterCompute, *messages.Compute]) {
	record := m.Request.Compute
	made := &record
	id := computeID(record.FleetID, record.Name)
	c.changeCompute(record.FleetID, record.Name, m.With(&made), func() (ledger.Entry, error) {
		if old := c.computes[id]; old != nil && messages.SameCall(old.Call, record.Call) {
			made = old
			return ledger.Entry{}, nil
		}
		if err := c.registrable(&record); err != nil {
			return ledger.Entry{}, err
		}
		record.Created = c.context.Now()
		return ledger.Entry{Changes: []store.Change{putCompute(made)}, Claim: ledger.Claim{Count: 1}, Apply: func() { c.computes[id] = made }}, nil
	})
}

func (c *Catalog) registrable(m *messages.Compute) error {
	f, err := c.living(m.FleetID)
	switch {
	case err != nil:
		return err
	case f.record.Server != nil && m.Host:
	case !f.record.Anywhere || m.Host:
		return messages.Errorf(messages.InvalidRequest, "the hosts run the game sessions of fleet %s: only an ANYWHERE fleet has computes that register", m.FleetID)
	}
	switch {
	case !slices.Contains(f.record.Locations, m.Location):
		return messages.Errorf(messages.InvalidRequest, "location %s is not one of fleet %s", m.Location, m.FleetID)
	case c.Compute(m.FleetID, m.Name) != nil:
		return messages.Errorf(messages.Conflict, "fleet %s has a compute %s already", m.FleetID, m.Name)
	case len(c.computes)+c.ledger.Claimed(store.Compute).Count >= computesMax:
		return messages.Errorf(messages.LimitExceeded, "there are %d computes already", computesMax)
	}
	return nil
}

func (c *Catalog) onDeregisterCompute(m stage.Request[messages.DeregisterCompute, stage.None]) {
	fleet, name := m.Request.FleetID, m.Request.Name
	c.changeCompute(fleet, name, m.With(new(stage.None)), func() (ledger.Entry, error) {
		if _, err := c.compute(fleet, name); err != nil {
			return ledger.Entry{}, err
		}
		id := computeID(fleet, name)
		return ledger.Entry{Changes: []store.Change{store.Delete(store.Compute, id)}, Apply: func() { c.forgetCompute(id) }}, nil
	})
}

func (c *Catalog) forgetCompute(id string) {
	m := c.computes[id]
	delete(c.computes, id)
	delete(c.issued, id)
	if m != nil {
		c.o.Listener.ComputeGone(m.FleetID, m.Name)
	}
}

// dropComputes drops computes of deleted fleets or fleet locations. Nobody can use them any more (see compute), so it does not matter
// when the records are deleted. If that fails, the next start tries again.
func (c *Catalog) dropComputes(deleted func(*messages.Compute) bool) {
	var changes []store.Change
	for id, m := range c.computes {
		if deleted(m) {
			delete(c.computes, id) // the Listener ends their processes; at the start, these have not been restored yet
			delete(c.issued, id)
			changes = append(changes, store.Delete(store.Compute, id))
		}
	}
	const most = 50 // a commit in a cluster has at most 96 changes
	for part := range slices.Chunk(changes, most) {
		c.ledger.CommitAsync(part...)
	}
}

func (c *Catalog) describeComputes(q messages.ComputeQuery) ([]*messages.Compute, error) {
	if q.Name != "" {
		m, err := c.compute(q.FleetID, q.Name)
		return []*messages.Compute{m}, err
	}
	f, err := c.resolve(q.FleetID, "")
	if err != nil {
		return nil, err
	}
	var all []*messages.Compute
	for _, m := range c.computes {
		if m.FleetID == q.FleetID && slices.Contains(f.record.Locations, m.Location) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *messages.Compute) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// onAuthorizeCompute returns a token of a compute: the newest one while it is new and this process of the host knows it
// in the clear, or else another one. Expired tokens are dropped with the next one.
func (c *Catalog) onAuthorizeCompute(m stage.Request[messages.AuthorizeCompute, messages.ComputeAuth]) {
	fleet, name := m.Request.FleetID, m.Request.Name
	id := computeID(fleet, name)
	var auth messages.ComputeAuth
	c.changeCompute(fleet, name, m.With(&auth), func() (ledger.Entry, error) {
		old, err := c.compute(fleet, name)
		if err != nil {
			return ledger.Entry{}, err
		}
		if old.Host && !m.Request.Host {
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "compute %s is a host of Troupe, which gives its processes their tokens itself", name)
		}
		now := c.context.Now()
		if auth = c.issued[id]; auth.Expires.Sub(now) > tokenLife-tokenReuse {
			return ledger.Entry{}, nil
		}
		auth = messages.ComputeAuth{Token: uuid.NewString(), Expires: now.Add(tokenLife)}
		n := *old
		n.Tokens = slices.DeleteFunc(slices.Clone(old.Tokens), func(t messages.ComputeToken) bool { return !now.Before(t.Expires) })
		if len(n.Tokens) >= tokensMax {
			return ledger.Entry{}, messages.Errorf(messages.LimitExceeded, "compute %s has %d valid tokens already: wait until one expires", name, tokensMax)
		}
		hash := sha256.Sum256([]byte(auth.Token))
		n.Tokens = append(n.Tokens, messages.ComputeToken{SHA256: hex.EncodeToString(hash[:]), Expires: auth.Expires})
		return ledger.Entry{Changes: []store.Change{putCompute(&n)}, Apply: func() { c.computes[id], c.issued[id] = &n, auth }}, nil
	})
}
