package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/actors/store/storetest"
	"troupe/messages"
)

// followers is a Leader together with the catalogs of some nodes, in a bubble. Each durable change reaches all nodes.
type followers struct {
	*testing.T
	stage   *stagetest.Stage
	disk    *storetest.Disk
	options Options
	leader  *stage.Ref
	lost    atomic.Bool // reports are not answered
	nodes   map[string]*node
}

// node is an actor whose catalog follows the Leader. Scripts whose content begins with "bad" do not run on it.
type node struct {
	owner
	name   string
	ref    *stage.Ref
	games  int         // number of game sessions of each fleet
	refuse atomic.Bool // new contents are refused
}

func (n *node) FleetConfigured(f *messages.Fleet) {
	n.tell("configured %s %d", f.Name, len(f.Runtime.Processes))
	n.context.Self().Tell(func() { n.c.FleetRuns(f.ID) })
}

func (n *node) FleetClosed(f *messages.Fleet) {
	n.tell("closed %v", f.Status)
	if n.games == 0 {
		n.context.Self().Tell(func() { n.c.Emptied(f.ID) })
	}
}

func (n *node) FleetOpened(*messages.Fleet) {}

func (n *node) FleetForgotten(messages.FleetID)      { n.tell("forgotten") }
func (n *node) ComputeGone(messages.FleetID, string) { n.tell("computeGone") }

func (n *node) ContentChanged(id messages.ScriptID, _ time.Duration, done func([]string, bool)) {
	if n.refuse.Load() {
		done([]string{n.name + " refuses it"}, false)
		return
	}
	done(nil, false)
	n.context.Self().Tell(func() { n.c.ContentRuns(id, true) })
}

// spread is a store that forwards durable changes to all nodes.
type spread struct {
	store.Store
	w *followers
}

func (s spread) Commit(changes []store.Change, done func(error)) {
	s.Store.Commit(changes, func(err error) {
		if err == nil {
			for _, n := range s.w.nodes {
				n.ref.Tell(NewReplicated(changes, nil))
			}
		}
		if done != nil {
			done(err)
		}
	})
}

func follow(t *testing.T, test func(w *followers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &followers{T: t, stage: stagetest.Start(t, nil), disk: new(storetest.Disk), nodes: make(map[string]*node)}
		defer func() {
			w.stage.Close()
			time.Sleep(5 * time.Second) // until goroutines of the actor library have ended
		}()
		w.options = Options{Region: home, Locations: []messages.Location{{Name: home}, {Name: away}}, ProcessesMax: 50, GroupsMax: 100}
		for _, name := range []string{"a", "b", "c"} {
			w.join(name)
		}
		w.lead(0)
		test(w)
	})
}

// join starts a node with the existing records.
func (w *followers) join(name string) *node {
	w.Helper()
	n := &node{name: name}
	o := w.options
	o.Listener = n
	o.Follow = &Follow{Node: name, Report: func(q messages.ReportFleets, reply func(error)) {
		if w.lost.Load() {
			reply(errors.New("no answer"))
			return
		}
		w.leader.Send(q, func(_ any, err error) { reply(err) })
	}}
	var err error
	if n.c, err = New(o); err != nil {
		w.Fatal(err)
	}
	n.ref = w.stage.Spawn(n)
	w.nodes[name] = n
	var all []store.Change
	for _, kind := range []store.Kind{store.Fleet, store.Script, store.Build, store.Content, store.Alias, store.Location, store.Compute} {
		for id, value := range w.disk.Records(kind) {
			all = append(all, store.Change{Kind: kind, ID: id, Value: value})
		}
	}
	n.ref.Tell(NewReplicated(all, nil))
	w.share()
	return n
}

// leave ends a node.
func (w *followers) leave(name string) {
	w.nodes[name].ref.Stop()
	delete(w.nodes, name)
	w.share()
}

// share sends the current Shares to all nodes.
func (w *followers) share() {
	names := slices.Sorted(maps.Keys(w.nodes))
	for i, name := range names {
		w.nodes[name].ref.Tell(Shares{home: {i, len(names)}, away: {i, len(names)}})
	}
	if w.leader != nil {
		w.leader.Tell(NodesChanged{})
	}
	synctest.Wait()
}

// lead stops the Leader, if there is one, and starts another one. generation is the generation of the new Leader's
// configuration.
func (w *followers) lead(generation int64) {
	w.Helper()
	if w.leader != nil {
		w.leader.Stop()
		synctest.Wait()
	}
	o := w.options
	o.Store = spread{w.disk, w}
	l, err := NewLeader(o, generation, func() []string { return slices.Sorted(maps.Keys(w.nodes)) })
	if err != nil {
		w.Fatal(err)
	}
	w.leader = w.stage.Spawn(l)
	for _, n := range w.nodes {
		n.ref.Tell(ReportAgain{})
	}
	w.share()
	stagetest.Pass(time.Second)
}

