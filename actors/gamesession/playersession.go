package gamesession

import (
	"slices"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// playerSession is a player session of the game session's actor. Presence, record and rejoin change independently.
type playerSession struct {
	player   *player.Handle
	durable  *player.Durable
	ref      *stage.Ref         // of the player actor; nil once that has stopped
	view     *playerSessionView // as the API shows it
	presence presence
	record   recordState
	rejoin   rejoinState
	reported messages.PlayerSessionStatus // the last status that was sent to the fleet

	// Login and leave.
	loginGate *script.Pending // open while onPlayerConnect takes time
	kick      *player.Kick    // the game has removed the player; nil if it has not

	// Traffic.
	epoch      messages.Epoch // of the newest connection that has sent a packet
	received   uint64         // packets in order, of all connections
	ackPending bool           // listed in Actor.acksPending
	groupOp    groupOp
	gate       *script.Pending // open while the game decides on a packet
	gated      *Inbound        // the packet that waits for gate; nil for a group operation
	stash      []*Inbound      // packets that wait for groupOp or gate

	rare *seldomUsed // see seldom
}

// seldomUsed is what most player sessions never have.
type seldomUsed struct {
	restarts       restarts           // of the player actor
	nextLogin      *player.Login      // waits until the player actor has stopped
	afterRemoval   []func()           // run when onPlayerDisconnect is over; nil while it does not run
	connectionEnds []player.Ended     // to be passed on once stash is empty
	lastEnd        lastEnd            // of its last connection, or of its stay in the game
	strayGroups    []messages.GroupID // groups to which the player has sent without being a member; at most strayGroupsMax
	limited        []counters.Drop    // limits of which the game session's log has said that the player was over them
}

// seldom returns what is seldom used, to be changed.
func (s *playerSession) seldom() *seldomUsed {
	if s.rare == nil {
		s.rare = new(seldomUsed)
	}
	return s.rare
}

// has returns what is seldom used, to be read only.
func (s *playerSession) has() *seldomUsed {
	if s.rare == nil {
		return &unused
	}
	return s.rare
}

var unused seldomUsed // never changed

// presence says whether a player is in the game.
//
//	reserved -> joining           startJoining
//	joining  -> reserved          stopJoining: not accepted
//	joining  -> playing           enter
//	playing  -> leaving -> gone   remove, leave; without leaving if no callback runs
//	gone     -> reserved          startRejoin
//	reserved -> gone              remove: its actor has crashed too often
type presence uint8

const (
	reserved presence = iota // not in the game; no login is being decided
	joining                  // the game decides on a login: the player has a peer id and counts in Actor.joining
	playing                  // in the roster
	leaving                  // in the roster until onPlayerDisconnect is over
	gone                     // out of the game; the player actor may not have stopped yet
)

type recordState uint8

const (
	recordPending recordState = iota // being stored: not visible yet
	recordStored
	recordRefused // the store has refused it: the player session ends and is forgotten
)

// rejoinState says whether a player that has left may log in again.
type rejoinState uint8

const (
	rejoinBarred  rejoinState = iota // it has not left, or was removed
	rejoinAllowed                    // it left on its own
	rejoining                        // it logs in again and is not accepted yet
)

// inRoster reports whether the player is in the game.
func (s *playerSession) inRoster() bool { return s.presence == playing || s.presence == leaving }

// startJoining gives the player a peer id until the game has decided on its login.
func (a *Actor) startJoining(s *playerSession) {
	s.presence = joining
	a.joining++
	if s.rejoin != rejoining {
		a.highestPeer++
		s.player.Peer = a.highestPeer
	}
	a.byPeer[s.player.Peer] = s
}

// stopJoining takes back the peer id of a login that was not accepted, and drops what the game has sent to it.
func (a *Actor) stopJoining(s *playerSession) {
	s.presence, s.loginGate = reserved, nil
	a.joining--
	delete(a.byPeer, s.player.Peer)
	if s.rejoin != rejoining { // a player that rejoins keeps its peer id (RL-9)
		if s.player.Peer == a.highestPeer { // D-128
			a.highestPeer--
		}
		s.player.Peer = 0
	}
	s.player.Out.DropHeld() // D-121
}

func (a *Actor) enter(s *playerSession) {
	s.presence = playing
	a.joining--
	a.roster = append(a.roster, s)
	a.inflow.SetPlayers(len(a.roster))
}

func (a *Actor) leave(s *playerSession) {
	s.presence = gone
	delete(a.byPeer, s.player.Peer)
	a.roster = slices.DeleteFunc(slices.Clone(a.roster), func(o *playerSession) bool { return o == s })
	a.inflow.SetPlayers(len(a.roster))
}

// startRejoin gives a player that has left a new handle for its next login; it keeps its peer id.
func (s *playerSession) startRejoin(h *player.Handle) {
	h.Peer = s.player.Peer
	s.player, s.durable = h, player.NewRejoinDurable(h)
	s.presence, s.rejoin = reserved, rejoining
	s.kick, s.epoch = nil, 0
}

// allowRejoin sets whether the player may log in again once it is out of the game.
func (s *playerSession) allowRejoin(ok bool) {
	s.rejoin = rejoinBarred
	if ok {
		s.rejoin = rejoinAllowed
	}
}
