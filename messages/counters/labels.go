package counters

// name returns the name of a label value, the first of which is 1.
func name[L ~uint8](l L, names []string) string {
	if i := int(l) - 1; i >= 0 && i < len(names) {
		return names[i]
	}
	return ""
}

// Channel is the channel that carried a packet.
type Channel uint8

// Channels. The first three are those of the transports.
const (
	WS Channel = iota + 1
	WSS
	KCP
	UDP
	DTLS
)

var channelNames = []string{"ws", "wss", "kcp", "udp", "dtls"}

// String returns the label value.
func (c Channel) String() string { return name(c, channelNames) }

// Encrypted reports whether what it carries is encrypted.
func (c Channel) Encrypted() bool { return c != WS && c != UDP }

// ChannelPair is the channels of a player's previous and new connection.
type ChannelPair uint8

// lastReliable is the last of the channels by which a player can log in.
const lastReliable = ChannelPair(KCP)

// PairOf returns the pair of two reliable channels.
func PairOf(from, to Channel) ChannelPair { return ChannelPair(from-1)*lastReliable + ChannelPair(to) }

// String returns the label value, as ws_kcp.
func (p ChannelPair) String() string {
	if p < 1 || p > lastReliable*lastReliable {
		return ""
	}
	return Channel((p-1)/lastReliable+1).String() + "_" + Channel((p-1)%lastReliable+1).String()
}

// Refusal says why a connection was refused before a login.
type Refusal uint8

// Refusals.
const (
	RefusedPath Refusal = iota + 1
	RefusedHandshake
	RefusedPendingTotal
	RefusedPendingPerIP
	RefusedRatePerIP
	RefusedDraining
	RefusedEvicted // silent, displaced by a newer connection
	RefusedHeld    // waited too long for a slot, or the queue was full
	RefusedGone    // closed before it got a slot
	RefusedProxy   // no PROXY protocol header from an address that must send one
)

var refusalNames = []string{
	"path", "handshake", "pending_total", "pending_per_ip", "rate_per_ip", "draining", "evicted", "held", "gone",
	"proxy_header",
}

// String returns the label value.
func (r Refusal) String() string { return name(r, refusalNames) }

// CloseClass is the side that ended a connection.
type CloseClass uint8

// Close classes.
const (
	ClosedByPeer CloseClass = iota + 1 // close code 1000: a leave
	ClosedLost                         // anything else that the host did not start
	ClosedByHost
)

var closeClassNames = []string{"left", "lost", "host"}

// String returns the label value.
func (c CloseClass) String() string { return name(c, closeClassNames) }

// LoginOutcome is the outcome of a LOGIN.
type LoginOutcome uint8

// Login outcomes.
const (
	LoginNew LoginOutcome = iota + 1
	LoginResumed
	LoginRefused
	LoginGap      // resumed, but messages were lost
	LoginRejoined // of a player that had left
)

var loginOutcomeNames = []string{"new", "resumed", "refused", "gap", "rejoined"}

// String returns the label value.
func (o LoginOutcome) String() string { return name(o, loginOutcomeNames) }

// LoginRefusal says why a LOGIN was refused.
type LoginRefusal uint8

// Refusals of logins: those of wire.Refusal, and three that it does not name.
const (
	LoginOtherReason      LoginRefusal = iota + 1 // mostly no such player session id
	LoginTryLater                                 // too much else is going on
	LoginGameSessionEnded                         // wire.RefusedGameSessionEnded, and so on
	LoginFull
	LoginByGame
	LoginPlayerSessionEnded
	LoginToken
	LoginInUse
	LoginBanned // by an operator
)

var loginRefusalNames = []string{
	"other", "try_later", "game_session_ended", "full", "game", "player_session_ended", "token", "in_use", "banned",
}

// String returns the label value.
func (r LoginRefusal) String() string { return name(r, loginRefusalNames) }

// PlacementEnd is how a placement ended.
type PlacementEnd uint8

// Ends of placements.
const (
	PlacementFulfilled PlacementEnd = iota + 1
	PlacementCancelled
	PlacementTimedOut
	PlacementFailed
)

var placementEndNames = []string{"fulfilled", "cancelled", "timed_out", "failed"}

// String returns the label value.
func (e PlacementEnd) String() string { return name(e, placementEndNames) }

// PlayerState is the state of a player actor (reliability.md 2.8).
type PlayerState uint8

