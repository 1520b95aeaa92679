package script

import (
	"time"

	"troupe/messages"
)

// Configuration is what a script requests from its host (realtime.md 15.3). Zero values mean the defaults.
type Configuration struct {
	// PingInterval is the time between WebSocket pings. The default is 3 s (D-135).
	PingInterval time.Duration
	// ReconnectWindow is how long the game session waits for a lost player, 0 to 600 s. A game property takes
	// precedence. nil means the operator's setting (D-1).
	ReconnectWindow *time.Duration
	// MaxPlayers is the maximum number of players at a time, in addition to the game session's own limit. The
	// default is 32 (D-134).
	MaxPlayers int
}

// Handler is the logic of a game. Base returns the same results as a script without the callback. Methods of
// one Handler are called one at a time. Their arguments are valid only during the call, unless stated
// otherwise. A Handler may also implement Loader, Closer and Stopper.
type Handler interface {
	// Init passes the session object. If it returns an error, the game session does not start.
	Init(s Session) error
	// Configuration is called once, after Init.
	Configuration() Configuration
	// OnProcessStarted is called after Init. After Refuse, the process never becomes ready.
	OnProcessStarted(args []string) Decision
	// OnStartGameSession is called before the game session becomes ACTIVE. After Refuse or a panic, the game
	// session ends (D-115).
	OnStartGameSession(g *messages.GameSession) Decision
	// OnUpdateGameSession reports the result of a backfill request (flexmatch.md 16). With
	// messages.MatchDataUpdated, the matchmaker data has changed.
	OnUpdateGameSession(g *messages.GameSession, u Update)
	// OnHealthCheck is called every 60 s. Refuse means that the process is unhealthy.
	OnHealthCheck() Decision
	// OnProcessTerminate is called when the host ends the process. Messages sent before the decision,
	// whatever it is, still reach the players.
	OnProcessTerminate() Decision
	// OnPlayerConnect decides on a login.
	OnPlayerConnect(m *ConnectMessage) Decision
	// OnPlayerAccepted is called after LOGIN_RESPONSE. From then on, Players contains the player.
	OnPlayerAccepted(p Player)
	// OnPlayerDetached is called when the connection of an accepted player is lost. Hold waits for the player
	// until the reconnect window ends. After Release, OnPlayerDisconnect follows. reason is for logs. Base
	// holds.
	OnPlayerDetached(peer messages.PeerID, reason string) Decision
	// OnPlayerReconnected is called when a player has a new connection, after the missed messages were sent.
	OnPlayerReconnected(peer messages.PeerID, info Reconnected)
	// OnPlayerDisconnect is called once when an accepted player is finally removed. Players contains the
	// player until the decision, whatever it is.
	OnPlayerDisconnect(peer messages.PeerID) Decision
	// OnMessage gets a message to the server. Base drops it.
	OnMessage(m *Message)
	// OnSendToPlayer decides on a message from a player to a player.
	OnSendToPlayer(m *Message) Decision
	// OnSendToGroup decides on a message from a player to a group.
	OnSendToGroup(m *Message) Decision
	// OnPlayerJoinGroup decides on a player's request to join a group.
	OnPlayerJoinGroup(group messages.GroupID, peer messages.PeerID) Decision
	// OnPlayerLeaveGroup decides on a player's request to leave a group.
	OnPlayerLeaveGroup(group messages.GroupID, peer messages.PeerID) Decision
}

// Stopper is implemented by a Handler whose calls may take long. Stop makes the call in progress end soon. It
// is safe for concurrent use and may be called more than once.
type Stopper interface {
	Stop(reason string)
}

// Update is the result of a backfill request.
type Update struct {
	Reason   messages.UpdateReason
	TicketID messages.TicketID
}

// Reconnected describes how a player reconnected.
type Reconnected struct {
	Resent   int           // number of messages sent again
	Lost     uint64        // number of messages lost, because they exceeded what the host keeps for a player
	Away     time.Duration // time since the connection was lost; 0 if it was replaced before that
	Takeover bool          // a new connection replaced the old one, so OnPlayerDetached was not called
}

