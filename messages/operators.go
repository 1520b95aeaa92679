package messages

import (
	"net/netip"
	"time"
)

// Ban excludes a player from all game sessions for some time. It is stored as JSON.
type Ban struct {
	Player PlayerID
	Until  time.Time
	Reason string
	By     string // the operator who banned the player, shortened
}

// Cause returns a text for logs. It says that a player was refused or removed because of this ban.
func (b Ban) Cause() string { return "banned " + ByOperator(b.By, b.Reason) }

// NoReason is used as the reason if an operator gives none.
const NoReason = "removed by an operator"

// ByOperator returns a text that says which operator did something to a player, and why.
func ByOperator(who, reason string) string {
	text := "by an operator (" + who + ")"
	if reason == "" || reason == NoReason {
		return text
	}
	return text + ": " + reason
}

// ClosedConnection describes a connection that has ended, for operators.
type ClosedConnection struct {
	At            time.Time
	Lasted        time.Duration
	Transport     string
	Address       netip.AddrPort
	PlayerID      PlayerID        // empty if nobody logged in on the connection
	PlayerSession PlayerSessionID // empty if nobody logged in
	Peer          PeerID          // 0 if nobody logged in
	Reason        string          // the reason as passed to games
	By            string          // host, client or network
	Detail        string          // the network error, or the reason why the game or an operator removed the player; may be empty
}
