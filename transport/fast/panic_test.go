package fast

import (
	"testing"

	"troupe/messages/counters"
)

type panics struct{}

func (panics) OnFast([]byte) { panic("a bug") }

// A panic while one peer's datagram is handled costs that peer its fast channel. The
// reader, which serves all others, goes on.
func TestAPanicCostsOnePeersChannel(t *testing.T) {
	h := newHost(t, nil)
	bad, err := h.Open(1, local, panics{})
	if err != nil {
		t.Fatal(err)
	}
	good, in := h.open(2, local)
	c, d := h.confirm(bad, "127.0.0.1"), h.confirm(good, "127.0.0.1")
	c.data("boom")
	eventually(t, "panic counted", func() bool { return h.count.ConnectionPanics.Load() == 1 })
	h.ready(bad, false)
	c.data("again") // it has no channel any more
	h.dropped(counters.DropFastUnknownSender, 1)
	d.data("fine")
	in.next(t)
	send(good, "and back")
	d.message("and back", 1)
}

// The same on the way out.
func TestAPanicOfTheWriterCostsOnePeersChannel(t *testing.T) {
	h := newHost(t, nil)
	bad, _ := h.open(1, local)
	good, _ := h.open(2, local)
	h.confirm(bad, "127.0.0.1")
	d := h.confirm(good, "127.0.0.1")
	bad.sock.out.push(datagram{to: bad.Addr(), owner: bad, life: bad.live.Load()}) // no frame
	eventually(t, "panic counted", func() bool { return h.count.ConnectionPanics.Load() == 1 })
	h.ready(bad, false)
	send(good, "fine")
	d.message("fine", 1)
}
