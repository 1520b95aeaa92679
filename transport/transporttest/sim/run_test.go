package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/dtls"
	"troupe/transport/fast"
	"troupe/transport/gateway"
	"troupe/transport/kcp"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/websocket"
)

const (
	fleetID messages.FleetID = "fleet-sim"
	// tick is the interval at which players check their state.
	tick = 250 * time.Millisecond
	// attachedWithin and emptyWithin are the limits of RL-29.
	attachedWithin = 10 * time.Second
	emptyWithin    = 30 * time.Second
	// libraryRest is how long the actor library's counter of dead letters may run.
	libraryRest = 2 * time.Second
)

// run is one run of a plan, in a bubble.
type run struct {
	plan  *plan
	start time.Time
	net   *memnet.Network
	host  netip.AddrPort
	node  *memnet.Node // node of the host

	options actors.Options
	service *service // nil if the plan has no callers
	count   *counters.Set
	system  *actors.System
	door    *websocket.Listener
	fast    *fast.Pool
	kcp     *kcp.Listener // nil without KCP, like kcpUDP
	kcpUDP  *dtls.Endpoint
	served  chan struct{}

	mu       sync.Mutex // guards the fields below, the games and the players
	games    []*game
	players  []*player
	byID     map[messages.PlayerSessionID]*player
	pending  []later
	status   map[messages.PlayerSessionID]messages.PlayerSessionStatus
	lonely   messages.PlayerSessionID // reservation without a login
	failures []string
	events   []event
	seen     map[string]int // number of events of each kind
}

// later is a call that a step of the plan has scheduled.
type later struct {
	at time.Time
	do func()
}

// event is a line of the trace.
type event struct {
	at     time.Time
	player int
	what   string
	a, b   int64
}

const (
	eventsMax   = 400
	failuresMax = 8
)

func (r *run) since(t time.Time) time.Duration { return t.Sub(r.start).Round(time.Millisecond) }

func (r *run) note(p *player, what string, a, b int64) {
	r.events = append(r.events, event{time.Now(), p.index, what, a, b})
	r.seen[what]++
}

func (r *run) failf(format string, args ...any) {
	if len(r.failures) < failuresMax {
		r.failures = append(r.failures, fmt.Sprintf("%v: ", r.since(time.Now()))+fmt.Sprintf(format, args...))
	}
	r.events = append(r.events, event{time.Now(), -1, "FAILED", int64(len(r.failures)), 0})
}

func (r *run) later(d time.Duration, do func()) {
	r.pending = append(r.pending, later{time.Now().Add(d), do})
}

// report returns the description of a failed run.
func (r *run) report() string {
	var b strings.Builder
	if r.plan.seed != 0 {
		fmt.Fprintf(&b, "seed %d: go test ./transport/transporttest/sim -run TestSeeds -sim.seed=%d\n", r.plan.seed, r.plan.seed)
	}
	before := max(0, len(r.events)-eventsMax)
	fmt.Fprintf(&b, "%v\nevents (%d before):", r.plan, before)
	for _, e := range r.events[before:] {
		fmt.Fprintf(&b, "\n\t%v player %d %s %d %d", r.since(e.at), e.player, e.what, e.a, e.b)
	}
	return b.String() + "\n" + strings.Join(r.failures, "\n")
}

// simulate runs a plan in a bubble.
func simulate(t *testing.T, p *plan) (r *run) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r = open(p)
		r.play()
		r.close()
	})
	return r
}