// Player is an accepted player.
type Player struct {
	PeerID          messages.PeerID
	PlayerSessionID messages.PlayerSessionID
	PlayerID        messages.PlayerID // the original does not show this ID or PlayerData to scripts (D-6)
	PlayerData      string
}

// ConnectMessage is the login on which OnPlayerConnect decides.
type ConnectMessage struct {
	Player  Player
	Payload []byte // payload of the LOGIN; may be empty; the receiver may keep it
}

// Message is an application message (realtime.md 17).
type Message struct {
	OpCode       int32
	Sender       messages.PeerID // the actual sender
	TargetPlayer messages.PeerID
	TargetGroup  messages.GroupID
	Reliable     bool   // whether it arrived on the reliable channel
	Payload      []byte // read-only, and valid only during the call; copy it to keep it
}

// Text returns the payload as a string.
func (m *Message) Text() string { return string(m.Payload) }

// Outgoing is a message that a script sends. The same value may be sent many times.
type Outgoing struct {
	OpCode  int32
	Sender  messages.PeerID
	Payload []byte // at most 65536 bytes; a larger one is refused with a warning
}

// Target is the destination of a message and the way it is sent.
type Target struct {
	How How
	ID  int32 // peer ID of the player, or ID of the group; messages.AllPlayers means all players
}

// How is how a message is sent: to a player or a group, over the fast or the reliable channel.
type How uint8

// Bits of a How. realtime.js uses the same values.
const (
	HowReliable How = 1 << iota
	HowGroup
	howEnd
)

// Valid reports whether h is a valid combination of bits.
func (h How) Valid() bool { return h < howEnd }

// ToPlayer returns a player as the target, over the fast channel. If the player has no fast channel, the
// reliable one is used.
func ToPlayer(peer messages.PeerID) Target { return Target{0, int32(peer)} }

// ToGroup returns the members of a group as the target, otherwise like ToPlayer.
func ToGroup(group messages.GroupID) Target { return Target{HowGroup, int32(group)} }

// Reliably returns the same target over the reliable channel.
func (t Target) Reliably() Target { t.How |= HowReliable; return t }

// Session is the session object of realtime.md 16. Except for Do, its methods may only be called in
// callbacks.
type Session interface {
	// Players returns the accepted players in order of acceptance.
	Players() []Player
	Logger() *Log
	// Send sends a message to a player, or to each member of a group. It never fails: a target that does not
	// exist is logged and skipped.
	Send(m Outgoing, to Target)
	// BroadcastGroupMembershipUpdate sends the list of the members of group to every member of to.
	BroadcastGroupMembershipUpdate(group, to messages.GroupID)
	// KickPlayer removes a player. OnPlayerDisconnect follows.
	KickPlayer(peer messages.PeerID, reason string)
	// StartMatchBackfill asks the matchmaker for more players (flexmatch.md 16.3) and returns the ticket.
	// OnUpdateGameSession reports the result. The ticket is "" if the game session has not started or is
	// ending, or after more than 20 requests within 10 s.
	StartMatchBackfill() messages.TicketID
	// StopMatchBackfill cancels the pending backfill request, and stops automatic backfill.
	StopMatchBackfill()
	// ProcessEnding stops logins. If the script does not call Exit, the host ends the game session 10 s
	// later.
	ProcessEnding()
	// Exit ends the game session when the callback returns. Without an earlier ProcessEnding, or with a code
	// other than 0, it counts as a crash.
	Exit(code int)
	// Crash ends the game session as one whose process has crashed. The reason is for operators.
	Crash(reason string)
	// After calls f once after d, between callbacks.
	After(d time.Duration, f func()) Timer
	// Do makes f be called soon, between callbacks. It returns false if the game session has ended. It is
	// safe for concurrent use.
	Do(f func()) bool
}

// Timer calls a function of a handler once. It ends with the game session. Only the handler may use it.
type Timer interface {
	// Reset makes the function be called once after d, also if it was called before.
	Reset(d time.Duration)
	// Stop prevents the call.
	Stop()
}
