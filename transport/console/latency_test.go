package console

import (
	"testing"
	"time"

	"troupe/messages/counters"
)

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
