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

// onGroupOperation asks the game whether to allow a join or a leave, and then forwards it to the group (realtime.md
// 11).
func (a *Actor) onGroupOperation(s *playerSession, id messages.GroupID, join bool) {
	if id <= 0 {
		a.drop(s, zerolog.WarnLevel, counters.DropBadGroup)
		return
	}
	if a.relay {
		a.changeGroup(s, id, join, true)
		return
	}
	name, decide := "onPlayerLeaveGroup", a.o.Handler.OnPlayerLeaveGroup
	if join {
		name, decide = "onPlayerJoinGroup", a.o.Handler.OnPlayerJoinGroup
	}
	ok, p := a.ask(name, func() script.Decision { return decide(id, s.player.Peer) })
	if p == nil {
		a.changeGroup(s, id, join, ok)
		return
	}
	s.gate = p
	a.await(p, gateLimit, func(ok bool) {
		if s.gate == p { // otherwise dropStash was called, because the player is gone
			s.gate = nil
			a.changeGroup(s, id, join, ok && a.phase <= ending)
			a.unstash(s)
		}
	})
}

func (a *Actor) changeGroup(s *playerSession, id messages.GroupID, join, ok bool) {
	if ok && join && !a.roomForGroup(s, id) {
		a.drop(s, zerolog.WarnLevel, counters.DropBadGroup)
		ok = false
	}
	g := a.groups[id]
	if !ok || g == nil && !join {
		a.tellMembership(s, id)
		return
	}
	if g == nil {
		g = &groupEntry{}
		a.groups[id] = g
		a.spawnGroup(g, id, nil)
	}
	a.operate(g, s, groupOp{group: id, join: join})
}

// roomForGroup checks the limits on groups. A player that is already a member may always join again.
func (a *Actor) roomForGroup(s *playerSession, id messages.GroupID) bool {
	if g := a.groups[id]; g != nil && g.handle.Members().Has(s.player) {
		return true
	}
	if a.o.GroupsPerPlayerMax > 0 && len(s.player.Groups) >= a.o.GroupsPerPlayerMax {
		return false
	}
	return a.groups[id] != nil || a.o.GroupsMax <= 0 || len(a.groups) < a.o.GroupsMax
}

// tellMembership sends the current members to the requester only.
func (a *Actor) tellMembership(s *playerSession, id messages.GroupID) {
	s.player.Give(a.c, group.Update(s.player, messages.ServerPeer, id, a.peersOf(id)))
}

// peersOf returns the peer ids of a group's members. It returns none for an unknown group.
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

func (a *Actor) spawnGroup(g *groupEntry, id messages.GroupID, members group.Snapshot) {
	self := a.c.Self()
	g.handle = &group.Handle{ID: id, Ref: a.c.Stage().NewRefBeside(self, counters.ActorGroup, stage.LaneLimits{})}
	a.groupRef[g.handle.Ref] = g
	a.c.Spawn(g.handle.Ref, group.New(g.handle, self, members))
}

// operate sends a player's operation to the group. The player's next packets wait until the group has answered.
func (a *Actor) operate(g *groupEntry, s *playerSession, op groupOp) {
	s.groupOp = op
	g.pending++
	if op.join {
		g.handle.Ref.Tell(group.Join{Player: s.player})
	} else {
		g.handle.Ref.Tell(group.Leave{Player: s.player})
	}
	a.c.Yield() // so that the group answers before the next message is handled
}

// removeGone makes a group remove a player that left the game.
func (a *Actor) removeGone(g *groupEntry, p *player.Handle) {
	g.pending++
	g.leaving = append(g.leaving, p)
	g.handle.Ref.Tell(group.Leave{Player: p, Gone: true})
}

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

// noteGroup updates the player's list of groups, from which a crashed group is rebuilt, and handles the packets that
// waited for the operation. If a player has left the game, noteGroup removes it from the group again.
func (a *Actor) noteGroup(g *groupEntry, p *player.Handle, joined bool) {
	id := g.handle.ID
	p.Groups = slices.DeleteFunc(p.Groups, func(g messages.GroupID) bool { return g == id })
	s := a.byPlayer[p]
	if s == nil || !s.inRoster() {
		if joined {
			a.removeGone(g, p)
		}
		return
	}
	if joined {
		p.Groups = append(p.Groups, id)
	}
	if s.groupOp.group == id {
		s.groupOp = groupOp{}
		a.unstash(s)
	}
}

// dropIfEmpty ends a group that has no members and no pending operations.
func (a *Actor) dropIfEmpty(g *groupEntry) {
	if len(g.handle.Members()) == 0 && g.pending == 0 && a.groups[g.handle.ID] == g {
		delete(a.groups, g.handle.ID)
		delete(a.groupRef, g.handle.Ref)
		g.handle.Ref.Stop()
	}
}

// replaceGroup restarts a crashed group. Its members are the players that list the group in player.Handle.Groups. After
// too many restarts the game session crashes (reliability.md 4). A pending operation is repeated once. An operation
// that was pending at two crashes is dropped, and its player continues without it.
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
		case s.groupOp.group != id:
		case s.groupOp.retry:
			s.groupOp = groupOp{}
			a.tellMembership(s, id)
			a.unstash(s)
		default:
			a.operate(g, s, groupOp{group: id, join: s.groupOp.join, retry: true})
		}
	}
	a.dropIfEmpty(g)
}