func (w *followers) ask(ref *stage.Ref, q messages.Request) (any, error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	a, err := stage.Await(ctx, func(reply func(any, error)) { ref.Send(q, reply) })
	stagetest.Pass(time.Second)
	return a, err
}

func decided[A any](w *followers, q messages.Request) A {
	w.Helper()
	if n, ok := q.(NewScript); ok {
		n.Request = messages.WithID(n.Request, "").(messages.CreateScript)
		q = n
	}
	a, err := w.ask(w.leader, messages.WithID(q, ""))
	if err != nil {
		w.Fatalf("%T: %v", q, err)
	}
	return a.(A)
}

// same fails unless all nodes answer queries in the same way as the Leader.
func (w *followers) same() {
	w.Helper()
	for _, q := range []messages.Request{messages.FleetQuery{}, messages.AliasQuery{}, messages.ScriptQuery{}, messages.BuildQuery{}, messages.LocationQuery{}} {
		want := w.text(w.leader, q)
		for _, n := range w.nodes {
			if got := w.text(n.ref, q); got != want {
				w.Errorf("%T: %s answers\n%s\nthe leader\n%s", q, n.name, got, want)
			}
		}
	}
}

func (w *followers) text(ref *stage.Ref, q messages.Request) string {
	w.Helper()
	a, err := w.ask(ref, q)
	text, _ := json.Marshal(a)
	return fmt.Sprint(string(text), err)
}

func (w *followers) groups(id messages.FleetID, location string) (all []int) {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		all = append(all, w.nodes[name].c.Fleet(id).GroupsIn(location).Desired)
	}
	return all
}

func TestFollow(t *testing.T) {
	follow(t, func(w *followers) {
		script := decided[*messages.Script](w, newScript("one"))
		fleet := decided[*messages.Fleet](w, messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(2), Locations: []string{home, away}})
		alias := decided[*messages.Alias](w, messages.CreateAlias{Name: "a", FleetID: fleet.ID})
		decided[messages.Location](w, messages.CreateLocation{Location: messages.Location{Name: attic}})
		decided[*messages.Fleet](w, messages.UpdateFleet{FleetID: fleet.ID, Name: new("g")})
		decided[*messages.Fleet](w, messages.AddFleetLocations{FleetID: fleet.ID, Locations: []string{attic}})
		decided[map[string]string](w, messages.UpdateTags{Resource: messages.Resource{Kind: "script", ID: string(script.ID)}, Set: map[string]string{"x": "y"}})
		w.same()
		for _, n := range w.nodes {
			if f := n.c.Fleet(fleet.ID); f == nil || f.Status != messages.FleetActive {
				t.Errorf("%s has %+v", n.name, f)
			}
			if newest, _ := n.c.Contents(script.ID); string(newest.Bundle.Files["main.js"]) != "one" {
				t.Errorf("%s has other contents: %+v", n.name, newest)
			}
			if f, err := n.c.Resolve("", alias.ID); err != nil || f.ID != fleet.ID {
				t.Errorf("%s resolves %v, %v", n.name, f, err)
			}
		}
		w.join("d")
		stagetest.Pass(time.Second)
		decided[*messages.Fleet](w, messages.RemoveFleetLocations{FleetID: fleet.ID, Locations: []string{away}})
		decided[messages.None](w, messages.DeleteAlias{ID: alias.ID})
		w.same()
		if told := w.nodes["d"].told; !slices.Contains(told, "left [away]") || !slices.Contains(told, "configured g 1") {
			t.Errorf("the node that came later did %q", told)
		}
	})
}

func TestProcessGroupsAreSpread(t *testing.T) {
	follow(t, func(w *followers) {
		script := decided[*messages.Script](w, newScript("one"))
		id := decided[*messages.Fleet](w, messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(2), Locations: []string{home}}).ID
		if got := w.groups(id, home); !slices.Equal(got, []int{1, 1, 1}) {
			t.Errorf("without a number, each node has a group: %v", got)
		}
		decided[*messages.Fleet](w, messages.UpdateCapacity{FleetID: id, Desired: new(5), Max: new(9)})
		if got := w.groups(id, home); !slices.Equal(got, []int{2, 2, 1}) { // CL-8
			t.Errorf("5 groups on 3 nodes are %v", got)
		}
		w.nodes["a"].told = nil
		w.join("d")
		if got, told := w.groups(id, home), w.nodes["a"].told; !slices.Equal(got, []int{2, 1, 1, 1}) || len(told) > 0 {
			t.Errorf("5 groups on 4 nodes are %v; the first has done %q", got, told)
		}
		w.nodes["b"].told = nil
		w.leave("c")
		if got, told := w.groups(id, home), w.nodes["b"].told; !slices.Equal(got, []int{2, 2, 1}) || !slices.Equal(told, []string{`capacity ""`}) {
			t.Errorf("5 groups on 3 nodes are %v; the second has done %q", got, told)
		}
	})
}

