package gamesession

import (
	"slices"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/group"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// onJoinGroup asks the game and has the group add the player (realtime.md 11).
func (a *Actor) onJoinGroup(s *seat, id messages.GroupID) {
	if id <= 0 {
		a.drop(s, zerolog.WarnLevel, counters.DropBadGroup)
		return
	}
	if a.relay {
		a.joinGroup(s, id, true)
		return
	}
	ok, p := a.ask("onPlayerJoinGroup", func() script.Decision { return a.o.Handler.OnPlayerJoinGroup(id, s.player.Peer) })
	a.groupGate(s, id, ok, p, a.joinGroup)
}

// groupGate goes on with what the game decided on a group operation, now or later.
func (a *Actor) groupGate(s *seat, id messages.GroupID, ok bool, p *script.Pending, then func(*seat, messages.GroupID, bool)) {
	if p == nil {
		then(s, id, ok)
		return
	}
	s.asked = p
	a.await(p, gateLimit, func(ok bool) {
		if s.asked == p { // else the player is gone
			s.asked = nil
			then(s, id, ok && a.phase <= ending)
			a.unstash(s)
		}
	})
}

func (a *Actor) joinGroup(s *seat, id messages.GroupID, ok bool) {
	if ok && !a.roomForGroup(s, id) {
		a.drop(s, zerolog.WarnLevel, counters.DropBadGroup)
		ok = false
	}
	if !ok {
		a.tellMembership(s, id)
		return
	}
	g := a.groups[id]
	if g == nil {
		g = a.newGroup(id)
	}
	a.operate(g, s, groupOp{group: id, join: true})
}

// roomForGroup checks the bounds on groups; who is in already may stay.
func (a *Actor) roomForGroup(s *seat, id messages.GroupID) bool {
	if g := a.groups[id]; g != nil && g.handle.Members().Has(s.player) {
		return true
	}
	if a.o.GroupsPerPlayerMax > 0 && len(s.player.Groups) >= a.o.GroupsPerPlayerMax {
		return false
	}
	return a.groups[id] != nil || a.o.GroupsMax <= 0 || len(a.groups) < a.o.GroupsMax
}

func (a *Actor) onLeaveGroup(s *seat, id messages.GroupID) {
	if id <= 0 {
		a.drop(s, zerolog.WarnLevel, counters.DropBadGroup)
		return
	}
	if a.relay {
		a.leaveGroup(s, id, true)
		return
	}
	ok, p := a.ask("onPlayerLeaveGroup", func() script.Decision { return a.o.Handler.OnPlayerLeaveGroup(id, s.player.Peer) })
	a.groupGate(s, id, ok, p, a.leaveGroup)
}

func (a *Actor) leaveGroup(s *seat, id messages.GroupID, ok bool) {
	g := a.groups[id]
	if !ok || g == nil {
		a.tellMembership(s, id)
		return
	}
	a.operate(g, s, groupOp{group: id})
}

// tellMembership answers the requester alone with the list as it is.
func (a *Actor) tellMembership(s *seat, id messages.GroupID) {
	s.player.Give(a.c, group.Update(s.player, messages.ServerPeer, id, a.peersOf(id)))
}

// peersOf returns the members of a group as the wire wants them; an unknown
// group is empty.
func (a *Actor) peersOf(id messages.GroupID) []int32 {
	if id == messages.AllPlayers {
		peers := make([]int32, len(a.roster))
		for i, s := range a.roster {
			peers[i] = int32(s.player.Peer)
		}
		return peers
	}
	if g := a.groups[id]; g != nil {
		return g.handle.Members().Peers()
	}
	return nil
}

func (a *Actor) newGroup(id messages.GroupID) *groupEntry {
	g := &groupEntry{}
	a.groups[id] = g
	a.spawnGroup(g, id, nil)
	return g
}

func (a *Actor) spawnGroup(g *groupEntry, id messages.GroupID, members group.Snapshot) {
	self := a.c.Self()
	g.handle = &group.Handle{ID: id, Ref: a.c.Stage().NewRefBeside(self, counters.ActorGroup, stage.LaneLimits{})}
	a.groupRef[g.handle.Ref] = g
	a.c.Spawn(g.handle.Ref, group.New(g.handle, self, members))
}

// operate has a group do what a player asked for; the answer is counted, and the
// player's next messages wait for it.
func (a *Actor) operate(g *groupEntry, s *seat, op groupOp) {
	s.op = op
	g.pending++
	if op.join {
		g.handle.Ref.Tell(group.Join{Player: s.player})
	} else {
		g.handle.Ref.Tell(group.Leave{Player: s.player})
	}
	a.c.Yield() // the group answers before the next message
}

// removeGone takes a player that is out of the game out of a group.
func (a *Actor) removeGone(g *groupEntry, p *player.Handle) {
	g.pending++
	g.leaving = append(g.leaving, p)
	g.handle.Ref.Tell(group.Leave{Player: p, Gone: true})
}

// onGroupChanged notes what a group did and lets the player go on.
func (a *Actor) onGroupChanged(m group.Changed) {
	g := a.groups[m.Group.ID]
	if g == nil || g.handle != m.Group {
		return
	}
	g.pending--
	if m.Gone {
		g.leaving = slices.DeleteFunc(g.leaving, func(p *player.Handle) bool { return p == m.Player })
	} else {
		a.noteGroup(g, m.Player, m.Joined)
	}
	a.dropIfEmpty(g)
}

// noteGroup keeps the player's own list of groups, from which a crashed group
// is rebuilt, and lets the player go on. A player that left meanwhile is taken
// out again.
func (a *Actor) noteGroup(g *groupEntry, p *player.Handle, joined bool) {
	id := g.handle.ID
	removeOne(&p.Groups, id)
	s := a.byPlayer[p]
	if s == nil || !s.in {
		if joined {
			a.removeGone(g, p)
		}
		return
	}
	if joined {
		p.Groups = append(p.Groups, id)
	}
	if s.op.group == id {
		s.op = groupOp{}
		a.unstash(s)
	}
}

// dropIfEmpty ends a group that nobody is in or on the way to.
func (a *Actor) dropIfEmpty(g *groupEntry) {
	if len(g.handle.Members()) == 0 && g.pending == 0 && a.groups[g.handle.ID] == g {
		delete(a.groups, g.handle.ID)
		delete(a.groupRef, g.handle.Ref)
		g.handle.Ref.Stop()
	}
}

// replaceGroup restarts a crashed group with the members that the players know
// of; over the limit the game session crashes (reliability.md 4). Operations
// that were lost with it are asked for again, once: one that kills the group
// twice is forgotten, and its player goes on.
func (a *Actor) replaceGroup(g *groupEntry) {
	if a.phase >= closing {
		return
	}
	if !g.restarts.allow(time.Now().UnixNano(), groupRestarts) {
		a.crash("group restarted too often")
		return
	}
	a.c.Counters().Restarts.Add(counters.ActorGroup, 1)
	id, leaving := g.handle.ID, g.leaving
	var members group.Snapshot
	for _, s := range a.roster {
		if slices.Contains(s.player.Groups, id) {
			members = append(members, s.player)
		}
	}
	g.pending, g.leaving = 0, nil
	a.spawnGroup(g, id, append(members, leaving...))
	for _, p := range leaving {
		a.removeGone(g, p)
	}
	for _, s := range a.roster {
		switch {
		case s.op.group != id:
		case s.op.again:
			s.op = groupOp{}
			a.tellMembership(s, id)
			a.unstash(s)
		default:
			a.operate(g, s, groupOp{group: id, join: s.op.join, again: true})
		}
	}
	a.dropIfEmpty(g)
}

func removeOne(ids *[]messages.GroupID, id messages.GroupID) bool {
	for i, v := range *ids {
		if v == id {
			*ids = append((*ids)[:i], (*ids)[i+1:]...)
			return true
		}
	}
	return false
}
