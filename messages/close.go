package messages

import "strconv"

// CloseReason is the reason why the host ended a connection. The number is the WebSocket close code and never changes.
// Numbers below 4000 are defined in RFC 6455 section 7.4; higher ones are Troupe's own. Retry returns what the client
// should do next.
type CloseReason uint16

// Close reasons. 4001 and 4008 to 4010 are defined in reliability.md 2.4 to 2.6 and 5.1. 4012 is defined in cluster.md 8.
const (
	CloseNormal        CloseReason = 1000 // a refused login, or the player left
	CloseGoingAway     CloseReason = 1001 // the host drains
	CloseProtocolError CloseReason = 1002 // the peer violated RFC 6455
	CloseUnsupported   CloseReason = 1003 // a text message
	CloseInvalidText   CloseReason = 1007 // the reason in a close frame is not valid UTF-8
	CloseMessageTooBig CloseReason = 1009 // an inbound message exceeds the limit
	CloseInternalError CloseReason = 1011 // an actor of the connection crashed
	CloseTakenOver     CloseReason = 4001 // another login took over the player session
	CloseLoginTimeout  CloseReason = 4002 // no LOGIN arrived in time
	CloseMalformed     CloseReason = 4003 // too many malformed packets
	ClosePingTimeout   CloseReason = 4004 // no sign of life (realtime.md 12)
	CloseGameEnded     CloseReason = 4005 // the game session ended
	CloseKicked        CloseReason = 4006 // the game removed the player
	CloseWriteTimeout  CloseReason = 4007 // a write made no progress for 10 s
	CloseOutOfOrder    CloseReason = 4008 // an invalid relSeq or ack
	CloseSlowConsumer  CloseReason = 4009 // the outbound queue is full
	CloseTooFast       CloseReason = 4010 // the inbound rate limit was exceeded for 10 s
	CloseTryLater      CloseReason = 4011 // too many logins at once
	CloseMoved         CloseReason = 4012 // another node of the cluster runs the game session
	CloseGameCrashed   CloseReason = 4013 // the game session ended because its script or the host's code for it failed
)

// Retry says what the client should do after a close.
type Retry uint8

// Values of Retry.
const (
	RetryResume Retry = iota + 1 // log in again with the same player session
	RetryNever                   // the player session has ended or is in use elsewhere
	RetryLater                   // log in again, but wait first
)

type closeInfo struct {
	reason CloseReason
	name   string
	retry  Retry
}

// closeTable is the only table of close reasons. A test checks that it is complete and without duplicates.
var closeTable = []closeInfo{
	{CloseNormal, "normal", RetryNever},
	{CloseGoingAway, "host_draining", RetryLater},
	{CloseProtocolError, "protocol_error", RetryResume},
	{CloseUnsupported, "unsupported_data", RetryNever},
	{CloseInvalidText, "invalid_text", RetryResume},
	{CloseMessageTooBig, "message_too_big", RetryResume},
	{CloseInternalError, "internal_error", RetryResume},
	{CloseTakenOver, "taken_over", RetryNever},
	{CloseLoginTimeout, "login_timeout", RetryResume},
	{CloseMalformed, "malformed_packets", RetryNever},
	{ClosePingTimeout, "ping_timeout", RetryResume},
	{CloseGameEnded, "game_session_ended", RetryNever},
	{CloseKicked, "kicked", RetryNever},
	{CloseWriteTimeout, "write_timeout", RetryResume},
	{CloseOutOfOrder, "numbers_out_of_order", RetryResume},
	{CloseSlowConsumer, "slow_consumer", RetryResume},
	{CloseTooFast, "inbound_rate_exceeded", RetryLater},
	{CloseTryLater, "try_later", RetryLater},
	{CloseMoved, "moved", RetryResume},
	{CloseGameCrashed, "game_session_crashed", RetryNever},
}

// CloseReasons returns all close reasons in the order of the table.
func CloseReasons() []CloseReason {
	all := make([]CloseReason, len(closeTable))
	for i, c := range closeTable {
		all[i] = c.reason
	}
	return all
}

// String returns the reason's stable name. It is also the text in the close frame.
func (r CloseReason) String() string {
	for _, c := range closeTable {
		if c.reason == r {
			return c.name
		}
	}
	return "code_" + strconv.Itoa(int(r))
}

// Retry returns what the client should do next. For an unknown number it returns RetryResume.
func (r CloseReason) Retry() Retry {
	for _, c := range closeTable {
		if c.reason == r {
			return c.retry
		}
	}
	return RetryResume
}
