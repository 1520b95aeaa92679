package fleet_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/fleet"
	launcher "troupe/actors/serverprocess/launch"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// refused fails unless a call of a process is refused with a status; 0: it is accepted.
func (p *process) refused(status int, what any) {
	p.h.Helper()
	_, err := request[any](p.h, p.call(what))
	var why *messages.ProcessRefusal
	if errors.As(err, &why); status == 0 && err != nil || status != 0 && (why == nil || why.Status != status) {
		p.h.Errorf("%T of %s: %v, want %d", what, p.id.Name, err, status)
	}
}

// another returns a process of a compute that is not connected yet, with what opens its connections.
func (h *host) another(compute, name string) (*process, messages.OpenProcess) {
	h.Helper()
	p := &process{h: h, id: messages.ProcessID{FleetID: anywhere, Compute: compute, Name: name}}
	return p, messages.OpenProcess{TokenSHA256: h.token(compute)}
}

func (h *host) counters() *counters.Set { return h.stage.Count }

// The processes of a compute are limited, so that one token keeps out no process of another compute. One that was never
// activated is forgotten with its connection, and may come back.
func TestProcessesOfAComputeAreLimited(t *testing.T) {
	served(t, func(h *host, p *process) {
		wanted[*messages.Compute](h, messages.RegisterCompute{Compute: messages.Compute{FleetID: anywhere, Name: "d", Location: actorstest.Home, IPAddress: "192.0.2.8"}})
		var last *process
		for i := range 999 {
			q, open := h.another("c", fmt.Sprint("p", i))
			q.must(open)
			last = q
		}
		more, open := h.another("c", "more")
		more.refused(429, open)
		p.connect() // another connection of a process that is there
		other, own := h.another("d", "p")
		other.must(own)
		if n := h.counters().ServerRefused.Get(counters.ServerComputeFull); n != 1 {
			t.Error(n)
		}
		if n := h.counters().Servers.Get(1); n != 1000 {
			t.Errorf("%d are connected", n)
		}
		writes := h.disk.Writes()
		last.must(messages.CloseProcess{})
		last.refused(409, messages.BeatProcess{})
		more.must(open)
		last.refused(429, open)
		more.must(messages.CloseProcess{})
		last.must(open)
		if h.disk.Writes() != writes || len(h.disk.Records(store.Process)) != 1 {
			t.Errorf("%d changes, %d records", h.disk.Writes()-writes, len(h.disk.Records(store.Process)))
		}
		last.must(messages.ActivateProcess{Port: 7778})
		last.must(messages.CloseProcess{})
		last.must(messages.BeatProcess{Healthy: true}) // it is ready, so it stays
		last.must(messages.LeaveProcess{})
		last.refused(403, open)
		more.must(open)
		c := h.counters()
		if a, b, d := c.ServersEnded.Get(counters.ServerNotActivated), c.ServersEnded.Get(counters.ServerLeft), c.ServerRefused.Get(counters.ServerUsedUp); a != 2 || b != 1 || d != 1 {
			t.Error(a, b, d)
		}
		h.restart()
		if n, m := c.Servers.Total(), c.Servers.Get(2); n != 1 || m != 1 {
			t.Errorf("%d processes, %d are ready", n, m)
		}
	})
}

// A process whose connection ends while its activation becomes durable is ready, and is found by its next connection.
func TestAConnectionEndsDuringAnActivation(t *testing.T) {
	served(t, func(h *host, p *process) {
		q, open := h.another("c", "q")
		q.must(open)
		h.disk.Hold()
		ready := later[any](h, q.call(messages.ActivateProcess{Port: 7778}))
		q.must(messages.CloseProcess{})
		h.disk.Release()
		if len(*ready) != 1 || (*ready)[0] != nil {
			t.Fatal(*ready)
		}
		q.must(open)
		q.must(messages.BeatProcess{Healthy: true})

		r, open := h.another("c", "r")
		r.must(open)
		h.disk.Break(true)
		h.disk.Hold()
		later[any](h, r.call(messages.ActivateProcess{Port: 7779}))
		r.must(messages.CloseProcess{})
		h.disk.Release()
		h.disk.Break(false)
		if n := h.counters().Servers.Get(1); n != 0 { // its activation was refused, and its connection had ended
			t.Errorf("%d are connected", n)
		}
		r.must(open)
	})
}

// A process of a location that the configuration has taken from its fleet ends, and does not come back; its compute may be
// registered again.
func TestALocationIsTakenOutOfTheConfiguration(t *testing.T) {
	away := func(o *fleet.Options) {
		for _, f := range o.Fleets {
			if f.ID == anywhere {
				f.Locations = []string{actorstest.Home, actorstest.Away}
			}
		}
	}
	served(t, func(h *host, p *process) {
		m := messages.RegisterCompute{Compute: messages.Compute{FleetID: anywhere, Name: "d", Location: actorstest.Away, IPAddress: "192.0.2.8"}}
		wanted[*messages.Compute](h, m)
		q, open := h.another("d", "q")
		q.must(open)
		q.must(messages.ActivateProcess{Port: 7777})
		for i, f := range h.options.Fleets {
			if f.ID == anywhere {
				n := *f
				n.Locations = n.Locations[:1]
				h.options.Fleets[i] = &n
			}
		}
		h.restart()
		q.refused(403, open)
		p.connect()
		p.must(messages.BeatProcess{Healthy: true})
		for range 6 {
			stagetest.Pass(time.Minute)
			p.must(messages.BeatProcess{Healthy: true})
		}
		c := h.counters()
		if a, b := c.Servers.Total(), c.ServersEnded.Total(); a != 1 || b != 1 {
			t.Errorf("%d processes, %d have ended", a, b)
		}
		if all := wanted[[]*messages.Compute](h, messages.ComputeQuery{FleetID: anywhere}); len(all) != 1 {
			t.Errorf("%d computes", len(all))
		}
		m.Compute.Location = actorstest.Home
		wanted[*messages.Compute](h, m)
	}, away)
}

