package player

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
)

type moveKind uint8

const (
	dials moveKind = iota + 1
	sends
	acks
	leaves
	arrivesUp
	arrivesDown
	cuts
	notices
	writes
	pings
	handles
	pushes
	pushesFast
	gates
	ackIsDue
	windowIsOver
	challengeMet
	challengeLost
	fullIsHeard
)

var moveNames = [...]string{"", "device %d dials", "device %d sends", "device %d acks", "device %d leaves",
	"connection %d: a packet reaches the host", "connection %d: a packet reaches the client", "connection %d is cut",
	"the host notices the end of connection %d", "connection %d takes a frame", "connection %d pings",
	"the game session handles a message", "the game sends", "the game sends a fast message", "the game lets the player in",
	"an ack is due", "the window is over", "a sign of life came", "no sign of life came", "the actor hears of the overflow"}

// move is one step. It concerns device i or connection i.
type move struct {
	kind moveKind
	i    int8
}

func (m move) String() string {
	if name := moveNames[m.kind]; strings.Contains(name, "%") {
		return fmt.Sprintf(name, m.i)
	}
	return moveNames[m.kind]
}

// soon reports whether a move happens on its own, without an action of a client or a game.
func (m move) soon() bool {
	switch m.kind {
	case acks, arrivesUp, arrivesDown, notices, writes, handles, gates, ackIsDue, challengeMet, challengeLost, fullIsHeard:
		return true
	}
	return false
}

// moves appends all moves that may happen next. live reports whether at least one of them happens on its own.
//
//go:norace
func (w *world) moves(all []move) (_ []move, live bool) {
	add := func(k moveKind, i int) {
		m := move{k, int8(i)}
		all = append(all, m)
		live = live || m.soon()
	}
	for i := range w.devices {
		d := &w.devices[i]
		if w.left.dials > 0 && d.conn < 0 && !d.over && (i == 0 || w.devices[i-1].met) {
			add(dials, i)
		}
		if w.left.sends > 0 && !d.over && (d.live || d.met && d.kind == extended) {
			add(sends, i)
		}
		if d.live && d.kind == extended && d.received > d.ackTold {
			add(acks, i)
		}
		if d.live && w.left.leaves > 0 {
			add(leaves, i)
		}
	}
	for i := range w.conns {
		c := &w.conns[i]
		if len(c.up) > 0 && !c.cut && !c.ended {
			add(arrivesUp, i)
		}
		if len(c.down) > 0 {
			add(arrivesDown, i)
		}
		if !c.cut && w.left.cuts > 0 && !c.closed {
			add(cuts, i)
		}
		if !c.ended && (c.cut || c.closed) {
			add(notices, i)
		}
		if c.source && !c.ended && w.out.queue.overflow != cutOff && (w.out.attachment.loginResponse != nil || w.out.queue.next < w.out.queue.n || w.out.confirmation.ackNow) {
			add(writes, i)
		}
		if c.source && !c.cut && !c.ended && w.left.pings > 0 && w.out.confirmation.how == ByMarks {
			add(pings, i)
		}
	}
	if len(w.session) > 0 {
		add(handles, 0)
	}
	if w.left.pushes > 0 && (w.in || w.gate > 0) && !w.stopped {
		add(pushes, 0)
	}
	if w.left.fasts > 0 && w.in {
		add(pushesFast, 0)
	}
	if w.gate > 0 && !w.stopped {
		add(gates, 0)
	}
	if w.in && w.out.attachment.state.serves() && w.out.confirmation.how == ByAcks && w.out.Unacked() > 0 && !w.out.confirmation.ackNow {
		add(ackIsDue, 0)
	}
	if w.window > 0 && w.left.windows > 0 && !w.stopped {
		add(windowIsOver, 0)
	}
	if w.challenge > 0 && !w.stopped {
		add(challengeMet, 0)
		add(challengeLost, 0)
	}
	if w.full && !w.stopped {
		add(fullIsHeard, 0)
	}
	return all, live
}

// orderly returns only one move where the order of moves does not matter. This is the case for the remains of a
// connection that has a successor, because they change nothing (RL-8). It is also the case once no connection can be
// lost or created any more: messages in transit then simply arrive.
//
//go:norace
func (w *world) orderly(all []move) []move {
	last := w.left.dials == 0 && w.left.cuts == 0
	for i, m := range all {
		switch m.kind {
		case acks, arrivesDown, writes:
			if last {
				return all[i : i+1]
			}
		case arrivesUp, notices:
			if old := !w.plan.late && w.old(w.conns[m.i].bound); old || last && m.kind == arrivesUp {
				return all[i : i+1]
			}
		case handles:
			if !w.plan.late && w.session[0].epoch < w.actor.d.machine.Epoch {
				return all[i : i+1]
			}
		}
	}
	return all
}

