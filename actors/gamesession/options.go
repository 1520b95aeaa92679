package gamesession

import (
	"time"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// Options configure one game session. Values are set once.
type Options struct {
	// Record is how the game session begins: ACTIVATING, no players. Nil: a process
	// without a game session, which gets one by Assign.
	Record *messages.GameSession
	// Published shows the record to the API; nil without one.
	Published *Published
	// Fleet is told of player sessions and of the end.
	Fleet *stage.Ref
	// Handler is the game's logic.
	Handler script.Handler
	// Args are the launch parameters, for OnProcessStarted (D-117).
	Args []string
	// Log is the game session's own log, which it closes; nil writes to the host's.
	Log *script.Log

	Settings
}

// Settings are what the operator chooses for all game sessions.
type Settings struct {
	// Budget bounds each player's outbox.
	Budget player.Budget
	// ReconnectWindow is how long a lost player is waited for; 0 is strict mode.
	ReconnectWindow time.Duration
	// Takeover lets a second login win at once over a connection that looks alive;
	// otherwise that has 2 s for a sign of life.
	Takeover bool
	// Rejoin lets a player that has left come back as a new one.
	Rejoin bool
	// Acknowledge keeps what was written until the player confirms it.
	Acknowledge bool
	// SkipAmbiguous does not send again to a stock client what may have arrived.
	SkipAmbiguous bool
	// PingInterval is the default of scripts that do not say (D-135).
	PingInterval time.Duration
	// ActivationLimit is how long OnStartGameSession may take (D-205); 0
	// is no limit.
	ActivationLimit time.Duration
	// EmptyTimeout ends a game session that has had no players for so long; 0
	// when the last one leaves, negative never.
	EmptyTimeout time.Duration
	// GroupsPerPlayerMax and GroupsMax bound groups (reliability.md 5.2).
	GroupsPerPlayerMax int
	GroupsMax          int
	// InboundBytesPerSecond bounds the reliable bytes that players send to groups and to
	// the game together; 0 is no bound.
	InboundBytesPerSecond int
	// DeliveriesPerSecond bounds the deliveries that players cause; 0 is no bound.
	DeliveriesPerSecond int
	// ScriptDeliveriesPerSecond bounds those of the game's own messages: fast ones
	// above it are dropped, and a game whose reliable ones are ten seconds ahead of
	// it is ended. 0 is no bound.
	ScriptDeliveriesPerSecond int
	// Announce switches on packets that are off in the original.
	Announce Announce
	// Mailbox bounds what waits for the game session.
	Mailbox stage.LaneLimits
}

// DefaultSettings returns the values of reliability.md 5.2 and decisions.md 1.
func DefaultSettings() Settings {
	return Settings{
		Budget:              player.Budget{BytesMax: 1 << 20, MessagesMax: 16384, Gap: true},
		ReconnectWindow:     30 * time.Second,
		Takeover:            true,
		Rejoin:              true,
		Acknowledge:         true,
		PingInterval:        3 * time.Second,
		EmptyTimeout:        5 * time.Minute,
		ActivationLimit:     300 * time.Second,
		GroupsPerPlayerMax:  64,
		GroupsMax:           4096,
		DeliveriesPerSecond: 50_000,

		InboundBytesPerSecond:     1 << 20,
		ScriptDeliveriesPerSecond: 200_000,
		Mailbox:                   stage.LaneLimits{MessagesMax: 8192, BytesMax: 8 << 20},
	}
}

// ReconnectWindowMax is the longest reconnect window (reliability.md 2.1).
const ReconnectWindowMax = 600 * time.Second

const (
	// playersMaxDefault is the bound of a script that does not say (D-134).
	playersMaxDefault = 32
	// pingIntervalDefault is used if neither the script nor the operator says (D-135).
	pingIntervalDefault = 3 * time.Second
	// endGrace is how long a game session that called ProcessEnding may go on
	// (realtime.md 15.4).
	endGrace = 10 * time.Second
	// gateLimit is how long a game may take for a decision (D-116), loadLimit for its
	// start, terminateLimit for OnProcessTerminate (D-213).
	gateLimit      = 10 * time.Second
	loadLimit      = 60 * time.Second
	terminateLimit = 5 * time.Minute
	// closeGrace is how long an ending game session waits for its players' actors.
	closeGrace = 3 * time.Second
	// healthInterval is the time between health checks, unhealthyMax how many may
	// fail in a row (realtime.md 15.4 step 8, service-api.md 2.6).
	healthInterval = 60 * time.Second
	unhealthyMax   = 3
	// stashMax bounds what waits behind a player's own group operation. The
	// answer comes within one batch of the shard.
	stashMax = 1024
	// ackEvery and ackDelay are after how many messages, and how long, a player of
	// the extension hears that they have come (reliability.md 2.4: 16 or 200 ms).
	ackEvery = 16
	ackDelay = 150 * time.Millisecond
	// sendDebt is how many seconds a game's own reliable messages may be ahead of
	// their bound.
	sendDebt = 10
	// reasonMax is how much of a game's own words outlives a callback, except in its log, in bytes.
	reasonMax = 1000
	// playerRestarts and groupRestarts are allowed within restartWindow
	// (reliability.md 4).
	playerRestarts = 3
	groupRestarts  = 10
	restartWindow  = 10 * time.Second
)