func TestAnUpdateWaitsForAllNodes(t *testing.T) {
	follow(t, func(w *followers) {
		script := decided[*messages.Script](w, newScript("one"))
		decided[*messages.Fleet](w, messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(2), Locations: []string{home}})
		w.nodes["b"].refuse.Store(true)
		u := decided[messages.UpdatedScript](w, newContent(script.ID, "two"))
		if u.Loading || !slices.Equal(u.Refused, []string{"b refuses it"}) {
			t.Errorf("the update is answered %+v", u)
		}
		w.nodes["b"].refuse.Store(false)
		w.lost.Store(true)
		start := time.Now()
		u = decided[messages.UpdatedScript](w, newContent(script.ID, "three"))
		if !u.Loading || time.Since(start) != UpdateWait+time.Second {
			t.Errorf("without reports, the update is answered %+v after %v", u, time.Since(start))
		}
		w.lost.Store(false)
		stagetest.Pass(2 * time.Second)
		if u = decided[messages.UpdatedScript](w, newContent(script.ID, "four")); u.Loading || u.Refused != nil {
			t.Errorf("the update is answered %+v", u)
		}
		w.same()
		if kept := w.disk.Records(store.Content); len(kept) != 1 {
			t.Errorf("%d contents are kept, though the newest runs everywhere", len(kept))
		}
	})
}

func TestADeletedFleetEndsWithItsLastGameSession(t *testing.T) {
	follow(t, func(w *followers) {
		script := decided[*messages.Script](w, newScript("one"))
		id := decided[*messages.Fleet](w, messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(2), Locations: []string{home}}).ID
		w.nodes["a"].games, w.nodes["b"].games = 1, 1
		decided[messages.None](w, messages.DeleteFleet{ID: id})
		status := func() messages.FleetStatus { return w.nodes["c"].c.Fleet(id).Status }
		if s := status(); s != messages.FleetDeleting {
			t.Errorf("with game sessions on two nodes, the fleet is %v", s)
		}
		w.leave("a") // its game session no longer exists
		w.nodes["b"].ref.Tell(func() { w.nodes["b"].c.Emptied(id) })
		stagetest.Pass(time.Second)
		if s := status(); s != messages.FleetTerminated {
			t.Errorf("without game sessions, the fleet is %v", s)
		}
		w.same()
	})
}

func TestTheNextLeaderGoesOn(t *testing.T) {
	follow(t, func(w *followers) {
		script := decided[*messages.Script](w, newScript("one"))
		w.lost.Store(true)
		id := decided[*messages.Fleet](w, messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(2), Locations: []string{home}}).ID
		if s := w.nodes["a"].c.Fleet(id).Status; s != messages.FleetNew {
			t.Errorf("without reports, the fleet is %v", s)
		}
		w.lost.Store(false)
		w.lead(0)
		if s := w.nodes["a"].c.Fleet(id).Status; s != messages.FleetActive {
			t.Errorf("with another leader, the fleet is %v", s)
		}
		w.lead(0)
		w.same()
	})
}

