package suite

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/transport/client"
)

var reconnectWorkloads = []Workload{
	{
		Name: "reconnect-single", About: "players' connections are cut one at a time, while all play: how long they take to be back", Against: true,
		Params:   Params{Rooms: 100, Players: 10, Hz: 0.5, Payload: 64, Rate: 50, Warmup: 2 * time.Second, Measure: 20 * time.Second, Rounds: 1},
		Goals:    append(exactlyOnce(), result.Goal{Subject: overWS, Figure: "back_p99_ms", Plus: 5}),
		quick:    func(p *Params) { p.Hz = 20 },
		subjects: func(r *run) []subject { return r.reconnects((*reconnects).single) },
	},
	{
		Name: "reconnect-storm", About: "all players' connections are cut at once, while all play: how long it takes until all are back", Against: true,
		Params:   Params{Rooms: 500, Players: 10, Hz: 0.5, Payload: 64, Warmup: 2 * time.Second, Rounds: 1},
		Goals:    append(exactlyOnce(), result.Goal{Subject: overWS, Figure: "back_s", Plus: 5}),
		quick:    func(p *Params) { p.Hz = 20 },
		lasts:    func(p Params) time.Duration { return p.lasts() + p.Warmup + 5*time.Second },
		subjects: func(r *run) []subject { return r.reconnects((*reconnects).storm) },
	},
}

func exactlyOnce() (goals []result.Goal) {
	for _, name := range []string{overWS, overKCP} {
		for _, figure := range []string{"failed", "lost", "duplicated"} {
			goals = append(goals, result.Goal{Subject: name, Figure: figure})
		}
	}
	return goals
}

// resumesLifted disables limits that the players would reach, because they reconnect often and share one address.
var resumesLifted = []string{
	"limits.resumesPerPlayerSessionPerMinute=0", "limits.loginsPerPlayerSessionPerMinute=0",
	"dtls.hellosPerIPPerSecond=0", "dtls.halfOpen=0", "dtls.hellosPerSecond=0",
}

const (
	// dialsMax bounds the concurrent logins at the start.
	dialsMax = 64
	// backMax is how long it may take until all players are back, and until the last messages have arrived.
	backMax = time.Minute
	// quietMax is the time without arrivals after which missing messages count as lost. quietForgetful is its value for a
	// host that does not retain messages.
	quietMax       = 5 * time.Second
	quietForgetful = time.Second
)

// reconnects is one measurement of players whose connections are cut.
type reconnects struct {
	r       *run
	via     client.Transport
	quiet   time.Duration
	rooms   []*cutRoom
	players []*cutPlayer
	ends    sync.WaitGroup
	random  *rand.Rand

	times  *loadgen.Histogram // time from the cut until a player was back
	failed int                // number of players who did not come back
}

// reconnects returns the subjects: players over ws and over KCP, and players of a host that does not retain messages. A
// host that is already running is measured over ws only.
func (r *run) reconnects(cut func(*reconnects, context.Context, result.Figures) error) []subject {
	of := func(name string, via client.Transport, quiet time.Duration, sets ...string) subject {
		spec := r.host(append(sets, resumesLifted...)...)
		return r.subject(name, r.host(sets...), func(ctx context.Context) (round result.Round, err error) {
			round.Figures = make(result.Figures)
			err = r.with(ctx, spec, func(proc *server.Process) (err error) {
				c := &reconnects{r: r, via: via, quiet: quiet, random: rand.New(rand.NewPCG(1, 1)), times: loadgen.NewHistogram()}
				defer c.leave()
				if err := c.enter(ctx, proc); err != nil {
					return r.told(err, proc)
				}
				return c.measure(ctx, proc, round.Figures, cut)
			})
			return round, err
		})
	}
	if r.o.Against != nil {
		return []subject{of(overWS, client.WS, quietMax)}
	}
	return []subject{
		of(overWS, client.WS, quietMax), of(overKCP, client.KCP, quietMax),
		of(forgetful, client.WS, quietForgetful, "reconnect.acknowledge=false"),
	}
}

// enter logs in all players.
func (c *reconnects) enter(ctx context.Context, proc *server.Process) error {
	sdk, err := traffic{via: c.via}.sdk(proc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, dialsMax)
	var dials sync.WaitGroup
	for number := range c.r.p.Rooms {
		opened, err := proc.Open(ctx, number, c.r.p.Players)
		if err != nil {
			cancel(err)
			break
		}
		rm := &cutRoom{players: make([]*cutPlayer, len(opened.IDs))}
		c.rooms = append(c.rooms, rm)
		for index, login := range opened.Logins() {
			slots <- struct{}{}
			dials.Go(func() {
				defer func() { <-slots }()
				if err := c.dial(ctx, rm, index, login, sdk); err != nil {
					cancel(err)
				}
			})
		}
	}
	dials.Wait()
	for _, rm := range c.rooms {
		for _, p := range rm.players {
			if p != nil {
				c.players = append(c.players, p)
			}
		}
	}
	return context.Cause(ctx)
}

func (c *reconnects) leave() {
	var ends sync.WaitGroup
	slots := make(chan struct{}, dialsMax)
	for _, p := range c.players {
		slots <- struct{}{}
		ends.Go(func() {
			if c.failed == 0 {
				p.c.Close()
			} else {
				p.c.Abort() // no goodbye: a player without a connection would wait seconds for it
			}
			<-slots
		})
	}
	ends.Wait()
	c.ends.Wait()
}

