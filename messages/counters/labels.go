package counters

// name returns the name of a label value. The first name belongs to the value 1.
func name[L ~uint8](l L, names []string) string {
	if i := int(l) - 1; i >= 0 && i < len(names) {
		return names[i]
	}
	return ""
}

// Channel is the channel that carried a packet.
type Channel uint8

// Values of Channel. The first three are the reliable transports.
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

// Encrypted reports whether the channel encrypts its traffic.
func (c Channel) Encrypted() bool { return c != WS && c != UDP }

// ChannelPair is a pair of channels: that of a player's previous connection and that of the new one.
type ChannelPair uint8

// lastReliable is the last channel through which a player can log in.
const lastReliable = ChannelPair(KCP)

// PairOf returns the pair of two reliable channels.
func PairOf(from, to Channel) ChannelPair { return ChannelPair(from-1)*lastReliable + ChannelPair(to) }

// String returns the label value, for example ws_kcp.
func (p ChannelPair) String() string {
	if p < 1 || p > lastReliable*lastReliable {
		return ""
	}
	return Channel((p-1)/lastReliable+1).String() + "_" + Channel((p-1)%lastReliable+1).String()
}

// Refusal is the reason why a connection was refused before a login.
type Refusal uint8

// Values of Refusal.
const (
	RefusedPath Refusal = iota + 1
	RefusedHandshake
	RefusedPendingTotal
	RefusedPendingPerIP
	RefusedRatePerIP
	RefusedDraining
	RefusedEvicted // sent nothing and was displaced by a newer connection
	RefusedHeld    // waited too long for a slot, or the queue was full
	RefusedGone    // closed by the peer before it got a slot
	RefusedProxy   // no PROXY protocol header, although the address must send one
)

var refusalNames = []string{
	"path", "handshake", "pending_total", "pending_per_ip", "rate_per_ip", "draining", "evicted", "held", "gone",
	"proxy_header",
}

// String returns the label value.
func (r Refusal) String() string { return name(r, refusalNames) }

// CloseClass says which side ended a connection.
type CloseClass uint8

// Values of CloseClass.
const (
	ClosedByPeer CloseClass = iota + 1 // close code 1000: the player left
	ClosedLost                         // any other end that the host did not initiate
	ClosedByHost
)

var closeClassNames = []string{"left", "lost", "host"}

// String returns the label value.
func (c CloseClass) String() string { return name(c, closeClassNames) }

// LoginOutcome is the outcome of a LOGIN.
type LoginOutcome uint8

// Values of LoginOutcome.
const (
	LoginNew LoginOutcome = iota + 1
	LoginResumed
	LoginRefused
	LoginGap      // resumed, but messages were lost
	LoginRejoined // a login of a player that had left before
)

var loginOutcomeNames = []string{"new", "resumed", "refused", "gap", "rejoined"}

// String returns the label value.
func (o LoginOutcome) String() string { return name(o, loginOutcomeNames) }

// LoginRefusal is the reason why a LOGIN was refused.
type LoginRefusal uint8

// Values of LoginRefusal: those of wire.Refusal, and four additional ones (other, try later, banned, moved).
const (
	LoginOtherReason      LoginRefusal = iota + 1 // usually an unknown player session id
	LoginTryLater                                 // the host is too busy at the moment
	LoginGameSessionEnded                         // wire.RefusedGameSessionEnded; the following ones correspond likewise
	LoginFull
	LoginByGame
	LoginPlayerSessionEnded
	LoginToken
	LoginInUse
	LoginBanned // banned by an operator
	LoginMoved  // sent to the node of the cluster that runs the game session
)

var loginRefusalNames = []string{
	"other", "try_later", "game_session_ended", "full", "game", "player_session_ended", "token", "in_use", "banned", "moved",
}

// String returns the label value.
func (r LoginRefusal) String() string { return name(r, loginRefusalNames) }

// PlacementEnd is the outcome of a placement.
type PlacementEnd uint8

// Values of PlacementEnd.
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

// Values of PlayerState.
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

