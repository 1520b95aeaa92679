package gateway

import (
	"testing"

	"troupe/actors/gamesession"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// RT-41, RT-43.
func TestClassify(t *testing.T) {
	group := []byte{0x08, 7}
	for _, c := range []struct {
		name  string
		h     wire.Header
		kind  gamesession.Kind
		group messages.GroupID
		drop  counters.Drop
	}{
		{"login again (D-129)", wire.Header{Command: wire.CommandLogin}, 0, 0, counters.DropSecondLogin},
		{"op 0 without login (D-137)", wire.Header{}, gamesession.Application, 0, 0},
		{"inner login behind another op", wire.Header{OpCode: 5, Command: wire.CommandLogin}, gamesession.Application, 0, 0},
		{"login response (D-136)", wire.Header{OpCode: -1}, 0, 0, counters.DropServerOp},
		{"ping result (D-136)", wire.Header{OpCode: -3}, 0, 0, counters.DropServerOp},
		{"server ack (D-136)", wire.Header{OpCode: -6}, 0, 0, counters.DropServerOp},
		{"membership update (D-136)", wire.Header{OpCode: -13}, 0, 0, counters.DropServerOp},
		{"identity response (D-136)", wire.Header{OpCode: -15}, 0, 0, counters.DropServerOp},
		{"player connect (D-136)", wire.Header{OpCode: -101}, 0, 0, counters.DropServerOp},
		{"player disconnect (D-136)", wire.Header{OpCode: -103}, 0, 0, counters.DropServerOp},
		{"game start (D-136)", wire.Header{OpCode: -1000}, 0, 0, counters.DropServerOp},
		{"game end (D-136)", wire.Header{OpCode: -1001}, 0, 0, counters.DropServerOp},
		{"ping", wire.Header{OpCode: -2, Command: wire.CommandPing}, gamesession.Ping, 0, 0},
		{"op -2 without ping", wire.Header{OpCode: -2}, gamesession.Application, 0, 0},
		{"udp connect by WebSocket", wire.Header{OpCode: -5}, 0, 0, counters.DropWrongChannel},
		{"client ack by WebSocket", wire.Header{OpCode: -7}, 0, 0, counters.DropWrongChannel},
		{"verify identity by WebSocket", wire.Header{OpCode: -14}, 0, 0, counters.DropWrongChannel},
		{"join", wire.Header{OpCode: -10, Command: wire.CommandJoinGroup, Inner: group}, gamesession.JoinGroup, 7, 0},
		{"leave", wire.Header{OpCode: -11, Command: wire.CommandLeaveGroup, Inner: group}, gamesession.LeaveGroup, 7, 0},
		{"request", wire.Header{OpCode: -12, Command: wire.CommandRequestGroupMembership, Inner: group}, gamesession.RequestMembership, 7, 0},
		{"join without a group", wire.Header{OpCode: -10}, 0, 0, counters.DropMalformed},
		{"join with the leave's group", wire.Header{OpCode: -10, Command: wire.CommandLeaveGroup, Inner: group}, 0, 0, counters.DropMalformed},
		{"negative, not built in", wire.Header{OpCode: -500}, gamesession.Application, 0, 0},
		{"payload at the limit", wire.Header{OpCode: 1, Payload: make([]byte, 4096)}, gamesession.Application, 0, 0},
		{"payload over the limit", wire.Header{OpCode: 1, Payload: make([]byte, 4097)}, 0, 0, counters.DropPayloadTooLarge},
	} {
		kind, g, drop := classify(&c.h)
		if kind != c.kind || g != c.group || drop != c.drop {
			t.Errorf("%s: %v %v %v, want %v %v %v", c.name, kind, g, drop, c.kind, c.group, c.drop)
		}
	}
}

// A delivered message has the true sender and only one target, whatever the client has sent.
// RT-39.
func TestDeliveredHasTheTrueSenderAndOneTarget(t *testing.T) {
	for _, c := range []struct{ player, group, wantPlayer, wantGroup int32 }{
		{-1, -1, -1, -1}, // to the server; its script sees both targets
		{3, -1, 3, 0},
		{0, 5, 0, 5},
		{-2, -1, 0, -1},
		{0, 0, 0, 0},
	} {
		out := delivered(&wire.Header{OpCode: 9, Sender: 77, TargetPlayer: c.player, TargetGroup: c.group, Sequence: 4, ClientVersion: 2, RelSeq: 8}, 6)
		if out.Sender != 6 || out.TargetPlayer != c.wantPlayer || out.TargetGroup != c.wantGroup || out.Sequence != 0 || out.ClientVersion != 0 || out.RelSeq != 0 {
			t.Errorf("%+v: %+v", c, out)
		}
	}
}
