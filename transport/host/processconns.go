package host

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
)

// Limits on the connections at the Server SDK's own address whose handshake is not accepted yet.
const (
	handshakesMax     = 1024
	handshakesHeldMax = 16_384          // accepted connections that wait for one of those places, three quarters of them from one address
	handshakesHeldFor = 3 * time.Second // SDKs wait for 2 to 20 s
	// handshakeTalk is how long what a connection says keeps it from being evicted as silent.
	handshakeTalk = 4 * time.Second
)

// processConns is the listener of the Server SDK's own address. Thousands of processes of one network come back at once after a
// restart, so one address may hold all places. When another address needs one, a connection of the address that holds most is
// closed for it, if it is among the 32 that have been silent for longest, or one that has been silent for a second
// (transport.Admission).
type processConns struct {
	net.Listener
	proxies   transport.Proxies
	admission *transport.Admission
}

func newProcessConns(l net.Listener, proxies transport.Proxies, count *counters.Set) *processConns {
	return &processConns{Listener: l, proxies: proxies, admission: transport.NewAdmission(transport.AdmissionLimits{
		PendingMax: handshakesMax, HeldMax: handshakesHeldMax, HeldPerIPMax: handshakesHeldMax / 4 * 3, HeldFor: handshakesHeldFor,
	}, count, time.Now)}
}

// Accept implements net.Listener. It does not wait for a place: the first Read does.
func (l *processConns) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &processConn{l: l, began: time.Now(), in: make(chan struct{})}
		c.Conn = nc
		addr, _ := netip.ParseAddrPort(nc.RemoteAddr().String())
		if c.proxied = l.proxies.Has(addr.Addr()); c.proxied {
			c.ticket = l.admission.TrustedTicket()
			c.ticket.OnEvict(c.Evict)
			if c.ticket.Enter() == 0 {
				return c, nil
			}
		} else if c.enter(addr.Addr()) == nil {
			return c, nil
		}
		_ = nc.Close()
	}
}

// processConn is a connection of processConns.
type processConn struct {
	headedConn
	l     *processConns
	began time.Time
	in    chan struct{} // closed when it may read: it has a place, or has ended
	once  sync.Once     // closes in

	mu     sync.Mutex
	ticket *transport.Ticket // nil once the handshake is accepted
	works  bool              // the host decides on the handshake
	closed bool
}

// enter asks for a place for a client.
func (c *processConn) enter(client netip.Addr) error {
	t := c.l.admission.Ticket(client)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.ticket.Leave()
	if c.ticket = t; t.Wait(c) != 0 {
		return errTooMany
	}
	return nil
}

// Admit implements transport.Entrant.
func (c *processConn) Admit() { c.once.Do(func() { close(c.in) }) }

// Evict implements transport.Entrant.
func (c *processConn) Evict() {
	_ = c.Conn.Close()
	c.Admit()
}

// Peek implements transport.Entrant. Connections that wait are not looked at.
func (*processConn) Peek() transport.Presence { return transport.PeerSpoke }

// Read implements net.Conn. The time until it returns is that for which the peer is silent; what the host does in between is not.
func (c *processConn) Read(b []byte) (int, error) {
	if c.readHeader(c.enter); c.broken != nil {
		return 0, c.broken
	}
	if c.proxied && c.client == nil { // the proxy's own
		c.Admit()
	}
	<-c.in
	c.waits(true)
	n, err := c.read(b)
	if n > 0 {
		c.waits(false)
	}
	return n, err
}

// waits says whether the host waits for the peer from now on.
func (c *processConn) waits(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ticket == nil, c.works, time.Since(c.began) >= handshakeTalk:
	case on:
		c.ticket.Listen()
	default:
		c.ticket.LoginRead()
	}
}

// RemoteAddr implements net.Conn. Behind a proxy it is the address of the client.
func (c *processConn) RemoteAddr() net.Addr { return c.remoteAddr(c.enter) }

// Close implements net.Conn.
func (c *processConn) Close() error {
	c.mu.Lock()
	t := c.ticket
	c.ticket, c.closed = nil, true
	c.mu.Unlock()
	t.Leave()
	c.Admit()
	return c.Conn.Close()
}

// accepted gives the place back: the connection is one of a process from now on, or has ended.
func (c *processConn) accepted(process bool) {
	c.mu.Lock()
	t := c.ticket
	c.ticket = nil
	c.mu.Unlock()
	if process {
		t.LoggedIn()
	} else {
		t.Leave()
	}
}

// handler says that the host works on the handshake of a connection.
func (*processConns) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(apiConnKey{}).(*processConn); ok {
			c.mu.Lock()
			c.works = true
			c.ticket.LoginRead()
			c.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}
