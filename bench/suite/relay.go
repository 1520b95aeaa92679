package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/peers"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/transport/client"
)

// Names of subjects.
const (
	bareRelay = "bare"
	host      = "troupe"
	coalesced = "troupe 15 ms" // flush.interval: messages to one player are collected for this long
	colyseus  = "colyseus"     // a server of bench/peers, given with --peer
	forgetful = "without acks" // reconnect.acknowledge=false: no message is retained once it has been written
	noScript  = "no-op script" // compared with the user's own script: a script that ignores the same messages
)

const coalescing = "flush.interval=15ms"

// warmup is two ping intervals and a little more. The host retains messages until a stock player pings, and its message
// pools grow until then.
const warmup = 7 * time.Second

var relayWorkloads = []Workload{
	relayed("relay-25x8", "each message to all 8 players of a room; 32,000 deliveries per second", Params{Rooms: 25, Players: 8, Hz: 20},
		result.Goal{Subject: host, Figure: "cpu_us", Over: bareRelay, Times: 1.08},
		result.Goal{Subject: host, Figure: "cpu_us", Over: colyseus, Times: 0.85},
		result.Goal{Subject: coalesced, Figure: "cpu_us", Over: bareRelay, Times: 0.80},
		result.Goal{Subject: host, Figure: "p99_ms", Plus: 1, Where: &result.Goal{Subject: bareRelay, Figure: "p99_ms", Plus: 1}},
	),
	relayed("relay-4x50", "each message to all 50 players of a room; 100,000 deliveries per second", Params{Rooms: 4, Players: 50, Hz: 10},
		result.Goal{Subject: host, Figure: "cpu_us", Over: bareRelay, Times: 1.05},
		result.Goal{Subject: host, Figure: "cpu_us", Over: colyseus, Times: 0.70, Where: &colyseusKeepsUp},
		result.Goal{Subject: coalesced, Figure: "cpu_us", Over: bareRelay, Times: 0.40},
	),
	acknowledged("acks-25x8", "what acknowledgements cost, with players of Troupe's client, who number their messages", client.WS),
	acknowledged("acks-stock", "what acknowledgements cost, with stock players, whose pings carry marks", 0),
}

// colyseusKeepsUp is the precondition for comparing the CPU of Colyseus. An overloaded Colyseus queues messages for
// seconds and then writes many at once, which costs less per message. In that case, use a smaller --hz.
var colyseusKeepsUp = result.Goal{Subject: colyseus, Figure: "p99_ms", Plus: float64(rampLimit.Milliseconds())}

// exact returns the goals that every message arrives and that a delivery does not allocate. The bound for allocations
// is 0.01, not 0, because they are counted for the whole process, which also answers pings, runs timers, and refills
// pools after a garbage collection.
func exact(name string) []result.Goal {
	return []result.Goal{
		{Subject: name, Figure: "delivered_share", Plus: 1, AtLeast: true},
		{Subject: name, Figure: "allocs", Plus: 0.01},
		{Subject: name, Figure: "allocs_inbound", Plus: 1},
	}
}

// relayed returns a workload in which the players of each room send messages to their own room.
func relayed(name, about string, p Params, goals ...result.Goal) Workload {
	p.Payload, p.Warmup, p.Measure, p.Rounds = 64, warmup, 8*time.Second, 3
	return Workload{
		Name: name, About: about, Params: p, Against: true, Script: true, Goals: append(goals, exact(host)...),
		subjects: func(r *run) []subject {
			if r.o.Script != "" {
				return []subject{r.playerOn(noScript, scriptFleet{id: userFleet, launch: "noop.js"}), r.playerOn(host, scriptFleet{id: userFleet, own: r.o.Script})}
			}
			return r.servers(traffic{}, r.besideBare())
		},
	}
}

// traffic describes what players send.
type traffic struct {
	to   loadgen.Target
	via  client.Transport // 0: bare WebSocket; otherwise the transport of Troupe's Go client
	fast bool             // use the fast channel
	// ready, if set, prepares the host before the players connect.
	ready func(ctx context.Context, proc *server.Process) error
	// beside, if set, runs during the load until its context is cancelled.
	beside func(ctx context.Context, proc *server.Process) error
}

