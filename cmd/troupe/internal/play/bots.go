package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"troupe/transport/client"
)

// BotOptions configures a run of bots.
type BotOptions struct {
	Options
	Bots         int
	Rate         float64       // messages per second per bot
	Duration     time.Duration // 0: until ctx ends
	PayloadBytes int           // raised to stampBytes if smaller
}

const (
	loginsAtOnce = 8 // less than the host's limit per IP address
	// stablePatience is how long bots wait for missing messages if none arrives.
	stablePatience = 2 * time.Second
	stablePoll     = 20 * time.Millisecond
	fastPatience   = 2 * time.Second
	botsMax        = seatsMax
)

func (o *BotOptions) check() error {
	if err := o.Options.check(); err != nil {
		return err
	}
	switch {
	case o.Bots < 1 || o.Bots > botsMax:
		return fmt.Errorf("--bots must be 1 to %d, the seats of one game session", botsMax)
	case o.Rate <= 0 || o.Rate > 1000:
		return errors.New("--rate must be above 0 and at most 1000")
	case o.PayloadBytes < 0 || o.PayloadBytes > client.PayloadMax:
		return fmt.Errorf("--payload must be 0 to %d", client.PayloadMax)
	case o.Duration < 0:
		return errors.New("--duration must not be negative")
	}
	return nil
}

// Bots lets bots play until the duration is over or ctx ends, and prints their counts. It returns an error if a bot
// failed, if a reliable message arrived twice, or if one was lost without the host reporting a gap.
func Bots(ctx context.Context, o BotOptions, out io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	s := &swarm{o: o, out: out, run: rand.Uint64()}
	if err := s.login(ctx); err != nil {
		return err
	}
	return s.play(ctx)
}

// swarm holds the bots of one run.
type swarm struct {
	o   BotOptions
	run uint64

	// set before the bots play
	bots    []*bot
	tallies []*tally
	began   time.Time
	// start is the start of the schedule, relative to began. It is set before the first message.
	start time.Duration

	mu  sync.Mutex
	out io.Writer
}

// bot is one player.
type bot struct {
	swarm *swarm
	index int
	link  *link
	up    chan struct{} // holds a token once the fast channel is up or has failed
	*tally
}

func (s *swarm) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// login reserves seats and connects all bots. A bot that cannot log in counts as failed, and the others play without
// it.
func (s *swarm) login(ctx context.Context) error {
	name := s.o.Player
	if name == "" {
		name = fmt.Sprintf("bot-%06x", rand.Uint32N(1<<24))
	}
	players := make([]string, s.o.Bots)
	for i := range players {
		players[i] = fmt.Sprintf("%s-%d", name, i)
	}
	game, seats, err := s.o.seats(ctx, players)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	turns := make(chan struct{}, loginsAtOnce)
	connection := s.o.connection()
	for i, seat := range seats {
		b := &bot{swarm: s, index: i, up: make(chan struct{}, 1), tally: newTally(len(seats))}
		s.bots, s.tallies = append(s.bots, b), append(s.tallies, b.tally)
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			l, err := open(ctx, seat, connection, s.o.outages())
			if err != nil {
				b.fail(fmt.Errorf("log in: %w", err))
				return
			}
			b.link = l
		})
	}
	wg.Wait()
	if !s.o.Quiet {
		s.print("%d bots joined %s", len(s.bots)-summarize(s.tallies, false).failed, game)
	}
	return nil
}

// play runs the bots until all have ended.
func (s *swarm) play(ctx context.Context) error {
	s.began = time.Now()
	staying, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	talking, stop := context.WithCancel(ctx)
	defer stop()
	var links, talks sync.WaitGroup
	playing := slices.DeleteFunc(slices.Clone(s.bots), func(b *bot) bool { return b.link == nil })
	for _, b := range playing {
		links.Go(func() {
			if err := b.link.run(staying, b); err != nil {
				b.fail(err)
			}
		})
	}
	if s.o.Fast {
		awaitFast(ctx, playing)
	}
	s.start = time.Since(s.began)
	if s.o.Duration > 0 {
		talking, stop = context.WithTimeout(ctx, s.o.Duration)
		defer stop()
	}
	for _, b := range playing {
		talks.Go(func() { b.talk(talking, ctx) })
	}
	s.watch(talking)
	stop()
	for _, b := range playing {
		b.link.calmDown()
	}
	talks.Wait()
	s.awaitStable(ctx, playing)
	leave()
	links.Wait()
	r := summarize(s.tallies, true)
	s.print("%s", r.table())
	var all traffic
	for _, b := range playing {
		all.add(b.link.traffic())
	}
	s.print("%s", all)
	return r.verdict()
}

// awaitFast waits briefly for the fast channels, so that all fast messages of a bot take the same path and stay in
// order.
func awaitFast(ctx context.Context, bots []*bot) {
	ctx, cancel := context.WithTimeout(ctx, fastPatience)
	defer cancel()
	for _, b := range bots {
		select {
		case <-b.up:
		case <-ctx.Done():
			return
		}
	}
}

