package catalog

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/actorstest/assert"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store/storetest"
	"troupe/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// owner is an actor with a catalog. It records the calls of its Listener. It stands in for processes, which run, and
// for game sessions, of which there are none.
type owner struct {
	c       *Catalog
	context *stage.Context
	told    []string
}

func (o *owner) Started(c *stage.Context) {
	o.context = c
	o.c.Started(c)
	o.c.Revive()
}

func (o *owner) Stopped(*stage.Context) { o.c.Stopped(true) }

func (o *owner) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case func():
		m()
	case stage.Ask:
		if !o.c.Ask(m) {
			c.Unknown(m)
		}
	default:
		if !o.c.Receive(m) {
			c.Unknown(m)
		}
	}
}

func (o *owner) tell(format string, args ...any) {
	o.told = append(o.told, fmt.Sprintf(format, args...))
}

func (o *owner) FleetChanged(*messages.Fleet) {}
func (o *owner) FleetConfigured(f *messages.Fleet) {
	o.tell("configured %d", len(f.Runtime.Processes))
	o.context.Self().Tell(func() { o.c.FleetRuns(f.ID) })
}
func (o *owner) FleetOpened(*messages.Fleet) { o.tell("opened") }
func (o *owner) CapacityChanged(_ *messages.Fleet, location string) {
	o.tell("capacity %q", location)
}
func (o *owner) LocationsRemoved(_ *messages.Fleet, locations []string) { o.tell("left %v", locations) }
func (o *owner) FleetClosed(f *messages.Fleet) {
	o.tell("closed %v", f.Status)
	o.context.Self().Tell(func() { o.c.Emptied(f.ID) })
}
func (o *owner) FleetForgotten(messages.FleetID)      { o.tell("forgotten") }
func (o *owner) ComputeGone(messages.FleetID, string) { o.tell("computeGone") }
func (o *owner) BuildChanged(b *messages.Build)       { o.tell("build %v", b.Status) }
func (o *owner) BuildDeleted(messages.BuildID)        { o.tell("build deleted") }
func (o *owner) VersionRenamed(messages.ScriptID)     { o.tell("renamed") }
func (o *owner) ContentChanged(_ messages.ScriptID, limit time.Duration, done func([]string, bool)) {
	o.tell("content within %v", limit)
	done([]string{"it throws"}, false)
}

// world is an owner in a bubble. It contains one resource of each kind, created through the API.
type world struct {
	*testing.T
	stage   *stagetest.Stage
	disk    *storetest.Disk
	options Options
	owner   *owner
	ref     *stage.Ref
	script  *messages.Script
	fleet   *messages.Fleet
	alias   *messages.Alias
}

const (
	home, away, attic = "home", "away", "custom-attic"
	configured        = messages.FleetID("fleet-configured")
	asleep            = messages.FleetID("fleet-asleep")
	routed            = messages.AliasID("alias-routed") // leads to configured
)

func run(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, stage: stagetest.Start(t, nil), disk: new(storetest.Disk)}
		defer func() {
			w.stage.Close()
			time.Sleep(5 * time.Second) // until goroutines of the actor library have ended
		}()
		w.options = Options{
			Region: home, Locations: []messages.Location{{Name: home}, {Name: away}}, ProcessesMax: 50, GroupsMax: 100, Store: w.disk,
			Fleets: []*messages.Fleet{
				{ID: configured, Status: messages.FleetActive, Locations: []string{home, away}, GameSessionsMax: 5},
				{ID: asleep, Status: messages.FleetActivating, Locations: []string{home}, GameSessionsMax: 1},
			},
			Aliases: []*messages.Alias{{ID: routed, FleetID: configured}},
			Scripts: []Script{{Record: &messages.Script{ID: "script-own", Contents: 1}, Bundle: newScript("own").Bundle}},
		}
		w.begin()
		w.script = do[*messages.Script](w, newScript("one"))
		w.fleet = do[*messages.Fleet](w, messages.CreateFleet{
			Name: "f", Description: "d", ScriptID: w.script.ID, Runtime: processes(2), Locations: []string{home, away},
			Ports: []messages.Port{{From: 1, To: 2, Range: "::/0", Protocol: "UDP"}}, Tags: map[string]string{"k": "v"},
			Shown: messages.FleetShown{InstanceType: "c5.large", Protection: true},
		})
		w.alias = do[*messages.Alias](w, messages.CreateAlias{Name: "a", Description: "d", FleetID: w.fleet.ID, Tags: map[string]string{"k": "v"}})
		do[messages.Location](w, messages.CreateLocation{Location: messages.Location{Name: attic}})
		w.owner.told = nil
		test(w)
	})
}

// begin starts an owner from the stored records.
func (w *world) begin() {
	w.Helper()
	o := new(owner)
	w.options.Listener = o
	var err error
	if o.c, err = New(w.options); err != nil {
		w.Fatal(err)
	}
	w.owner, w.ref = o, w.stage.Spawn(o)
	synctest.Wait()
}

// restart ends the process, which loses unwritten changes, and starts the next process one second later.
func (w *world) restart() {
	w.Helper()
	w.disk.Hold()
	w.ref.Stop()
	stagetest.Pass(time.Second)
	w.disk.Lose()
	w.begin()
}

func newScript(text string) NewScript {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	part, err := z.Create("main.js")
	if err == nil {
		_, err = part.Write([]byte(text))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err)
	}
	return NewScript{
		Request: messages.CreateScript{Name: "s", Version: "1.0", Zip: out.Bytes(), Tags: map[string]string{"k": "v"}},
		Bundle:  &bundle.Bundle{Files: map[string][]byte{"main.js": []byte(text)}},
	}
}

