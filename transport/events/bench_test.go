package events

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"troupe/messages/counters"
)

// From Post to an empty outbox, over a real socket.
func BenchmarkDelivery(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, sinks := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("sinks=%d", sinks), func(b *testing.B) {
			s, count := new(shelf), new(counters.Set)
			o := Options{Outbox: s, Counters: count}
			for i := range sinks {
				o.Sinks = append(o.Sinks, raw(fmt.Sprint(i), server.URL))
			}
			d, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N { // not b.Loop: what is delivered afterwards counts, too
				s.post(d, placed(n, fmt.Sprint(n)))
			}
			for len(s.left()) > 0 {
				time.Sleep(time.Millisecond)
			}
			b.StopTimer()
			end(d)
			b.ReportMetric(float64(count.Events.Get(counters.EventDelivered))/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}
