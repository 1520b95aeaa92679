package client_test

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/client"
	"troupe/transport/websocket"
)

// rig is a wss host without a game, whose answers the test decides.
type rig struct {
	*testing.T
	addr  string
	peers chan *peer
	// login is the answer to LOGIN, nil for none.
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

func newRig(t *testing.T, login *wire.LoginResult, onUnit func(p *peer, h *wire.Header)) *rig {
	t.Helper()
	tcp, err := tls.Listen("tcp", "127.0.0.1:0", authority().ServerConfig())
	if err != nil {
		t.Fatal(err)
	}
	l, err := websocket.Listen(websocket.Options{Listener: tcp, Kind: transport.WSS, CloseLinger: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, addr: l.Addr().String(), peers: make(chan *peer, 16), login: login, onUnit: onUnit}
	var serving sync.WaitGroup
	serving.Go(func() { l.Serve(r) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		l.Close(ctx)
		l.CloseAll(messages.CloseGoingAway)
		if err := l.Wait(ctx); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return r
}

func (r *rig) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	p := &peer{Conn: c, rig: r, closed: make(chan transport.End, 1)}
	r.peers <- p
	return p, 0
}

func (p *peer) OnUnit(unit []byte) {
	var h wire.Header
	packet, err := wire.SplitUnit(unit)
	if err == nil {
		err = h.Parse(packet)
	}
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

// say sends a frame at once.
func (p *peer) say(f *wire.Frame) {
	p.Send(f)
	p.Flush()
}

// options returns the options to reach the rig.
func (r *rig) options() client.Options {
	return client.Options{
		Addr: r.addr, PlayerSessionID: "psess-1", Transport: client.WSS, TLS: &tls.Config{RootCAs: authority().Roots()},
	}
}

func (r *rig) dial(o client.Options) (*client.Client, *peer) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client.Dial(ctx, o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(c.Abort)
	return c, <-r.peers
}

// ended waits for the end of a connection.
func ended(t *testing.T, c *client.Client) client.End {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Fatalf("the connection is still open after %v", patience)
	}
	return c.End()
}

// accepted returns a successful answer to a login.
var accepted = &wire.LoginResult{Success: true, PeerID: 3, FastPort: 33401}

// listen accepts TCP connections and calls serve for each, in a goroutine.
func listen(t *testing.T, serve func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
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
	t.Cleanup(func() {
		l.Close()
		work.Wait()
	})
	return l.Addr().String()
}

// kinds returns the kinds of all events until the end.
func kinds(c *client.Client) (all []client.EventKind) {
	for e := range c.Events() {
		all = append(all, e.Kind)
	}
	slices.Sort(all)
	return all
}
