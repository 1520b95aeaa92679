package sim

import (
	"context"
	"slices"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/transporttest/stock"
)

// checkGroups requests the members of all groups, and compares the responses with the memberships that the
// game knows. Groups survive a loss (D-1).
func (r *run) checkGroups() {
	r.until(time.Now().Add(time.Second)) // a last join may be in transit
	r.mu.Lock()
	asked := make(map[*player]bool)
	for _, p := range r.players {
		if l := p.dev.link; l != nil && l.in && p.playing() && !p.game.ending {
			asked[p] = true
			clear(p.groups)
			for id := int32(1); id <= groupsMax; id++ {
				p.dev.group(stock.OpRequestGroupMembership, id)
			}
		}
	}
	r.mu.Unlock()
	r.until(time.Now().Add(time.Second))
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range asked {
		for id := int32(1); id <= groupsMax; id++ {
			told, answered := p.groups[id]
			told = slices.Sorted(slices.Values(told))
			if want := p.game.inGroup(messages.GroupID(id)); !answered || !slices.Equal(told, want) {
				r.failf("RL-9: %v is told that group %d has %v (answered: %v), it has %v", p, id, told, answered, want)
			}
		}
	}
}

// checkRecords checks the status transitions that the API shows (RL-16). When quiet, it also compares the
// records with the games' own state (RL-15).
func (r *run) checkRecords(quiet bool) {
	for _, g := range r.games {
		list := sure(messages.Do(context.Background(), r.system, messages.PlayerSessionQuery{GameSessionID: g.id}))
		r.mu.Lock()
		live := 0
		for _, s := range list {
			old, p := r.status[s.ID], r.byID[s.ID]
			back := old == messages.PlayerSessionCompleted && s.Status == messages.PlayerSessionActive && p != nil && len(p.presences) > 1
			if s.Status < old && !back || old == messages.PlayerSessionCompleted && s.Status == messages.PlayerSessionTimedOut {
				r.failf("RL-16: player session %s goes from %v to %v", s.ID.Short(), old, s.Status)
			}
			r.status[s.ID] = s.Status
			if !s.Status.Final() {
				live++
			}
			if quiet && p != nil && !g.ending && (s.Status == messages.PlayerSessionActive) != p.playing() {
				r.failf("RL-15: %v is %v, and in the game: %v", p, s.Status, p.playing())
			}
		}
		r.mu.Unlock()
		if !quiet {
			continue
		}
		record := sure(messages.Do(context.Background(), r.system, messages.GameSessionQuery{ID: g.id}))
		r.mu.Lock()
		if n := record.CurrentPlayers; n != live {
			r.failf("RL-15: game %d counts %d players, %d player sessions are not final", g.index, n, live)
		}
		if n := record.CurrentPlayers; n > record.MaxPlayers {
			r.failf("RL-15: game %d counts %d players of %d", g.index, n, record.MaxPlayers)
		}
		r.mu.Unlock()
	}
}

// playing reports whether the game knows the player as being in the game.
func (p *player) playing() bool { return p.presence != nil && p.presence.accepted && !p.presence.over }

// checkUnclaimed waits for the timeout of a reservation (RL-17).
func (r *run) checkUnclaimed() {
	status := func() messages.PlayerSessionStatus {
		return sure(messages.Do(context.Background(), r.system, messages.PlayerSessionQuery{PlayerSessionID: r.lonely}))[0].Status
	}
	r.until(r.start.Add(59 * time.Second))
	before := status()
	r.until(r.start.Add(61 * time.Second))
	if after := status(); before != messages.PlayerSessionReserved || after != messages.PlayerSessionTimedOut {
		r.failf("RL-17: an unclaimed seat is %v after 59 s and %v after 61 s", before, after)
	}
}

// checkEnded checks game sessions that were told to end (RL-13, RL-16).
func (r *run) checkEnded() {
	r.checkRecords(false)
	for _, g := range r.games {
		record := sure(messages.Do(context.Background(), r.system, messages.GameSessionQuery{ID: g.id}))
		r.mu.Lock()
		if s := record.Status; s != messages.GameSessionTerminated || record.CurrentPlayers != 0 {
			r.failf("RL-16: game %d was told to end and is %v, with %d players", g.index, s, record.CurrentPlayers)
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.players {
		if s := r.status[p.id]; !s.Final() {
			r.failf("RL-16: %v is %v after its game has ended", p, s)
		}
		// Over KCP, the close message may be lost, so a device may not know that its connection ended. But it
		// must not receive anything more.
		if l := p.dev.link; l != nil && !(l.kcp && time.Since(l.heardAt()) > 3*time.Second) {
			r.failf("RL-11: connection %d of %v outlives its game", l.number, p)
		}
	}
}

// checkLeftovers checks the counters of a host that has stopped.
func (r *run) checkLeftovers() {
	if n := r.count.ActorPanics.Load(); n != 0 {
		r.failf("%d actors panicked", n)
	}
	if n := r.count.ActorMessages.Load(); n != 0 {
		r.failf("%d messages that no actor knew", n)
	}
	if n := r.count.HandlerErrors.Load(); n != 0 {
		r.failf("%d callbacks panicked", n)
	}
	if n := r.count.Players.Total(); n != 0 {
		r.failf("%d players are still counted", n)
	}
	if n := r.count.Connections.Get(counters.WS) + r.count.Connections.Get(counters.KCP); n != 0 {
		r.failf("%d connections are still counted", n)
	}
	if n := r.count.Dropped.Get(counters.DropOutboxFull); n != 0 && r.plan.budget == 0 {
		r.failf("RL-25: %d messages did not fit", n)
	}
}
