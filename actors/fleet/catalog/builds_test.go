package catalog

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// allowed are the rules of an operator who allows builds.
var allowed = BuildRules{PortFrom: 7000, PortTo: 7999}

// equal is assert.Equal for records.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// ready creates a build that a host has unpacked.
func ready(w *world) *messages.Build {
	w.Helper()
	b := do[*messages.Build](w, messages.CreateBuild{Name: "b", Version: "1", Bucket: "games", Key: "arena.zip", OperatingSystem: "AMAZON_LINUX_2023", SDKVersion: "5.6.0", Tags: map[string]string{"k": "v"}})
	do[any](w, messages.BuildUnpacked{ID: b.ID, Size: 10, Digest: "one"})
	return w.build(b.ID)
}

func (w *world) build(id messages.BuildID) *messages.Build {
	w.Helper()
	return do[[]*messages.Build](w, messages.BuildQuery{ID: id})[0]
}

func runs(path, parameters string, n int) messages.RuntimeConfiguration {
	return messages.RuntimeConfiguration{Processes: []messages.ServerProcess{{LaunchPath: path, Parameters: parameters, Concurrent: n}}}
}

func ports(from, to int) []messages.Port {
	return []messages.Port{{From: from, To: to, Range: "0.0.0.0/0", Protocol: "TCP"}}
}

func TestBuildsAreCreatedUnpackedAndDeleted(t *testing.T) {
	run(t, func(w *world) {
		b := do[*messages.Build](w, messages.CreateBuild{Name: "b", Version: "1", Bucket: "games", Key: "arena.zip", Call: "1", ID: "build-1"})
		assert.Equal(t, "status", b.Status.String(), "INITIALIZED")
		assert.Equal(t, "a repeated call", do[*messages.Build](w, messages.CreateBuild{ID: "build-1", Call: "1"}), b)
		w.refuses(messages.Conflict, messages.CreateBuild{ID: "build-1", Call: "2"})
		do[any](w, messages.BuildUnpacked{ID: b.ID, Failed: "there is no bucket"})
		failed := w.build(b.ID)
		assert.Equal(t, "why", failed.Status.String()+" "+failed.Why, "FAILED there is no bucket")
		// another host has it
		do[any](w, messages.BuildUnpacked{ID: b.ID, Size: 10, Digest: "one"})
		do[any](w, messages.BuildUnpacked{ID: b.ID, Size: 10, Digest: "one"})
		do[any](w, messages.BuildUnpacked{ID: b.ID, Failed: "there is no bucket"})
		w.refuses(messages.Conflict, messages.BuildUnpacked{ID: b.ID, Size: 11, Digest: "two"})
		w.refuses(messages.NotFound, messages.BuildUnpacked{ID: "build-none", Digest: "one"})
		do[*messages.Build](w, messages.UpdateBuild{ID: b.ID, Version: "2"})
		w.refuses(messages.NotFound, messages.UpdateBuild{ID: "build-none", Version: "2"})
		do[map[string]string](w, messages.UpdateTags{Resource: messages.Resource{Kind: "build", ID: "build-1"}, Set: map[string]string{"k": "v"}})
		w.restart()
		got := w.build(b.ID)
		equal(t, "after a restart", *got, messages.Build{
			ID: b.ID, Name: "b", Version: "2", Bucket: "games", Key: "arena.zip", Status: messages.BuildReady, Size: 10, Digest: "one", Created: got.Created,
			Tags: map[string]string{"k": "v"}, Call: "1",
		})
		second := ready(w)
		if all := do[[]*messages.Build](w, messages.BuildQuery{}); len(all) != 2 || all[0].ID != b.ID || all[1] != second {
			t.Errorf("%v", all)
		}
		do[any](w, messages.DeleteBuild{ID: b.ID})
		w.refuses(messages.NotFound, messages.DeleteBuild{ID: b.ID})
		w.refuses(messages.NotFound, messages.BuildQuery{ID: b.ID})
		w.restart()
		w.refuses(messages.NotFound, messages.BuildQuery{ID: b.ID})
		up := do[*messages.Build](w, messages.CreateBuild{ID: "build-up"})
		assert.Equal(t, "where it is uploaded to", up.Bucket+"/"+up.Key, "Troupe_Uploads/build-up.zip")
		assert.Equal(t, "it awaits its upload", up.Awaits, true)
		for range 2 { // the answer to the first may be lost
			do[any](w, messages.BuildUploaded{ID: up.ID, Key: "build-up.1.zip"})
			assert.Equal(t, "it awaits another one", w.build(up.ID).Awaits, false)
			w.refuses(messages.Conflict, messages.BuildUploaded{ID: up.ID, Key: "build-up.2.zip"})
			assert.Equal(t, "its archive", w.build(up.ID).Key, "build-up.1.zip")
		}
		w.owner.c.o.Builds.Refused = "no builds"
		w.refuses(messages.InvalidRequest, messages.CreateBuild{Bucket: "games", Key: "x"})
	})
}