// watch prints one line per second while the bots send.
func (s *swarm) watch(talking context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := summarize(s.tallies, false)
	for {
		select {
		case <-talking.Done():
			return
		case <-tick.C:
			now := summarize(s.tallies, true)
			if !s.o.Quiet {
				s.print("%s", now.line(last, time.Since(s.began)))
			}
			last = now
			if now.failed == now.bots {
				return
			}
		}
	}
}

// awaitStable waits for messages in transit and for bots that are reconnecting.
func (s *swarm) awaitStable(ctx context.Context, playing []*bot) {
	w := settling{bots: len(playing), drop: s.o.Drop > 0, outage: s.o.For}
	for {
		var missing uint64
		for _, sums := range summarize(s.tallies, false).channels {
			missing += sums.missing()
		}
		away := 0
		for _, b := range playing {
			if b.away() {
				away++
			}
		}
		if w.over(time.Now(), missing, away, ctx.Err() != nil) {
			return
		}
		time.Sleep(stablePoll)
	}
}

// settling decides how long to wait after bots have stopped sending.
type settling struct {
	bots     int
	drop     bool          // outages are simulated
	outage   time.Duration // duration of each outage
	least    uint64        // smallest number of missing messages so far
	progress time.Time
}

// over reports whether the wait is finished. It must be called repeatedly with the number of missing messages and of
// reconnecting bots. After an interruption, it does not wait until bots give up reconnecting. It waits only for
// simulated outages to end, and not at all if all connections are lost without simulated outages.
func (w *settling) over(now time.Time, missing uint64, away int, interrupted bool) bool {
	if missing == 0 && away == 0 || interrupted && !w.drop && away == w.bots {
		return true
	}
	patience := stablePatience
	if interrupted {
		patience += w.outage
	}
	if w.progress.IsZero() || missing < w.least || away > 0 && !interrupted {
		w.least, w.progress = missing, now
	}
	return now.Sub(w.progress) > patience
}

// away reports whether a bot is reconnecting and may still succeed.
func (b *bot) away() bool {
	select {
	case <-b.link.client.Done():
		return false
	default:
		return !b.link.client.Attached()
	}
}

func (b *bot) fail(err error) {
	b.update(func() { b.failed = err })
	b.swarm.print("! bot %d failed: %v", b.index, err)
}

// talk sends messages on a fixed schedule. A late message is sent immediately and keeps its scheduled time, so that a
// delay counts as latency. talk waits while the send buffer is full, until the run is interrupted.
func (b *bot) talk(talking, run context.Context) {
	o := &b.swarm.o
	if o.Group > 0 {
		b.link.client.JoinGroup(run, o.Group)
	}
	interval := time.Duration(float64(time.Second) / o.Rate)
	next := b.swarm.start + interval*time.Duration(b.index)/time.Duration(len(b.swarm.bots))
	for n := 0; ; n++ {
		if sleep(talking, next-time.Since(b.swarm.began)) != nil {
			return
		}
		ch := reliable
		if o.Fast && n%2 == 1 {
			ch = fast
		}
		b.say(run, ch, next)
		next += interval
	}
}

func (b *bot) say(ctx context.Context, ch channel, intended time.Duration) {
	number := uint64(0)
	b.update(func() {
		b.sent[ch]++ // before the message can arrive
		number = b.sent[ch]
	})
	s := stamp{run: b.swarm.run, bot: uint16(b.index), channel: ch, number: number, intended: intended}
	m := client.Message{
		OpCode: opBot, TargetGroup: client.AllPlayers, Intent: intents[ch],
		Payload: s.appendTo(nil, b.swarm.o.PayloadBytes),
	}
	if b.link.client.Send(ctx, m) != nil {
		b.update(func() {
			b.sent[ch]--
			b.unsent++
		})
	}
}

func (b *bot) onEvent(e client.Event) {
	if e.Kind == client.EventFastUp || e.Kind == client.EventFastDown { // the state of the fast channel is now known
		select {
		case b.up <- struct{}{}:
		default: // the channel is up again after a reconnect
		}
	}
	if e.Kind == client.EventGap {
		b.update(func() { b.gaps++ })
	}
	if e.Kind != client.EventMessage || e.OpCode != opBot {
		return
	}
	if s, ok := parseStamp(e.Payload); ok && s.run == b.swarm.run {
		b.received(s, time.Since(b.swarm.began))
	}
}

func (b *bot) onLost(end client.End) {
	b.update(func() { b.lostTimes++ })
	b.swarm.print("! bot %d: %s; trying to come back", b.index, end)
}

func (b *bot) onBack(k back) {
	b.update(func() {
		b.backTimes++
		if !k.same {
			b.newPeer++
		}
	})
	b.swarm.print("! bot %d: %s", b.index, k)
}