// launched is a fleet whose processes a host starts.
const launched messages.FleetID = "fleet-launched"

// hostsServers runs a test on a host with a fleet that has a process in each of two locations, and tells it what its
// Launcher would.
func hostsServers(t *testing.T, test func(h *host, home, away *process)) {
	t.Helper()
	hosted(t, func(o *fleet.Options) {
		o.Fleets = append(o.Fleets, &messages.Fleet{
			ID: launched, Status: messages.FleetActive, Locations: []string{actorstest.Home, actorstest.Away}, GameSessionsMax: 9,
			Server: &messages.GameServer{Path: "/server"},
		})
	}, func(h *host) {
		begin := func(compute, location string) *process {
			wanted[*messages.Compute](h, messages.RegisterCompute{Compute: messages.Compute{FleetID: launched, Name: compute, Location: location, IPAddress: "192.0.2.1", Host: true}})
			p := &process{h: h, id: messages.ProcessID{FleetID: launched, Compute: compute, Name: "p"}}
			open := messages.OpenProcess{TokenSHA256: hashed(wanted[messages.ComputeAuth](h, messages.AuthorizeCompute{FleetID: launched, Name: compute, Host: true}).Token)}
			p.refused(403, open)
			h.registry.Tell(launcher.Starts{Process: p.id})
			p.must(open)
			p.must(messages.ActivateProcess{Port: 7777})
			p.must(messages.BeatProcess{Healthy: true})
			return p
		}
		test(h, begin("host", actorstest.Home), begin("host-away", actorstest.Away))
	})
}

// Processes in a location that is removed from their fleet are told to end, also those without a game session. Their compute
// goes with it.
func TestProcessesOfARemovedLocation(t *testing.T) {
	hostsServers(t, func(h *host, home, away *process) {
		wanted[*messages.Fleet](h, messages.RemoveFleetLocations{FleetID: launched, Locations: []string{actorstest.Away}})
		stagetest.Pass(time.Second)
		if len(away.pushes) != 1 || len(home.pushes) != 0 {
			t.Fatal(away.pushes, home.pushes)
		}
		if _, ok := away.pushes[0].(messages.PushTerminate); !ok {
			t.Errorf("%T", away.pushes[0])
		}
		if n := len(h.disk.Records(store.Compute)); n != 1 {
			t.Errorf("%d computes", n)
		}
	})
}

// A drain waits until the processes that the host has started have ended.
func TestADrainWaitsForLaunchedProcesses(t *testing.T) {
	hostsServers(t, func(h *host, home, away *process) {
		if n := h.counters().ServersLaunched.Load(); n != 2 {
			t.Error(n)
		}
		drained := later[messages.None](h, messages.Drain{Grace: time.Minute})
		home.must(messages.LeaveProcess{})
		h.registry.Tell(launcher.Exited{Process: home.id})
		away.must(messages.LeaveProcess{})
		stagetest.Pass(time.Second)
		if len(*drained) != 0 {
			t.Fatal(*drained)
		}
		h.registry.Tell(launcher.Exited{Process: away.id})
		stagetest.Pass(time.Second)
		if len(*drained) != 1 || (*drained)[0] != nil || h.counters().ServersLaunched.Load() != 0 {
			t.Error(*drained)
		}
	})
}

// A machine with many processes crashes. Those that it starts again are there at once, beside those that are not dead yet, unless
// they have game sessions. Who crashes all the time has twice as many at most.
func TestAComputeComesBackAfterACrash(t *testing.T) {
	served(t, func(h *host, p *process) {
		g := p.hosts()
		port := 8000
		begin := func(name string, n int) (all []*process) {
			for i := range n {
				q, open := h.another("c", fmt.Sprint(name, i))
				q.must(open)
				port++
				q.must(messages.ActivateProcess{Port: port})
				all = append(all, q)
			}
			return all
		}
		first := begin("first", 999)
		more, open := h.another("c", "more")
		more.refused(429, open)
		p.must(messages.CloseProcess{})
		more.refused(429, open) // its game session lives
		for _, q := range first {
			q.must(messages.CloseProcess{})
		}
		second := begin("second", 999)
		more.refused(429, open)
		first[0].must(open) // it was there before (D-404)
		for _, q := range second[:500] {
			q.must(messages.CloseProcess{})
		}
		more.must(open) // 2,000 together
		another, _ := h.another("c", "another")
		another.refused(429, open)
		stagetest.Pass(211 * time.Second) // the others are dead
		if s := h.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s)
		}
		if n := h.counters().Servers.Total(); n != 1 {
			t.Errorf("%d processes", n)
		}
		begin("third", 999)
		another.refused(429, open)
	})
}
