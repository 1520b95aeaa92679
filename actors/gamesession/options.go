package gamesession

import (
	"time"

	"troupe/actors/bans"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// Options configure one game session. They must not change.
type Options struct {
	// Record is the new game session: ACTIVATING, without players. If Record is nil, the actor is a stand-by process,
	// which later gets its record by Assign.
	Record *messages.GameSession
	// Publisher publishes Record to the API. It is nil if Record is nil.
	Publisher *Publisher
	// Fleet receives the messages about player sessions and about the end of the game session.
	Fleet *stage.Ref
	// Handler is the game's logic.
	Handler script.Handler
	// Args are the launch parameters for OnProcessStarted.
	Args []string
	// Server says that players connect to a server process of their own (see server.go), which Handler stands for.
	Server bool
	// Resumed says that Record was running in an earlier process of the host. It goes on with the player sessions of
	// Publisher. Only a game session with Server can.
	Resumed bool
	// Log is the game session's own log. The actor closes it. If it is nil, the host's log is used.
	Log *script.Log

	Settings
}

// Settings are the operator's settings for all game sessions. The booleans are independent of each other.
type Settings struct {
	// Budget limits each player's outbox.
	Budget player.Budget
	// ReconnectWindow is how long a player without a connection is kept. 0 means strict mode.
	ReconnectWindow time.Duration
	// Takeover lets a second login replace a live connection at once. If it is false, a connection that answers a ping
	// within 2 s is not replaced.
	Takeover bool
	// Rejoin lets a player that left log in again as a new player with its old peer id.
	Rejoin bool
	// Acknowledge keeps written messages until the player confirms them.
	Acknowledge bool
	// SkipAmbiguous does not resend a message to a stock client if the message may already have arrived.
	SkipAmbiguous bool
	// PingInterval is the default for scripts that do not set a ping interval.
	PingInterval time.Duration
	// ActivationLimit is the time limit for OnStartGameSession. 0 means no limit.
	ActivationLimit time.Duration
	// EmptyTimeout ends a game session that has had no players for this time. 0 ends it as soon as the last player
	// leaves. A negative value never ends it.
	EmptyTimeout time.Duration
	// GroupsPerPlayerMax and GroupsMax limit the number of groups (reliability.md 5.2). 0 means no limit.
	GroupsPerPlayerMax int
	GroupsMax          int
	// InboundBytesPerSecond limits the total of reliable bytes that all players send to groups and to the game. 0 means
	// no limit.
	InboundBytesPerSecond int
	// DeliveriesPerSecond limits the deliveries that players cause. 0 means no limit.
	DeliveriesPerSecond int
	// ScriptDeliveriesPerSecond limits the deliveries of the game's own messages. 0 means no limit. Unreliable messages
	// over the limit are dropped. Reliable messages over the limit are delivered, but the game session is ended when
	// they exceed it by ten seconds' worth.
	ScriptDeliveriesPerSecond int
	// Alternates is set on a node of a cluster. Player session ids then end with the tag of their game session. See
	// player.Options.
	Alternates *player.Alternates
	// Bans lists the players that no game session accepts. Nil means that nobody is banned.
	Bans *bans.List
	// Announce enables packets that GameLift does not send.
	Announce Announce
	// Mailbox limits the messages queued for the game session.
	Mailbox stage.LaneLimits
}

// ReconnectWindowMax is the longest reconnect window (reliability.md 2.1).
const ReconnectWindowMax = 600 * time.Second

const (
	// playersMaxDefault applies to scripts that do not set a maximum.
	playersMaxDefault = 32 // D-134
	// pingIntervalDefault applies if neither the script nor the operator sets one.
	pingIntervalDefault = 3 * time.Second // D-135
	// endGrace is how long a game session may continue after ProcessEnding (realtime.md 15.4).
	endGrace = 10 * time.Second
	// gateLimit is the time limit for a decision of the game, loadLimit for loading the game, and terminateLimit for
	// OnProcessTerminate.
	gateLimit      = 10 * time.Second // D-116
	loadLimit      = 60 * time.Second
	terminateLimit = 5 * time.Minute // D-213
	// closeGrace is how long an ending game session waits for its player actors to stop.
	closeGrace = 3 * time.Second
	// healthInterval is the time between health checks; unhealthyMax failures in a row end the game session (realtime.md 15.4).
	healthInterval = 60 * time.Second
	// healthTurn divides the time of all health checks of a host. A check is up to healthTurn early.
	healthTurn   = 100 * time.Millisecond
	unhealthyMax = 3
	// stashMax limits the number of a player's packets that wait for a group operation or a decision of the game. A
	// group operation takes one batch of the shard.
	stashMax = 1024
	// A client that uses the extension gets an ack after ackEvery packets, or ackDelay after the first unacknowledged
	// packet (reliability.md 2.4).
	ackEvery = 16
	ackDelay = 150 * time.Millisecond
	// sendDebt is by how much the game's reliable messages may exceed their limit, in seconds' worth of that limit.
	sendDebt = 10
	// reasonMax limits the length of a reason given by the game, in bytes. The limit does not apply to the game's own
	// log.
	reasonMax = 1000
	// playerRestarts and groupRestarts limit how often a child may restart within restartWindow (reliability.md 4).
	playerRestarts = 3
	groupRestarts  = 10
	restartWindow  = 10 * time.Second
)
