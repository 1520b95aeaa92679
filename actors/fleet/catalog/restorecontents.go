package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"troupe/actors/script/bundle"
	"troupe/actors/store"
	"troupe/messages"
)

// restoredMax bounds the unpacked size of stored contents. They have passed narrower limits before.
var restoredMax = bundle.Limits{UnpackedMax: scriptBytesMax}

// restoreContents reads the contents of scripts. If the newest content of a script is missing or
// cannot be used, its fleets run an earlier content, or are in ERROR until the next update. The
// earlier content is the newest of those that no script refers to.
func (c *Catalog) restoreContents() error {
	spare := make(map[messages.ScriptID]*spareContent)
	why := make(map[string]error) // by key
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

// spareContent is the newest content of a script to which the script does not refer.
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
	if err != nil || s == nil || s.configured || number >= s.record.Contents {
		return
	}
	if old := spare[id]; old == nil || old.number < number {
		spare[id] = &spareContent{key, number, slices.Clone(zip)}
	}
}

// content returns a spare content as the earlier one, nil if there is none.
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
