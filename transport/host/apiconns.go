package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"troupe/transport"
	"troupe/transport/awswire"
	"troupe/transport/internal/list"
)

// Limits on the connections of a listener of HTTP requests. They leave enough file descriptors for the players.
const (
	apiConnectionsMax          = 1024
	apiConnectionsPerSourceMax = apiConnectionsMax / 4
	// connections above the limits: they get answers to health probes, and 503 for all other requests
	apiReserve      = 64
	proxyHeaderTime = 5 * time.Second // for a proxy's PROXY protocol header, or the first byte of a request
)

// apiConns is the listener of the service API. When one address, or the listener as a whole, has too many connections, the
// host closes the connection that has waited longest for its peer. Such a connection is idle, or its peer is slow to send a
// request or to read a response. Connections with a request in progress are never closed for this. If there are only such
// connections, the new connection goes into the reserve.
type apiConns struct {
	net.Listener
	proxies                     transport.Proxies
	most, perSource, reserveMax int

	mu       sync.Mutex
	sources  map[netip.Prefix]int
	open     int
	reserved int
	waiting  apiQueue // connections outside the reserve that wait for their peer, longest wait first
	extra    apiQueue // connections in the reserve that wait for their peer, longest wait first
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
		c := &apiConn{l: l}
		c.Conn = nc
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

// admit counts a new connection. It returns false if even the reserve is full.
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
	l.count(c)
	return true
}

// count counts a new connection and appends it to its queue. The caller holds mu.
func (l *apiConns) count(c *apiConn) {
	l.open++
	l.sources[c.source]++
	if c.reserve {
		l.reserved++
	}
	c.since = time.Now()
	l.queueOf(c).Add(&c.queued, c)
}

// cut closes a connection to make room. The caller holds mu.
func (l *apiConns) cut(c *apiConn) {
	l.forget(c)
	_ = c.Conn.Close() // ends its current Read or Write
}

// forget stops counting a connection. Idempotent. The caller holds mu.
func (l *apiConns) forget(c *apiConn) {
	if c.state == apiConnGone {
		return
	}
	c.state = apiConnGone
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

type apiConn struct {
	headedConn
	l *apiConns

	// The fields below are guarded by l.mu.
	source  netip.Prefix
	reserve bool
	state   apiConnState
	since   time.Time // when it began to wait for its peer
	queued  list.Link[*apiConn]
}

// apiConnState says whether the connection waits for its peer or for the host.
type apiConnState uint8

const (
	apiConnWaiting apiConnState = iota // waiting for the peer: the host may close the connection to make room
	apiConnWorking                     // the host is handling a request
	apiConnGone                        // closed and no longer counted
)

// Close implements net.Conn.
func (c *apiConn) Close() error {
	c.l.mu.Lock()
	c.l.forget(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// Read implements net.Conn.
func (c *apiConn) Read(b []byte) (int, error) {
	if c.readHeader(c.move); c.broken != nil {
		return 0, c.broken
	}
	return c.read(b)
}

// Write implements net.Conn. While it blocks, the host waits for the peer and may close the connection to make room.
func (c *apiConn) Write(b []byte) (int, error) {
	working := c.work(false)
	n, err := c.Conn.Write(b)
	if working {
		c.work(true)
	}
	return n, err
}

// RemoteAddr implements net.Conn. If a proxy has sent a PROXY protocol header, it returns the address of the
// proxy's client.
func (c *apiConn) RemoteAddr() net.Addr { return c.remoteAddr(c.move) }

// move counts the connection of a proxy toward the limit of the proxy's client.
func (c *apiConn) move(client netip.Addr) error {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.state == apiConnGone {
		return nil
	}
	l.forget(c)
	c.source, c.state = transport.SourceOf(client), apiConnWaiting
	if l.sources[c.source] >= l.perSource {
		victim := l.waiting.longest(c.source)
		if victim == nil {
			c.state = apiConnGone
			return errTooMany
		}
		l.cut(victim)
	}
	l.count(c)
	return nil
}

// headedConn is a connection that begins with a PROXY protocol header if it comes from a proxy.
type headedConn struct {
	net.Conn
	proxied bool
	header  sync.Once
	first   []byte   // bytes that were read ahead; the next read returns them
	client  net.Addr // address of the client, from the proxy's header
	broken  error    // error in the proxy's header, or of its client
}

// read is Read behind the header.
func (c *headedConn) read(b []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(b, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

func (c *headedConn) remoteAddr(move func(client netip.Addr) error) net.Addr {
	c.readHeader(move)
	if c.client != nil {
		return c.client
	}
	return c.Conn.RemoteAddr()
}

// readHeader reads the PROXY protocol header if the first byte starts one, and calls move with the client. No HTTP request and
// no TLS handshake starts with that byte. Without a header, the connection counts toward no client.
func (c *headedConn) readHeader(move func(client netip.Addr) error) {
	if !c.proxied {
		return
	}
	c.header.Do(func() {
		_ = c.Conn.SetReadDeadline(time.Now().Add(proxyHeaderTime))
		addr, err := c.proxyHeader()
		_ = c.Conn.SetReadDeadline(time.Time{})
		if err != nil {
			c.broken = err
			_ = c.Conn.Close() // no response: there is no request
			return
		}
		if addr.IsValid() {
			c.client = net.TCPAddrFromAddrPort(addr)
			c.broken = move(addr.Addr())
		}
	})
}

// proxyHeader returns the client address in the PROXY protocol header. It returns the zero value if there is
// no header.
func (c *headedConn) proxyHeader() (client netip.AddrPort, err error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(c.Conn, first); err != nil {
		return client, err
	}
	if !transport.BeginsProxyHeader(first[0]) {
		c.first = first
		return client, nil
	}
	return transport.ReadProxyHeader(io.MultiReader(bytes.NewReader(first), c.Conn))
}

var errTooMany = errors.New("too many connections of one address")

// work records whether the host is handling a request (on), or waits for the peer. It returns the previous
// value.
func (c *apiConn) work(on bool) (before bool) {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	before = c.state == apiConnWorking
	switch {
	case c.state == apiConnGone, before == on:
	case on:
		c.state = apiConnWorking
		l.queueOf(c).Remove(&c.queued)
	default:
		c.state, c.since = apiConnWaiting, time.Now()
		l.queueOf(c).Add(&c.queued, c)
	}
	return before
}

type apiConnKey struct{}

// rememberConn is the ConnContext function of the http.Servers. It stores the connection in the context.
func rememberConn(ctx context.Context, nc net.Conn) context.Context {
	if under, ok := nc.(interface{ NetConn() net.Conn }); ok { // TLS
		nc = under.NetConn()
	}
	return context.WithValue(ctx, apiConnKey{}, nc)
}

// handler marks a connection as working while a request is handled. Connections in the reserve get answers to
// health probes only.
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
		if c.proxied {
			r = awswire.WithPrefix(r)
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

// apiBody is the body of a request. When the body has been read completely, the connection counts as working.
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

// apiQueue is a queue of connections that wait for their peer, longest wait first.
type apiQueue struct{ list.List[*apiConn] }

// longest returns the connection of a source that has waited longest, or nil.
func (q *apiQueue) longest(source netip.Prefix) *apiConn {
	for c := range q.All() {
		if c.source == source {
			return c
		}
	}
	return nil
}
