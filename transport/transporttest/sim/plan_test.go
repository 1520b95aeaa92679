package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"troupe/transport/transporttest/memnet"
)

// action is one kind of event of a player.
type action uint8

const (
	sayPlayer    action = iota // sends to player arg
	sayGroup                   // sends to group arg, if it is a member
	sayServer                  //
	sayAll                     //
	burst                      // sends arg messages of all kinds
	joinGroup                  // joins group arg
	leaveGroup                 // leaves group arg
	reset                      // resets the connection; dials again after d
	cut                        // blocks its path for d; it abandons its connection and dials again then
	cutUnnoticed               // blocks its path for d; it keeps its connection
	resumeLive                 // opens a new connection while the old one works
	resumeTwice                // opens a new connection, and another one immediately after the login
	takeOver                   // another device takes over, which knows only the player session id
	halfOpen                   // the path is blocked forever, and another device takes over
	leave                      // close 1000; dials again after d, or never if d is 0
	stayAway                   // resets the connection, and does not come back before the window is over
	deadLogin                  // logs in with an invalid token
	garbage                    // sends bytes that are not a packet, and a second LOGIN
	again                      // sends a numbered packet again
	skipNumber                 // sends a number that is too high
	ackTooMuch                 // acknowledges a packet that was never sent
	slow                       // reads nothing for d
	kick                       // the game removes the player
	endGame                    // the game ends its game session
	// a v2 login that the device abandons for another one; it reaches the host up to d later. Its connection
	// stays open if arg is 0
	giveUpLogin
	actions
)

var actionNames = [...]string{"say to player", "say to group", "say to server", "say to all", "burst", "join", "leave group", "reset", "cut",
	"cut unnoticed", "resume live", "resume twice", "take over", "half-open", "leave", "stay away", "dead login", "garbage", "again",
	"skip number", "ack too much", "slow", "kick", "end game", "give up login"}

// step is an action with its time since the start.
type step struct {
	at     time.Duration
	player int
	do     action
	arg    int
	d      time.Duration
}

func (s step) String() string {
	return fmt.Sprintf("%v player %d: %s %d %v", s.at, s.player, actionNames[s.do], s.arg, s.d)
}

// span is a period of a run.
type span struct{ from, to time.Duration }

// plan is what a seed determines.
type plan struct {
	seed                  uint64
	window, ping, silence time.Duration
	games                 int
	flavors               []flavor // flavors of the players, who are assigned to the games in turn
	refusals              []int    // number of logins that the game refuses, for each player
	paths                 memnet.Condition
	budget                int    // maximum number of messages queued for a player; 0: unlimited
	gap                   bool   // whether messages above the budget are dropped; otherwise the player session ends
	unclaimed             bool   // whether there is a reservation without a login
	kcp                   bool   // whether v2 players also use KCP, and switch between transports
	clock                 bool   // whether the host's wall clock is set repeatedly
	service               bool   // whether there are callers of the service API, a failing disk, and a restart
	sick                  []span // periods in which the disk fails
	diesAt                string // failpoint at which the process dies, at its diesIn-th hit; empty: it stops in an orderly way
	diesIn                int
	steps                 []step
	faultsEnd             time.Duration
}

// groupsMax is the number of groups; their ids are 1 to groupsMax.
const groupsMax = 3

// weights are the relative frequencies of the actions.
var weights = [actions]int{
	sayPlayer: 60, sayGroup: 30, sayServer: 40, sayAll: 15, burst: 6, joinGroup: 25, leaveGroup: 3,
	reset: 10, cut: 6, cutUnnoticed: 4, resumeLive: 4, resumeTwice: 4, takeOver: 4, halfOpen: 2, leave: 3, stayAway: 2,
	deadLogin: 2, garbage: 2, again: 2, skipNumber: 1, ackTooMuch: 1, slow: 2, kick: 1,
}

