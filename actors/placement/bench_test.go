package placement_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/actorstest/assert"
	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// BenchmarkPlacements starts placements of two players each at a fixed rate (open loop)
// on a durable store. It reports the p99 of the times from the scheduled start to the answer
// and to the end, in ms.
func BenchmarkPlacements(b *testing.B) {
	for _, rate := range []int{500, 1000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) { placements(b, rate) })
	}
}

func placements(b *testing.B, rate int) {
	disk := assert.Value(store.Open(store.Options{Path: b.TempDir() + "/bench.db", Log: zerolog.Nop(), Counters: new(counters.Set)}))(b)
	defer disk.Close()
	var mu sync.Mutex
	ends := map[string]chan time.Time{}
	settings := gamesession.DefaultSettings()
	system, err := actors.Start(actors.Options{
		Log: zerolog.Nop(), Counters: new(counters.Set), Timeouts: connection.DefaultTimeouts(),
		Fleet: fleet.Options{
			Region: "us-east-1", Advertised: fleet.Advertised{IPAddress: "192.0.2.1", Port: 1900}, Session: settings, Store: disk,
			Fleets:     []*messages.Fleet{{ID: "fleet-a", Status: messages.FleetActive, Locations: []string{"us-east-1"}, GameSessionsMax: 1 << 20}},
			NewHandler: func(*messages.Fleet) script.Handler { return script.Relay{} },
			OnEvent: func(e messages.Event) {
				if e.Kind == messages.EventPlacement {
					mu.Lock()
					defer mu.Unlock()
					if end := ends[e.Type]; end != nil {
						end <- time.Now()
					}
				}
			},
		},
	})
	assert.NoError(b, err)
	defer system.Close()
	if _, err := system.CreateQueue(b.Context(), messages.Queue{Name: "q", Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:us-east-1::fleet/fleet-a"}}); err != nil {
		b.Fatal(err)
	}
	const seconds = 3
	n := rate * seconds
	for b.Loop() {
		ended := make(chan time.Time, n)
		mu.Lock()
		ends["PlacementFulfilled"] = ended
		mu.Unlock()
		answered := make([]time.Duration, n)
		id := time.Now().UnixNano()
		began := time.Now()
		var wait sync.WaitGroup
		for i := range n {
			due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
			time.Sleep(time.Until(due))
			wait.Go(func() {
				_, err := system.StartPlacement(b.Context(), messages.StartPlacement{
					ID: messages.PlacementID(fmt.Sprintf("p-%d-%d", id, i)), Queue: "q", MaxPlayers: 2,
					Players: []messages.NewPlayer{{PlayerID: "x"}, {PlayerID: "y"}},
				})
				if err != nil {
					b.Error(err)
				}
				answered[i] = time.Since(due)
			})
		}
		wait.Wait()
		fulfilled := make([]time.Duration, n)
		for i := range n { // in the order of their ends, which is about that of their starts
			fulfilled[i] = (<-ended).Sub(began.Add(time.Duration(i) * time.Second / time.Duration(rate)))
		}
		b.ReportMetric(p99(answered), "answered-p99-ms")
		b.ReportMetric(p99(fulfilled), "fulfilled-p99-ms")
		b.ReportMetric(float64(n)/time.Since(began).Seconds(), "placements/s")
	}
}

func p99(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)*99/100].Microseconds()) / 1000
}