func TestAConfigurationIsOfACluster(t *testing.T) {
	follow(t, func(w *followers) {
		own := newScript("own").Bundle
		w.options.Scripts = []Script{{Record: &messages.Script{ID: "script-own", Contents: 1}, Bundle: own}}
		w.options.Fleets = []*messages.Fleet{
			{ID: "fleet-own", Name: "own", Status: messages.FleetNew, Created: time.Now(), ScriptID: "script-own", Locations: []string{home}, LaunchPath: "main.js"},
			{ID: "fleet-relay", Status: messages.FleetActive, Locations: []string{home}, GameSessionsMax: 3},
		}
		w.options.Aliases = []*messages.Alias{{ID: "alias-own", FleetID: "fleet-own"}}
		w.lead(1)
		w.same()
		created := w.nodes["a"].c.Fleet("fleet-own").Created
		if f := w.nodes["a"].c.Fleet("fleet-own"); f.Status != messages.FleetActive || len(f.Runtime.Processes) != 1 {
			t.Errorf("a configured fleet is %+v", f)
		}
		decided[*messages.Fleet](w, messages.UpdateCapacity{FleetID: "fleet-own", Desired: new(3), Max: new(3)})
		decided[messages.UpdatedScript](w, newContent("script-own", "uploaded"))
		stagetest.Pass(time.Minute)

		w.options.Fleets[0].Created = time.Now()
		w.lead(1) // the same configuration: the changes made through the API are kept
		if newest, _ := w.nodes["a"].c.Contents("script-own"); newest.Number != 2 || string(newest.Bundle.Files["main.js"]) != "uploaded" {
			t.Errorf("the uploaded content is gone: %+v", newest)
		}
		w.options.Fleets = w.options.Fleets[:1]
		w.options.Fleets[0].Name = "renamed"
		w.lead(2)
		w.same()
		f := w.nodes["a"].c.Fleet("fleet-own")
		if f.Name != "renamed" || f.Created != created || f.Status != messages.FleetActive || f.Groups[home].Max != 3 {
			t.Errorf("by the newer configuration, the fleet is %+v", f)
		}
		if newest, _ := w.nodes["a"].c.Contents("script-own"); newest.Number != 3 || string(newest.Bundle.Files["main.js"]) != "own" {
			t.Errorf("the content is not that of the newer configuration: %+v", newest)
		}
		if s := w.nodes["a"].c.Fleet("fleet-relay").Status; s != messages.FleetTerminated {
			t.Errorf("the fleet that is not configured any more is %v", s)
		}
		w.options.Fleets = nil
		w.lead(1) // an older configuration: the records stay as they are
		w.same()
		if f := w.nodes["a"].c.Fleet("fleet-own"); f.Name != "renamed" || f.Status != messages.FleetActive {
			t.Errorf("by an older configuration, the fleet is %+v", f)
		}
	})
}

// A configured fleet is removed from the configuration and added again. It runs again, and is not
// forgotten when terminatedKeep has passed.
func TestAConfiguredFleetComesBack(t *testing.T) {
	follow(t, func(w *followers) {
		w.options.Scripts = []Script{{Record: &messages.Script{ID: "script-own", Contents: 1}, Bundle: newScript("own").Bundle}}
		fleets := []*messages.Fleet{{ID: "fleet-own", Name: "own", Status: messages.FleetNew, Created: time.Now(), ScriptID: "script-own", Locations: []string{home}}}
		w.options.Fleets = fleets
		w.lead(1)
		w.options.Fleets = nil
		w.lead(2)
		if s := w.nodes["a"].c.Fleet("fleet-own").Status; s != messages.FleetTerminated {
			t.Fatalf("the fleet that was left out is %v", s)
		}
		w.nodes["a"].told = nil
		w.options.Fleets = fleets
		w.lead(3)
		if told := w.nodes["a"].told; !slices.Contains(told, "configured own 1") {
			t.Errorf("a node has done %q", told)
		}
		stagetest.Pass(2 * terminatedKeep)
		w.same()
		if f := w.nodes["a"].c.Fleet("fleet-own"); f == nil || f.Status != messages.FleetActive {
			t.Errorf("the fleet that has come back is %+v", f)
		}
	})
}

// A fleet whose record no longer exists, for example after a restore from a backup, remains until its game sessions have
// ended.
func TestAFleetWithoutARecord(t *testing.T) {
	follow(t, func(w *followers) {
		script := decided[*messages.Script](w, newScript("one"))
		id := decided[*messages.Fleet](w, messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(2), Locations: []string{home}}).ID
		a, b := w.nodes["a"], w.nodes["b"]
		a.games = 1
		for _, n := range w.nodes {
			n.ref.Tell(NewReplicated([]store.Change{store.Delete(store.Fleet, string(id))}, nil))
		}
		stagetest.Pass(time.Second)
		if f := a.c.Fleet(id); f == nil || f.Status != messages.FleetDeleting || b.c.Fleet(id) != nil {
			t.Errorf("with a game session the fleet is %+v, without %+v", f, b.c.Fleet(id))
		}
		a.ref.Tell(func() { a.c.Emptied(id) })
		stagetest.Pass(time.Second)
		if a.c.Fleet(id) != nil || !slices.Contains(a.told, "forgotten") {
			t.Errorf("the node has done %q", a.told)
		}
	})
}

// A node that is disconnected for a while need not report again.
func TestAReportOutlivesAnAbsence(t *testing.T) {
	follow(t, func(w *followers) {
		script := decided[*messages.Script](w, newScript("one"))
		id := decided[*messages.Fleet](w, messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(2), Locations: []string{home}}).ID
		b := w.nodes["b"]
		w.nodes["a"].games = 1
		decided[messages.None](w, messages.DeleteFleet{ID: id})
		delete(w.nodes, "b")
		w.share()
		w.nodes["b"] = b
		w.share()
		a := w.nodes["a"]
		a.ref.Tell(func() { a.c.Emptied(id) })
		stagetest.Pass(time.Second)
		if s := a.c.Fleet(id).Status; s != messages.FleetTerminated {
			t.Errorf("the fleet is %v", s)
		}
	})
}
