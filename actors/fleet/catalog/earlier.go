package catalog

import (
	"errors"
	"fmt"
	"strings"

	"troupe/actors/ledger"
	"troupe/actors/script/bundle"
	"troupe/actors/store"
	"troupe/messages"
)

// earlier is the content of a script that ran before the newest one. It is stored until a
// process has run the newest one. If none can, game sessions run the earlier one, also after a
// restart of the host (realtime.md 19.1).
type earlier struct {
	Key      string // of the content in the store
	Contents int
	Version  string
	bundle   *bundle.Bundle // nil if this process of the host has run it itself
}

// contentKey returns the id under which the newest content is stored.
func (s *script) contentKey() string {
	if s.key != "" {
		return s.key
	}
	return string(s.record.ID)
}

// supersede returns the changes that store a new content. They keep the former one if it has run.
func (s *script) supersede(number int, zip []byte) []store.Change {
	was := earlier{Key: s.contentKey(), Contents: s.record.Contents, Version: s.record.Version}
	s.key = fmt.Sprintf("%s/%d", s.record.ID, number)
	changes := []store.Change{{Kind: store.Content, ID: s.key, Value: zip}}
	switch {
	case !s.ran:
		return append(changes, store.Delete(store.Content, was.Key))
	case s.good != nil:
		changes = append(changes, store.Delete(store.Content, s.good.Key))
	}
	s.ran, s.good = false, &was
	return changes
}

// dropEarlier deletes a script's earlier content after the newest one runs on all its fleets. It
// waits for changes in flight, because they may bring another content, and may be refused.
func (c *Catalog) dropEarlier(s *script) {
	id := s.record.ID
	c.ledger.Do(ledger.Transaction{Key: scriptKey(id), Decide: func() (ledger.Entry, error) {
		if !s.ran || s.good == nil || c.scripts[id] != s {
			return ledger.Entry{}, errStillNeeded
		}
		next, key := *s, s.good.Key
		next.good = nil
		return ledger.Entry{Changes: []store.Change{next.put(), store.Delete(store.Content, key)}, Apply: func() { s.good = nil }}, nil
	}})
}

var errStillNeeded = errors.New("the earlier content is needed")

// dropped returns the changes that delete a script.
func (s *script) dropped() []store.Change {
	id := string(s.record.ID)
	changes := []store.Change{store.Delete(store.Script, id), store.Delete(store.Content, s.contentKey())}
	if s.good != nil {
		changes = append(changes, store.Delete(store.Content, s.good.Key))
	}
	return changes
}

// contentAt returns the field for a restored content with a key; nil if no script has that key.
func (c *Catalog) contentAt(key string) **bundle.Bundle {
	id, _, _ := strings.Cut(key, "/")
	switch s := c.scripts[messages.ScriptID(id)]; {
	case s == nil || s.configured:
	case key == s.contentKey():
		return &s.bundle
	case s.good != nil && key == s.good.Key:
		return &s.good.bundle
	}
	return nil
}
