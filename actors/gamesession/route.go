package gamesession

import "troupe/messages"

// destination is where an application message goes.
type destination uint8

const (
	toNobody destination = iota
	toServer
	toPlayer
	toGroup
)

// route decides where a message goes: first match wins (realtime.md 10). An
// op code 0 that is no login goes to the server only (D-137).
func route(op int32, targetPlayer messages.PeerID, targetGroup messages.GroupID) destination {
	switch {
	case targetPlayer == messages.ServerPeer || op == 0:
		return toServer
	case targetPlayer > 0:
		return toPlayer
	case targetGroup == messages.AllPlayers || targetGroup > 0:
		return toGroup
	default:
		return toNobody
	}
}

// peerIDs hands out peer ids: one more than the highest ever accepted or
// waiting. An id that was refused is handed out again if nobody came after it
// (D-128).
type peerIDs struct{ highest messages.PeerID }

func (p *peerIDs) next() messages.PeerID {
	p.highest++
	return p.highest
}

func (p *peerIDs) giveBack(id messages.PeerID) {
	if id == p.highest {
		p.highest--
	}
}
