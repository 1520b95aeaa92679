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

// route returns the destination of a message; the first rule that matches wins (realtime.md
// 10). A message with op code 0 goes to the server only.
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

// peerIDs assigns peer ids in rising order. The id of a refused login is assigned again if
// no higher one has been assigned since.
type peerIDs struct{ highest messages.PeerID }

func (p *peerIDs) next() messages.PeerID {
	p.highest++
	return p.highest
}

func (p *peerIDs) giveBack(id messages.PeerID) { // D-128
	if id == p.highest {
		p.highest--
	}
}
