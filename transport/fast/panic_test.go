package fast

import (
	"testing"

	"troupe/messages/counters"
)

type panics struct{}

func (panics) OnFast([]byte) { panic("a bug") }

// A panic while one peer's datagram is handled or written closes only that peer's fast channel. The reader and the
// writer, which serve all others, continue.
func TestAPanicCostsOnePeersChannel(t *testing.T) {
	for name, cause := range map[string]func(bad *Association, c *client){
		"reader": func(_ *Association, c *client) { c.data("boom") },
		"writer": func(bad *Association, _ *client) {
			bad.sock.out.push(datagram{to: bad.Addr(), owner: bad, life: bad.live.Load()}) // no frame
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, nil)
			bad, err := h.Open(1, local, panics{})
			if err != nil {
				t.Fatal(err)
			}
			good, in := h.open(2, local)
			c, d := h.confirm(bad, "127.0.0.1"), h.confirm(good, "127.0.0.1")
			cause(bad, c)
			eventually(t, "panic counted", func() bool { return h.count.ConnectionPanics.Load() == 1 })
			h.ready(bad, false)
			c.data("again") // its channel is closed
			h.dropped(counters.DropFastUnknownSender, 1)
			d.data("fine")
			in.next(t)
			send(good, "and back")
			d.message("and back", 1)
		})
	}
}
