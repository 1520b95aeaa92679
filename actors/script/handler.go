package script

import (
	"time"

	"troupe/messages"
)

// Configuration is what a script asks of its host (realtime.md 15.3). Zero values mean the defaults.
type Configuration struct {
	// PingInterval is the time between WebSocket pings; default 3 s (D-135).
	PingInterval time.Duration
	// ReconnectWindow is how long a lost player is waited for, 0 to 600 s, unless a game property says so; nil: as the operator says (D-1).
	ReconnectWindow *time.Duration
	// MaxPlayers bounds the players in the game at a time, besides the game session's own maximum; default 32 (D-134).
	MaxPlayers int
}

// Handler is a game's logic; Base gives the results of a script that lacks the callback. Methods of one Handler are called one at a time.
// What they receive is valid during the call unless said otherwise. A handler that also is a Loader, Closer or Stopper is used as such.
type Handler interface {
	// Init hands over the session object. An error: the game session does not start.
	Init(s Session) error
	// Configuration is read once, after Init.
	Configuration() Configuration
	// OnProcessStarted comes after Init. Refuse: the process never becomes ready.
	OnProcessStarted(args []string) Decision
	// OnStartGameSession comes before the game session is ACTIVE. Refuse, or a panic: it ends (D-115).
	OnStartGameSession(g *messages.GameSession) Decision
	// OnUpdateGameSession tells what became of a backfill request (flexmatch.md 16). With messages.MatchDataUpdated, matchmaker data is new.
	OnUpdateGameSession(g *messages.GameSession, u Update)
	// OnHealthCheck is asked every 60 s. Refuse: the process is unhealthy.
	OnHealthCheck() Decision
	// OnProcessTerminate comes when the host ends the process. What is sent before the decision, whichever, reaches the players.
	OnProcessTerminate() Decision
	// OnPlayerConnect is the gate of a login. Refuse: the login is refused.
	OnPlayerConnect(m *ConnectMessage) Decision
	// OnPlayerAccepted comes after LOGIN_RESPONSE; Players contains the player.
	OnPlayerAccepted(p Player)
	// OnPlayerDetached comes when the connection of an accepted player is lost. Hold waits for it, as long as the reconnect window lasts.
	// After Release, OnPlayerDisconnect follows. Reason is for logs. Base holds.
	OnPlayerDetached(peer messages.PeerID, reason string) Decision
	// OnPlayerReconnected comes when a player has another connection than before, after what it missed was sent.
	OnPlayerReconnected(peer messages.PeerID, info Reconnected)
	// OnPlayerDisconnect comes once when an accepted player is out for good; Players contains it until the decision, whichever.
	OnPlayerDisconnect(peer messages.PeerID) Decision
	// OnMessage takes a message to the server. Base drops it.
	OnMessage(m *Message)
	// OnSendToPlayer is the gate of a player's message to a player.
	OnSendToPlayer(m *Message) Decision
	// OnSendToGroup is the gate of a player's message to a group.
	OnSendToGroup(m *Message) Decision
	// OnPlayerJoinGroup is the gate of a group join.
	OnPlayerJoinGroup(group messages.GroupID, peer messages.PeerID) Decision
	// OnPlayerLeaveGroup is the gate of a group leave.
	OnPlayerLeaveGroup(group messages.GroupID, peer messages.PeerID) Decision
}

// Stopper is a Handler whose calls may take long. Stop, from any goroutine and more than once, soon ends the call under way.
type Stopper interface {
	Stop(reason string)
}

// Update tells what became of a backfill request.
type Update struct {
	Reason   messages.UpdateReason
	TicketID messages.TicketID
}

// Reconnected tells how a player came back.
type Reconnected struct {
	Resent   int           // messages sent once more
	Lost     uint64        // messages that were more than may be kept for a player
	Away     time.Duration // since the loss; 0 if the connection was replaced before it was lost
	Takeover bool          // it was replaced: OnPlayerDetached has not come
}

// Player is an accepted player.
type Player struct {
	PeerID          messages.PeerID
	PlayerSessionID messages.PlayerSessionID
	PlayerID        messages.PlayerID // the original hides these two (D-6)
	PlayerData      string
}

// ConnectMessage is what OnPlayerConnect decides on.
type ConnectMessage struct {
	Player  Player
	Payload []byte // of the LOGIN; empty if none; the receiver may keep it
}

// Message is one application message (realtime.md 17).
type Message struct {
	OpCode       int32
	Sender       messages.PeerID // the true one
	TargetPlayer messages.PeerID
	TargetGroup  messages.GroupID
	Reliable     bool   // the channel it arrived on
	Payload      []byte // valid during the call, not to be changed; copy to keep
}

// Text returns the payload as a string.
func (m *Message) Text() string { return string(m.Payload) }

// Outgoing is a message that a script makes. It may be sent many times.
type Outgoing struct {
	OpCode  int32
	Sender  messages.PeerID
	Payload []byte // at most 65536 bytes; more is refused with a warning
}

// Target is where a message goes, and how.
type Target struct {
	How How
	ID  int32 // of the player or the group; messages.AllPlayers is all
}

// How is how a message goes: to a player or a group, over the fast or the reliable channel.
type How uint8

// Bits of a How, as realtime.js has them.
const (
	HowReliable How = 1 << iota
	HowGroup
	howEnd
)

// Valid reports whether there is such a way.
func (h How) Valid() bool { return h < howEnd }

// ToPlayer is a player, over the fast channel, or the reliable one where there is none.
func ToPlayer(peer messages.PeerID) Target { return Target{0, int32(peer)} }

// ToGroup is ToPlayer for each member of a group.
func ToGroup(group messages.GroupID) Target { return Target{HowGroup, int32(group)} }

// Reliably is the same target over the reliable channel.
func (t Target) Reliably() Target { t.How |= HowReliable; return t }

// Session is the session object of realtime.md 16. Except for Do, its methods are for callbacks only.
type Session interface {
	// Players returns the accepted players in order of acceptance.
	Players() []Player
	Logger() *Log
	// Send sends a message, to a group to each member. It never fails: a target that is not there is logged and left out.
	Send(m Outgoing, to Target)
	// BroadcastGroupMembershipUpdate sends the members of group to every member of to.
	BroadcastGroupMembershipUpdate(group, to messages.GroupID)
	// KickPlayer removes a player; OnPlayerDisconnect follows.
	KickPlayer(peer messages.PeerID, reason string)
	// StartMatchBackfill asks matchmaking for more players (flexmatch.md 16.3), and returns the ticket, of which OnUpdateGameSession tells
	// more. Empty: the game session is not there yet or ends, or more than 20 requests came within 10 s.
	StartMatchBackfill() messages.TicketID
	// StopMatchBackfill ends the backfill request under way, and automatic backfill.
	StopMatchBackfill()
	// ProcessEnding stops logins. Without an Exit, the host ends the game session 10 s later.
	ProcessEnding()
	// Exit ends the game session when the callback is over. Without ProcessEnding before, or with another code than 0, it is a crash.
	Exit(code int)
	// Crash is Exit for one whose process failed, with words for operators.
	Crash(reason string)
	// After calls f once after d, between callbacks. The result stops it.
	After(d time.Duration, f func()) (stop func())
	// Do calls f between callbacks, soon; false: the game session is over. It may be called from any goroutine.
	Do(f func()) bool
}