// newPlan generates the plan of a seed.
func newPlan(seed uint64) *plan {
	r := rand.New(rand.NewPCG(seed, 0x7431))
	upTo := func(least, most time.Duration) time.Duration {
		return least + time.Duration(r.Int64N(int64(most-least)))
	}
	p := &plan{
		seed: seed, clock: seed%4 == 3, games: 1 + r.IntN(2), unclaimed: r.IntN(16) == 0,
		window: time.Duration(3+r.IntN(5)) * time.Second, ping: time.Duration(1+r.IntN(2)) * time.Second, silence: time.Duration(3+r.IntN(2)) * time.Second,
	}
	for range 4 + r.IntN(3) {
		f := v2
		switch r.IntN(8) {
		case 0, 1, 2:
			f = stockish
		case 3:
			f = mute
		}
		p.flavors = append(p.flavors, f)
		refusals := 0
		if r.IntN(12) == 0 {
			refusals = 1
		}
		p.refusals = append(p.refusals, refusals)
	}
	if r.IntN(3) > 0 {
		p.paths = memnet.Condition{Delay: upTo(time.Millisecond, 60*time.Millisecond)}
		p.paths.Jitter = p.paths.Delay / time.Duration(1+r.IntN(4))
		if r.IntN(3) == 0 {
			p.paths.Loss = 0.05 * r.Float64()
		}
	}
	p.faultsEnd = upTo(4*time.Second, 9*time.Second)
	total := 0
	for _, w := range weights {
		total += w
	}
	for range len(p.flavors) * (8 + r.IntN(12)) {
		s := step{at: upTo(200*time.Millisecond, p.faultsEnd), player: r.IntN(len(p.flavors))}
		for n := r.IntN(total); n >= weights[s.do]; s.do++ {
			n -= weights[s.do]
		}
		switch s.do {
		case sayPlayer:
			s.arg = r.IntN(len(p.flavors))
		case sayGroup, joinGroup, leaveGroup:
			s.arg = 1 + r.IntN(groupsMax)
		case burst:
			s.arg = 5 + r.IntN(30)
		case reset:
			if r.IntN(2) == 0 {
				s.d = upTo(0, time.Second)
			}
		case cut, cutUnnoticed:
			s.d = upTo(50*time.Millisecond, 6*time.Second)
		case leave:
			if r.IntN(3) > 0 {
				s.d = upTo(time.Millisecond, 2*time.Second)
			}
		case slow:
			s.d = upTo(100*time.Millisecond, 4*time.Second)
		}
		p.steps = append(p.steps, s)
	}
	if n := r.IntN(16); n < 5 { // most of these plans have a gap, which is rare nevertheless
		p.budget, p.gap = 5+r.IntN(15), n > 0
	}
	if r.IntN(12) == 0 {
		p.steps = append(p.steps, step{at: p.faultsEnd - 1, do: endGame, arg: r.IntN(p.games)})
	}
	p.more()
	slices.SortStableFunc(p.steps, func(a, b step) int { return int(a.at - b.at) })
	return p
}

// more generates the parts that were added to plans later. It has its own random source, so that the rest of
// a seed's plan does not change.
func (p *plan) more() {
	r := rand.New(rand.NewPCG(p.seed, 0x7432))
	if r.IntN(2) == 0 {
		p.kcp = true
		if p.paths.Delay > 0 { // also delays WebSockets
			p.paths.Duplicate, p.paths.Reorder = 0.03*r.Float64(), 0.05*r.Float64()
		}
	}
	if r.IntN(8) == 0 {
		p.window = 0
		for i, f := range p.flavors {
			if f == v2 {
				p.flavors[i] = stockish // the host does not use the extension
			}
		}
	}
	if p.service = r.IntN(4) == 0; p.service {
		for range r.IntN(3) {
			from := time.Duration(r.Int64N(int64(p.faultsEnd)))
			p.sick = append(p.sick, span{from, from + time.Duration(r.Int64N(int64(3*time.Second)))})
		}
		if r.IntN(2) == 0 {
			p.diesAt, p.diesIn = diesAt[r.IntN(len(diesAt))], 1+r.IntN(150)
		}
	}
	for range r.IntN(2 * len(p.flavors)) {
		p.steps = append(p.steps, step{at: time.Duration(r.Int64N(int64(p.faultsEnd))), player: r.IntN(len(p.flavors)), do: giveUpLogin,
			arg: r.IntN(2), d: time.Duration(r.Int64N(int64(300 * time.Millisecond)))})
	}
}

// kinds returns what a plan tests in addition to failing connections.
func (p *plan) kinds() []string {
	kinds := []string{"all"}
	for _, k := range []struct {
		name string
		on   bool
	}{
		{"kcp", p.kcp}, {"clock steps", p.clock}, {"strict mode", p.window == 0}, {"full queues", p.budget > 0}, {"service", p.service},
		{"service, failing disk", len(p.sick) > 0}, {"service, death at " + p.diesAt, p.diesAt != ""},
	} {
		if k.on {
			kinds = append(kinds, k.name)
		}
	}
	return kinds
}

// String returns the plan without its steps.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "window %v, ping %v, silence %v, %d games, players %v, gate refuses %v, kcp %v, clock steps %v, paths %+v, budget %d (gap %v), unclaimed seat %v, service %v, disk fails %v, dies at %s %d, faults until %v",
		p.window, p.ping, p.silence, p.games, p.flavors, p.refusals, p.kcp, p.clock, p.paths, p.budget, p.gap, p.unclaimed, p.service, p.sick, p.diesAt, p.diesIn, p.faultsEnd)
	for _, s := range p.steps {
		if s.do > burst {
			fmt.Fprintf(&b, "\n\t%v", s)
		}
	}
	return b.String()
}
