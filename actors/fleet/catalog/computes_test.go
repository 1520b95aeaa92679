package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/store"
	"troupe/messages"
)

// anywhere creates an ANYWHERE fleet with a compute called box.
func anywhere(w *world) messages.FleetID {
	w.Helper()
	f := do[*messages.Fleet](w, messages.CreateFleet{Anywhere: true, Locations: []string{attic}})
	do[*messages.Compute](w, register(f.ID, "box"))
	return f.ID
}

func register(fleet messages.FleetID, name string) messages.RegisterCompute {
	return messages.RegisterCompute{Compute: messages.Compute{FleetID: fleet, Name: name, Location: attic, IPAddress: "10.1.2.3"}}
}

func names(w *world, fleet messages.FleetID) (all string) {
	w.Helper()
	for _, m := range do[[]*messages.Compute](w, messages.ComputeQuery{FleetID: fleet}) {
		all += m.Name + " "
	}
	return all
}

// SS-44.
func TestComputesAreRegistered(t *testing.T) {
	run(t, func(w *world) {
		fleet := anywhere(w)
		do[*messages.Compute](w, register(fleet, "a/b"))
		w.refuses(messages.Conflict, register(fleet, "box"))
		w.refuses(messages.NotFound, register("fleet-none", "x"))
		w.refuses(messages.InvalidRequest, register(w.fleet.ID, "x"))
		elsewhere := register(fleet, "x")
		elsewhere.Compute.Location = "custom-cellar"
		w.refuses(messages.InvalidRequest, elsewhere)

		call := register(fleet, "called")
		call.Compute.Call = "1"
		first := do[*messages.Compute](w, call)
		assert.Equal(t, "a repeated call", do[*messages.Compute](w, call), first)
		call.Compute.Call = "2"
		w.refuses(messages.Conflict, call)

		w.restart()
		assert.Equal(t, "after a restart", names(w, fleet), "a/b box called ")
		box := do[[]*messages.Compute](w, messages.ComputeQuery{FleetID: fleet, Name: "box"})[0]
		if box.IPAddress != "10.1.2.3" || box.Location != attic || box.Created.IsZero() {
			t.Errorf("%+v", box)
		}
		w.refuses(messages.NotFound, messages.ComputeQuery{FleetID: fleet, Name: "none"})
		w.refuses(messages.NotFound, messages.ComputeQuery{FleetID: "fleet-none"})
		w.refuses(messages.NotFound, messages.DeregisterCompute{FleetID: fleet, Name: "none"})
		do[any](w, messages.DeregisterCompute{FleetID: fleet, Name: "box"})
		w.restart()
		assert.Equal(t, "after the deregistration", names(w, fleet), "a/b called ")
		do[*messages.Compute](w, register(fleet, "box")) // the name is free again
	})
}

// SS-7, SS-11, D-401: a token is valid for three hours, also after a restart. The store has only its hash.
func TestTokensOfComputes(t *testing.T) {
	run(t, func(w *world) {
		fleet := anywhere(w)
		ask := messages.AuthorizeCompute{FleetID: fleet, Name: "box"}
		valid := func(auth messages.ComputeAuth) bool {
			w.Helper()
			hash := sha256.Sum256([]byte(auth.Token))
			for _, k := range do[[]*messages.Compute](w, messages.ComputeQuery{FleetID: fleet, Name: "box"})[0].Tokens {
				if k.SHA256 == hex.EncodeToString(hash[:]) && time.Now().Before(k.Expires) {
					return true
				}
			}
			return false
		}
		first := do[messages.ComputeAuth](w, ask)
		assert.Equal(t, "life", time.Until(first.Expires), 3*time.Hour)
		time.Sleep(15*time.Minute - time.Second)
		assert.Equal(t, "token within 15 minutes", do[messages.ComputeAuth](w, ask), first)
		time.Sleep(time.Second)
		second := do[messages.ComputeAuth](w, ask)
		if second.Token == first.Token || !valid(first) || !valid(second) {
			t.Errorf("the second token is %+v after %+v", second, first)
		}
		w.restart()
		third := do[messages.ComputeAuth](w, ask)
		if third.Token == second.Token || !valid(first) || !valid(second) || !valid(third) {
			t.Errorf("after a restart: %+v", third)
		}
		for _, value := range w.disk.Records(store.Compute) {
			for _, auth := range []messages.ComputeAuth{first, second, third} {
				if strings.Contains(string(value), auth.Token) {
					t.Errorf("the store has a token: %s", value)
				}
			}
		}
		time.Sleep(3 * time.Hour)
		last := do[messages.ComputeAuth](w, ask)
		box := do[[]*messages.Compute](w, messages.ComputeQuery{FleetID: fleet, Name: "box"})[0]
		assert.Equal(t, "tokens after three hours", len(box.Tokens), 1)
		if !valid(last) || valid(third) {
			t.Error("valid:", valid(last), valid(third))
		}
		w.refuses(messages.NotFound, messages.AuthorizeCompute{FleetID: fleet, Name: "none"})
	})
}

