package wire

import (
	"bytes"
	"testing"
)

// allocations fails the test if f allocates memory in steady state.
func allocations(t *testing.T, name string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(1000, f); n != 0 {
		t.Errorf("%s allocates %v times", name, n)
	}
}

func TestMessagePathDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("race build: sync.Pool drops items at random, so allocations prove nothing")
	}
	dst := make([]byte, 0, 1<<17)
	var h Header
	for _, v := range vectors {
		packet := unhex(t, v.unit)[1:]
		allocations(t, "Parse of "+v.name, func() { _ = h.Parse(packet) })
	}
	garbage := unhex(t, "0814"+"18ff")
	allocations(t, "Parse of garbage", func() { _ = h.Parse(garbage) })
	group := appendGroup(nil, -1)
	allocations(t, "ParseGroup", func() { _, _ = ParseGroup(group) })

	for _, size := range []int{0, 64, FastPayloadMax, PayloadMax, ScriptPayloadMax} {
		message := &Header{OpCode: 301, TargetGroup: AllPlayers, Sender: 1, Payload: bytes.Repeat([]byte{1}, size)}
		f := NewFrame(message)
		allocations(t, "AppendReliable", func() { f.AppendReliable(dst) })
		allocations(t, "AppendFast", func() { f.AppendFast(dst, 300) })
		allocations(t, "AppendNumbered", func() { f.AppendNumbered(dst, 300, 299) })
		allocations(t, "NewFrame and Release", func() { NewFrame(message).Release() })
		f.Release()
		allocations(t, "AppendMessage", func() { AppendMessage(dst, message) })
	}
	players := []int32{1, 2, 3, 4, 5, 6, 7, 8}
	allocations(t, "NewMembershipUpdate", func() { NewMembershipUpdate(1, -1, 2, players).Release() })
	allocations(t, "NewServerAck", func() { NewServerAck(1).Release() })
	allocations(t, "NewLoginResult", func() { NewLoginResult(&resultVector).Release() })
	allocations(t, "AppendLogin", func() { AppendLogin(dst, &loginVector, nil) })
}
