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

// route returns where a message goes; the first rule that matches wins (realtime.md 10). Op code 0 goes to the server only.
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