// open starts the host on its own network, in the same way as package host, with the games and players of the
// plan.
func open(p *plan) *run {
	r := &run{
		plan: p, start: time.Now(), net: memnet.New(p.seed),
		byID: make(map[messages.PlayerSessionID]*player), status: make(map[messages.PlayerSessionID]messages.PlayerSessionStatus),
		seen: make(map[string]int),
	}
	r.net.SetAll(p.paths)
	r.node = r.net.Node()
	var next script.Handler
	o := actors.Options{
		Log: zerolog.Nop(), Shards: 1,
		Timeouts:  connection.Timeouts{Login: 10 * time.Second, SilenceMin: p.silence},
		OnFailure: func(reason string) { r.failures = append(r.failures, "the host failed: "+reason) },
		Fleet: fleet.Options{
			Region: "sim-1", Session: gamesessiontest.Settings(),
			Advertised: fleet.Advertised{IPAddress: "192.0.2.1", Port: 1900},
			Fleets:     []*messages.Fleet{{ID: fleetID, Status: messages.FleetActive, Locations: []string{"sim-1"}, GameSessionsMax: 10}},
			NewHandler: func(f *messages.Fleet) script.Handler {
				if f.ID == serviceFleet {
					return script.Relay{}
				}
				return next
			},
			EndedMax: 100, EndedKeep: time.Hour,
		},
	}
	o.Fleet.Session.ReconnectWindow = p.window
	if p.budget > 0 {
		o.Fleet.Session.Budget.MessagesMax, o.Fleet.Session.Budget.Gap = p.budget, p.gap
	}
	if p.service {
		r.service = newService(r)
		r.service.options(&o)
	}
	if p.clock { // ended game sessions are kept for a period of the wall clock, because their records outlive the process
		o.Now, o.Fleet.EndedKeep = r.wallClock, 30*24*time.Hour
	}
	r.options = o
	r.startHost()
	for i := range p.games {
		g := &game{run: r, index: i, max: len(p.flavors), members: make(map[messages.GroupID]map[messages.PeerID]bool),
			roster: make(map[messages.PeerID]*player), owner: make(map[messages.PeerID]*player)}
		copy(g.canary[:], fmt.Sprintf("game%04d", i))
		next = g
		g.id = sure(messages.Do(context.Background(), r.system, messages.CreateGameSession{FleetID: fleetID, MaxPlayers: len(p.flavors) + 1})).ID
		r.games = append(r.games, g)
		synctest.Wait()
	}
	for i, f := range p.flavors {
		pl := r.newPlayer(f, r.games[i%len(r.games)])
		pl.refusals = p.refusals[i]
	}
	if p.unclaimed {
		r.lonely = r.seat(r.games[0])
	}
	return r
}

// clockSteps are the deviations of the host's wall clock. Each lasts for clockStepEvery, so windows,
// reservations and API timeouts span several of them.
var clockSteps = [...]time.Duration{0, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}

const clockStepEvery = 2 * time.Second

// wallClock returns the wall clock of a host whose clock is set repeatedly. The difference of two of its
// times is wrong as well, as for stored times. So no timeout may depend on it.
func (r *run) wallClock() time.Time {
	now := time.Now()
	return now.Add(clockSteps[int(now.Sub(r.start)/clockStepEvery)%len(clockSteps)])
}

// startHost starts the process.
func (r *run) startHost() {
	r.count, r.served = new(counters.Set), make(chan struct{})
	o := r.options
	o.Counters = r.count
	r.system = sure(actors.Start(o))
	ln := sure(r.node.Listen(portWS))
	r.host = netip.MustParseAddrPort(ln.Addr().String())
	var last atomic.Uint64
	nextID := func() uint64 { return last.Add(1) }
	r.door = sure(websocket.Listen(websocket.Options{Listener: ln, Counters: r.count, NextID: nextID}))
	// the fast channel is switched off
	r.fast = sure(fast.Listen(fast.Options{Addr: r.node.Addr().String() + ":0", ListenPacket: r.net.Machine().ListenPacket}))
	gw := gateway.New(gateway.Options{System: r.system, Fast: r.fast, Counters: r.count, Log: zerolog.Nop(), Limits: gateway.Limits{
		MalformedMax: 10, MessagesPerSecond: 200, MessageBurst: 400, BytesPerSecond: 256 << 10, TooFastFor: 10 * time.Second,
	}})
	if r.plan.kcp {
		r.openKCP(gw, nextID)
	}
	go func() {
		defer close(r.served)
		must(r.door.Serve(gw))
	}()
}

