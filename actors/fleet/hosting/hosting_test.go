package hosting

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// owner is an actor with a Hosting. It stands in for the catalog and for game sessions, and records the
// calls it gets.
type owner struct {
	h      *Hosting
	newest *catalog.Content
	told   []string
	closed int // number of closed programs
}

func (o *owner) Started(c *stage.Context) { o.h.Started(c) }
func (o *owner) Stopped(*stage.Context)   { o.h.Stopped() }

func (o *owner) Receive(_ *stage.Context, msg any) {
	switch m := msg.(type) {
	case func():
		m()
	case gamesession.Over:
		o.h.Over(m.Ref, m.Text)
	case stage.Exited:
		o.h.Exited(m.Ref, m.Crash)
	default:
		o.h.Receive(msg)
	}
}

func (o *owner) tell(format string, args ...any) {
	o.told = append(o.told, fmt.Sprintf(format, args...))
}

func (o *owner) Contents(messages.ScriptID) (newest, earlier *catalog.Content) { return o.newest, nil }
func (o *owner) FleetEvent(_ messages.FleetID, code, _ string)                 { o.tell("%s", code) }
func (o *owner) FleetRuns(messages.FleetID)                                    { o.tell("runs") }
func (o *owner) FleetFails(messages.FleetID)                                   { o.tell("fails") }
func (o *owner) ContentRuns(_ messages.ScriptID, everywhere bool) {
	o.tell("content runs %v", everywhere)
}
func (o *owner) VersionReplaced(messages.FleetID) { o.tell("replaced") }
func (o *owner) RoomFound(messages.FleetID)       { o.tell("room") }

// closing is a program whose processes start, and that counts its Close.
type closing struct {
	starts
	o *owner
}

func (c *closing) Close() { c.o.closed++ }

// content stores a new content as the newest one.
func (o *owner) content(n int, text string) {
	o.newest = &catalog.Content{Number: n, Version: fmt.Sprint(n), Bundle: &bundle.Bundle{Files: map[string][]byte{"main.js": []byte(text)}}}
}

// New game sessions get a version once a process with it was ready; a version that does not load
// changes nothing. The test has no catalog and no game sessions.
func TestAVersionIsProvenBeforeGameSessionsGetIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		o := new(owner)
		o.h = New(Options{
			NewProgram: func(b *bundle.Bundle, entry string, _ *messages.Fleet) (script.Program, error) {
				if string(b.Files[entry]) == "broken" {
					return nil, errors.New("unexpected }")
				}
				return &closing{o: o}, nil
			},
			Settings: func(*messages.Fleet) gamesession.Settings { return gamesession.DefaultSettings() },
			Catalog:  o, Listener: o,
		})
		defer func() {
			s.Close()
			o.h.Wait()
			time.Sleep(5 * time.Second) // for goroutines of the actor library to end
			assert.Equal(t, "programs were closed", o.closed, 2)
		}()
		ref := s.Spawn(o)
		f := &messages.Fleet{
			ID: "fleet-a", ScriptID: "script-a", Locations: []string{"home"}, Standby: 1,
			Runtime: messages.RuntimeConfiguration{Processes: []messages.ServerProcess{{LaunchPath: "main.js", Concurrent: 2}}},
		}
		step := func(name string, do func(), version string, want ...string) {
			t.Helper()
			ref.Tell(do)
			synctest.Wait()
			if !slices.Equal(o.told, want) {
				t.Errorf("%s: told %q, want %q", name, o.told, want)
			}
			o.told = nil
			ref.Tell(func() {
				got := ""
				if p := o.h.Free(f.ID, "home"); p != nil {
					got = p.Version()
				}
				if got != version {
					t.Errorf("%s: game sessions get version %q, want %q", name, got, version)
				}
			})
			synctest.Wait()
		}
		refused := -1
		reload := func(n int, text string) func() {
			return func() {
				o.content(n, text)
				o.h.Reload(f.ScriptID, time.Minute, func(why []string, _ bool) { refused = len(why) })
			}
		}
		o.content(1, "good")
		step("the first", func() { o.h.Configure(f) }, "1", "runs", "content runs true", "room")
		step("one that does not load", reload(2, "broken"), "1", catalog.EventNotRunnable, "runs")
		assert.Equal(t, "reasons", refused, 1)
		step("a better one", reload(3, "good"), "3", catalog.EventGeneric, "replaced", "runs", "content runs true", "room")
		assert.Equal(t, "reasons", refused, 0)
		assert.Equal(t, "processes stand by", o.h.Standbys(), 1)
		step("no fleet any more", func() { o.h.Remove(f.ID) }, "")
		assert.Equal(t, "processes are left", o.h.Standbys(), 0)
	})
}