func (w *world) old(a *Attachment) bool { return a != nil && a.Epoch < w.actor.d.machine.Epoch }

// make makes a move in the current world.
func (s *stand) make(m move) {
	w, i := s.world, int(m.i)
	switch m.kind {
	case dials:
		w.left.dials--
		s.dial(m.i)
	case sends:
		w.left.sends--
		s.sendUp(m.i)
	case acks:
		s.put(s.client(m.i), transit{kind: pureAck})
	case leaves:
		w.left.leaves--
		d := s.client(m.i)
		w.conns[d.conn].up = append(w.conns[d.conn].up, transit{kind: goodbye, clean: true})
		d.conn, d.live, d.over = -1, false, true
	case arrivesUp:
		t := w.conns[i].up[0]
		w.conns[i].up = w.conns[i].up[1:]
		s.onUp(i, t)
	case arrivesDown:
		t := w.conns[i].down[0]
		w.conns[i].down = w.conns[i].down[1:]
		s.onDown(i, t)
	case cuts:
		w.left.cuts--
		s.lose(i)
	case notices:
		s.onEnd(i, false)
	case writes:
		w.out.Drain(s.links[i])
	case pings:
		w.left.pings--
		s.links[i].Mark(w.out.Mark(w.conns[i].bound.Epoch, time.Time{}, time.Time{}))
	case handles:
		t := w.session[0]
		w.session = w.session[1:]
		s.onPosted(t)
	case pushes:
		w.left.pushes--
		w.pushed++
		w.out.Push(contents[w.pushed])
	case pushesFast:
		w.left.fasts--
		w.out.PushFast(contents[fastOp+int(w.fastMade)])
		w.fastMade++
	case gates:
		attempt := w.gate
		w.gate = 0
		s.tell(GateAnswer{Attempt: attempt, OK: true, Peer: 1})
	case ackIsDue:
		w.out.AckNow()
	case windowIsOver:
		w.left.windows--
		e := w.window
		w.window = 0
		s.tell(windowOver{e})
	case challengeMet, challengeLost:
		e := w.challenge
		w.challenge = 0
		current := &w.conns[w.actor.d.current.(*standLink).i]
		current.silent = m.kind == challengeLost
		s.tell(challengeOver{e})
		current.silent = false
	case fullIsHeard:
		w.full = false
		s.tell(outboxFull{})
	}
	s.consistent()
}

// onUp handles a packet as a connection's reader would.
func (s *stand) onUp(i int, t transit) {
	c := &s.conns[i]
	switch {
	case t.kind == login:
		s.onLoginArrives(t)
		return
	case t.kind == goodbye:
		s.onEnd(i, true)
		s.lose(i)
		return
	case c.bound == nil:
		breaks("a client speaks before its LOGIN is answered")
	case t.kind == pong:
		if s.out.Echoed(c.bound.Epoch, pongOf(t.n)); c.bound.Epoch == s.out.attachment.epoch && s.out.attachment.state.serves() && t.n != ^uint64(0) {
			s.confirmed = max(s.confirmed, t.n)
		}
		if s.out.confirmation.client == clientMute && c.source {
			s.mutely = max(s.mutely, s.out.confirmation.position)
		}
		return
	}
	if t.ack != 0 {
		if !s.out.Acked(c.bound.Epoch, t.ack) {
			breaks("RL-6: ack %d of a correct client is a violation", t.ack)
		}
		s.proved = s.proved || c.bound.Epoch == s.actor.d.machine.Epoch && s.out.attachment.state.serves()
	}
	if t.kind == message {
		t.epoch = c.bound.Epoch
		s.session = append(s.session, t)
	}
}

// onEnd does what the host does when a connection has ended.
func (s *stand) onEnd(i int, clean bool) {
	c := &s.conns[i]
	c.ended, c.up = true, nil
	if c.bound != nil {
		s.session = append(s.session, transit{kind: goodbye, clean: clean, epoch: c.bound.Epoch})
		s.out.Abandon(s.links[i])
	}
}

