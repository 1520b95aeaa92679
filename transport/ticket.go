package transport

import (
	"net/netip"
	"time"

	"troupe/messages/counters"
	"troupe/transport/internal/list"
)

// Presence says whether the peer of an accepted connection still exists and has sent anything.
type Presence uint8

// Presences.
const (
	PeerGone   Presence = iota + 1
	PeerSilent          // nothing has arrived
	PeerSpoke           // something has arrived
)

// Entrant is a connection that waits for admission. No method may block. Admit and Evict may be called from any goroutine.
type Entrant interface {
	// Admit is called once, when the connection is admitted.
	Admit()
	// Evict is called at most once, as the last method. It must close the connection, which is already counted as refused.
	Evict()
	// Peek returns the peer's presence. It is called before Admit, with a lock held.
	Peek() Presence
}

// state is the state of a Ticket. States below queueCount are also indexes of queues.
type state uint8

const (
	silent    state = iota // pending, no LOGIN yet
	answering              // pending, the LOGIN is being answered
	waiting                // waiting for admission
	queueCount
	outside // created, but neither admitted nor waiting
	left
)

// Ticket is the admission state of one connection until its login. Call LoggedIn when the connection logs in, or Leave
// if it ends before that. Further calls do nothing. All methods except Enter and Wait may be called on a nil Ticket.
type Ticket struct {
	a      *Admission
	source *source // nil for a proxy, which only the total limit concerns

	// guarded by a.mu
	state state
	since time.Time // when state last changed
	owner Entrant
	evict func() // called instead of owner.Evict, once the connection is open
	links [linkCount]list.Link[*Ticket]
}

// Ticket returns a ticket for a connection from ip. The connection is not admitted yet.
func (a *Admission) Ticket(ip netip.Addr) *Ticket {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &Ticket{a: a, source: a.sourceOf(ip, a.now()), state: outside}
}

// TrustedTicket returns a ticket for a connection from a proxy whose header has not arrived yet. Only PendingMax limits it.
func (a *Admission) TrustedTicket() *Ticket { return &Ticket{a: a, state: outside} }

// Enter admits the connection now, and returns 0. Otherwise it counts and returns a refusal; the caller
// should then close the connection at once.
func (t *Ticket) Enter() counters.Refusal {
	a := t.a
	a.mu.Lock()
	now := a.now()
	why := a.refusal(t.source, now)
	var evicted []*Ticket
	if why == 0 {
		evicted = a.grant(t, now)
	} else {
		a.count.Refused.Add(why, 1)
	}
	a.mu.Unlock()
	finish(nil, evicted)
	return why
}

// Wait admits the connection as soon as the limits allow it, and then calls e.Admit, possibly before Wait returns. If
// too many connections are waiting already, it counts and returns a refusal.
func (t *Ticket) Wait(e Entrant) counters.Refusal {
	a := t.a
	a.mu.Lock()
	now := a.now()
	t.owner = e
	why := a.refusal(t.source, now)
	var evicted []*Ticket
	if why == 0 && t.source.held == 0 { // waiting connections of the source go first
		evicted = a.grant(t, now)
		a.mu.Unlock()
		finish([]*Ticket{t}, evicted)
		return 0
	}
	if why == 0 {
		why = counters.RefusedRatePerIP
	}
	ok, gone := a.hold(t, now)
	if !ok {
		a.count.Refused.Add(why, 1)
	}
	a.mu.Unlock()
	finish(nil, gone)
	if ok {
		return 0
	}
	return why
}

// OnEvict makes f replace the Entrant's Evict. f is not called if the ticket has been evicted already.
func (t *Ticket) OnEvict(f func()) {
	if t == nil {
		return
	}
	t.a.mu.Lock()
	t.evict = f
	t.a.mu.Unlock()
}

// LoginRead records that a LOGIN is being answered, so the connection no longer counts as silent.
func (t *Ticket) LoginRead() {
	if t == nil {
		return
	}
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if t.state == silent {
		t.a.remove(t)
		t.a.insert(t, answering, t.a.now())
	}
}

// Listen records that the host waits for the peer from now on, so the connection counts as silent since now.
func (t *Ticket) Listen() {
	if t == nil {
		return
	}
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if t.state == silent || t.state == answering {
		t.a.remove(t)
		t.a.insert(t, silent, t.a.now())
	}
}

// LoggedIn ends the admission after a login. It gives one token back to the source's rate.
func (t *Ticket) LoggedIn() { t.leave(true) }

// Leave ends the admission of a connection that has not logged in.
func (t *Ticket) Leave() { t.leave(false) }

func (t *Ticket) leave(loggedIn bool) {
	if t == nil {
		return
	}
	a := t.a
	a.mu.Lock()
	if t.state >= queueCount {
		t.state = left
		a.mu.Unlock()
		return
	}
	a.remove(t)
	for at := t.source; at != nil && loggedIn; at = at.network {
		at.tokens++ // the next fill limits it
		at.earned++
	}
	var in, evicted []*Ticket
	if t.source != nil && t.source.held > 0 {
		in, evicted = a.admit(t.source, a.now())
	}
	a.mu.Unlock()
	finish(in, evicted)
}