// Values of Drop. Inbound reasons come first, then outbound ones.
const (
	DropMalformed        Drop = iota + 1 // not a valid unit or not a valid Packet
	DropBeforeLogin                      // any packet other than LOGIN before the login
	DropSecondLogin                      // LOGIN after the login
	DropServerOp                         // an op code that only the server may send
	DropWrongChannel                     // a built-in op code on the wrong channel
	DropPayloadTooLarge                  // payload over 4096 bytes
	DropNoTarget                         // neither a target player nor a target group (routing rule 4)
	DropUnknownTarget                    // the target player is not in the game session
	DropNotMember                        // the sender is not in the target group
	DropRefusedByHandler                 // onSendToPlayer or onSendToGroup refused it
	DropBadGroup                         // the group id is not positive, or a limit on groups was exceeded
	DropInboundRate                      // the player exceeded its message or byte rate
	DropGroupRate                        // the player exceeded its rate of group operations
	DropDeliveryRate                     // the game session exceeded its rate of deliveries
	DropSessionBusy                      // the mailbox of the game session is full
	DropFastMalformed
	DropFastUnknownSender
	DropFastWrongAddress
	DropFastStale     // the number is not higher than the highest one seen
	DropFastContested // two active addresses for one peer
	DropFastRate
	DropFastOff // the fast channel is disabled
	DropFastQueueFull
	DropFastSlowPeer // the outbox is more than 50 % full, so the message cannot fall back to it
	DropFastDetached // the player has no connection
	DropOutboxFull
	DropPlayerGone
	DropScriptPayload // a script's payload is over 65536 bytes
	DropStashFull     // too many messages wait for a group operation or a decision of the game
	DropNoHandler     // a message to the server in a game session without a script
	DropOutOfOrder    // an invalid message number of the extension
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

// Values of ActorKind.
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

// Values of GameSessionState, with the same numbers as messages.GameSessionStatus.
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

// Values of EventOutcome.
const (
	EventDelivered EventOutcome = iota + 1
	EventFailed                 // will be retried
	EventDropped                // refused by the sink, or retried for too long
)

var eventOutcomeNames = []string{"delivered", "failed", "dropped"}

// String returns the label value.
func (o EventOutcome) String() string { return name(o, eventOutcomeNames) }

// StoreRefusal is the reason why a commit did not become durable.
type StoreRefusal uint8

// Values of StoreRefusal.
const (
	StoreBusy   StoreRefusal = iota + 1 // too many changes are queued
	StoreFailed                         // the commit, or one before it, could not be written
)

var storeRefusalNames = []string{"busy", "failed"}

// String returns the label value.
func (r StoreRefusal) String() string { return name(r, storeRefusalNames) }

// PeerRefusal is the reason why a connection or a call of another node was refused.
type PeerRefusal uint8

// Values of PeerRefusal.
const (
	PeerCertificate PeerRefusal = iota + 1 // no certificate of the cluster
	PeerName                               // meant for another node
	PeerIncarnation                        // meant for another incarnation
	PeerFull                               // too many calls at a time
)

var peerRefusalNames = []string{"certificate", "name", "incarnation", "full"}

// String returns the label value.
func (r PeerRefusal) String() string { return name(r, peerRefusalNames) }

// CacheUse says whether a look-up was answered from a cache.
type CacheUse uint8

// Values of CacheUse.
const (
	CacheHit CacheUse = iota + 1
	CacheMiss
)

var cacheUseNames = []string{"yes", "no"}

// String returns the label value.
func (u CacheUse) String() string { return name(u, cacheUseNames) }

// Fence is what a refused write was on condition of.
type Fence uint8

// Values of Fence.
const (
	FenceTerm        Fence = iota + 1 // another node leads
	FenceIncarnation                  // the node is not registered, or again
)

var fenceNames = []string{"term", "incarnation"}

// String returns the label value.
func (f Fence) String() string { return name(f, fenceNames) }

// ServerState is the state of a process that speaks the Server SDK: a serverprocess.State that is not Terminated.
type ServerState uint8

var serverStateNames = []string{"connected", "ready", "hosting", "terminating"}

// String returns the label value.
func (s ServerState) String() string { return name(s, serverStateNames) }

// ServerEnd is how a process that speaks the Server SDK has ended.
type ServerEnd uint8

// Values of ServerEnd.
const (
	ServerLeft         ServerEnd = iota + 1 // it has said so
	ServerForced                            // it did not end within its grace
	ServerCrashed                           // no heartbeats, or another process has its port
	ServerUnhealthy                         // false or missed heartbeats
	ServerNotReady                          // connected for too long without being ready
	ServerDropped                           // its compute, fleet or game session has ended, or it has exited
	ServerNotActivated                      // it was not ready when its connection ended
)

var serverEndNames = []string{"left", "forced", "crashed", "unhealthy", "not_ready", "dropped", "not_activated"}

// String returns the label value.
func (e ServerEnd) String() string { return name(e, serverEndNames) }

// ServerRefusal is the reason why a handshake of a process that speaks the Server SDK was refused.
type ServerRefusal uint8

// Values of ServerRefusal.
const (
	ServerMalformed      ServerRefusal = iota + 1 // not a handshake of the Server SDK
	ServerUnknownCompute                          // the fleet or the compute is not registered
	ServerNotLaunched                             // the compute is a host, which has not started the process
	ServerUsedUp                                  // the process id was used before
	ServerSignature                               // not valid, or of an unknown key
	ServerToken                                   // wrong or expired
	ServerDraining                                // the host shuts down
	ServerComputeFull                             // the compute has as many processes as it may
	ServerHostFull                                // the host has as many processes or connections as it may
	ServerLate                                    // the host did not decide in time
)

var serverRefusalNames = []string{
	"malformed", "unknown_compute", "not_launched", "used_up", "signature", "token", "draining", "compute_full", "host_full", "late",
}

// String returns the label value.
func (r ServerRefusal) String() string { return name(r, serverRefusalNames) }

// ServerClose is the reason why the host closed the connection of a process that speaks the Server SDK.
type ServerClose uint8

// Values of ServerClose.
const (
	ServerClosedMalformed ServerClose = iota + 1 // a breach of RFC 6455, or a binary message
	ServerClosedTooLarge                         // a message over the limit
	ServerClosedTooFast                          // messages that come much too fast
	ServerClosedTooSlow                          // a message that was not complete in time
	ServerClosedMemory                           // the messages of all connections take too much memory
	ServerClosedDeaf                             // it does not read, or answers no ping
)

var serverCloseNames = []string{"malformed", "too_large", "too_fast", "too_slow", "memory", "deaf"}

// String returns the label value.
func (c ServerClose) String() string { return name(c, serverCloseNames) }
