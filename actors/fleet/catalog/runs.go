package catalog

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"troupe/actors/script/bundle"
	"troupe/messages"
)

// Content is one version of a script's files.
type Content struct {
	Number  int            // unique and increasing within the script
	Version string         // displayed name of the version
	Bundle  *bundle.Bundle // nil if the content is missing
	Missing error          // reason why there is no Bundle
}

// Contents returns the newest content of a script, and the earlier content if it is still kept. Each result may be nil.
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

// versionShown limits the displayed length of the caller's version name, in characters.
const versionShown = 64

// Version returns the ScriptVersion of game sessions that run a script's newest content.
func Version(s *messages.Script) string { return labelOf(s.Contents, s.Version) }

// labelOf returns the displayed name of a content. It consists of the content's number and the caller's version name.
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

// FleetEvent adds an event to a fleet.
func (c *Catalog) FleetEvent(id messages.FleetID, code, message string) {
	f := c.fleets[id]
	switch {
	case f == nil:
	case c.follower != nil:
		c.reportEvent(id, code, message)
	default:
		f.events.add(c.context.Now(), code, message)
		if c.shared {
			c.noteFleet(f)
		}
	}
}

// FleetRuns says that a process of a fleet runs. A fleet that is being created, or is in ERROR, becomes ACTIVE.
func (c *Catalog) FleetRuns(id messages.FleetID) {
	if c.follower != nil {
		r := c.fleetReport(id)
		r.Runs, r.Fails = true, false
		return
	}
	if f := c.fleets[id]; f != nil && f.judged() {
		for _, s := range []messages.FleetStatus{messages.FleetBuilding, messages.FleetActivating, messages.FleetActive} {
			c.setFleetStatus(f, s)
		}
	}
}

// FleetFails says that no process of a fleet runs or is being started. A fleet that is being created becomes ERROR.
func (c *Catalog) FleetFails(id messages.FleetID) {
	if c.follower != nil {
		r := c.fleetReport(id)
		r.Runs, r.Fails = false, true
		return
	}
	if f := c.fleets[id]; f != nil && f.judged() && f.record.Status != messages.FleetErrored {
		c.setFleetStatus(f, messages.FleetErrored)
	}
}

// judged reports whether a fleet's status depends on its processes.
func (f *fleet) judged() bool {
	s := f.record.Status
	return s != messages.FleetActive && s != messages.FleetDeleting && s != messages.FleetTerminated
}

// ContentRuns says that a process runs a script's newest content. If everywhere is false, another process configuration
// still runs the earlier content, which is then kept.
func (c *Catalog) ContentRuns(id messages.ScriptID, everywhere bool) {
	if s := c.scripts[id]; s != nil && c.follower != nil {
		if r := c.follower.scripts[id]; r != nil {
			r.Runs, r.Everywhere = true, everywhere
			c.reportSoon()
		}
	} else if s != nil {
		if s.ran = true; everywhere {
			c.dropEarlier(s)
		}
	}
}

// Codes of fleet events in the API.
const (
	EventCreated        = "FLEET_CREATED"
	EventDeleted        = "FLEET_DELETED"
	EventNoLaunchPath   = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"
	EventNotRunnable    = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"
	EventCrashed        = "SERVER_PROCESS_CRASHED"
	EventActivation     = "GAME_SESSION_ACTIVATION_TIMEOUT"
	EventGeneric        = "GENERIC_EVENT"
	EventProtection     = "FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED"
	EventScaling        = "FLEET_SCALING_EVENT"
	eventLocationPrefix = "LOCATION_STATE_"
	eventStatePrefix    = "FLEET_STATE_"
	eventsMax           = 200 // maximum number of events kept per fleet
	eventRepetitionMax  = 101 // maximum of EventCount in the API
	eventMessageMax     = 2048
)

// events are the events of one fleet, in the order of their last occurrence.
type events []messages.FleetEvent

// add adds an event. If there already is an event with the same code and message, add increments its count instead.
func (e *events) add(now time.Time, code, message string) {
	if len(message) > eventMessageMax {
		message = message[:eventMessageMax] + "..."
	}
	// UUIDs of version 7 preserve the order of events with the same time.
	event := messages.FleetEvent{ID: uuid.Must(uuid.NewV7()).String(), Code: code, Message: message}
	same := func(o messages.FleetEvent) bool { return o.Code == code && o.Message == message }
	if i := slices.IndexFunc(*e, same); i >= 0 {
		event = (*e)[i]
		*e = slices.Delete(*e, i, i+1)
	}
	event.Time, event.Count = now, min(event.Count+1, eventRepetitionMax)
	if *e = append(*e, event); len(*e) > eventsMax {
		*e = slices.Delete(*e, 0, len(*e)-eventsMax)
	}
}
