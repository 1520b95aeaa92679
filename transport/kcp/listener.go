package kcp

import (
	"sync"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/dtls"
	"troupe/transport/internal/openset"
)

// Listener is the Acceptor of a dtls.Endpoint. It makes a Conn for each association. Its methods are safe for concurrent
// use. A connection that has received a bye no longer counts as open, although it answers repeated byes for one second.
type Listener struct {
	openset.Set[*Conn]

	opt      Options
	acceptor transport.Acceptor
	workers  *workerPool
	clock    *clock

	mu     sync.Mutex
	closed bool
}

// NewListener returns a Listener that asks acceptor about each new connection. acceptor must not block.
func NewListener(o Options, acceptor transport.Acceptor) *Listener {
	return &Listener{opt: o.withDefaults(), acceptor: acceptor, workers: &workerPool{idleMax: 16}, clock: newClock()}
}

// Accept implements dtls.Acceptor.
func (l *Listener) Accept(a *dtls.Association) dtls.Handler {
	if h := l.accept(a); h != nil {
		return h
	}
	return nil
}

// accept makes the connection of a carrier, or returns nil to refuse it silently. If the acceptor
// refuses the connection, the peer gets a bye.
func (l *Listener) accept(carrier Carrier) *engine {
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		l.opt.Counters.Refused.Add(counters.RefusedDraining, 1)
		return nil
	}
	var ticket *transport.Ticket
	if a := l.opt.Admission; a != nil {
		ticket = a.Ticket(carrier.RemoteAddr().Addr())
		if ticket.Enter() != 0 {
			return nil
		}
	}
	c := newConn(l, carrier, ticket)
	ticket.OnEvict(func() { c.Close(messages.CloseTryLater) })
	l.opt.Counters.Accepted.Add(counters.KCP, 1)
	l.opt.Counters.Connections.Add(counters.KCP, 1)
	openset.Add(&l.Set, c)
	l.mu.Lock()
	closed = l.closed
	l.mu.Unlock()
	if closed {
		c.Close(messages.CloseGoingAway) // Close was called in the meantime
	}
	l.ask(c)
	return c.e
}

// ask lets the acceptor accept or refuse a connection.
func (l *Listener) ask(c *Conn) {
	var handler transport.Handler
	refusal := messages.CloseInternalError
	defer func() {
		refused := handler == nil
		if refused {
			handler = transport.Nobody{}
		}
		c.e.lock() // c may be closing already, so its timer may read handler
		c.handler = handler
		c.e.leave()
		if refused {
			c.Close(refusal)
		}
	}()
	defer transport.Rescue(l.opt.Counters, &l.opt.Log, "KCP acceptor", nil)
	handler, refusal = l.acceptor.Accept(c)
}

// Close makes Accept refuse new associations. Open connections stay open. Close is idempotent.
func (l *Listener) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
}
