package client

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// nowhere is a TCP connection and a fast channel that take everything.
type nowhere struct{ net.Conn }

func (nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }
func (nowhere) write([]byte) bool                { return true }
func (nowhere) close()                           {}
func (nowhere) Close() error                     { return nil }

// TestSendCosts: sending allocates nothing in steady state; a context that can end
// costs what watching it costs.
func TestSendCosts(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector changes what is allocated")
	}
	c := newClient(WS, &Options{Fast: true, EventsMax: 1})
	defer c.ended()
	c.link = &wsLink{c: c, ws: &socket{conn: nowhere{}, br: bufio.NewReader(strings.NewReader("")), lock: make(chan struct{}, 1)}}
	c.fast.open(nowhere{}, 0)
	payload := make([]byte, 100)
	for intent, name := range map[Intent]string{Reliable: "reliable", Fast: "fast"} {
		n := testing.AllocsPerRun(1000, func() {
			if err := c.Send(context.Background(), Message{OpCode: 1, TargetGroup: AllPlayers, Payload: payload, Intent: intent}); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if s := c.Stats(); s.Reliable.Sent != 1001 || s.Fast.Sent != 1001 {
		t.Errorf("stats %+v", s)
	}
}