func newContent(id messages.ScriptID, text string) ChangeScript {
	n := newScript(text)
	return ChangeScript{Request: messages.UpdateScript{ID: id, Version: "2.0", Zip: n.Request.Zip}, Bundle: n.Bundle}
}

func processes(n int) messages.RuntimeConfiguration {
	return messages.RuntimeConfiguration{Processes: []messages.ServerProcess{{LaunchPath: "main.js", Concurrent: n}}}
}

// tell sends a request.
func (w *world) tell(q any, reply func(any, error)) {
	if n, ok := q.(NewScript); ok { // a System does this too
		n.Request = messages.WithID(n.Request, "").(messages.CreateScript)
		q = n
	}
	w.ref.Send(messages.WithID(q.(messages.Request), ""), reply)
}

// later sends a request. When the request is answered, its error is appended to the returned slice.
func (w *world) later(q any) *[]error {
	w.Helper()
	errs := new([]error)
	w.tell(q, func(_ any, err error) { *errs = append(*errs, err) })
	synctest.Wait()
	return errs
}

// try sends a request and waits up to one second for the answer.
func (w *world) try(q any) (any, error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	a, err := stage.Await(ctx, func(reply func(any, error)) { w.tell(q, reply) })
	synctest.Wait()
	return a, err
}

// do sends a request. The request must succeed.
func do[A any](w *world, q any) A {
	w.Helper()
	a, err := w.try(q)
	if err != nil {
		w.Fatalf("%T: %v", q, err)
	}
	return a.(A)
}

// is fails unless err has the code.
func (w *world) is(err error, code messages.ErrorCode) {
	w.Helper()
	if !errors.Is(err, &messages.Error{Code: code}) {
		w.Errorf("the error is %v, want %v", err, code)
	}
}

// refuses fails unless a request is refused with the code.
func (w *world) refuses(code messages.ErrorCode, q any) {
	w.Helper()
	if _, err := w.try(q); !errors.Is(err, &messages.Error{Code: code}) {
		w.Errorf("%+v: the error is %v, want %v", q, err, code)
	}
}

// shown returns a fleet as shown by the API.
func (w *world) shown(id messages.FleetID) *messages.Fleet {
	w.Helper()
	for _, f := range do[[]*messages.Fleet](w, messages.FleetQuery{}) {
		if f.ID == id {
			return f
		}
	}
	return new(messages.Fleet)
}

// state returns all resources as shown by the API, as sorted lines of JSON.
func (w *world) state() (lines []string) {
	w.Helper()
	for _, q := range []any{messages.FleetQuery{}, messages.AliasQuery{}, messages.ScriptQuery{}, messages.BuildQuery{}, messages.LocationQuery{}} {
		all := assert.Value(w.try(q))(w)
		text, err := json.Marshal(all)
		var records []json.RawMessage
		if err = errors.Join(err, json.Unmarshal(text, &records)); err != nil {
			w.Fatal(err)
		}
		for _, r := range records {
			lines = append(lines, string(r))
		}
	}
	slices.Sort(lines)
	return lines
}

// same fails unless the API shows the state in want.
func (w *world) same(what string, want []string) {
	w.Helper()
	got := w.state()
	for _, line := range got {
		if !slices.Contains(want, line) {
			w.Errorf("%s: there is %s", what, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			w.Errorf("%s: missing is %s", what, line)
		}
	}
}

// writes returns requests that change resources, one of each kind.
func (w *world) writes() map[string]any {
	all := map[string]any{
		"CreateScript":    newScript("x"),
		"UpdateScript":    newContent(w.script.ID, "two"),
		"rename a script": ChangeScript{Request: messages.UpdateScript{ID: w.script.ID, Name: "other"}},
		"CreateFleet":     messages.CreateFleet{ScriptID: w.script.ID, Locations: []string{home}},
		"UpdateFleet": messages.UpdateFleet{FleetID: w.fleet.ID, Name: new("other"), Protection: new(false),
			CreatorLimit: &messages.CreatorLimit{PerPeriod: 1, Period: time.Minute}},
		"UpdateRuntime":   messages.UpdateRuntime{FleetID: w.fleet.ID, Runtime: processes(3)},
		"UpdateCapacity":  messages.UpdateCapacity{FleetID: w.fleet.ID, Location: away, Desired: new(2), Max: new(3)},
		"UpdatePorts":     messages.UpdatePorts{FleetID: w.fleet.ID, Remove: w.fleet.Ports},
		"AddLocations":    messages.AddFleetLocations{FleetID: w.fleet.ID, Locations: []string{attic}},
		"RemoveLocations": messages.RemoveFleetLocations{FleetID: w.fleet.ID, Locations: []string{away}},
		"DeleteFleet":     messages.DeleteFleet{ID: w.fleet.ID},
		"CreateAlias":     messages.CreateAlias{Name: "b", Message: "closed"},
		"UpdateAlias":     messages.UpdateAlias{ID: w.alias.ID, Name: new("b"), Routing: &messages.Routing{Message: "closed"}},
		"DeleteAlias":     messages.DeleteAlias{ID: w.alias.ID},
		"CreateLocation":  messages.CreateLocation{Location: messages.Location{Name: "custom-cellar"}},
		"DeleteLocation":  messages.DeleteLocation{Name: attic},
	}
	for kind, id := range map[string]string{"fleet": string(w.fleet.ID), "alias": string(w.alias.ID), "script": string(w.script.ID), "location": attic} {
		all["tags of "+kind] = messages.UpdateTags{Resource: messages.Resource{Kind: kind, ID: id}, Set: map[string]string{"new": "1"}, Remove: []string{"k"}}
	}
	return all
}

func writeNames(t *testing.T) (names []string) {
	run(t, func(w *world) { names = slices.Sorted(maps.Keys(w.writes())) })
	return names
}
