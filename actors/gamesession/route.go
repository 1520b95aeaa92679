package gamesession

import "troupe/messages"

// destination is the kind of recipient of an application message.
type destination uint8

const (
	toNobody destination = iota
	toServer
	toPlayer
	toGroup
)

// route returns the destination of a message. The first matching rule applies (realtime.md 10). Messages with op code 0
// go to the server only.
func route(op int32, targetPlayer messages.PeerID, targetGroup messages.GroupID) destination {
	switch {
	case targetPlayer == messages.ServerPeer || op == 0: // D-137
		return toServer
	case targetPlayer > 0:
		return toPlayer
	case targetGroup == messages.AllPlayers || targetGroup > 0:
		return toGroup
	default:
		return toNobody
	}
}