// hold makes t wait. If too many connections wait, it drops one that has ended or sent nothing. It returns
// false if there is none. The caller holds mu.
func (a *Admission) hold(t *Ticket, now time.Time) (ok bool, gone []*Ticket) {
	l := &a.limits
	if l.HeldMax <= 0 || t.source == nil {
		return false, nil
	}
	from := (*queue)(nil) // one ticket of this queue must be dropped; dropping one of the source lowers both counts
	if a.held >= l.HeldMax {
		from = &a.queues[waiting]
	}
	for at := t.source; at != nil; at = at.network {
		if l.HeldPerIPMax > 0 && at.held >= l.HeldPerIPMax {
			from = &at.queues[waiting]
		}
	}
	if from != nil {
		v := oldestSilent(from)
		if v == nil {
			return false, nil
		}
		a.drop(v, counters.RefusedHeld)
		gone = append(gone, v)
	}
	a.insert(t, waiting, now)
	if a.timer == nil {
		a.timer = time.AfterFunc(heldTick, a.tick)
	}
	return true, gone
}

// oldestSilent returns the first of the peeksMax oldest waiting connections that has ended or sent nothing, or nil.
func oldestSilent(q *queue) *Ticket {
	looks := 0
	for t := range q.All() {
		switch looks++; {
		case looks > peeksMax:
			return nil
		case t.owner.Peek() != PeerSpoke:
			return t
		}
	}
	return nil
}

// drop removes a waiting ticket and counts it as refused. The caller holds mu.
func (a *Admission) drop(t *Ticket, why counters.Refusal) {
	a.remove(t)
	a.count.Refused.Add(why, 1)
}

// tick admits waiting connections as far as the limits allow it, and drops those that have waited longer than HeldFor.
func (a *Admission) tick() {
	a.mu.Lock()
	now := a.now()
	var in, gone []*Ticket
	for t := a.queues[waiting].First(); t != nil && now.Sub(t.since) >= a.limits.HeldFor; t = a.queues[waiting].First() {
		a.drop(t, counters.RefusedHeld)
		gone = append(gone, t)
	}
	for s := range a.waiting { // map order is random, which is fair
		i, g := a.admit(s, now)
		in, gone = append(in, i...), append(gone, g...)
	}
	if a.held > 0 {
		a.timer.Reset(heldTick)
	} else {
		a.timer = nil
	}
	a.mu.Unlock()
	finish(in, gone)
}

// admit admits waiting connections of a source, oldest first, as far as the limits allow it. A connection that has sent
// nothing yet moves to the end of the queue. The caller holds mu.
func (a *Admission) admit(s *source, now time.Time) (in, gone []*Ticket) {
	for looks := 0; s.held > 0 && looks < peeksMax && a.refusal(s, now) == 0; {
		t := s.queues[waiting].First()
		switch t.owner.Peek() {
		case PeerGone:
			a.drop(t, counters.RefusedGone)
			gone = append(gone, t)
		case PeerSilent:
			looks++
			s.queues[waiting].Remove(&t.links[inSource])
			s.queues[waiting].Add(&t.links[inSource], t)
		default:
			a.remove(t)
			gone = append(gone, a.grant(t, now)...)
			in = append(in, t)
		}
	}
	return in, gone
}

// finish calls Admit and Evict of the tickets' owners. The caller does not hold mu.
func finish(in, out []*Ticket) {
	for _, t := range out {
		t.a.mu.Lock()
		evict := t.evict
		t.a.mu.Unlock()
		switch {
		case evict != nil:
			evict()
		case t.owner != nil:
			t.owner.Evict()
		}
	}
	for _, t := range in {
		t.owner.Admit()
	}
}

// insert adds t to the queues of a state and counts it. The caller holds mu.
func (a *Admission) insert(t *Ticket, to state, now time.Time) {
	t.state, t.since = to, now
	a.queues[to].Add(&t.links[inAll], t)
	a.tally.add(to, 1)
	for at, in := t.source, inSource; at != nil; at, in = at.network, inNetwork {
		at.queues[to].Add(&t.links[in], t)
		at.tally.add(to, 1)
	}
	if to == waiting {
		a.waiting[t.source] = struct{}{}
		a.count.Held.Add(1)
	}
}

// remove removes t from its queues. The caller holds mu.
func (a *Admission) remove(t *Ticket) {
	from := t.state
	t.state = left
	a.queues[from].Remove(&t.links[inAll])
	a.tally.add(from, -1)
	for at, in := t.source, inSource; at != nil; at, in = at.network, inNetwork {
		at.queues[from].Remove(&t.links[in])
		at.tally.add(from, -1)
	}
	if from != waiting {
		return
	}
	a.count.Held.Add(-1)
	if t.source.held == 0 {
		delete(a.waiting, t.source)
	}
}

// tally counts pending and waiting connections.
type tally struct{ pending, held int }

func (n *tally) add(s state, delta int) {
	if s == waiting {
		n.held += delta
	} else {
		n.pending += delta
	}
}

// Indexes of a ticket's links. A ticket has one link for each kind of queue.
const (
	inAll = iota
	inSource
	inNetwork
	linkCount
)

// queue is a queue of tickets, oldest first.
type queue = list.List[*Ticket]