// acknowledged compares a host that retains messages until they are acknowledged with a host that does not.
func acknowledged(name, about string, via client.Transport) Workload {
	return Workload{
		Name: name, About: about, Params: Params{Rooms: 25, Players: 8, Hz: 20, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{{Subject: host, Figure: "cpu_us", Over: forgetful, Times: 1.05}, {Subject: host, Figure: "allocs", Plus: 0.1}},
		subjects: func(r *run) []subject {
			return r.servers(traffic{via: via}, []served{{forgetful, r.host("reconnect.acknowledge=false")}, {host, r.host()}})
		},
	}
}

// served is a server to be measured under load.
type served struct {
	name string
	spec server.Spec
}

// hostOnly returns only the host, or the host that the caller has named.
func (r *run) hostOnly() []served { return []served{{host, r.host()}} }

// besideBare returns the bare relay, the host, the host with coalescing, and the peers. If the host to measure is
// already running, it is the only one.
func (r *run) besideBare() []served {
	if r.o.Against != nil {
		return r.hostOnly()
	}
	all := []served{{bareRelay, r.bare()}, {host, r.host()}, {coalesced, r.host(coalescing)}}
	return append(all, r.peers()...)
}

// each makes a subject of each server.
func (r *run) each(all []served, measure func(r *run, ctx context.Context, spec server.Spec) (result.Round, error)) (subjects []subject) {
	for _, s := range all {
		subjects = append(subjects, r.subject(s.name, s.spec, func(ctx context.Context) (result.Round, error) { return measure(r, ctx, s.spec) }))
	}
	return subjects
}

// servers makes subjects that all get the same traffic.
func (r *run) servers(t traffic, all []served) []subject {
	return r.each(all, func(r *run, ctx context.Context, spec server.Spec) (result.Round, error) {
		return r.relay(ctx, spec, t)
	})
}

// with starts a server, calls do, and stops the server.
func (r *run) with(ctx context.Context, spec server.Spec, do func(proc *server.Process) error) (err error) {
	proc, err := r.start(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	if proc.Spec.Kind == server.Troupe {
		if err := proc.AwaitFleet(ctx, orDev(proc.Spec.FleetID)); err != nil {
			return r.told(err, proc)
		}
	}
	return do(proc)
}

// relay makes one measurement of one server.
func (r *run) relay(ctx context.Context, spec server.Spec, t traffic) (round result.Round, err error) {
	cfg := loadgen.Config{Hz: r.p.Hz, PayloadBytes: r.p.Payload, Seed: 1, To: t.to}
	own := r.o.Script != "" && r.now == host
	if r.o.own() {
		cfg.To, cfg.OpCode = loadgen.ToAnything, r.o.OpCode
		if r.o.Message != "" {
			cfg.Message = []byte(r.o.Message)
		}
	}
	var bound string // why the generator was the limit
	var failed server.ScriptErrors
	var load *loadgen.Result
	err = r.with(ctx, spec, func(proc *server.Process) (err error) {
		if own {
			defer func() { failed, err = r.scriptFailed(ctx, proc, err) }()
		}
		if t.ready != nil {
			if err := t.ready(ctx, proc); err != nil {
				return errors.Join(err, proc.Alive())
			}
		}
		if cfg.SDK, err = t.sdk(proc); err != nil {
			return err
		}
		return r.filled(ctx, proc, cfg, r.p.Rooms*r.p.Players, func(swarm *loadgen.Swarm) (err error) {
			if t.beside != nil {
				ctx, stop := context.WithCancel(ctx)
				ended := make(chan error, 1)
				go func() { ended <- t.beside(ctx, proc) }()
				defer func() {
					stop()
					err = errors.Join(err, <-ended)
				}()
			}
			plan := loadgen.Plan{Warmup: r.p.Warmup, Measure: r.p.Measure}
			if round, load, err = r.loaded(ctx, proc, swarm, plan); err != nil {
				return err
			}
			bound, _ = isBound(load)
			return nil
		})
	})
	if err != nil {
		return round, err
	}
	r.judgeAnswers(round.Figures, load, failed)
	if bound != "" {
		r.provesNothing("%s: use a smaller load, or a machine that is idle or has more cores", bound)
	}
	return round, nil
}

// filled creates a swarm, connects players, calls do, and closes the swarm.
func (r *run) filled(ctx context.Context, proc *server.Process, cfg loadgen.Config, players int, do func(*loadgen.Swarm) error) (err error) {
	cfg.Addr = proc.Announce.WS
	if cfg.Protocol, err = peers.Find(proc.Announce.Protocol); err != nil {
		return err
	}
	swarm, err := loadgen.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, swarm.Close()) }()
	if err := proc.Fill(ctx, swarm, players, max(r.p.Players, 1)); err != nil {
		return r.told(err, proc)
	}
	return do(swarm)
}

// told adds advice for the user to an error of a host.
func (r *run) told(err error, proc *server.Process) error {
	answer := new(server.AnswerError)
	switch {
	case errors.Is(err, loadgen.ErrRefused), errors.Is(err, client.ErrRefused):
		return errors.Join(r.refused(err), proc.Alive())
	case r.o.Against == nil:
		return errors.Join(err, proc.Alive())
	case errors.As(err, &answer) && (answer.Status == 403 || answer.Status == 401 || deniedText(answer.Text)):
		return fmt.Errorf("the host refuses %s: sign with an access key that may call it (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)", answer.Operation)
	case errors.As(err, &answer):
		return err
	}
	if _, dialled := errors.AsType[*loadgen.DialError](err); !dialled {
		return err
	}
	return fmt.Errorf("%w (a host limits the players of one address: see \"A running host\" in docs/benchmarks.md)", err)
}
