package gamesession

import (
	"time"

	"troupe/actors/bans"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// Options configure one game session. Values are set once.
type Options struct {
	// Record is the new game session: ACTIVATING, no players. Nil makes a stand-by process, which gets its record by Assign.
	Record *messages.GameSession
	// Publisher publishes Record to the API; nil without a Record.
	Publisher *Publisher
	// Fleet receives the messages about player sessions and the end.
	Fleet *stage.Ref
	// Handler is the game's logic.
	Handler script.Handler
	// Args are the launch parameters, for OnProcessStarted.
	Args []string
	// Log is the game session's own log, which the actor closes. Nil: the host's log.
	Log *script.Log

	Settings
}

// Settings are the operator's settings for all game sessions. The booleans are independent.
type Settings struct {
	// Budget bounds each player's outbox.
	Budget player.Budget
	// ReconnectWindow is how long a player without a connection is kept; 0 is strict mode.
	ReconnectWindow time.Duration
	// Takeover lets a second login replace a live connection at once; without it, one that answers a ping within 2 s stays.
	Takeover bool
	// Rejoin lets a player that has left log in again, as a new one with its old peer id.
	Rejoin bool
	// Acknowledge keeps written messages until the player confirms them.
	Acknowledge bool
	// SkipAmbiguous does not send a message to a stock client again if it may have arrived.
	SkipAmbiguous bool
	// PingInterval is the default for scripts that set none.
	PingInterval time.Duration
	// ActivationLimit is how long OnStartGameSession may take; 0 is no limit.
	ActivationLimit time.Duration
	// EmptyTimeout ends a game session without players for this time. 0: when the last one leaves; negative: never.
	EmptyTimeout time.Duration
	// GroupsPerPlayerMax and GroupsMax limit groups (reliability.md 5.2). 0 is no limit.
	GroupsPerPlayerMax int
	GroupsMax          int
	// InboundBytesPerSecond limits the reliable bytes of all players together to groups and the game; 0 is no limit.
	InboundBytesPerSecond int
	// DeliveriesPerSecond limits the deliveries that players cause; 0 is no limit.
	DeliveriesPerSecond int
	// ScriptDeliveriesPerSecond limits deliveries of the game's own messages; 0 is no limit.
	// Unreliable messages above it are dropped. A game session is ended when its reliable
	// messages exceed the limit by ten seconds' worth.
	ScriptDeliveriesPerSecond int
	// Bans are the players that no game session lets in; nil: none.
	Bans *bans.List
	// Announce switches on packets that GameLift does not send.
	Announce Announce
	// Mailbox limits the messages that wait for the game session.
	Mailbox stage.LaneLimits
}

// ReconnectWindowMax is the longest reconnect window (reliability.md 2.1).
const ReconnectWindowMax = 600 * time.Second

const (
	// playersMaxDefault applies to scripts that set no maximum.
	playersMaxDefault = 32 // D-134
	// pingIntervalDefault applies if neither the script nor the operator sets one.
	pingIntervalDefault = 3 * time.Second // D-135
	// endGrace is how long a game session may go on after ProcessEnding (realtime.md 15.4).
	endGrace = 10 * time.Second
	// gateLimit is the time for a game's decision, loadLimit for loading it, terminateLimit for OnProcessTerminate.
	gateLimit      = 10 * time.Second // D-116
	loadLimit      = 60 * time.Second
	terminateLimit = 5 * time.Minute // D-213
	// closeGrace is how long an ending game session waits for its player actors to stop.
	closeGrace = 3 * time.Second
	// healthInterval is the time between health checks; unhealthyMax failures in a row end the game session (realtime.md 15.4).
	healthInterval = 60 * time.Second
	unhealthyMax   = 3
	// stashMax is how many of a player's packets may wait for its group operation, which takes one batch of the shard, or a decision.
	stashMax = 1024
	// A client of the extension gets an ack after ackEvery packets, or ackDelay after the first (reliability.md 2.4).
	ackEvery = 16
	ackDelay = 150 * time.Millisecond
	// sendDebt is by how many seconds' worth the game's reliable messages may exceed their limit.
	sendDebt = 10
	// reasonMax bounds a reason that the game gives, outside the game's log, in bytes.
	reasonMax = 1000
	// playerRestarts and groupRestarts are how often a child may restart within restartWindow (reliability.md 4).
	playerRestarts = 3
	groupRestarts  = 10
	restartWindow  = 10 * time.Second
)
