package player

import (
	"testing"

	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Messages that a connection has taken can be dropped only from the front of the queue. So messages that must be
// dropped because of their sender's share may be behind messages that must not. Even if a full queue contains both
// kinds, it must not be searched for every new message.
func TestAFullQueueIsNotSearchedForEveryMessage(t *testing.T) {
	t.Parallel()
	const most, pushes = 4096, 4000
	o := newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: most, Gap: true}, new(counters.Set), func() {})
	link := new(recordLink)
	o.attach(attachOptions{link: link, epoch: 1, confirm: ByAcks, loginResponse: func(resumePoint) *wire.Frame { return wire.NewLoginResult(&wire.LoginResult{Success: true}) }})
	push := func(i int) {
		sender := int32(2)
		if i%3 == 0 {
			sender = 3
		}
		f := wire.NewFrame(&wire.Header{OpCode: 1, Sender: sender, TargetGroup: -1})
		o.Push(f)
		f.Release()
	}
	for i := range most {
		push(i)
		o.Drain(link)
	}
	o.detach()
	searches := 0
	for i := range pushes {
		before := o.queue.n
		if push(i); o.queue.n != before+1 {
			searches++
		}
	}
	if searches > pushes/32 {
		t.Errorf("searched %d times for %d messages", searches, pushes)
	}
	if o.queue.n < most/2 {
		t.Errorf("%d messages are left", o.queue.n)
	}
}
