package client_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/client"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/websocket"
)

// patience is the limit of one step of a test, in virtual time.
const patience = time.Minute

// closeLinger is the CloseLinger of the rigs.
const closeLinger = 100 * time.Millisecond

// once disables reconnecting, for tests about the end of one connection.
var once = client.Reconnect{Off: true}

// bubble runs a subtest in virtual time.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// web is an in-memory network with hosts at localhost.
type web struct {
	*testing.T
	*memnet.Network
}

func newWeb(t *testing.T) web {
	n := memnet.New(memnet.Seed(t))
	t.Cleanup(n.Close)
	return web{t, n}
}

// listen accepts TCP connections and calls serve for each one in a new goroutine.
func (w web) listen(serve func(c net.Conn)) string {
	l, err := w.Machine().Listen("tcp", "localhost:0")
	if err != nil {
		w.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	w.Cleanup(func() {
		l.Close()
		work.Wait()
	})
	return local(l.Addr().(*net.TCPAddr).Port)
}

// packets opens a UDP socket. Nothing reads from it unless the test does.
func (w web) packets() transport.PacketConn {
	c, err := w.Machine().ListenPacket("udp", "localhost:0")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

// options returns options for a host with the certificate of package transporttest.
func (w web) options(over client.Transport, addr string) client.Options {
	_, roots := transporttest.Trusted()
	return client.Options{
		Addr: addr, KCPAddr: addr, PlayerSessionID: "psess-1", Transport: over, TLS: &tls.Config{RootCAs: roots}, DialContext: w.Machine().Dial,
	}
}

func certificate() *tls.Certificate {
	cert, _ := transporttest.Trusted()
	return cert
}

func serverTLS() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{*certificate()}} }

// rig is a host without a game. The test decides its answers.
type rig struct {
	web
	over  client.Transport
	addr  string
	peers chan *peer
	// login is the answer to LOGIN; nil for no answer.
	login *wire.LoginResult
	// onUnit handles the packets after LOGIN.
	onUnit func(p *peer, h *wire.Header)
}

// peer is the rig's side of one connection.
type peer struct {
	transport.Conn
	rig      *rig
	loggedIn bool // owned by the reader
	closed   chan transport.End
}

// newRig starts a rig for WSS.
func (w web) newRig(login *wire.LoginResult, onUnit func(p *peer, h *wire.Header)) *rig {
	w.Helper()
	return w.newWebSocketRig(serverTLS(), login, onUnit)
}

// newWebSocketRig starts a rig for WSS, or for WS if secure is nil.
func (w web) newWebSocketRig(secure *tls.Config, login *wire.LoginResult, onUnit func(p *peer, h *wire.Header)) *rig {
	w.Helper()
	tcp, err := w.Machine().Listen("tcp", "localhost:0")
	if err != nil {
		w.Fatal(err)
	}
	return w.serve(tcp, secure, login, onUnit)
}

func (w web) serve(tcp net.Listener, secure *tls.Config, login *wire.LoginResult, onUnit func(p *peer, h *wire.Header)) *rig {
	w.Helper()
	l, err := websocket.Listen(websocket.Options{Listener: tcp, TLS: secure, CloseLinger: closeLinger})
	if err != nil {
		w.Fatal(err)
	}
	r := &rig{web: w, over: client.WSS, addr: local(tcp.Addr().(*net.TCPAddr).Port), peers: make(chan *peer, 16), login: login, onUnit: onUnit}
	if secure == nil {
		r.over = client.WS
	}
	var serving sync.WaitGroup
	serving.Go(func() { l.Serve(r) })
	w.Cleanup(func() {
		l.Close(context.Background())
		l.CloseAll(messages.CloseGoingAway)
		if err := l.Wait(context.Background()); err != nil {
			w.Error(err)
		}
		serving.Wait()
	})
	return r
}

// newKCPRig starts a rig for KCP.
func (w web) newKCPRig(login *wire.LoginResult, onUnit func(p *peer, h *wire.Header)) *rig {
	w.Helper()
	r := &rig{web: w, over: client.KCP, peers: make(chan *peer, 16), login: login, onUnit: onUnit}
	var ids atomic.Uint64
	l := kcp.NewListener(kcp.Options{CloseLinger: closeLinger, NextID: func() uint64 { return ids.Add(1) }}, r)
	conn := w.packets()
	e, err := dtls.Listen(dtls.Options{Conn: conn, Certificate: certificate}, l)
	if err != nil {
		w.Fatal(err)
	}
	r.addr = local(e.Addr().(*net.UDPAddr).Port)
	w.Cleanup(func() {
		l.Close()
		l.CloseAll(messages.CloseGoingAway)
		if err := l.Wait(context.Background()); err != nil {
			w.Error(err)
		}
		e.Close()
	})
	return r
}

func (r *rig) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	p := &peer{Conn: c, rig: r, closed: make(chan transport.End, 1)}
	r.peers <- p
	return p, 0
}

