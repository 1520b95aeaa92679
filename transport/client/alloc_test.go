package client

import (
	"bufio"
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// nowhere is a TCP connection and a fast channel that discard everything.
type nowhere struct{ net.Conn }

func (nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }
func (nowhere) write([]byte) bool                { return true }
func (nowhere) close()                           {}
func (nowhere) Close() error                     { return nil }

// In steady state, sending allocates nothing. A cancellable context only costs what it takes to watch it.
func TestSendAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector changes what is allocated")
	}
	c, cn := bare(Options{Fast: true})
	defer cn.ended()
	cn.link = &wsLink{cn: cn, ws: &socket{conn: nowhere{}, br: bufio.NewReader(strings.NewReader("")), lock: make(chan struct{}, 1)}}
	cn.fast.open(&fastPath{nowhere{}.write, nowhere{}.close}, 0)
	payload := make([]byte, 100)
	measure := func(name string, intent Intent) {
		t.Helper()
		n := testing.AllocsPerRun(1000, func() {
			if err := c.Send(context.Background(), Message{OpCode: 1, TargetGroup: AllPlayers, Payload: payload, Intent: intent}); err != nil {
				t.Fatal(err)
			}
			runtime.Gosched() // lets the writer goroutine run
			c.mu.Lock()
			c.numbers.out.trim(c.numbers.sent)
			c.mu.Unlock()
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	measure("fast", Fast)
	measure("reliable", Reliable)
	c.numbers.numbering = numberingOn
	measure("reliable, numbered", Reliable)
	c.awaitWritten(cn)
	if s := c.Stats(); s.Reliable.Sent != 2002 || s.Fast.Sent != 1001 {
		t.Errorf("stats %+v", s)
	}
}
