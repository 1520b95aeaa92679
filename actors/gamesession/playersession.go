package gamesession

import (
	"slices"
	"time"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// playerSession is the game session actor's state of one player session. The fields presence, record and rejoin change
// independently of each other.
type playerSession struct {
	player   *player.Handle
	durable  *player.Durable
	ref      *stage.Ref         // the player actor; nil once it has stopped
	view     *playerSessionView // the API's view
	presence presence
	record   recordState
	rejoin   rejoinState
	setting  bool                         // a change by the server process is being stored; only with Options.Server
	reported messages.PlayerSessionStatus // the status last sent to the fleet

	// Login and leave.
	loginGate *script.Pending // set while onPlayerConnect has not decided yet
	kick      *player.Kick    // set when the game has removed the player; otherwise nil

	// Traffic.
	epoch      messages.Epoch // epoch of the newest connection that has sent a packet
	received   uint64         // number of packets received in order, over all connections
	ackPending bool           // listed in Actor.acksPending
	groupOp    groupOp
	gate       *script.Pending // set while the game has not decided on a packet yet
	gated      *Inbound        // the packet that waits for gate; nil if gate is for a group operation
	stash      []*Inbound      // packets that wait for groupOp or gate

	reservedUntil time.Time // only with Options.Server

	rare *seldomUsed // see seldom
}

// seldomUsed holds fields that most player sessions never need.
type seldomUsed struct {
	restarts       restarts           // of the player actor
	nextLogin      *player.Login      // login that waits until the player actor has stopped
	afterRemoval   []func()           // functions to run after onPlayerDisconnect; nil while it is not running
	connectionEnds []player.Ended     // to be sent to the player actor once stash is empty
	lastEnd        lastEnd            // end of the last connection, or of the player's time in the game
	strayGroups    []messages.GroupID // groups to which the player sent messages without being a member; at most strayGroupsMax
	limited        []counters.Drop    // limits already reported to the game session's log for this player
}

// seldom returns the rarely used fields for writing. It allocates them if necessary.
func (s *playerSession) seldom() *seldomUsed {
	if s.rare == nil {
		s.rare = new(seldomUsed)
	}
	return s.rare
}

// has returns the rarely used fields for reading only.
func (s *playerSession) has() *seldomUsed {
	if s.rare == nil {
		return &unused
	}
	return s.rare
}

var unused seldomUsed // must never be changed

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
	reserved presence = iota // not in the game, and no login is waiting for a decision
	joining                  // a login waits for the game's decision; the player has a peer id and counts in Actor.joining
	playing                  // in the roster
	leaving                  // in the roster until onPlayerDisconnect returns
	gone                     // no longer in the game; the player actor may not have stopped yet
)

type recordState uint8

const (
	recordPending recordState = iota // being stored, so not visible yet
	recordStored
	recordRefused // the store has refused the record; the player session ends and is forgotten
)

// rejoinState says whether a player that left may log in again.
type rejoinState uint8

const (
	rejoinBarred  rejoinState = iota // the player has not left, or was removed
	rejoinAllowed                    // the player left on its own
	rejoining                        // the player is logging in again and is not accepted yet
)

// inRoster reports whether the player is in the roster, that is, in the game.
func (s *playerSession) inRoster() bool { return s.presence == playing || s.presence == leaving }

// startJoining assigns a peer id to the player for the time until the game has decided on its login.
func (a *Actor) startJoining(s *playerSession) {
	s.presence = joining
	a.joining++
	if s.rejoin != rejoining {
		a.highestPeer++
		s.player.Peer = a.highestPeer
	}
	a.byPeer[s.player.Peer] = s
}

// stopJoining takes back the peer id of a login that was not accepted. It also drops the messages that the game has
// sent to that player.
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

// startRejoin prepares the next login of a player that left. The player gets a new handle but keeps its peer id.
func (s *playerSession) startRejoin(h *player.Handle) {
	h.Peer = s.player.Peer
	s.player, s.durable = h, player.NewRejoinDurable(h)
	s.presence, s.rejoin = reserved, rejoining
	s.kick, s.epoch = nil, 0
}

// allowRejoin sets whether the player may log in again after it has left the game.
func (s *playerSession) allowRejoin(ok bool) {
	s.rejoin = rejoinBarred
	if ok {
		s.rejoin = rejoinAllowed
	}
}
