package suite

import (
	"context"
	"fmt"
	"time"

	"troupe/bench/barerelay"
	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/transport/client"
)

// Names of transports, as subjects.
const (
	overUDP  = "udp"
	overDTLS = "dtls"
	overKCP  = "kcp"
	overWS   = "ws"
	overWSS  = "wss"
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
			return []subject{
				r.player(overUDP, r.host(), traffic{via: client.WS, fast: true}),
				r.player(overDTLS, r.host(), traffic{via: client.WSS, fast: true}),
			}
		},
	},
	{
		Name: "echo", About: "a message in and out of a process on one core that does nothing else, 16 peers with one message under way each",
		Params: Params{Players: 16, Payload: 64, Warmup: 500 * time.Millisecond, Measure: 3 * time.Second, Rounds: 5},
		Goals: []result.Goal{
			{Subject: overDTLS, Figure: "cpu_echo_us", Over: overUDP, Times: 1.8},
			{Subject: overKCP, Figure: "cpu_echo_us", Over: overDTLS, Times: 1, Plus: 3}, // 1.5 for each of the two messages
		},
		connections: func(p Params) int { return p.Players },
		subjects: func(r *run) (subjects []subject) {
			for _, kind := range []string{overUDP, overDTLS, overKCP} {
				spec := server.Spec{Name: kind, Kind: server.Bare, Bin: r.o.Self.Bin, Args: append(r.o.Self.Echo, kind), Env: []string{"GOMAXPROCS=1"}}
				subjects = append(subjects, subject{name: kind, build: r.buildOf(r.host()), measure: func(ctx context.Context) (result.Round, error) {
					return r.echo(ctx, spec)
				}})
			}
			return subjects
		},
	},
	{
		Name: "broadcast", About: "messages of four members to all 50 of a room on the fast channel, by a process on one core: datagrams that are sent together, and one system call for each",
		Params: Params{Players: barerelay.MembersMax, Payload: 64, Warmup: time.Second, Measure: 4 * time.Second, Rounds: 5},
		Goals: []result.Goal{
			{Subject: barerelay.OneByOne, Figure: "cpu_datagram_us", Over: barerelay.Together, Times: 1.5, AtLeast: true},
		},
		connections: func(p Params) int { return p.Players },
		subjects:    (*run).broadcasts,
	},
	{
		Name: "idle-kcp", About: "players over KCP that are logged in and do nothing: memory, and CPU for their pings",
		Params: Params{Rooms: 50, Players: 20, Rest: 25 * time.Second, Measure: 25 * time.Second, Rounds: 1},
		Goals: []result.Goal{
			{Subject: host, Figure: "kib_per_connection", Plus: 80},
			{Subject: host, Figure: "cpu_cores", Plus: 0.01},
		},
		subjects: func(r *run) []subject {
			return []subject{{name: host, build: r.buildOf(r.host()), measure: func(ctx context.Context) (result.Round, error) {
				return r.idle(ctx, r.host(), traffic{via: client.KCP})
			}}}
		},
	},
	lossy("kcp-loss-0", 0),
	lossy("kcp-loss-1", 1),
	lossy("kcp-loss-5", 5, result.Goal{Subject: overKCP, Figure: "p99_ms", Over: overWS, Times: 0.4}),
}

// lossy is a workload on a path that loses some percent of all packets, each way.
func lossy(name string, loss int, goals ...result.Goal) Workload {
	about := "reliable messages from player to player over KCP, ws and wss"
	w := Workload{
		Name: name, About: about + ", on loopback as it is",
		Params: Params{Rooms: 10, Players: 2, Hz: 20, Payload: 64, Warmup: time.Second, Measure: 10 * time.Second, Rounds: 3},
		Goals:  append(goals, result.Goal{Subject: overKCP, Figure: "delivered_share", Plus: 1, AtLeast: true}),
	}
	measure := func(r *run, name string, via client.Transport) subject {
		return r.player(name, r.host(), traffic{to: loadgen.ToNext, via: via})
	}
	if loss > 0 {
		w.About = fmt.Sprintf("%s, on a path that loses %d %% of the packets each way; needs root and nft", about, loss)
		w.needs, w.loss = lossyPath, loss
		plain := measure
		measure = func(r *run, name string, via client.Transport) subject {
			s := plain(r, name, via)
			if !r.o.inside {
				s.measure = func(ctx context.Context) (result.Round, error) { return r.inNamespace(ctx, name) }
			}
			return s
		}
	}
	w.subjects = func(r *run) []subject {
		return []subject{measure(r, overWS, client.WS), measure(r, overWSS, client.WSS), measure(r, overKCP, client.KCP)}
	}
	return w
}

// player is a subject whose players do something on a host.
func (r *run) player(name string, spec server.Spec, t traffic) subject {
	return subject{name: name, build: r.buildOf(spec), measure: func(ctx context.Context) (result.Round, error) { return r.relay(ctx, spec, t) }}
}

// sdk says how players of Troupe's client reach a host; nil if they are not of it.
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