// measure lets all players play, cuts them, and counts what arrives.
func (c *reconnects) measure(ctx context.Context, proc *server.Process, f result.Figures, cut func(*reconnects, context.Context, result.Figures) error) error {
	playing, halt := context.WithCancel(ctx)
	var pacer sync.WaitGroup
	pacer.Go(func() { c.play(playing) })
	defer pacer.Wait()
	defer halt()
	if err := rest(ctx, c.r.p.Warmup); err != nil {
		return err
	}
	m := c.r.meter(proc, nil)
	if err := m.read(&m.start); err != nil {
		return err
	}
	waits := loadgen.NewWaits()
	err := cut(c, ctx, f)
	c.r.asFastAsItCan(c.times.Quantiles().P99, waits.P99(), "back_p50_ms", "back_p99_ms", "back_max_ms", "back_s")
	if err == nil {
		err = m.read(&m.end)
	}
	if err != nil {
		return err
	}
	maps.Copy(f, m.figures())
	if err := rest(ctx, c.r.p.Warmup); err != nil {
		return err
	}
	halt()
	pacer.Wait()
	c.await(ctx)
	c.count(f)
	return errors.Join(ctx.Err(), proc.Alive())
}

// play sends messages for all players at their rate, evenly spread over time.
func (c *reconnects) play(ctx context.Context) {
	payload := make([]byte, c.r.p.Payload)
	each := time.Duration(float64(time.Second) / c.r.p.Hz / float64(len(c.players)))
	begun := time.Now()
	for n := 0; ; n++ {
		if rest(ctx, time.Until(begun.Add(time.Duration(n)*each))) != nil {
			return
		}
		c.players[n%len(c.players)].send(ctx, payload)
	}
}

// single cuts players one at a time. Each cut happens at its scheduled time, or when the previous player is back if
// that is later.
func (c *reconnects) single(ctx context.Context, _ result.Figures) error {
	begun := time.Now()
	cuts := max(1, int(c.r.p.Rate*c.r.p.Measure.Seconds()))
	for n := range cuts {
		if err := rest(ctx, time.Until(begun.Add(time.Duration(float64(n)/c.r.p.Rate*float64(time.Second))))); err != nil {
			return err
		}
		p := c.players[c.random.IntN(len(c.players))]
		c.waitFor(ctx, p.cut(), time.Now().Add(backMax))
		if c.failed > 0 {
			break // the same player would be cut again
		}
	}
	return ctx.Err()
}

// storm cuts all players at once and waits until all are back.
func (c *reconnects) storm(ctx context.Context, f result.Figures) error {
	back := make([]<-chan time.Duration, len(c.players))
	begun := time.Now()
	for i, p := range c.players {
		back[i] = p.cut()
	}
	cut := time.Now() // cutting thousands of players takes seconds on a busy machine
	for _, b := range back {
		c.waitFor(ctx, b, cut.Add(backMax))
	}
	if c.failed == 0 {
		f.Set("back_s", time.Since(begun).Seconds())
	}
	return ctx.Err()
}

// waitFor waits until one player is back or the deadline has passed.
func (c *reconnects) waitFor(ctx context.Context, back <-chan time.Duration, deadline time.Time) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case took := <-back:
		c.times.Record(took)
		return
	default: // the deadline may have passed during the waits for other players, although this player was back in time
	}
	select {
	case took := <-back:
		c.times.Record(took)
	case <-timer.C:
		c.failed++
	case <-ctx.Done():
	}
}

// await waits until no message is missing, or until none has arrived for c.quiet.
func (c *reconnects) await(ctx context.Context) {
	last, since := uint64(0), time.Now()
	for deadline := time.Now().Add(backMax); time.Now().Before(deadline); {
		missing := uint64(0)
		for _, p := range c.players {
			missing += p.missing()
		}
		if missing != last {
			last, since = missing, time.Now()
		}
		if missing == 0 || time.Since(since) > c.quiet || rest(ctx, 20*time.Millisecond) != nil {
			return
		}
	}
}

func (c *reconnects) count(f result.Figures) {
	var sent, unsent, received, lost, out, duplicated, replayed, gaps uint64
	for _, p := range c.players {
		missing := p.missing()
		p.mu.Lock()
		if p.back != nil { // the player did not come back: its player session has ended, and the player counts as failed
			out, missing = out+missing, 0
		}
		sent += p.sent
		unsent += p.unsent
		received += p.received
		lost += p.lost + missing
		duplicated += p.duplicated
		replayed += p.replayed
		gaps += p.gaps
		p.mu.Unlock()
	}
	took := c.times.Quantiles()
	f.Set("resumes", float64(c.times.Count()))
	if c.times.Count() > 0 {
		f.Set("back_p50_ms", ms(took.P50))
		f.Set("back_p99_ms", ms(took.P99))
		f.Set("back_max_ms", ms(took.Max))
	}
	f.Set("failed", float64(c.failed))
	f.Set("sent", float64(sent))
	f.Set("lost", float64(lost))
	f.Set("lost_out", float64(out))
	f.Set("duplicated", float64(duplicated))
	f.Set("replayed", float64(replayed))
	f.Set("unsent", float64(unsent))
	f.Set("gaps", float64(gaps))
}
