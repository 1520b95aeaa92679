package transporttest

import (
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
)

// acceptComesFirst checks that there is one Accept per connection, which has an id, a channel and an address.
func acceptComesFirst(e *env) {
	e.start()
	const n = 8
	for i := range n {
		p, l := e.connect()
		if l.ID() == 0 || l.Channel() < 1 || l.Channel() > counters.KCP {
			e.Errorf("connection %d over %v", l.ID(), l.Channel())
		}
		if err := p.Send(series{id: i, sizes: smallSizes}.message(i)); err != nil {
			e.Fatalf("send: %v", err)
		}
		e.await("the message arrives", func() bool { units, _, _ := l.counts(); return units == 1 })
	}
	if got := e.hub.accepts(); got != n {
		e.Errorf("%d calls of Accept for %d connections", got, n)
	}
}

// refusedByTheAcceptor checks that a nil Handler closes the connection with the returned reason.
func refusedByTheAcceptor(e *env) {
	e.opt.Admission = transport.NewAdmission(transport.AdmissionLimits{PendingMax: 100}, e.opt.Counters, time.Now)
	e.start()
	for _, reason := range []messages.CloseReason{messages.CloseGoingAway, messages.CloseGameEnded} {
		e.hub.refuse.Store(uint32(reason))
		p, err := e.dial()
		// the host may have given up the handshake before the client's last flight arrived
		for n := 0; err != nil && e.lossy && n < 5; n++ {
			p, err = e.dial()
		}
		if err != nil {
			e.Fatalf("dial: %v", err)
		}
		e.await("the refused connection ends", p.closed)
		e.wants(p, reason)
		e.await("the ticket is back", func() bool { return e.opt.Admission.Pending() == 0 })
	}
	e.hub.refuse.Store(0)
	e.echoes(e.connect())
}

// wants checks that the client was told the given close reason.
func (e *env) wants(p *peer, reason messages.CloseReason) {
	e.Helper()
	if code, name := p.goodbye(); code != uint16(reason) || name != reason.String() {
		e.Errorf("client was told %d %q, want %d %q", code, name, uint16(reason), reason.String())
	}
}

// admissionTickets checks that a connection counts as pending from its beginning until it logs in or ends,
// and that it is released only once.
func admissionTickets(e *env) {
	now := time.Now() // the clock stands still, so no connection is silent long enough to be closed for a new one
	a := transport.NewAdmission(transport.AdmissionLimits{PendingMax: 2}, e.opt.Counters, func() time.Time { return now })
	e.opt.Admission = a
	e.start()
	pending := func(n int) {
		e.Helper()
		e.await("tickets are given back", func() bool { return a.Pending() <= n })
		if got := a.Pending(); got != n {
			e.Errorf("%d connections pending, want %d", got, n)
		}
	}
	p1, l1 := e.connect()
	p2, l2 := e.connect()
	pending(2)
	if p, err := e.dial(); err == nil { // an error is not required: over datagrams, the host may refuse silently
		time.Sleep(e.awaitIdle)
		p.Abort()
	}
	if got := e.hub.accepts(); got != 2 {
		e.Errorf("%d connections accepted, the limit is 2", got)
	}
	pending(2)
	l1.LoggedIn()
	l1.LoggedIn()
	pending(1)
	p3, l3 := e.connect()
	pending(2)
	p2.Close()
	e.ends(l2)
	pending(1)
	p1.Close()
	e.ends(l1)
	pending(1) // l1 had already returned its ticket
	p3.Abort()
	e.dies(l3)
	pending(0)
}

// dies waits for the end of a connection whose client has disappeared without a close. A host that only
// receives need not notice, so it sends something.
func (e *env) dies(l *link) transport.End {
	e.Helper()
	src := newOutbox(e.TB)
	defer src.discard()
	l.SetSource(src)
	s := series{id: 99, sizes: []int{4096}}
	for i := range 256 {
		src.put(s.frame(i))
	}
	e.await("the connection ends", func() bool {
		l.Flush()
		return l.closed()
	})
	return l.how()
}

// echoes sends one message in each direction.
func (e *env) echoes(p *peer, l *link) {
	e.Helper()
	units, _, _ := l.counts()
	got, _ := p.counts()
	var sent atomic.Bool
	done := goes(func() {
		if err := p.Send([]byte("there")); err != nil {
			e.Errorf("send: %v", err)
		}
		sent.Store(true)
	})
	l.Send(series{sizes: smallSizes}.frame(1))
	e.flush(l)
	e.awaitFor("a message arrives at either end", e.soon, func() bool {
		u, _, _ := l.counts()
		g, _ := p.counts()
		return sent.Load() && u == units+1 && g == got+1
	})
	<-done
}
