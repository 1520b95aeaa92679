package console

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
)

// Clients behind a proxy that the operator has configured have their own attempts. From all other peers, the
// header that names a client is ignored.
func TestLoginsCountForWhomAProxyNames(t *testing.T) {
	for _, c := range []struct {
		proxies, from, forwarded string
		counts                   string
	}{
		{"", "10.0.0.1:5", "192.0.2.1", "10.0.0.1/32"},
		{"", "127.0.0.1:5", "192.0.2.1", "127.0.0.1/32"},
		{"10.0.0.1", "10.0.0.2:5", "192.0.2.1", "10.0.0.2/32"},
		{"10.0.0.1", "10.0.0.1:5", "1.2.3.4, 192.0.2.1", "192.0.2.1/32"},
		{"10.0.0.1", "10.0.0.1:5", "", "10.0.0.1/32"},
		{"10.0.0.1", "10.0.0.1:5", "192.0.2.1, unknown", "10.0.0.1/32"},
		{"10.0.0.0/24", "10.0.0.1:5", "1.2.3.4,192.0.2.1,10.0.0.9", "192.0.2.1/32"},
		{"10.0.0.0/24", "10.0.0.1:5", "10.0.0.8, 10.0.0.9", "10.0.0.8/32"},
		{"::1", "[::1]:5", "2001:db8:1:2::3", "2001:db8:1:2::/64"},
		{"10.0.0.1", "10.0.0.1:5", "192.0.2.1:4711", "192.0.2.1/32"},
		{"10.0.0.1", "10.0.0.1:5", "[2001:db8:1:2::3]:443", "2001:db8:1:2::/64"},
	} {
		w := newWorld(t, true)
		if c.proxies != "" {
			w.console.o.Access.Proxies, _ = transport.ParseProxies([]string{c.proxies})
		}
		w.want(http.StatusUnauthorized, "", "POST", "/admin/v1/login", `{"accessKeyId":"KEY","secret":"wrong"}`, "Content-Type", "application/json", "From", c.from, "X-Forwarded-For", c.forwarded)
		for source := range w.console.logins.sources {
			if source.String() != c.counts {
				t.Errorf("%+v: counts for %s", c, source)
			}
		}
	}
}

// eventsOf is a fake host whose events a test adds.
type eventsOf struct {
	mu   sync.Mutex
	all  [][]byte
	more chan struct{}
}

func (e *eventsOf) Watch() func() { return func() {} }

func (e *eventsOf) Since(n uint64) ([][]byte, uint64, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[n:], uint64(len(e.all)), e.more
}

func (e *eventsOf) add(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, []byte(text))
	close(e.more)
	e.more = make(chan struct{})
}

// A listener receives every event that happens after it has entered, even if the hub's goroutine is scheduled
// late.
func TestNoEventIsLostBehindTheRecentOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			w := newWorld(t, false)
			events := &eventsOf{more: make(chan struct{})}
			w.console.o.Events = events
			l, ok := w.console.hub.enter()
			if !ok {
				t.Fatal("no room")
			}
			events.add(`{"id":"1"}`)
			for got := ""; !strings.Contains(got, `"id":"1"`); {
				got = string(<-l)
			}
			w.console.Close()
		}
	})
}

func TestALogoutEndsItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, true)
		cookie, csrf := w.logIn()
		lines, leave := w.stream("Cookie", cookie.String())
		defer leave()
		if !lines.Scan() {
			t.Fatal("no stream")
		}
		start := time.Now()
		w.want(200, "", "POST", "/admin/v1/logout", "", "Cookie", cookie.String(), csrfHeader, csrf)
		for lines.Scan() && time.Since(start) <= tick {
		}
		if after := time.Since(start); after > tick {
			t.Errorf("the stream goes on after %v", after)
		}
	})
}

// crowded is a fake host with one game session of many players. It counts its requests.
type crowded struct {
	messages.Doer
	asked int
}

func (b *crowded) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case messages.PlayerSessionQuery:
		return b.playerSessions(ctx, q)
	case messages.InspectGameSession:
		return b.inspectGameSession(ctx, q.ID)
	}
	return b.Doer.Do(ctx, q)
}

func (b *crowded) playerSessions(context.Context, messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	all := make([]*messages.PlayerSession, 150)
	for i := range all {
		all[i] = &messages.PlayerSession{ID: "psess-x", GameSessionID: "game"}
	}
	return all, nil
}

func (b *crowded) inspectGameSession(context.Context, messages.GameSessionID) (*messages.GameSessionState, error) {
	b.asked++
	return new(messages.GameSessionState), nil
}

func TestAGameSessionIsAskedOnceForAllItsPlayers(t *testing.T) {
	w := newWorld(t, false)
	b := new(crowded)
	w.console.o.Backend = b
	w.want(200, "", "GET", "/admin/v1/players?gameSession=game&limit=150", "")
	if b.asked != 1 {
		t.Errorf("asked %d times", b.asked)
	}
}

// A slow minute is visible in the recent latencies, however long the host has run, and disappears after that
// minute.
func TestLatenciesAreOfTheLastMinute(t *testing.T) {
	n, l, now := new(counters.Set), new(latencies), time.Unix(1_000_000, 0)
	for range 100_000 { // a day of logins
		n.LoginLatency.Observe(time.Millisecond)
	}
	if r := l.recent(now, n); r != nil {
		t.Errorf("%+v at the first look", r)
	}
	look := func(seconds int, latency time.Duration) (r *recent) {
		for range seconds {
			n.LoginLatency.Observe(latency)
			now = now.Add(time.Second)
			r = l.recent(now, n)
		}
		return r
	}
	if r := look(10, 200*time.Millisecond); r.Seconds != 10 || r.Latency["login"].Count != 10 || *r.Latency["login"].P50Seconds != 0.25 {
		t.Errorf("%+v", r)
	}
	r := look(300, time.Millisecond)
	if *r.Latency["login"].P99Seconds != 0.001 || r.Seconds < 60 || r.Seconds > 65 || r.Latency["login"].Count != uint64(r.Seconds) || r.Latency["storeCommit"].P50Seconds != nil {
		t.Errorf("%+v", r)
	}
	if len(l.states) > int(recentFor/keepEvery)+2 {
		t.Errorf("%d states", len(l.states))
	}
	now = now.Add(time.Hour)
	if r := l.recent(now, n); r != nil {
		t.Errorf("%+v after an hour in which nobody looked", r)
	}
}