func TestFleetsOfBuilds(t *testing.T) {
	run(t, func(w *world) {
		w.owner.c.o.Builds = allowed
		b := ready(w)
		w.owner.told = nil
		f := do[*messages.Fleet](w, messages.CreateFleet{
			BuildID: b.ID, Locations: []string{home, away}, Ports: ports(7000, 7009), Runtime: runs(`C:\game\bin\.\server.exe`, `-port={port} -name "Big Arena" 'x y'z ""`, 4),
		})
		want := messages.GameServer{Path: "bin/server.exe", Args: []string{"-port={port}", "-name", "Big Arena", "x yz", ""}, PortFrom: 7000, PortTo: 7009}
		equal(t, "server", *f.Server, want)
		assert.Equal(t, "told", strings.Join(w.owner.told, ", "), "configured 1, opened")
		w.refuses(messages.InvalidRequest, messages.DeleteBuild{ID: b.ID})

		// what runs is the caller's choice, within the build and the ports
		f = do[*messages.Fleet](w, messages.UpdateRuntime{FleetID: f.ID, Runtime: runs("/local/game/other", "", 5)})
		equal(t, "another server", *f.Server, messages.GameServer{Path: "other", PortFrom: 7000, PortTo: 7009})
		w.refuses(messages.InvalidRequest, messages.UpdateRuntime{FleetID: f.ID, Runtime: runs("/local/game/other", "", 6)}) // 12 processes
		w.refuses(messages.InvalidRequest, messages.UpdateRuntime{FleetID: f.ID, Runtime: runs("/bin/sh", "", 1)})
		w.refuses(messages.InvalidRequest, messages.UpdatePorts{FleetID: f.ID, Remove: ports(7000, 7009), Add: ports(7000, 7005)})
		w.refuses(messages.InvalidRequest, messages.UpdatePorts{FleetID: f.ID, Add: ports(8000, 8000)})
		f = do[*messages.Fleet](w, messages.UpdatePorts{FleetID: f.ID, Remove: ports(7000, 7009), Add: ports(7100, 7120)})
		equal(t, "other ports", *f.Server, messages.GameServer{Path: "other", PortFrom: 7100, PortTo: 7120})

		w.restart()
		w.owner.c.o.Builds = allowed
		assert.Equal(t, "told after a restart", strings.Join(w.owner.told, ", "), "configured 1, configured 1, opened, opened")
		kept := w.shown(f.ID)
		equal(t, "after a restart", *kept.Server, *f.Server)
		assert.Equal(t, "its status", kept.Status, messages.FleetActive)

		good := func(change func(*messages.CreateFleet)) messages.CreateFleet {
			q := messages.CreateFleet{BuildID: b.ID, Locations: []string{home}, Runtime: runs("/local/game/server", "", 1)}
			change(&q)
			return q
		}
		for _, q := range []messages.CreateFleet{
			good(func(q *messages.CreateFleet) { q.Runtime.Processes = nil }),
			good(func(q *messages.CreateFleet) { q.Runtime = runs("/local/game/../server", "", 1) }),
			good(func(q *messages.CreateFleet) { q.Runtime = runs(`C:\game\..\server`, "", 1) }),
			good(func(q *messages.CreateFleet) { q.Runtime = runs("/local/game/", "", 1) }),
			good(func(q *messages.CreateFleet) { q.Runtime = runs("/local/games/server", "", 1) }),
			good(func(q *messages.CreateFleet) { q.Runtime = runs("server", "", 1) }),
			good(func(q *messages.CreateFleet) { q.Runtime = runs("/local/game/C:server", "", 1) }),
			good(func(q *messages.CreateFleet) { q.Runtime = runs("/local/game/server", "-port={port}", 1) }), // no ports
			good(func(q *messages.CreateFleet) { q.Runtime = runs("/local/game/server", "", 51) }),
			good(func(q *messages.CreateFleet) { q.Ports = ports(6999, 7000) }),
			good(func(q *messages.CreateFleet) { q.Ports = ports(7990, 8000) }),
			good(func(q *messages.CreateFleet) { q.Ports = ports(7120, 7130) }), // those of the other fleet
			good(func(q *messages.CreateFleet) {
				q.Ports, q.Runtime = ports(7200, 7201), runs("/local/game/server", "", 3)
			}),
			good(func(q *messages.CreateFleet) {
				q.Runtime.Processes = slices.Concat(q.Runtime.Processes, runs("/local/game/second", "", 1).Processes)
			}),
		} {
			w.refuses(messages.InvalidRequest, q)
		}
		two := do[*messages.Fleet](w, good(func(q *messages.CreateFleet) {
			q.Runtime.Processes = slices.Concat(q.Runtime.Processes, q.Runtime.Processes)
		}))
		assert.Equal(t, "processes of two equal entries", Capacity(two, home), 2)
		old := do[*messages.Fleet](w, good(func(q *messages.CreateFleet) {
			q.Runtime.Processes, q.LaunchPath, q.LaunchParams = nil, "/local/game/server", "-a b"
		}))
		equal(t, "of a launch path", *old.Server, messages.GameServer{Path: "server", Args: []string{"-a", "b"}})

		w.refuses(messages.NotFound, messages.CreateFleet{BuildID: "build-none", Locations: []string{home}, Runtime: runs("/local/game/server", "", 1)})
		raw := do[*messages.Build](w, messages.CreateBuild{Bucket: "games", Key: "x"})
		w.refuses(messages.NotReady, messages.CreateFleet{BuildID: raw.ID, Locations: []string{home}, Runtime: runs("/local/game/server", "", 1)})
		do[any](w, messages.BuildUnpacked{ID: raw.ID, Failed: "no"})
		w.refuses(messages.InvalidRequest, messages.CreateFleet{BuildID: raw.ID, Locations: []string{home}, Runtime: runs("/local/game/server", "", 1)})
		w.owner.c.o.Builds = BuildRules{FleetsRefused: "not here"}
		_, err := w.try(good(func(*messages.CreateFleet) {}))
		w.is(err, messages.InvalidRequest)
		assert.Equal(t, "refusal", err.Error(), "not here")

		for _, id := range []messages.FleetID{f.ID, two.ID, old.ID} {
			do[any](w, messages.DeleteFleet{ID: id})
		}
		w.owner.told = nil
		do[any](w, messages.DeleteBuild{ID: b.ID})
		assert.Equal(t, "told of the deletion", strings.Join(w.owner.told, ", "), "build deleted")
	})
}

