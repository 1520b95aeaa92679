package catalog

import (
	"bytes"
	"maps"
	"slices"

	"troupe/actors/store"
	"troupe/messages"
)

// In a cluster, the configured resources are records in the store, like resources created through the API. The
// generation number says to which version of the configuration they belong (cluster.md 5.3).

const generationID = "generation"

type generationRecord struct{ Generation int64 }

// generationOf returns the generation of the configured resources in a store, or 0 if the store has none.
func generationOf(s store.Store) (n int64, err error) {
	err = store.Read(s, new(store.Unread), store.Configured, func(_ string, r *generationRecord, _ int) error {
		n = r.Generation
		return nil
	})
	return n, err
}

// configure replaces the configured resources by those of another configuration.
func (c *Catalog) configure(o Options, generation int64) error {
	for _, s := range o.Scripts {
		if err := c.configureScript(s); err != nil {
			return err
		}
	}
	for _, f := range o.Fleets {
		c.configureFleet(f)
	}
	c.o.Aliases = o.Aliases
	for _, a := range o.Aliases {
		n := *a
		if old := c.aliases[a.ID]; old != nil {
			n.Created, n.Description, n.Tags = old.Created, old.Description, old.Tags
		}
		c.aliases[a.ID] = &n
		c.first = append(c.first, []store.Change{c.putAlias(&n)})
	}
	for id, f := range c.fleets {
		gone := f.configured && !slices.ContainsFunc(o.Fleets, func(n *messages.Fleet) bool { return n.ID == id })
		if s := f.record.Status; gone && s != messages.FleetDeleting && s != messages.FleetTerminated {
			n := *f.record
			n.Status = messages.FleetDeleting
			f.record = &n
			c.first = append(c.first, []store.Change{f.put()})
		}
	}
	c.first = append(c.first, []store.Change{store.Put(store.Configured, generationID, generationRecord{generation})})
	return nil
}

func (c *Catalog) configureScript(configured Script) error {
	record := *configured.Record
	old := c.scripts[record.ID]
	if old != nil && old.bundle != nil && maps.EqualFunc(old.bundle.Files, configured.Bundle.Files, bytes.Equal) {
		return nil
	}
	zip, err := configured.Bundle.Zip()
	if err != nil {
		return err
	}
	next := script{record: &record, bundle: configured.Bundle, configured: true}
	contents := []store.Change{{Kind: store.Content, ID: string(record.ID), Value: zip}}
	if old != nil {
		record.Created, record.Tags, record.Contents = old.record.Created, old.record.Tags, old.record.Contents+1
		was := *old
		contents = was.supersede(record.Contents, zip)
		next.key, next.good = was.key, was.good
	}
	c.scripts[record.ID] = &next
	c.first = append(c.first, append([]store.Change{next.put()}, contents...))
	return nil
}

// configureFleet replaces a configured fleet. It keeps the fields of the old record that a configuration cannot set.
func (c *Catalog) configureFleet(configured *messages.Fleet) {
	n := *configured
	f := &fleet{record: &n, configured: true}
	if old := c.fleets[n.ID]; old != nil && old.record.Status != messages.FleetDeleting && old.record.Status != messages.FleetTerminated {
		r := old.record
		n.Created, n.Groups, n.CreatorLimit, n.Ports, n.Shown, n.Tags = r.Created, r.Groups, r.CreatorLimit, r.Ports, r.Shown, r.Tags
		if f.events = old.events; r.Status == messages.FleetActive {
			n.Status = messages.FleetActive
		}
	}
	if n.ScriptID != "" {
		n.Runtime = f.runtime()
	}
	if len(f.events) == 0 {
		f.events.add(n.Created, EventCreated, "the fleet was created")
	}
	c.deleted = slices.DeleteFunc(c.deleted, func(o *fleet) bool { return o.record.ID == n.ID })
	c.fleets[n.ID] = f
	c.first = append(c.first, []store.Change{f.put()})
}
