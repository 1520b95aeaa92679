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
)

// Guests of one proxy have attempts of their own; strangers cannot name other addresses.
func TestLoginsBehindAProxyDoNotShareALimit(t *testing.T) {
	w := newWorld(t, true)
	try := func(status int, from, forwarded string) {
		t.Helper()
		w.want(status, "", "POST", "/admin/v1/login", `{"accessKeyId":"KEY","secret":"wrong"}`, "Content-Type", "application/json", "From", from, "X-Forwarded-For", forwarded)
	}
	for range attemptsBurst {
		try(http.StatusUnauthorized, "10.0.0.1:5", "1.2.3.4, 192.0.2.1")
	}
	try(http.StatusTooManyRequests, "10.0.0.1:5", "5.6.7.8, 192.0.2.1")
	try(http.StatusUnauthorized, "10.0.0.1:5", "192.0.2.1, 192.0.2.2")
	for range attemptsBurst {
		try(http.StatusUnauthorized, "198.51.100.1:5", "192.0.2.3")
	}
	try(http.StatusTooManyRequests, "198.51.100.1:5", "192.0.2.4")
}

// eventsOf are events that a test adds.
type eventsOf struct {
	mu   sync.Mutex
	all  [][]byte
	more chan struct{}
}

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

// What happens after a listener has entered is sent to it, however late the goroutine of the
// hub gets its turn.
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

// crowded is a host with a game session of many players, which counts how often it is asked.
type crowded struct {
	Backend
	asked int
}

func (b *crowded) PlayerSessions(context.Context, messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	all := make([]*messages.PlayerSession, 150)
	for i := range all {
		all[i] = &messages.PlayerSession{ID: "psess-x", GameSessionID: "game"}
	}
	return all, nil
}

func (b *crowded) InspectGameSession(context.Context, messages.GameSessionID) (*messages.GameSessionState, error) {
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

// A slow minute is seen, however long the host has run, and is over when it is over.
func TestLatenciesAreOfTheLastMinute(t *testing.T) {
	n, l, now := new(counters.Set), new(latencies), time.Unix(1_000_000, 0)
	for range 100_000 { // a day
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
