package catalog

import (
	"cmp"
	"slices"

	"troupe/actors/ledger"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// script is a script and its newest content.
type script struct {
	record     *messages.Script
	bundle     *bundle.Bundle
	configured bool     // the script is in the configuration
	key        string   // key of the newest content in the store; empty means the script's id
	ran        bool     // a process has run the newest content
	missing    error    // reason why bundle is nil: the content is not in the store or cannot be read
	good       *earlier // the content that ran before, kept until the newest content runs; may be nil
}

func (c *Catalog) onCreateScript(m stage.Request[NewScript, *messages.Script]) {
	b, q := m.Request.Bundle, m.Request.Request
	id := q.ID
	var made *messages.Script
	c.ledger.Do(ledger.Transaction{Key: scriptKey(id), Reply: m.With(&made), Decide: func() (ledger.Entry, error) {
		if s := c.scripts[id]; s != nil && messages.SameCall(s.record.Call, q.Call) {
			made = s.record
			return ledger.Entry{}, nil
		} else if s != nil {
			return ledger.Entry{}, exists(store.Script, id)
		}
		if err := c.roomForScript(nil, b); err != nil {
			return ledger.Entry{}, err
		}
		made = &messages.Script{
			ID: id, Name: q.Name, Version: q.Version,
			NodeVersion: cmp.Or(q.NodeVersion, messages.NodeVersion10), Size: int64(len(q.Zip)), Created: c.context.Now(), Contents: 1, Tags: q.Tags, Call: q.Call,
		}
		s := &script{bundle: b, record: made}
		content := store.Change{Kind: store.Content, ID: string(id), Value: q.Zip}
		return ledger.Entry{Changes: []store.Change{s.put(), content}, Claim: ledger.Claim{Count: 1, Bytes: size(b)}, Apply: func() {
			c.scripts[id] = s
			c.context.Log().Info().Str("script_id", string(id)).Str("version", made.Version).Int("files", len(b.Files)).Msg("script created")
		}}, nil
	}})
}

// roomForScript checks the limits on scripts. old is the script whose content is replaced; it may be nil.
func (c *Catalog) roomForScript(old *script, b *bundle.Bundle) error {
	claimed := c.ledger.Claimed(store.Script)
	if old == nil && len(c.scripts)+claimed.Count >= scriptsMax {
		return messages.Errorf(messages.LimitExceeded, "there are %d scripts already", scriptsMax)
	}
	total := size(b) + claimed.Bytes
	for _, s := range c.scripts {
		if s != old {
			total += size(s.bundle)
		}
		if s.good != nil && s.good.bundle != nil {
			total += size(s.good.bundle)
		}
	}
	if total > scriptBytesMax {
		return messages.Errorf(messages.LimitExceeded, "all scripts together are larger than %d bytes", scriptBytesMax)
	}
	return nil
}

func size(b *bundle.Bundle) (n int) {
	if b == nil {
		return 0
	}
	for name, content := range b.Files {
		n += len(name) + len(content)
	}
	return n
}

// onUpdateScript changes a script. Processes run a new content only after it has been loaded. If loading fails, only
// the fleets' events show it.
func (c *Catalog) onUpdateScript(m stage.Request[ChangeScript, messages.UpdatedScript]) {
	q, b := m.Request.Request, m.Request.Bundle
	var changed messages.Script
	reply := func(err error) {
		switch {
		case err != nil:
			m.Reply(messages.UpdatedScript{}, err)
		case b == nil: // otherwise ContentChanged answers
			m.Reply(messages.UpdatedScript{Script: &changed}, nil)
		}
	}
	c.ledger.Do(ledger.Transaction{Key: scriptKey(q.ID), Reply: reply, Decide: func() (ledger.Entry, error) {
		s := c.scripts[q.ID]
		if s == nil {
			return ledger.Entry{}, c.noScript(q.ID)
		}
		changed = *s.record
		changed.Name, changed.Version = cmp.Or(q.Name, changed.Name), cmp.Or(q.Version, changed.Version)
		if b == nil {
			return c.scriptAs(s, &changed), nil
		}
		if err := c.roomForScript(s, b); err != nil {
			return ledger.Entry{}, err
		}
		changed.Contents++
		if changed.Size = int64(len(q.Zip)); q.Zip == nil {
			changed.Size = int64(size(b))
		}
		var contents []store.Change
		next := *s
		// The content of a configured script is in the configuration, not in the store, unless this is a cluster.
		if !s.configured || c.shared {
			contents = next.supersede(changed.Contents, q.Zip)
		}
		next.record, next.bundle = &changed, b
		return ledger.Entry{Changes: append([]store.Change{next.put()}, contents...), Claim: ledger.Claim{Bytes: size(b)}, Apply: func() {
			s.record, s.bundle, s.key, s.ran, s.good, s.missing = next.record, next.bundle, next.key, next.ran, next.good, nil
			c.context.Log().Info().Str("script_id", string(changed.ID)).Str("version", changed.Version).Int("contents", changed.Contents).Msg("script updated")
			c.o.Listener.ContentChanged(changed.ID, cmp.Or(q.Wait, UpdateWait), func(refused []string, pending bool) {
				m.Reply(messages.UpdatedScript{Script: &changed, Refused: refused, Loading: pending}, nil)
			})
		}}, nil
	}})
}

// scriptAs returns the ledger entry that replaces a script's record and keeps its content.
func (c *Catalog) scriptAs(s *script, record *messages.Script) ledger.Entry {
	next := *s
	next.record = record
	return ledger.Entry{Changes: []store.Change{next.put()}, Apply: func() {
		s.record = record
		c.o.Listener.VersionRenamed(record.ID)
	}}
}

func (c *Catalog) describeScripts(id messages.ScriptID) ([]*messages.Script, error) {
	if id != "" {
		s := c.scripts[id]
		if s == nil {
			return nil, c.noScript(id)
		}
		return []*messages.Script{s.record}, nil
	}
	all := make([]*messages.Script, 0, len(c.scripts))
	for _, s := range c.scripts {
		all = append(all, s.record)
	}
	slices.SortFunc(all, func(a, b *messages.Script) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func (c *Catalog) onDeleteScript(m stage.Request[messages.DeleteScript, stage.None]) {
	id := m.Request.ID
	c.ledger.Do(ledger.Transaction{Key: scriptKey(id), Reply: m.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
		s := c.scripts[id]
		if s == nil {
			return ledger.Entry{}, c.noScript(id)
		}
		for _, f := range c.fleets {
			if f.record.ScriptID == id && f.record.Status != messages.FleetTerminated {
				return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "script %s is used by fleet %s: delete that first", id, f.record.ID)
			}
		}
		return ledger.Entry{Changes: s.dropped(), Apply: func() {
			delete(c.scripts, id)
			c.context.Log().Info().Str("script_id", string(id)).Msg("script deleted")
		}}, nil
	}})
}

// Requests whose archive has been unpacked on this host.
type (
	// NewScript creates a script from a bundle. Of Request.Zip only the size is used.
	NewScript struct {
		messages.ToThisHost[*messages.Script]
		Request messages.CreateScript
		Bundle  *bundle.Bundle
	}
	// ChangeScript changes a script. If Bundle is nil, the content stays the same.
	ChangeScript struct {
		messages.ToThisHost[messages.UpdatedScript]
		Request messages.UpdateScript
		Bundle  *bundle.Bundle
	}
)