// newPlayer reserves a player session for one more player.
func (r *run) newPlayer(f flavor, g *game) *player {
	p := &player{run: r, index: len(r.players), flavor: f, game: g, groups: make(map[int32][]int32), burned: make(map[int32]bool)}
	p.ways, p.sessions = rand.New(rand.NewPCG(r.plan.seed, uint64(p.index))), dtls.NewSessions()
	p.nodes = [2]*memnet.Node{r.net.Node(), r.net.Node()}
	p.id = r.seat(g)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.players = append(r.players, p)
	r.byID[p.id] = p
	return p
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func sure[T any](v T, err error) T {
	must(err)
	return v
}

// seat reserves a player session.
func (r *run) seat(g *game) messages.PlayerSessionID {
	return sure(messages.Do(context.Background(), r.system, messages.CreatePlayerSessions{
		GameSessionID: g.id, Players: []messages.NewPlayer{{PlayerID: "somebody"}}}))[0].ID
}

// enter makes a player join the game and stay in it.
func (p *player) enter() {
	p.wants = true
	p.newDevice()
	p.dev.dial()
}

// play runs both phases.
func (r *run) play() {
	begin := time.Now()
	r.mu.Lock()
	for i, p := range r.players {
		r.later(time.Duration(i)*30*time.Millisecond, p.enter)
	}
	r.mu.Unlock()
	if r.service != nil {
		r.service.begin()
	}
	steps := r.plan.steps
	for len(steps) > 0 && !r.dead() {
		s := steps[0]
		steps = steps[1:]
		r.until(begin.Add(s.at))
		r.mu.Lock()
		r.perform(s)
		r.mu.Unlock()
	}
	r.until(begin.Add(r.plan.faultsEnd))
	if r.service != nil {
		if r.plan.diesAt != "" {
			r.service.disk.set(func() { r.service.disk.dead = true }) // the process dies now, if it has not died before
		}
		r.service.end()
	}
	r.heal()
	if r.dead() {
		return
	}
	r.awaitQuiet()
	r.checkGroups()
	r.checkRecords(true)
	if r.service != nil {
		r.service.awaitPlacements()
		r.service.check(false)
		r.service.fill()
	}
	if r.lonely != "" && !r.games[0].ending {
		r.checkUnclaimed()
	}
}

// until waits until end. Meanwhile it runs the players' ticks and the scheduled calls.
func (r *run) until(end time.Time) {
	for {
		r.mu.Lock()
		now := time.Now()
		next := now.Truncate(tick).Add(tick)
		for i := 0; i < len(r.pending); i++ {
			l := r.pending[i]
			if !l.at.After(now) {
				r.pending = append(r.pending[:i:i], r.pending[i+1:]...)
				i = -1
				l.do()
			} else if l.at.Before(next) {
				next = l.at
			}
		}
		if now.Equal(now.Truncate(tick)) {
			for _, p := range r.players {
				p.keep()
			}
		}
		r.mu.Unlock()
		if now.Equal(now.Truncate(time.Second)) {
			r.checkRecords(false)
		}
		if !now.Before(end) || r.dead() {
			return
		}
		if end.Before(next) {
			next = end
		}
		time.Sleep(time.Until(next))
	}
}

// dead reports whether the process has died.
func (r *run) dead() bool { return r.service != nil && r.service.disk.isDead() }

// heal ends all faults.
func (r *run) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.net.SetAll(memnet.Condition{Delay: time.Millisecond})
	for _, l := range r.pending {
		l.do()
	}
	r.pending = nil
	for _, p := range r.players {
		p.cut = false
		for _, n := range p.nodes {
			r.net.Partition(n.Addr(), r.host.Addr(), false)
		}
		if p.wants && p.retryAt.After(time.Now()) {
			p.retryAt = time.Now()
		}
		p.note(p, "healed", 0, 0)
	}
}

// awaitQuiet waits until all players are in their final state, but at most as long as RL-29 allows.
func (r *run) awaitQuiet() {
	healed := time.Now()
	for {
		r.until(time.Now().Add(tick))
		why := r.notQuiet()
		passed := time.Since(healed)
		switch {
		case why == "":
			return
		case passed > emptyWithin, passed > attachedWithin && strings.HasSuffix(why, "is not attached"):
			r.mu.Lock()
			r.failf("RL-29: %v after all was healed, %s", passed, why)
			r.mu.Unlock()
			return
		}
	}
}

func (r *run) notQuiet() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.players {
		if why := p.quiet(); why != "" {
			return fmt.Sprintf("%v %s", p, why)
		}
	}
	return ""
}

// close ends the games, then the host, and checks what is left.
func (r *run) close() {
	r.mu.Lock()
	for _, g := range r.games {
		if g.ending = true; !r.dead() {
			r.endGame(g)
		}
	}
	for _, p := range r.players {
		p.wants = false
	}
	r.mu.Unlock()
	if !r.dead() {
		time.Sleep(4 * time.Second)
		r.checkEnded()
	}
	r.mu.Lock()
	for _, p := range r.players {
		if p.dev != nil && p.dev.link != nil {
			p.drop(p.dev.link)
		}
	}
	r.mu.Unlock()
	r.stopHost()
	if r.service != nil {
		r.service.restart()
	}
	r.mu.Lock()
	for _, p := range r.players {
		for _, l := range p.all { // over KCP, a sleeping device may not have received the close
			if l.sock != nil {
				l.sock.reset()
			}
		}
	}
	r.mu.Unlock()
	r.net.Close()
}

// stopHost stops the process and checks what is left of it.
func (r *run) stopHost() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	must(r.door.Close(ctx))
	r.door.CloseAll(messages.CloseGoingAway)
	must(r.door.Wait(ctx))
	if r.kcp != nil {
		r.kcp.Close()
		r.kcp.CloseAll(messages.CloseGoingAway)
		must(r.kcp.Wait(ctx))
		must(r.kcpUDP.Close())
	}
	<-r.served
	r.fast.Close()
	r.system.Close()
	time.Sleep(libraryRest)
	r.checkLeftovers()
}
