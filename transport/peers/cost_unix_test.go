//go:build unix

package peers

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/messages"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCall measures one call on loopback with TLS, including the CPU time of both ends. It runs with one caller and
// with 50 concurrent callers.
func BenchmarkCall(b *testing.B) {
	q := messages.CreatePlayerSessions{
		GameSessionID: "arn:aws:gamelift:us-east-1::gamesession/fleet-arena/gsess-0b6d3e1c-6a57-4a59-9e0c-3d5f1d9b7a11",
		Players:       []messages.NewPlayer{{PlayerID: "ann", PlayerData: "{}"}},
	}
	answer := []*messages.PlayerSession{{
		ID: "psess-7f5c1f6e-46a9-4a8e-8a0e-111111111111-abcdefghijklmnop", PlayerID: "ann", PlayerData: "{}", GameSessionID: q.GameSessionID, FleetID: "fleet-arena",
		Status: messages.PlayerSessionReserved, Created: time.Now(), IPAddress: "10.0.0.7", DNSName: "a.example.com", Port: 33400,
	}}
	for name, callers := range map[string]int{"callers=1": 1, "callers=50": 50} {
		b.Run(name, func(b *testing.B) {
			s := settings(b, system, true)
			p := start(b, s.b, doer(func(context.Context, messages.Request) (any, error) { return answer, nil }), "127.0.0.1:0", 7)
			a, to := client(b, s.a), node("b", p.addr)
			ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
			defer cancel()
			call := func() time.Duration {
				began := time.Now()
				if _, err := a.Call(ctx, to, q); err != nil {
					b.Error(err)
				}
				return time.Since(began)
			}
			for range 100 {
				call()
			}
			took := make([]time.Duration, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu()
			var all sync.WaitGroup
			for c := range callers {
				all.Go(func() {
					for i := c; i < b.N; i += callers {
						took[i] = call()
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e3, "cpu-us/op")
			slices.Sort(took)
			b.ReportMetric(float64(took[b.N/2])/1e3, "p50-us")
			b.ReportMetric(float64(took[b.N*99/100])/1e3, "p99-us")
		})
	}
}
