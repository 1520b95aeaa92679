package transporttest

import (
	"slices"
	"strings"
	"time"
)

// pingComesBack checks that a ping returns with its payload, which may have up to 125 bytes.
func pingComesBack(e *env) {
	e.start()
	p, l := e.login()
	for _, payload := range []string{"1", "42 marks", strings.Repeat("m", 125)} {
		b := []byte(payload)
		e.atOnce("Ping", func() { l.Ping(b) })
		clear(b) // Ping must have copied the payload
		e.await("the ping comes back", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.Contains(l.pongs, payload)
		})
	}
	if got, _ := p.counts(); got != 0 {
		e.Errorf("%d messages reached the client, only pings were sent", got)
	}
	if units, _, _ := l.counts(); units != 0 {
		e.Errorf("%d messages reached the host, only pings were sent", units)
	}
}

// pingsKeepAlive checks that a connection with a ping every 3 s is never silent for 6 s. Otherwise lost
// packets could look like a lost peer (realtime.md 12).
func pingsKeepAlive(e *env) {
	e.start()
	_, l := e.login()
	l.mu.Lock()
	l.last = time.Now()
	l.mu.Unlock()
	for range 40 {
		l.Ping([]byte("mark"))
		time.Sleep(3 * time.Second)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if longest := max(l.silent, time.Since(l.last)); longest >= 6*time.Second {
		e.Errorf("no sign of life for %v", longest)
	}
	if l.ended {
		e.Errorf("an idle connection ended: %+v", l.end)
	}
}

// idleIsSilent checks that neither side sends anything on an idle connection, except for requested pings.
func idleIsSilent(e *env) {
	e.start()
	p, l := e.login()
	e.echoes(p, l)
	sent := func() int64 { return e.net.Stats().Sent }
	time.Sleep(time.Minute) // lets pending acknowledgements be sent
	before := sent()
	time.Sleep(time.Minute)
	if n := sent() - before; n != 0 {
		e.Errorf("an idle connection sent %d packets in a minute", n)
	}
	if l.closed() || p.closed() {
		e.Fatalf("an idle connection ended: %+v", l.how())
	}
	l.Ping([]byte("mark"))
	e.await("a ping goes out", func() bool { return sent() > before })
	e.echoes(p, l)
}