// A host that restarts all the time refuses a token before it drops one that is still valid.
func TestTokensOfAComputeAreBounded(t *testing.T) {
	run(t, func(w *world) {
		ask := messages.AuthorizeCompute{FleetID: anywhere(w), Name: "box"}
		for range tokensMax {
			do[messages.ComputeAuth](w, ask)
			w.restart()
		}
		w.refuses(messages.LimitExceeded, ask)
		time.Sleep(3 * time.Hour)
		do[messages.ComputeAuth](w, ask)
	})
}

// A token that the store refuses is not handed out, and neither is it later.
func TestATokenThatIsNotStored(t *testing.T) {
	run(t, func(w *world) {
		ask := messages.AuthorizeCompute{FleetID: anywhere(w), Name: "box"}
		w.disk.Break(true)
		w.refuses(messages.Internal, ask)
		w.disk.Break(false)
		auth := do[messages.ComputeAuth](w, ask)
		box := do[[]*messages.Compute](w, messages.ComputeQuery{FleetID: ask.FleetID, Name: "box"})[0]
		assert.Equal(t, "tokens", len(box.Tokens), 1)
		assert.Equal(t, "expires", box.Tokens[0].Expires, auth.Expires)
	})
}

// A deleted fleet has no computes, and a deregistered compute has no tokens, also if another one takes its name.
func TestComputesEndWithTheirFleet(t *testing.T) {
	run(t, func(w *world) {
		fleet, other := anywhere(w), anywhere(w)
		for n := range 120 { // more than one commit in a cluster may delete
			do[*messages.Compute](w, register(fleet, fmt.Sprint("n", n)))
		}
		ask := messages.AuthorizeCompute{FleetID: other, Name: "box"}
		old := do[messages.ComputeAuth](w, ask)
		do[any](w, messages.DeregisterCompute{FleetID: other, Name: "box"})
		do[*messages.Compute](w, register(other, "box"))
		if auth := do[messages.ComputeAuth](w, ask); auth.Token == old.Token {
			t.Error("the next compute of the name has the token of the one before")
		}
		w.disk.Hold()
		deleted := w.later(messages.DeleteFleet{ID: fleet})
		w.disk.Next() // the deletion of the fleet is durable, that of its computes is lost
		synctest.Wait()
		if len(*deleted) != 1 || (*deleted)[0] != nil {
			t.Fatal(*deleted)
		}
		w.restart()
		assert.Equal(t, "records after the next start", strings.Join(slices.Collect(maps.Keys(w.disk.Records(store.Compute))), " "), string(other)+"/box")
		w.refuses(messages.InvalidFleetStatus, messages.AuthorizeCompute{FleetID: fleet, Name: "box"})
		w.refuses(messages.InvalidFleetStatus, register(fleet, "late"))
		do[any](w, messages.DeleteFleet{ID: other})
		assert.Equal(t, "records of no fleet", len(w.disk.Records(store.Compute)), 0)
	})
}

// An earlier version put ANYWHERE fleets into ERROR, because nothing could register with them.
func TestAnAnywhereFleetOfAnEarlierVersion(t *testing.T) {
	run(t, func(w *world) {
		w.disk.Put(store.Fleet, "fleet-old", string(store.Put(store.Fleet, "", fleetRecord{Fleet: messages.Fleet{
			ID: "fleet-old", Status: messages.FleetErrored, Anywhere: true, Locations: []string{attic},
		}}).Value))
		w.restart()
		assert.Equal(t, "status", w.shown("fleet-old").Status, messages.FleetActive)
		do[*messages.Compute](w, register("fleet-old", "box"))
	})
}

