package player

import (
	"testing"

	"troupe/messages/counters"
	"troupe/messages/wire"
)

// sinkLink takes everything and keeps nothing.
type sinkLink struct{ fakeLink }

func (*sinkLink) Append(*wire.Frame) bool                         { return true }
func (*sinkLink) AppendNumbered(*wire.Frame, uint64, uint64) bool { return true }
func (*sinkLink) Mark(uint64) bool                                { return true }

// BenchmarkOutbox is one message on its way through an outbox whose connection keeps up:
// pushed, drained and confirmed in batches of eight.
func BenchmarkOutbox(b *testing.B) {
	for how, name := range []string{ByWriting: "writing", ByMarks: "marks", ByAcks: "acks"} {
		if name == "" {
			continue
		}
		how := Confirmation(how)
		b.Run(name, func(b *testing.B) {
			link := new(sinkLink)
			o := NewOutbox(Budget{BytesMax: 1 << 20, MessagesMax: 1 << 14, Pool: NewPool(1 << 30)}, new(counters.Set), func() {})
			o.attach(attachOptions{link: link, channel: counters.WS, epoch: 1, confirm: how, loginResponse: greet})
			f := wire.NewFrame(&wire.Header{OpCode: 1, Sender: 2, TargetGroup: -1})
			defer f.Release()
			b.ReportAllocs()
			for n := uint64(1); b.Loop(); n++ {
				if o.Push(f); n%8 != 0 {
					continue
				}
				o.Drain(link)
				switch how {
				case ByAcks:
					o.Acked(1, n)
				case ByMarks:
					o.confirmBeforeAttach(n)
				}
			}
		})
	}
}