// consistent checks the invariants that must hold after every move.
//
//go:norace
func (s *stand) consistent() {
	w, m := s.world, s.actor.d.machine
	sources := 0
	for i := range w.conns {
		if w.conns[i].source {
			sources++
		}
	}
	switch o := w.out; {
	case sources > 1 || sources == 1 != (o.attachment.state.serves()):
		breaks("RL-8: %d connections drain, mode %d", sources, o.attachment.state)
	case !w.stopped && (m.State == Attached) != (o.attachment.state.serves()):
		breaks("RL-8: %v, mode %d", m.State, o.attachment.state)
	case o.attachment.state < surrendered && !o.consistent():
		breaks("the outbox is not sound")
	case o.queue.base > o.queue.sent && !w.plan.gap && o.attachment.state < surrendered:
		breaks("RL-2: let go up to %d, sent %d", o.queue.base, o.queue.sent)
	case o.queue.last != uint64(w.pushed) && o.attachment.state < surrendered && !o.queue.refused:
		breaks("RL-5: %d messages, last number %d", w.pushed, o.queue.last)
	case m.State == Detached && w.window != m.Epoch && w.left.windows > 0:
		breaks("RL-14: detached without a window")
	case w.actor.gauge != m.State.gauge():
		breaks("RL-15: counted as %v in %v", w.actor.gauge, m.State)
	case w.stopped != (m.State == Gone) || w.stopped && w.status != messages.PlayerSessionCompleted:
		breaks("RL-16: stopped %v in %v, %v", w.stopped, m.State, w.status)
	case (m.State == Attached || m.State == Detached) != w.in:
		breaks("RL-13: %v, in the game: %v", m.State, w.in)
	}
}

// checkQuiet checks what must hold when nothing is in transit (RL-2, RL-7, RL-29).
func (w *world) checkQuiet() {
	for i := range w.devices {
		d := &w.devices[i]
		if d.conn < 0 || d.over {
			continue
		}
		c, o := &w.conns[d.conn], w.out
		switch {
		case !d.live:
			breaks("RL-7: the login of device %d has no answer", i)
		case !c.source:
			breaks("RL-8: device %d believes in connection %d, which nobody serves", i, d.conn)
		case o.queue.next < o.queue.n:
			breaks("RL-2: %d of %d are taken", o.queue.next, o.queue.n)
		case d.kind != extended:
			if w.seen < o.queue.last && d.kind == echoing && !w.plan.skip && !w.second() {
				breaks("RL-2: %d of %d arrived", w.seen, o.queue.last)
			}
		case d.received != o.queue.last:
			breaks("RL-2: %d of %d arrived at device %d", d.received, o.queue.last, i)
		case o.queue.n > 0:
			breaks("confirmed messages are kept")
		case len(d.pending) > 0 || w.app[i] != d.made:
			breaks("RL-2: %d of %d messages of device %d arrived, %d wait", w.app[i], d.made, i, len(d.pending))
		}
	}
}

// spread tries every interleaving in breadth-first order, so that a failing one is as short as possible. Worlds with
// the same key behave in the same way, so only one of them is continued.
type spread struct {
	stand *stand
	seen  map[string]bool
	queue []*world
	first int     // index of the world in queue[0]
	from  []int32 // the predecessor of each world
	by    []move  // the move that led from the predecessor to the world
	steps int
}

// try returns the oracle that f violates, or nil.
func try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case broken:
			err = fmt.Errorf("%s", string(r))
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// trace lists the moves that lead to a world, followed by the moves in last.
func (x *spread) trace(i int, last ...move) string {
	var all []move
	for ; i > 0; i = int(x.from[i]) {
		all = append(all, x.by[i])
	}
	var text strings.Builder
	for j := len(all) - 1; j >= 0; j-- {
		fmt.Fprintf(&text, "\n\t%v", all[j])
	}
	for _, m := range last {
		fmt.Fprintf(&text, "\n\t%v", m)
	}
	return text.String()
}