// Each node of a cluster knows the computes and the hashes of their tokens.
func TestFollowersKnowComputes(t *testing.T) {
	follow(t, func(w *followers) {
		fleet := decided[*messages.Fleet](w, messages.CreateFleet{Anywhere: true, Locations: []string{attic}}).ID
		decided[*messages.Compute](w, register(fleet, "box"))
		decided[messages.ComputeAuth](w, messages.AuthorizeCompute{FleetID: fleet, Name: "box"})
		w.lead(0) // the next leader hands out another token
		decided[messages.ComputeAuth](w, messages.AuthorizeCompute{FleetID: fleet, Name: "box"})
		w.join("d")
		synctest.Wait()
		for name, n := range w.nodes {
			if m := n.c.computes[computeID(fleet, "box")]; m == nil || len(m.Tokens) != 2 {
				t.Errorf("node %s has %+v", name, m)
			}
		}
		decided[any](w, messages.DeregisterCompute{FleetID: fleet, Name: "box"})
		for name, n := range w.nodes {
			assert.Equal(t, "computes of "+name, len(n.c.computes), 0)
		}
	})
}

// A host registers itself with a fleet whose processes it starts, and nobody else does.
func TestHostsAreComputesOfTheirFleets(t *testing.T) {
	server := &messages.GameServer{Path: "/srv/game", Args: []string{"-x"}, PortFrom: 1, PortTo: 3}
	one := messages.RuntimeConfiguration{Processes: []messages.ServerProcess{{LaunchPath: "/srv/game", Parameters: "-x", Concurrent: 1}}}
	run(t, func(w *world) {
		w.options.Fleets = append(w.options.Fleets, &messages.Fleet{ID: "fleet-server", Status: messages.FleetActive, Locations: []string{home}, Server: server, Runtime: one})
		w.restart()
		q := messages.RegisterCompute{Compute: messages.Compute{FleetID: "fleet-server", Name: "host", Location: home, IPAddress: "10.1.2.3"}}
		w.refuses(messages.InvalidRequest, q)
		q.Compute.Host = true
		do[*messages.Compute](w, q)
		ask := messages.AuthorizeCompute{FleetID: "fleet-server", Name: "host"}
		w.refuses(messages.InvalidRequest, ask) // over the API
		ask.Host = true
		do[messages.ComputeAuth](w, ask)
		q.Compute.FleetID, q.Compute.Location = anywhere(w), attic
		w.refuses(messages.InvalidRequest, q)
		// Nobody changes over the API what runs on the hosts; how often is another matter, within the ports.
		for _, p := range []messages.ServerProcess{{LaunchPath: "/bin/sh", Parameters: "-x", Concurrent: 1}, {LaunchPath: "/srv/game", Parameters: "-y", Concurrent: 1}, {LaunchPath: "/srv/game", Parameters: "-x", Concurrent: 4}} {
			w.refuses(messages.InvalidRequest, messages.UpdateRuntime{FleetID: "fleet-server", Runtime: messages.RuntimeConfiguration{Processes: []messages.ServerProcess{p}}})
		}
		three := one
		three.Processes = []messages.ServerProcess{{LaunchPath: "/srv/game", Parameters: "-x", Concurrent: 3}}
		f := do[*messages.Fleet](w, messages.UpdateRuntime{FleetID: "fleet-server", Runtime: three})
		if got := Capacity(f, home); got != 3 {
			t.Errorf("capacity %d", got)
		}
		many := 3
		w.refuses(messages.InvalidRequest, messages.UpdateCapacity{FleetID: "fleet-server", Desired: &many, Max: &many}) // nine of three ports
		do[*messages.Fleet](w, messages.UpdateRuntime{FleetID: "fleet-server", Runtime: one})
		do[*messages.Fleet](w, messages.UpdateCapacity{FleetID: "fleet-server", Desired: &many, Max: &many})
		w.refuses(messages.InvalidRequest, messages.UpdateRuntime{FleetID: "fleet-server", Runtime: three})
		w.refuses(messages.InvalidRequest, messages.AddFleetLocations{FleetID: "fleet-server", Locations: []string{away}})
		// Neither can the operator, at the next start.
		w.options.Fleets[len(w.options.Fleets)-1].Runtime = three
		if _, err := New(w.options); err == nil || !strings.HasPrefix(err.Error(), "fleet fleet-server has 3 ports, and 9 processes need one each (the API") {
			t.Error(err)
		}
	})
}
