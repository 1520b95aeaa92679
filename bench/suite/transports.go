package suite

import (
	"context"
	"slices"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/transport/client"
)

// Subjects that are named after their transport.
const (
	overUDP  = "udp"
	overDTLS = "dtls"
	overKCP  = "kcp"
	overWS   = "ws"
)

var transportWorkloads = []Workload{
	{
		Name: "fast", About: "the fast channel over plain UDP and over DTLS: each message to all 8 players of a room",
		Params: Params{Rooms: 25, Players: 8, Hz: 10, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: overDTLS, Figure: "cpu_us", Over: overUDP, Times: 1.8},
			{Subject: overUDP, Figure: "delivered_share", Plus: 0.999, AtLeast: true},
			{Subject: overDTLS, Figure: "delivered_share", Plus: 0.999, AtLeast: true},
		},
		subjects: func(r *run) []subject {
			return slices.Concat(r.servers(traffic{via: client.WS, fast: true}, []served{{overUDP, r.host()}}), r.servers(traffic{via: client.WSS, fast: true}, []served{{overDTLS, r.host()}}))
		},
	},
	{
		Name: "idle-kcp", About: "players over KCP that are logged in and do nothing: memory, and CPU for their pings",
		Params: Params{Rooms: 50, Players: 20, Rest: 25 * time.Second, Measure: 25 * time.Second, Rounds: 1},
		Goals: []result.Goal{
			{Subject: host, Figure: "kib_per_connection", Plus: 80},
			{Subject: host, Figure: "cpu_cores", Plus: 0.01},
		},
		subjects: func(r *run) []subject {
			return r.each(r.hostOnly(), func(r *run, ctx context.Context, s server.Spec) (result.Round, error) {
				return r.idle(ctx, s, traffic{via: client.KCP})
			})
		},
	},
}

// sdk returns how players of Troupe's client reach a host. It returns nil if the players do not use that client.
func (t traffic) sdk(proc *server.Process) (_ *loadgen.SDK, err error) {
	s := &loadgen.SDK{Transport: t.via, Fast: t.fast}
	switch t.via {
	case 0:
		return nil, nil
	case client.WS:
		return s, nil
	case client.WSS:
		s.Addr = proc.Announce.WSS
	case client.KCP:
		s.Addr = proc.Announce.KCP
	}
	s.TLS, err = proc.TLS()
	return s, err
}
