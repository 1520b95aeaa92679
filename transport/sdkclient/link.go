package sdkclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/lxzan/gws"
)

// link is one connection.
type link struct {
	p   *Process
	ws  *gws.Conn
	net net.Conn

	// Guarded by Process.mu.
	redundant bool // another connection has taken its place, so its end means nothing
	ended     bool
}

const (
	frameMax     = 2 << 20 // of the host: 1 MB is legal
	writeTimeout = 10 * time.Second
	normal       = 1000
	goingAway    = 1001
)

// dialSeries tries to connect until the SDK gives up.
func (p *Process) dialSeries(t target) (*link, error) {
	for attempt := 0; ; attempt++ {
		l, err := p.dial(t)
		if err == nil {
			return l, nil
		}
		if p.ctx.Err() != nil {
			return nil, context.Cause(p.ctx)
		}
		if attempt == len(p.rules.waits) {
			return nil, fmt.Errorf("%w: %w", ErrConnect, err)
		}
		if err := p.sleep(p.ctx, p.rules.waits[attempt]); err != nil {
			return nil, err
		}
	}
}

// dial makes one attempt to connect.
func (p *Process) dial(t target) (*link, error) {
	p.mu.Lock()
	p.stats.Attempts++
	p.mu.Unlock()
	at, err := url.Parse(t.endpoint)
	if err != nil {
		return nil, err
	}
	limit := p.rules.handshakeTimeout
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	conn, err := p.open(ctx, at)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	header := http.Header{}
	if p.rules.goTransport {
		header.Set("User-Agent", "gamelift-go-sdk/1.0")
	}
	l := &link{p: p, net: conn}
	ws, resp, err := gws.NewClientFromConn(handler{l: l}, &gws.ClientOption{
		Addr: t.endpoint + "?" + t.query, RequestHeader: header, HandshakeTimeout: limit,
		ReadBufferSize: 1024, ReadMaxPayloadSize: frameMax, WriteMaxPayloadSize: frameMax, CheckUtf8Enabled: true,
		NewSession: func() gws.SessionStorage { return nil },
	}, conn)
	switch {
	case err == nil:
	case resp != nil && resp.StatusCode != http.StatusSwitchingProtocols:
		p.mu.Lock()
		p.stats.Status = resp.StatusCode
		p.mu.Unlock()
		return nil, &HandshakeError{resp.StatusCode}
	default:
		return nil, err
	}
	l.ws = ws
	return l, nil
}

func (p *Process) open(ctx context.Context, at *url.URL) (net.Conn, error) {
	port := at.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[at.Scheme]
	}
	dial := p.o.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil || at.Scheme != "wss" {
		return conn, err
	}
	config := &tls.Config{}
	if p.o.TLS != nil {
		config = p.o.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = at.Hostname()
	}
	if p.rules.tls12 {
		config.MaxVersion = tls.VersionTLS12
	}
	config.InsecureSkipVerify = config.InsecureSkipVerify || p.rules.unverified //nolint:gosec // as the SDK for C++
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// adopt makes l the current connection, and returns the one that it supersedes. It fails if the process was destroyed.
func (p *Process) adopt(l *link, t target) (old *link, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = l.net.Close()
		return nil, ErrDestroyed
	}
	if old = p.link; old != nil {
		old.redundant = true
	}
	p.link, p.target, p.up, p.connecting, p.silent = l, t, true, false, 0
	p.stats.Connections++
	p.stats.ConnectedAt = time.Now()
	p.goroutines.Go(l.ws.ReadLoop)
	return old, nil
}

// connect opens a connection for a new target.
func (p *Process) connect(t target) error {
	if p.rules.goTransport {
		return p.connectGo(t)
	}
	return p.connectPlain(t)
}

// write sends one text frame. The caller holds writing.
func (l *link) write(frame []byte) error {
	if f := l.p.o.Frame; f != nil {
		f(true, frame)
	}
	_ = l.net.SetWriteDeadline(time.Now().Add(writeTimeout))
	defer func() { _ = l.net.SetWriteDeadline(time.Time{}) }() // pongs come later
	if l.p.rules.pings {
		if err := l.ws.WritePing(nil); err != nil {
			return err
		}
	}
	return l.ws.WriteMessage(gws.OpcodeText, frame)
}

// end closes the connection, with a code or, with 0, without a close frame.
func (l *link) end(code uint16) {
	if code != 0 {
		_ = l.net.SetWriteDeadline(time.Now().Add(writeTimeout))
		_ = l.ws.WriteClose(code, nil)
	}
	_ = l.net.Close()
}

// handler has what gws calls; the methods are not the link's.
type handler struct {
	gws.BuiltinEventHandler
	l *link
}

// OnPing implements gws.Event.
func (h handler) OnPing(ws *gws.Conn, payload []byte) {
	p := h.l.p
	p.mu.Lock()
	p.stats.Pings++
	p.mu.Unlock()
	_ = ws.WritePong(payload)
}

// OnPong implements gws.Event.
func (h handler) OnPong(*gws.Conn, []byte) {
	h.l.p.mu.Lock()
	h.l.p.stats.Pongs++
	h.l.p.mu.Unlock()
}

// OnMessage implements gws.Event.
func (h handler) OnMessage(_ *gws.Conn, m *gws.Message) {
	p := h.l.p
	frame := append([]byte(nil), m.Bytes()...)
	text := m.Opcode == gws.OpcodeText
	_ = m.Close()
	if !text {
		p.violate("a binary message of %d bytes", len(frame))
		return
	}
	p.spawn(func() { p.onFrame(frame) })
}

// OnClose implements gws.Event. It runs on the reader's goroutine, whose last act it is.
func (h handler) OnClose(_ *gws.Conn, err error) {
	_ = h.l.net.Close()
	h.l.p.mu.Lock()
	h.l.ended = true
	h.l.p.mu.Unlock()
	var closing *gws.CloseError
	code := 0
	if errors.As(err, &closing) {
		code = int(closing.Code)
	}
	if h.l.p.rules.goTransport {
		h.l.p.closedGo(h.l, code)
	} else {
		h.l.p.closedPlain(h.l, code)
	}
}