// A fleet whose build's record is lost is in ERROR, and says why.
func TestAFleetWithoutItsBuild(t *testing.T) {
	run(t, func(w *world) {
		w.owner.c.o.Builds = allowed
		b := ready(w)
		f := do[*messages.Fleet](w, messages.CreateFleet{BuildID: b.ID, Locations: []string{home}, Runtime: runs("/local/game/server", "", 1)})
		w.disk.Memory.Commit([]store.Change{store.Delete(store.Build, string(b.ID))}, nil)
		w.restart()
		assert.Equal(t, "status", w.shown(f.ID).Status, messages.FleetErrored)
		all := do[[]messages.FleetEvent](w, messages.FleetEventQuery{ID: f.ID})
		if !slices.ContainsFunc(all, func(e messages.FleetEvent) bool {
			return e.Code == EventNotRunnable && strings.Contains(e.Message, "build "+string(b.ID)+" is not known here")
		}) {
			t.Errorf("%v", all)
		}
	})
}

// Hosts delete the files of builds that are NotFound, so a build whose record cannot be read, perhaps not even its id, is not.
func TestABuildWithADamagedRecordIsNotUnknown(t *testing.T) {
	run(t, func(w *world) {
		w.disk.Put(store.Build, "build-1", "{}")
		w.restart()
		w.refuses(messages.Conflict, messages.BuildQuery{ID: "build-1"})
		w.refuses(messages.Conflict, messages.BuildUploaded{ID: "build-1"})
		w.refuses(messages.Conflict, messages.BuildQuery{ID: "build-2"})
	})
	follow(t, func(w *followers) {
		for range 2 {
			w.nodes["a"].ref.Tell(NewReplicated([]store.Change{{Kind: store.Build, ID: "build-1", Value: []byte("{")}}, nil))
		}
		for id, code := range map[messages.BuildID]messages.ErrorCode{"build-1": messages.Conflict, "build-2": messages.NotFound} {
			if _, err := w.ask(w.nodes["a"].ref, messages.BuildQuery{ID: id}); !errors.Is(err, &messages.Error{Code: code}) {
				t.Errorf("%s on a node: %v, want %v", id, err, code)
			}
		}
	})
}

// The nodes of a cluster learn of builds and their fleets from the Leader.
func TestNodesFollowBuilds(t *testing.T) {
	follow(t, func(w *followers) {
		w.options.Builds = allowed
		w.lead(0)
		b := decided[*messages.Build](w, messages.CreateBuild{Bucket: "games", Key: "arena.zip"})
		decided[messages.None](w, messages.BuildUnpacked{ID: b.ID, Size: 10, Digest: "one"})
		f := decided[*messages.Fleet](w, messages.CreateFleet{BuildID: b.ID, Name: "f", Locations: []string{home}, Runtime: runs("/local/game/server", "", 1)})
		w.join("d")
		stagetest.Pass(time.Second)
		w.same()
		want := "build INITIALIZED, build READY, configured f 1"
		assert.Equal(t, "a node", strings.Join(w.nodes["a"].told, ", "), want)
		assert.Equal(t, "a later node", strings.Join(w.nodes["d"].told, ", "), `build READY, configured f 1, capacity ""`)
		decided[messages.None](w, messages.DeleteFleet{ID: f.ID})
		decided[messages.None](w, messages.DeleteBuild{ID: b.ID})
		w.same()
		if told := w.nodes["d"].told; told[len(told)-1] != "build deleted" {
			t.Errorf("%q", told)
		}
	})
}