// Player states.
const (
	PlayerReserved PlayerState = iota + 1
	PlayerJoining
	PlayerAttached
	PlayerDetached
	PlayerLeaving
)

var playerStateNames = []string{"reserved", "joining", "attached", "detached", "leaving"}

// String returns the label value.
func (s PlayerState) String() string { return name(s, playerStateNames) }

// Drop is the reason why a packet or message was dropped.
type Drop uint8

// Drop reasons. Inbound first, then outbound.
const (
	DropMalformed        Drop = iota + 1 // not a unit, not a Packet
	DropBeforeLogin                      // anything but LOGIN before login
	DropSecondLogin                      // LOGIN after login
	DropServerOp                         // op code that only the server may send
	DropWrongChannel                     // a built-in op code on the wrong channel
	DropPayloadTooLarge                  // over 4096 bytes
	DropNoTarget                         // neither player nor group (routing rule 4)
	DropUnknownTarget                    // player not in the game session
	DropNotMember                        // sender is not in the group
	DropRefusedByHandler                 // onSendToPlayer or onSendToGroup said no
	DropBadGroup                         // group id not positive, or over the limits
	DropInboundRate                      // player over its message or byte rate
	DropGroupRate                        // player over its rate of group operations
	DropDeliveryRate                     // game session over its rate of deliveries
	DropSessionBusy                      // game session mailbox full
	DropFastMalformed
	DropFastUnknownSender
	DropFastWrongAddress
	DropFastStale     // number not above the highest seen
	DropFastContested // two active addresses for one peer
	DropFastRate
	DropFastOff // fast channel switched off
	DropFastQueueFull
	DropFastSlowPeer // outbox over 50 %: no fast fallback
	DropFastDetached // player has no connection
	DropOutboxFull
	DropPlayerGone
	DropScriptPayload // payload from a script over 65536 bytes
	DropStashFull     // too many messages behind a group operation
	DropNoHandler     // a message to the server of a game session without a script
	DropOutOfOrder    // an impossible number of the extension
)

var dropNames = []string{
	"malformed", "before_login", "second_login", "server_op", "wrong_channel", "payload_too_large", "no_target",
	"unknown_target", "not_member", "refused_by_handler", "bad_group", "inbound_rate", "group_rate", "delivery_rate",
	"session_busy", "fast_malformed", "fast_unknown_sender", "fast_wrong_address", "fast_stale", "fast_contested",
	"fast_rate", "fast_off", "fast_queue_full", "fast_slow_peer", "fast_detached", "outbox_full", "player_gone",
	"script_payload", "stash_full", "no_handler", "out_of_order",
}

// String returns the label value.
func (d Drop) String() string { return name(d, dropNames) }

// ActorKind names a kind of actor.
type ActorKind uint8

// Actor kinds.
const (
	ActorFleet ActorKind = iota + 1
	ActorGameSession
	ActorPlayer
	ActorGroup
	ActorConnections
	ActorConnection
	ActorPlacement
	ActorMatchmaker
	ActorProbe
)

var actorKindNames = []string{
	"fleet", "gamesession", "player", "group", "connections", "connection", "placement", "matchmaker", "probe",
}

// String returns the label value.
func (k ActorKind) String() string { return name(k, actorKindNames) }

// GameSessionState is the status of a live game session.
type GameSessionState uint8

// Live statuses, with the numbers of messages.GameSessionStatus.
const (
	GameSessionActivating GameSessionState = iota + 1
	GameSessionActive
	GameSessionTerminating
)

var gameSessionStateNames = []string{"activating", "active", "terminating"}

// String returns the label value.
func (s GameSessionState) String() string { return name(s, gameSessionStateNames) }

// EventOutcome is the outcome of one attempt to deliver an event to a sink.
type EventOutcome uint8

// Outcomes of deliveries.
const (
	EventDelivered EventOutcome = iota + 1
	EventFailed                 // it is tried again
	EventDropped                // refused by the sink, or tried for too long
)

var eventOutcomeNames = []string{"delivered", "failed", "dropped"}

// String returns the label value.
func (o EventOutcome) String() string { return name(o, eventOutcomeNames) }

// StoreRefusal says why a commit did not become durable.
type StoreRefusal uint8

// Refusals of commits.
const (
	StoreBusy   StoreRefusal = iota + 1 // too many changes are queued
	StoreFailed                         // it, or one before it, could not be written
)

var storeRefusalNames = []string{"busy", "failed"}

// String returns the label value.
func (r StoreRefusal) String() string { return name(r, storeRefusalNames) }
