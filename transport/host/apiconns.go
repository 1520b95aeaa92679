package host

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"troupe/transport"
	"troupe/transport/internal/list"
)

// Bounds on the connections of the service API, which must not use up what players
// need.
const (
	apiConnectionsMax          = 1024
	apiConnectionsPerSourceMax = apiConnectionsMax / 4
	// apiReserve is how many more there may be for a moment. They get answers to
	// health probes, and 503 to everything else.
	apiReserve = 64
	// proxyHeaderTime is how long a balancer has for its PROXY protocol header.
	proxyHeaderTime = 5 * time.Second
)

// apiConns is the listener of the service API. Where an address, or all together,
// have too many connections, the host closes the one whose peer it has waited for the
// longest: an idle one, or one slow to send its request or read its answer. It closes none
// whose request it works on; if there are only those, new ones go into the reserve.
type apiConns struct {
	net.Listener
	proxies                     transport.Proxies
	most, perSource, reserveMax int

	mu       sync.Mutex
	sources  map[netip.Prefix]int
	open     int
	reserved int
	waiting  apiQueue // for their peers, longest first; those in the reserve not
	extra    apiQueue // the same of those in the reserve
}

func newAPIConns(l net.Listener, proxies transport.Proxies) *apiConns {
	return &apiConns{Listener: l, proxies: proxies, most: apiConnectionsMax, perSource: apiConnectionsPerSourceMax, reserveMax: apiReserve,
		sources: make(map[netip.Prefix]int)}
}

// Accept implements net.Listener.
func (l *apiConns) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &apiConn{Conn: nc, l: l}
		addr, _ := netip.ParseAddrPort(nc.RemoteAddr().String())
		if c.proxied = l.proxies.Has(addr.Addr()); !c.proxied {
			c.source = transport.SourceOf(addr.Addr())
		}
		if l.admit(c) {
			return c, nil
		}
		_ = nc.Close()
	}
}

// admit counts a new connection; false: there is no room, not even in the reserve.
func (l *apiConns) admit(c *apiConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var victim *apiConn
	switch {
	case c.source.IsValid() && l.sources[c.source] >= l.perSource:
		victim = l.waiting.longest(c.source)
		c.reserve = victim == nil
	case l.open-l.reserved >= l.most:
		victim = l.waiting.First()
		c.reserve = victim == nil
	}
	if c.reserve && l.reserved >= l.reserveMax {
		if victim = l.extra.First(); victim == nil {
			return false
		}
	}
	if victim != nil {
		l.cut(victim)
	}
	l.open++
	l.sources[c.source]++
	if c.reserve {
		l.reserved++
	}
	l.queueOf(c).Add(&c.queued, c)
	return true
}

// cut closes a connection that gives way. The caller holds mu.
func (l *apiConns) cut(c *apiConn) {
	l.forget(c)
	_ = c.Conn.Close() // a read or write under way ends
}

// forget takes a connection out of the count, once. The caller holds mu.
func (l *apiConns) forget(c *apiConn) {
	if c.gone {
		return
	}
	c.gone = true
	l.queueOf(c).Remove(&c.queued)
	l.open--
	if l.sources[c.source]--; l.sources[c.source] == 0 {
		delete(l.sources, c.source)
	}
	if c.reserve {
		l.reserved--
	}
}

func (l *apiConns) queueOf(c *apiConn) *apiQueue {
	if c.reserve {
		return &l.extra
	}
	return &l.waiting
}

// apiConn is one connection of the service API.
type apiConn struct {
	net.Conn
	l       *apiConns
	proxied bool
	header  sync.Once
	client  net.Addr // that a balancer speaks for
	broken  error    // of its header

	// guarded by l.mu
	source  netip.Prefix
	reserve bool
	gone    bool
	working bool // the host works on a request
	queued  list.Link[*apiConn]
}

// Close implements net.Conn.
func (c *apiConn) Close() error {
	c.l.mu.Lock()
	c.l.forget(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// Read implements net.Conn.
func (c *apiConn) Read(b []byte) (int, error) {
	if c.readHeader(); c.broken != nil {
		return 0, c.broken
	}
	return c.Conn.Read(b)
}

// Write implements net.Conn. While it waits for its peer the connection may give way.
func (c *apiConn) Write(b []byte) (int, error) {
	working := c.work(false)
	n, err := c.Conn.Write(b)
	if working {
		c.work(true)
	}
	return n, err
}

// RemoteAddr implements net.Conn: behind a balancer, the address of its client.
func (c *apiConn) RemoteAddr() net.Addr {
	c.readHeader()
	if c.client != nil {
		return c.client
	}
	return c.Conn.RemoteAddr()
}

// readHeader reads what a balancer says of its client, which then answers for the
// connection.
func (c *apiConn) readHeader() {
	if !c.proxied {
		return
	}
	c.header.Do(func() {
		_ = c.Conn.SetReadDeadline(time.Now().Add(proxyHeaderTime))
		addr, err := transport.ReadProxyHeader(c.Conn)
		_ = c.Conn.SetReadDeadline(time.Time{})
		if err != nil {
			c.broken = err
			_ = c.Conn.Close() // without an answer: nobody has asked
			return
		}
		if !addr.IsValid() {
			return
		}
		c.client = net.TCPAddrFromAddrPort(addr)
		l := c.l
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.gone {
			return
		}
		l.forget(c)
		c.source, c.gone = transport.SourceOf(addr.Addr()), false
		if l.sources[c.source] >= l.perSource {
			if victim := l.waiting.longest(c.source); victim != nil {
				l.cut(victim)
			} else {
				c.gone, c.broken = true, errTooMany
				return
			}
		}
		l.open++
		l.sources[c.source]++
		if c.reserve {
			l.reserved++
		}
		l.queueOf(c).Add(&c.queued, c)
	})
}

var errTooMany = errors.New("too many connections of one address")

// work says whether the host works for the connection or waits for its peer, and
// returns what it did before.
func (c *apiConn) work(on bool) (before bool) {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	before, c.working = c.working, on
	if before == on || c.gone {
		return before
	}
	if on {
		l.queueOf(c).Remove(&c.queued)
	} else {
		l.queueOf(c).Add(&c.queued, c)
	}
	return before
}

type apiConnKey struct{}

// remember is the http.Server's ConnContext.
func (l *apiConns) remember(ctx context.Context, nc net.Conn) context.Context {
	if under, ok := nc.(interface{ NetConn() net.Conn }); ok { // TLS
		nc = under.NetConn()
	}
	return context.WithValue(ctx, apiConnKey{}, nc)
}

// handler tells the listener whom the host works for, and keeps the reserve for
// probes.
func (l *apiConns) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(apiConnKey{}).(*apiConn)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		if c.reserve {
			w.Header().Set("Connection", "close")
			if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many connections", http.StatusServiceUnavailable)
				return
			}
		}
		if r.ContentLength == 0 {
			c.work(true)
		} else {
			r.Body = &apiBody{ReadCloser: r.Body, c: c}
		}
		defer c.work(false)
		next.ServeHTTP(w, r)
	})
}

// apiBody is a request's body. Once it is read, the host does not wait for the peer.
type apiBody struct {
	io.ReadCloser
	c *apiConn
}

// Read implements io.Reader.
func (b *apiBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.c.work(true)
	}
	return n, err
}

// apiQueue is the connections that the host waits for, longest first.
type apiQueue struct{ list.List[*apiConn] }

// longest returns the first one of a source, nil without one.
func (q *apiQueue) longest(source netip.Prefix) *apiConn {
	for c := range q.All() {
		if c.source == source {
			return c
		}
	}
	return nil
}
