package messages

import (
	"net/netip"
	"time"
)

// Ban keeps a player out of all game sessions for a time. It is stored as JSON.
type Ban struct {
	Player PlayerID
	Until  time.Time
	Reason string
	By     string // who has banned the player, shortened
}

// Cause says that a player is kept out or removed because of this ban, for logs.
func (b Ban) Cause() string { return "banned " + ByOperator(b.By, b.Reason) }

// NoReason is the reason of an operator who gives none.
const NoReason = "removed by an operator"

// ByOperator says which operator has done something to a player, and why.
func ByOperator(who, reason string) string {
	text := "by an operator (" + who + ")"
	if reason == "" || reason == NoReason {
		return text
	}
	return text + ": " + reason
}

// ClosedConnection is a connection that has ended, for operators.
type ClosedConnection struct {
	At            time.Time
	Lasted        time.Duration
	Transport     string
	Address       netip.AddrPort
	PlayerID      PlayerID        // empty: nobody has logged in on it
	PlayerSession PlayerSessionID // likewise
	Peer          PeerID          // likewise
	Reason        string          // as games are told
	By            string          // host, client or network
	Detail        string          // the network's error, or why the game or an operator has removed the player; empty: there is none
}
