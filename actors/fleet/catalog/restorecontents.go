package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"troupe/actors/ledger"
	"troupe/actors/script/bundle"
	"troupe/actors/store"
	"troupe/messages"
)

// restoredMax has the limits of stored contents. They passed stricter ones when they were uploaded, of which that on files did
// not count the up to 32 folders of each file in earlier builds of Troupe.
var restoredMax = bundle.Limits{UnpackedMax: scriptBytesMax, FilesMax: 33 * bundle.FilesMax}

// restoreContents reads the contents of scripts. If a script's newest content is missing or unusable, its fleets run an
// earlier content: the recorded one, or the newest one in the store to which no record refers. If there is none, the
// fleets are in ERROR until the next update.
func (c *Catalog) restoreContents() error {
	spare := make(map[messages.ScriptID]*spareContent)
	why := make(map[string]error) // errors by content key
	damaged, err := c.o.Store.Load(store.Content, func(key string, zip []byte) error {
		if at := c.contentAt(key); at != nil {
			if *at, why[key] = bundle.FromZip(slices.Clone(zip), restoredMax); why[key] != nil {
				*at = nil
			}
		} else {
			c.keepSpare(spare, key, zip)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range damaged {
		if why[d.ID] = d.Err; c.contentAt(d.ID) == nil { // otherwise it is reported below as missing
			c.unread.Add(store.Content, d.ID, d.Err)
		}
	}
	for id, s := range c.scripts {
		if good := s.good; good != nil && good.bundle == nil {
			c.unread.Add(store.Content, good.Key, cmp.Or(why[good.Key], errNotThere))
			s.good = nil
		}
		if s.bundle == nil {
			s.missing = cmp.Or(why[s.contentKey()], errNotThere)
			if s.good == nil {
				s.good = spare[id].content()
			}
			c.unread.Add(store.Content, s.contentKey(), fmt.Errorf("the newest content of script %s: %w", id, s.missing))
		}
	}
	return nil
}

var errNotThere = errors.New("is not in the store")

// spareContent is the newest stored content of a script among those to which the script's record does not refer.
type spareContent struct {
	key    string
	number int
	zip    []byte
}

func (c *Catalog) keepSpare(spare map[messages.ScriptID]*spareContent, key string, zip []byte) {
	text, tail, _ := strings.Cut(key, "/")
	id := messages.ScriptID(text)
	number, err := strconv.Atoi(cmp.Or(tail, "1"))
	s := c.scripts[id]
	if err != nil || s == nil || s.configured && !c.shared || number >= s.record.Contents {
		return
	}
	if old := spare[id]; old == nil || old.number < number {
		spare[id] = &spareContent{key, number, slices.Clone(zip)}
	}
}

// content converts the spare content to an earlier content. It returns nil if there is none or if it is unusable.
func (s *spareContent) content() *earlier {
	if s == nil {
		return nil
	}
	b, err := bundle.FromZip(s.zip, restoredMax)
	if err != nil {
		return nil
	}
	return &earlier{Key: s.key, Contents: s.number, bundle: b}
}

// earlier is the content of a script that ran before the newest one. It stays in the store until a process has run the
// newest content. If no process can, game sessions continue to run the earlier content, even after a restart of the
// host (realtime.md 19.1).
type earlier struct {
	Key      string // key of the content in the store
	Contents int
	Version  string
	bundle   *bundle.Bundle // nil if this process of the host has run the content itself
}

// contentKey returns the id under which the newest content is stored.
func (s *script) contentKey() string {
	if s.key != "" {
		return s.key
	}
	return string(s.record.ID)
}

// supersede returns the changes that store a new content. They keep the previous content if it has run.
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

// dropEarlier deletes a script's earlier content. It is called when the newest content runs everywhere. As a
// transaction it waits for pending changes of the script, which may still be refused.
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

func (s *script) dropped() []store.Change {
	id := string(s.record.ID)
	changes := []store.Change{store.Delete(store.Script, id), store.Delete(store.Content, s.contentKey())}
	if s.good != nil {
		changes = append(changes, store.Delete(store.Content, s.good.Key))
	}
	return changes
}

// contentAt returns a pointer to the field that holds the content with the given key. It returns nil if no script has
// that key.
func (c *Catalog) contentAt(key string) **bundle.Bundle {
	id, _, _ := strings.Cut(key, "/")
	switch s := c.scripts[messages.ScriptID(id)]; {
	case s == nil || s.configured && !c.shared:
	case key == s.contentKey():
		return &s.bundle
	case s.good != nil && key == s.good.Key:
		return &s.good.bundle
	}
	return nil
}
