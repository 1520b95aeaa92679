package catalog

import (
	"strconv"

	"troupe/actors/script/bundle"
	"troupe/messages"
)

// Content is one content of a script.
type Content struct {
	Number  int            // unique and rising within the script
	Version string         // its name for users
	Bundle  *bundle.Bundle // with the version's name
	Missing error          // why there is no Bundle; nil if there is one
}

// Contents returns the newest content of a script, and the one that ran before it while
// that is kept; nil for none.
func (c *Catalog) Contents(id messages.ScriptID) (newest, earlier *Content) {
	s := c.scripts[id]
	if s == nil {
		return nil, nil
	}
	content := func(number int, version string, b *bundle.Bundle) *Content {
		var named bundle.Bundle
		if b != nil {
			named = *b
		}
		named.Version, named.NodeVersion = labelOf(number, version), s.record.NodeVersion
		return &Content{Number: number, Version: named.Version, Bundle: &named}
	}
	newest = content(s.record.Contents, s.record.Version, s.bundle)
	newest.Missing = s.missing
	if s.good != nil && s.good.bundle != nil {
		earlier = content(s.good.Contents, s.good.Version, s.good.bundle)
	}
	return newest, earlier
}

// versionShown is how many characters of the caller's name of a version are shown.
const versionShown = 64

// Version is what ScriptVersion of a game session shows that runs a script's newest content.
func Version(s *messages.Script) string { return labelOf(s.Contents, s.Version) }

// labelOf names a content: its number, which no other has, and what the caller calls it.
func labelOf(contents int, v string) string {
	number := strconv.Itoa(contents)
	if v == "" {
		return number
	}
	if short := []rune(v); len(short) > versionShown {
		v = string(short[:versionShown]) + "..."
	}
	return number + " (" + v + ")"
}

// FleetEvent adds an event to those of a fleet.
func (c *Catalog) FleetEvent(id messages.FleetID, code, message string) {
	if f := c.fleets[id]; f != nil {
		f.events.add(c.context.Now(), code, message)
	}
}

// FleetRuns says that some process of a fleet runs: one that is being made becomes ACTIVE.
func (c *Catalog) FleetRuns(id messages.FleetID) {
	if f := c.fleets[id]; f != nil && f.judged() {
		for _, s := range []messages.FleetStatus{messages.FleetBuilding, messages.FleetActivating, messages.FleetActive} {
			c.setFleetStatus(f, s)
		}
	}
}

// FleetFails says that no process of a fleet runs or is about to: one that is being made is in ERROR.
func (c *Catalog) FleetFails(id messages.FleetID) {
	if f := c.fleets[id]; f != nil && f.judged() && f.record.Status != messages.FleetErrored {
		c.setFleetStatus(f, messages.FleetErrored)
	}
}

// judged reports whether a fleet's status follows from what its processes do.
func (f *fleet) judged() bool {
	s := f.record.Status
	return s != messages.FleetActive && s != messages.FleetDeleting && s != messages.FleetTerminated
}

// ContentRuns says that a process runs the newest content of a script; everywhere is false while
// another still runs an earlier one. Then that is kept.
func (c *Catalog) ContentRuns(id messages.ScriptID, everywhere bool) {
	if s := c.scripts[id]; s != nil {
		if s.ran = true; everywhere {
			c.dropEarlier(s)
		}
	}
}
