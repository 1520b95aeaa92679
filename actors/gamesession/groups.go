package gamesession

import (
	"time"

	"troupe/actors/group"
	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// onJoinGroup asks the game and has the group add the player (realtime.md 11).
func (a *Actor) onJoinGroup(s *seat, id messages.GroupID) {
	if id <= 0 {
		a.c.Counters().Dropped.Add(counters.DropBadGroup, 1)
		return
	}
	ok := true
	if !a.relay {
		ok = false
		a.callback("onPlayerJoinGroup", func() { ok = a.o.Handler.OnPlayerJoinGroup(id, s.player.Peer) })
	}
	if ok && !a.roomForGroup(s, id) {
		a.c.Counters().Dropped.Add(counters.DropBadGroup, 1)
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
	a.tellGroup(g, group.Join{Player: s.player})
	s.pending = append(s.pending, id)
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
		a.c.Counters().Dropped.Add(counters.DropBadGroup, 1)
		return
	}
	ok := true
	if !a.relay {
		ok = false
		a.callback("onPlayerLeaveGroup", func() { ok = a.o.Handler.OnPlayerLeaveGroup(id, s.player.Peer) })
	}
	g := a.groups[id]
	if !ok || g == nil {
		a.tellMembership(s, id)
		return
	}
	a.tellGroup(g, group.Leave{Player: s.player})
	s.pending = append(s.pending, id)
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
	g := &groupEntry{handle: &group.Handle{ID: id}}
	a.groups[id] = g
	a.spawnGroup(g, nil)
	return g
}

func (a *Actor) spawnGroup(g *groupEntry, members group.Snapshot) {
	self := a.c.Self()
	g.handle.Ref = a.c.Stage().NewRefBeside(self, counters.ActorGroup, stage.LaneLimits{})
	a.groupRef[g.handle.Ref] = g
	a.c.Spawn(g.handle.Ref, group.New(g.handle, self, members))
}

// tellGroup sends an operation whose answer is counted.
func (a *Actor) tellGroup(g *groupEntry, op any) {
	g.pending++
	g.handle.Ref.Tell(op)
}

func leaveGone(p *player.Handle) group.Leave { return group.Leave{Player: p, Gone: true} }

// onGroupChanged notes what a group did and lets the player go on.
func (a *Actor) onGroupChanged(m group.Changed) {
	g := a.groups[m.Group.ID]
	if g == nil || g.handle != m.Group {
		return
	}
	g.pending--
	if s := a.byPlayer[m.Player]; s != nil && !m.Gone {
		a.noteGroup(g, s, m.Joined)
		removeOne(&s.pending, m.Group.ID)
		a.unstash(s)
	}
	if len(g.handle.Members()) == 0 && g.pending == 0 {
		delete(a.groups, g.handle.ID)
		delete(a.groupRef, g.handle.Ref)
		g.handle.Ref.Stop()
	}
}

// noteGroup keeps the player's own list of groups, from which a crashed group
// is rebuilt. A player that left meanwhile is taken out again.
func (a *Actor) noteGroup(g *groupEntry, s *seat, joined bool) {
	removeOne(&s.player.Groups, g.handle.ID)
	switch {
	case joined && s.in:
		s.player.Groups = append(s.player.Groups, g.handle.ID)
	case joined:
		a.tellGroup(g, leaveGone(s.player))
	}
}

// replaceGroup restarts a crashed group with the members that the players know
// of; over the limit the game session crashes (reliability.md 4). Operations
// that were lost with it are forgotten, and their players go on.
func (a *Actor) replaceGroup(g *groupEntry) {
	if a.phase >= closing {
		return
	}
	if !g.restarts.allow(time.Now().UnixNano(), groupRestarts) {
		a.crash("group restarted too often")
		return
	}
	a.c.Counters().Restarts.Add(counters.ActorGroup, 1)
	var members group.Snapshot
	for _, s := range a.roster {
		for _, id := range s.player.Groups {
			if id == g.handle.ID {
				members = append(members, s.player)
			}
		}
	}
	g.pending = 0
	a.spawnGroup(g, members)
	for _, s := range a.roster {
		for removeOne(&s.pending, g.handle.ID) {
		}
		a.unstash(s)
	}
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
