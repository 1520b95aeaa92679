package gamesession

import (
	"troupe/actors/group"
	"troupe/messages"
	"troupe/messages/wire"
)

// Announce enables packets that the protocol defines but GameLift does not send, because games announce players
// themselves. All are off by default.
type Announce struct {
	// AllPlayersGroup sends a membership update of group -1 to all players when a player joins or leaves.
	AllPlayersGroup bool
	// Players sends PLAYER_CONNECT and PLAYER_DISCONNECT to the other players.
	Players bool
	// LegacyLogin sends an empty packet with op code 0 after LOGIN_RESPONSE.
	LegacyLogin bool
}

func (a *Actor) announceJoin(s *playerSession) {
	if a.o.Announce.LegacyLogin { // D-112
		s.player.Give(a.c, wire.NewFrame(&wire.Header{OpCode: wire.OpLogin, Sender: wire.ServerPeer, TargetPlayer: int32(s.player.Peer)}))
	}
	if a.o.Announce.Players {
		for _, other := range a.roster {
			if other != s {
				other.player.Give(a.c, wire.NewPlayerConnect(int32(other.player.Peer), int32(s.player.Peer)))
			}
		}
	}
	a.announceAll()
}

func (a *Actor) announceLeave(s *playerSession) {
	if a.o.Announce.Players {
		for _, other := range a.roster {
			other.player.Give(a.c, wire.NewPlayerDisconnect(int32(other.player.Peer), int32(s.player.Peer)))
		}
	}
	a.announceAll()
}

func (a *Actor) announceAll() {
	if !a.o.Announce.AllPlayersGroup { // D-111
		return
	}
	peers := a.peersOf(messages.AllPlayers)
	for _, s := range a.roster {
		s.player.Give(a.c, group.Update(s.player, messages.ServerPeer, messages.AllPlayers, peers))
	}
}
