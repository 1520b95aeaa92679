package kcp

import (
	"testing"
	"testing/synctest"
	"time"
)

// A side with many unread datagrams in its socket does not treat the acks that may be among them as lost.
// RL-115.
func TestNothingIsMissedThatIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		unread time.Duration // for how long the host's socket has many unread datagrams
		acked  time.Duration // when the peer's acks arrive
		least  int64         // minimum number of messages that are sent again within a second
		most   int64
	}{
		"read":            {0, 140 * time.Millisecond, 2, 9},
		"late":            {150 * time.Millisecond, 140 * time.Millisecond, 0, 0},
		"late, and lost":  {150 * time.Millisecond, time.Hour, 2, 9},
		"never, and lost": {time.Hour, time.Hour, 1, 4},
		"never":           {time.Hour, 240 * time.Millisecond, 0, 0},
	} {
		named(t, name, func(t *testing.T) {
			p := connect(t, 1, weather{})
			before := p.count.Resent.Load()
			p.b.out.set(weather{loss: 1}) // drops the peer's acks
			p.a.unread.Store(c.unread > 0)
			time.AfterFunc(c.unread, func() { p.a.unread.Store(false) })
			back := time.AfterFunc(c.acked, func() {
				p.b.out.set(weather{})
				p.say(t, 1) // carries all acks
			})
			p.hear(t, 1)
			time.Sleep(time.Second)
			synctest.Wait()
			if again := p.count.Resent.Load() - before; again < c.least || again > c.most {
				t.Errorf("sent again %d times, want %d to %d", again, c.least, c.most)
			}
			back.Stop()
			p.stream.Abort()
			p.conn.e.abort(nil)
			synctest.Wait()
		})
	}
}
