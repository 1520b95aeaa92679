package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// SS-104, D-402: the processes of a compute have one token, and are told to connect again one after the other: within ten minutes
// before the twentieth before it expires. With an old token they have less time.
func TestTokensAreRenewedOneAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		left        time.Duration // of the token, when they connect
		first, last time.Duration // of the pushes, since then
	}{
		{165 * time.Minute, 135 * time.Minute, 145 * time.Minute},
		{24 * time.Minute, 0, 4 * time.Minute},
		{19 * time.Minute, 0, time.Second},
	} {
		served(t, func(h *host, p *process) {
			_, open := h.another("c", "p")
			p.must(messages.LeaveProcess{})
			stagetest.Pass(3*time.Hour - c.left)
			var all []*process
			for i := range 200 {
				q := &process{h: h, id: p.id}
				q.id.Name = fmt.Sprint("p", i)
				q.must(open)
				q.must(messages.ActivateProcess{Port: 7000 + i})
				all = append(all, q)
			}
			began := time.Now()
			for time.Since(began) <= c.last {
				for _, q := range all {
					q.must(messages.BeatProcess{Healthy: true})
				}
				stagetest.Pass(min(time.Minute, c.last+time.Second))
			}
			seconds := make(map[time.Duration]int)
			most := 0
			for _, q := range all {
				if len(q.at) == 0 { // it is pushed again, because nobody connects
					t.Fatalf("%v left: nothing is pushed to %s", c.left, q.id.Name)
				}
				d := q.at[0].Sub(began)
				if _, is := q.pushes[0].(messages.PushRefresh); !is || d < c.first || d > c.last {
					t.Errorf("%v left: %T after %v", c.left, q.pushes[0], d)
				}
				seconds[d.Truncate(time.Second)]++
				most = max(most, seconds[d.Truncate(time.Second)])
			}
			if spread := c.last > time.Second; spread && (most > 5 || len(seconds) < 100) {
				t.Errorf("%v left: %d in a second, %d seconds", c.left, most, len(seconds))
			}
		})
	}
}