//go:norace
func (x *spread) run(p *plan) error {
	x.stand, x.seen = newStand(), make(map[string]bool)
	x.stand.begin(p)
	x.queue, x.from, x.by = []*world{x.stand.world}, []int32{-1}, []move{{}}
	var moves []move
	var key []byte
	for ; len(x.queue) > 0; x.first++ {
		w := x.queue[0]
		x.queue[0] = nil
		x.queue = x.queue[1:]
		var live bool
		if moves, live = w.moves(moves[:0]); !live {
			if err := try(w.checkQuiet); err != nil {
				return fmt.Errorf("%w, after%s", err, x.trace(x.first))
			}
		}
		for _, m := range w.orderly(moves) {
			x.steps++
			x.stand.world = w.clone()
			if err := try(func() { x.stand.make(m) }); err != nil {
				return fmt.Errorf("%w, after%s", err, x.trace(x.first, m))
			}
			key = x.stand.world.key(key[:0])
			if !x.seen[string(key)] {
				x.seen[string(key)] = true
				x.queue = append(x.queue, x.stand.world)
				x.from, x.by = append(x.from, int32(x.first)), append(x.by, m)
			}
		}
	}
	return nil
}

// Rules used by these checks.
var (
	holds    = Rules{Window: true, Takeover: true}
	caution  = Rules{Window: true}
	strictly = Rules{Takeover: true}
)

// plans are small enough to be explored completely, and large enough for two connections to be lost with three messages
// in each direction (reliability.md 10). Plans with more than 12,000 states are marked as long.
var plans = []plan{
	{name: "extended, to the client", long: true, devices: []client{extended}, rules: holds, budget: budget{dials: 3, pushes: 3, sends: 1, cuts: 2, windows: 1}},
	{name: "extended, to the host", long: true, devices: []client{extended}, rules: holds, budget: budget{dials: 3, pushes: 1, sends: 3, cuts: 2, windows: 1}},
	{name: "extended, both ways", long: true, devices: []client{extended}, rules: holds, budget: budget{dials: 3, pushes: 3, sends: 3, cuts: 2, windows: 1}},
	{name: "extended, late closes", late: true, devices: []client{extended}, rules: holds, budget: budget{dials: 3, pushes: 1, sends: 1, cuts: 2, windows: 1}},
	{name: "extended, a leave", late: true, devices: []client{extended}, rules: holds, budget: budget{dials: 2, pushes: 1, sends: 1, cuts: 1, windows: 1, leaves: 1, fasts: 1}},
	{name: "two extended devices", devices: []client{extended, extended}, rules: holds, budget: budget{dials: 3, pushes: 1, sends: 1, cuts: 1}},
	{name: "two extended devices that send", long: true, devices: []client{extended, extended}, rules: holds, budget: budget{dials: 3, pushes: 1, sends: 2, cuts: 2}},
	{name: "extended, then stock", long: true, devices: []client{extended, echoing}, rules: holds, budget: budget{dials: 3, pushes: 2, cuts: 1, pings: 1}},
	{name: "stock, then extended", long: true, devices: []client{echoing, extended}, rules: holds, budget: budget{dials: 3, pushes: 2, cuts: 1, pings: 1}},
	{name: "stock", long: true, devices: []client{echoing}, rules: holds, budget: budget{dials: 3, pushes: 3, cuts: 2, windows: 1, pings: 2}},
	{name: "stock that sends", devices: []client{echoing}, rules: holds, budget: budget{dials: 3, pushes: 1, sends: 2, cuts: 1, pings: 1}},
	{name: "extended, fast messages by the reliable channel", devices: []client{extended}, rules: holds, budget: budget{dials: 2, pushes: 1, cuts: 1, fasts: 2}},
	{name: "stock, at most once", long: true, skip: true, devices: []client{echoing}, rules: holds, budget: budget{dials: 3, pushes: 3, cuts: 2, pings: 1}},
	{name: "stock without echo", long: true, devices: []client{mute}, rules: holds, budget: budget{dials: 3, pushes: 2, cuts: 2, pings: 3}},
	{name: "stock over kcp", devices: []client{kcpStock}, rules: holds, budget: budget{dials: 3, pushes: 3, cuts: 2}},
	{name: "with caution", late: true, devices: []client{echoing, extended}, rules: caution, budget: budget{dials: 3, pushes: 1, cuts: 1}},
	{name: "strict mode", late: true, devices: []client{echoing}, rules: strictly, budget: budget{dials: 2, pushes: 1, sends: 1, cuts: 1, windows: 1, leaves: 1}},
}

func TestEveryInterleaving(t *testing.T) {
	for _, p := range plans {
		t.Run(p.name, func(t *testing.T) {
			if p.long && testing.Short() {
				t.Skip("a long plan: without -short")
			}
			t.Parallel()
			start := time.Now()
			var x spread
			assert.NoError(t, x.run(&p))
			t.Logf("%d states, %d moves, %v", len(x.seen), x.steps, time.Since(start).Round(time.Millisecond))
		})
	}
}
