package kcp

import (
	"testing"
	"testing/synctest"
	"time"
)

// A side whose socket is not read yet does not take for lost what may lie in it.
// RL-115.
func TestNothingIsMissedThatIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		unread time.Duration // for how long the host's socket is not read
		acked  time.Duration // when the peer's acks come
		least  int64         // messages sent again in a second
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
			p.b.out.set(weather{loss: 1}) // the peer's acks
			p.a.unread.Store(c.unread > 0)
			time.AfterFunc(c.unread, func() { p.a.unread.Store(false) })
			back := time.AfterFunc(c.acked, func() {
				p.b.out.set(weather{})
				p.say(t, 1) // with all acks
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