func (p *peer) OnUnit(unit []byte) {
	h, err := header(unit)
	switch {
	case err != nil:
		p.rig.Error(err)
	case !p.loggedIn && p.rig.login != nil:
		p.loggedIn = true
		p.LoggedIn()
		p.say(wire.NewLoginResult(p.rig.login))
	case p.loggedIn && p.rig.onUnit != nil:
		p.rig.onUnit(p, &h)
	}
}

func (p *peer) OnAlive([]byte)             {}
func (p *peer) OnClosed(end transport.End) { p.closed <- end }

// say sends a frame and flushes it.
func (p *peer) say(f *wire.Frame) {
	p.Send(f)
	p.Flush()
}

func echo(p *peer, h *wire.Header) { p.say(wire.NewFrame(h)) }

// header parses a copy of one unit.
func header(unit []byte) (h wire.Header, err error) {
	packet, err := wire.SplitUnit(append([]byte(nil), unit...))
	if err == nil {
		err = h.Parse(packet)
	}
	return h, err
}

// options returns options for the rig.
func (r *rig) options() client.Options { return r.web.options(r.over, r.addr) }

func (r *rig) dial(o client.Options) (*client.Client, *peer) {
	r.Helper()
	c, err := client.Dial(r.Context(), o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(c.Abort)
	return c, <-r.peers
}

// accepted is a successful answer to a login.
var accepted = &wire.LoginResult{Success: true, PeerID: 3, FastPort: 33401}

const token = "one-use-token"

// fastRig is the DTLS side of a rig for WSS.
type fastRig struct {
	web
	port     int
	counters counters.Set
	arrivals chan *fastPeer
	// answer handles the nth VERIFY_IDENTITY of an association; the first is 1.
	answer func(p *fastPeer, n int, v wire.VerifyIdentity)
}

// fastPeer is one association.
type fastPeer struct {
	*dtls.Association
	rig     *fastRig
	records chan wire.Header
	closed  chan struct{}
	asked   int // number of VERIFY_IDENTITY messages so far; owned by the reader

	mu   sync.Mutex
	next int32
}

func (w web) newFastRig(answer func(p *fastPeer, n int, v wire.VerifyIdentity)) *fastRig {
	w.Helper()
	r := &fastRig{web: w, arrivals: make(chan *fastPeer, 16), answer: answer}
	conn := w.packets()
	e, err := dtls.Listen(dtls.Options{Conn: conn, Certificate: certificate, Counters: &r.counters}, r)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { e.Close() })
	r.port = e.Addr().(*net.UDPAddr).Port
	return r
}

func (r *fastRig) Accept(a *dtls.Association) dtls.Handler {
	p := &fastPeer{Association: a, rig: r, records: make(chan wire.Header, 64), closed: make(chan struct{})}
	r.arrivals <- p
	return p
}

func (p *fastPeer) OnRecord(plain []byte) {
	h, err := header(plain)
	if err != nil {
		p.rig.Error(err)
		return
	}
	p.records <- h
	if h.OpCode == wire.OpVerifyIdentity && p.rig.answer != nil {
		v, err := wire.ParseVerifyIdentity(h.Inner)
		if err != nil {
			p.rig.Error(err)
		}
		p.asked++
		p.rig.answer(p, p.asked, v)
	}
}

func (p *fastPeer) OnClosed(error) { close(p.closed) }

// say sends a frame over the fast channel.
func (p *fastPeer) say(f *wire.Frame) {
	defer f.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Write(f.AppendFast(nil, p.next))
	p.next++
}

// verified answers as a real host does: it accepts the right token.
func verified(p *fastPeer, _ int, v wire.VerifyIdentity) {
	if v.ConnectToken == token && v.PeerID == 3 {
		p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{Success: true, PeerID: 3}))
		return
	}
	p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{}))
}

// secureLogin returns a login answer that announces a secured fast channel.
func (r *fastRig) secureLogin() *wire.LoginResult {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate().Certificate[0]})
	return &wire.LoginResult{Success: true, PeerID: 3, FastPort: int32(r.port), CACert: ca, ConnectToken: token}
}

// dialFast logs in at a rig, with Options.Fast.
func (r *rig) dialFast() (*client.Client, *peer) {
	r.Helper()
	o := r.options()
	o.Fast = true
	return r.dial(o)
}

func await[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
	}
	return got
}

// awaitKind waits for the next event, which must be of the given kind.
func awaitKind(t *testing.T, c *client.Client, kind client.EventKind) client.Event {
	t.Helper()
	e := await(t, kind.String(), c.Events())
	if e.Kind != kind {
		t.Errorf("got %+v, want %s; end %s, fast %v", e, kind, c.End(), c.FastErr())
	}
	return e
}

// ended waits for the end of a Client.
func ended(t *testing.T, c *client.Client) client.End {
	t.Helper()
	await(t, "end", c.Done())
	return c.End()
}

// toServer sends one message to the host.
func toServer(t *testing.T, c *client.Client, m client.Message) {
	t.Helper()
	m.TargetPlayer = client.Server
	if err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func local(port int) string { return net.JoinHostPort("localhost", strconv.Itoa(port)) }
