package client

import (
	"testing"

	"troupe/messages/wire"
)

// FuzzInput passes arbitrary input of a host to a client, before and after the login. It must not panic, all input must
// be counted, and the queue of events must stay within its limit.
func FuzzInput(f *testing.F) {
	yes := wire.VerifyIdentityResult{Success: true, PeerID: 7}
	for _, frame := range []*wire.Frame{
		wire.NewLoginResult(&wire.LoginResult{Success: true, PeerID: 7, FastPort: 1}), wire.NewServerAck(7),
		wire.NewMembershipUpdate(7, 1, 3, []int32{1, 7}), wire.NewVerifyIdentityResult(yes),
		wire.NewFrame(&wire.Header{OpCode: 9, Sender: 2, TargetGroup: AllPlayers, Payload: []byte("hi")}),
	} {
		f.Add(unitOf(frame), []byte{0x80}, byte(wire.OpServerAck&0x0f))
	}
	numbered := wire.AppendMessage(nil, &wire.Header{OpCode: 9, Sender: 2, TargetPlayer: 7, Reliable: true, RelSeq: 4, Ack: 2})
	f.Add(unitOf(wire.NewLoginResult(&wire.LoginResult{Success: true, PeerID: 7, Caps: wire.CapNumbers, Base: 3, LastReceived: 2})), numbered, byte(0))
	f.Fuzz(func(t *testing.T, first, second []byte, awaits byte) {
		c, cn := bare(Options{Fast: true, EventsMax: 4})
		defer cn.ended()
		l := &hostLink{cn: cn, over: make(chan struct{})}
		l.cut() // what the client sends does not matter
		cn.link = l
		c.current.Store(nil) // until the login is answered
		p := new(fakePath)
		cn.fast.open(&fastPath{p.write, p.close}, -int32(awaits%16))
		cn.onUnit(first)
		if len(cn.login) != 1 {
			t.Error("the login has no answer")
		}
		cn.onUnit(second)
		cn.onDatagram(first)
		cn.onDatagram(second)
		c.leave()
		s := c.Stats()
		if s.Reliable.Received != 2 || s.Fast.Received != 2 || len(c.Events()) > 3 {
			t.Errorf("stats %+v, %d events", s, len(c.Events()))
		}
	})
}
