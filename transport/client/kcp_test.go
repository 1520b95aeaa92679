package client_test

import (
	"sync/atomic"
	"testing"
	"time"

	"troupe/messages/wire"
	"troupe/transport/client"
)

// backlog is a source of small messages, with op codes starting at 1.
type backlog struct {
	sent  atomic.Int32
	count int32
}

func (b *backlog) Drain(sink wire.Sink) (more bool) {
	for n := b.sent.Load(); n < b.count; n = b.sent.Load() {
		f := wire.NewFrame(&wire.Header{OpCode: n + 1, Sender: client.Server, TargetPlayer: 3, Payload: make([]byte, 64)})
		room := sink.Append(f)
		f.Release()
		b.sent.Add(1)
		if !room {
			return n+1 < b.count
		}
	}
	return false
}

// If a program takes no events, KCP's or TCP's window slows down the host. The host keeps its messages, and none is lost.
func TestBackPressure(t *testing.T) {
	for name, newRig := range map[string]func(w web) *rig{
		"wss": func(w web) *rig { return w.newRig(accepted, nil) },
		"kcp": func(w web) *rig { return w.newKCPRig(accepted, nil) },
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(newWeb(t))
			o := r.options()
			o.EventsMax, o.SilenceMax = 1, time.Hour
			c, p := r.dial(o)
			b := &backlog{count: 4000}
			p.SetSource(b)
			p.Flush()
			time.Sleep(time.Second)
			if sent := b.sent.Load(); sent > b.count*3/4 {
				t.Errorf("%d of %d messages have left the host", sent, b.count)
			}
			if s := c.Stats().Reliable; s.Received != 3 { // the login, one in the channel, one being delivered
				t.Errorf("%d messages were taken", s.Received)
			}
			for i := range b.count {
				if e := await(t, "event", c.Events()); e.OpCode != i+1 {
					t.Fatalf("event %d has op code %d", i, e.OpCode)
				}
			}
		})
	}
}
