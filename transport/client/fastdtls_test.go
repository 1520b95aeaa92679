package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport/client"
	"troupe/transport/dtls"
)

const token = "one-use-token"

// fastRig is the DTLS side of a rig.
type fastRig struct {
	*testing.T
	port     int
	counters counters.Set
	arrivals chan *fastPeer
	// answer handles the nth VERIFY_IDENTITY of an association, from 1.
	answer func(p *fastPeer, n int, v wire.VerifyIdentity)
}

// fastPeer is one association.
type fastPeer struct {
	*dtls.Association
	rig     *fastRig
	records chan wire.Header
	closed  chan struct{}
	asked   int // number of VERIFY_IDENTITY so far; owned by the reader

	mu   sync.Mutex
	next int32
}

func newFastRig(t *testing.T, answer func(p *fastPeer, n int, v wire.VerifyIdentity)) *fastRig {
	t.Helper()
	r := &fastRig{T: t, arrivals: make(chan *fastPeer, 16), answer: answer}
	e, err := dtls.Listen(dtls.Options{Addr: "127.0.0.1:0", Certificate: authority().Certificate, Counters: &r.counters}, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	r.port = e.Addr().(*net.UDPAddr).Port
	return r
}

func (r *fastRig) Accept(a *dtls.Association) dtls.Handler {
	p := &fastPeer{Association: a, rig: r, records: make(chan wire.Header, 64), closed: make(chan struct{})}
	r.arrivals <- p
	return p
}

func (p *fastPeer) OnRecord(plain []byte) {
	var h wire.Header
	packet, err := wire.SplitUnit(append([]byte(nil), plain...))
	if err == nil {
		err = h.Parse(packet)
	}
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

// say sends a frame by the fast channel.
func (p *fastPeer) say(f *wire.Frame) {
	defer f.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Write(f.AppendFast(nil, p.next))
	p.next++
}

// verified answers as a host does: it accepts the right token.
func verified(p *fastPeer, _ int, v wire.VerifyIdentity) {
	if v.ConnectToken == token && v.PeerID == 3 {
		p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{Success: true, PeerID: 3}))
		return
	}
	p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{}))
}

// secureLogin returns a login answer that announces a secured fast channel.
func (r *fastRig) secureLogin() *wire.LoginResult {
	return &wire.LoginResult{
		Success: true, PeerID: 3, FastPort: int32(r.port), CACert: authority().CAPEM(), ConnectToken: token,
	}
}

func (r *rig) fastOptions() client.Options {
	o := r.options()
	o.Fast = true
	return o
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

// TestSecureFastCarriesMessages: the association trusts only the anchors of the login's answer,
// presents the token, and then carries messages, numbered from 0.
// RT-30, RT-31.
func TestSecureFastCarriesMessages(t *testing.T) {
	f := newFastRig(t, verified)
	r := newRig(t, f.secureLogin(), nil)
	o := r.fastOptions()
	o.Payload = []byte("payload of the login")
	c, _ := r.dial(o)
	p := await(t, "association", f.arrivals)
	h := await(t, "record", p.records)
	if h.OpCode != wire.OpVerifyIdentity || h.Sequence != 0 || h.Sender != 3 || h.Reliable || string(h.Payload) != "payload of the login" {
		t.Errorf("first record %+v", h)
	}
	if e := await(t, "event", c.Events()); e.Kind != client.EventFastUp || e.Sender != client.Server {
		t.Errorf("got %+v", e)
	}
	if !c.FastUp() || c.FastErr() != nil {
		t.Errorf("up %v, %v", c.FastUp(), c.FastErr())
	}
	if err := c.Send(t.Context(), client.Message{OpCode: 8, TargetPlayer: client.Server, Payload: []byte("quick"), Intent: client.Fast}); err != nil {
		t.Fatal(err)
	}
	if h := await(t, "record", p.records); h.OpCode != 8 || h.Sequence != 1 || h.Reliable || h.Sender != 3 || string(h.Payload) != "quick" {
		t.Errorf("second record %+v", h)
	}
	p.say(wire.NewFrame(&wire.Header{OpCode: 9, Sender: client.Server, TargetPlayer: 3, Payload: []byte("back")}))
	if e := await(t, "event", c.Events()); e.OpCode != 9 || !e.Fast || string(e.Payload) != "back" {
		t.Errorf("got %+v", e)
	}
	if s := c.Stats().Fast; s.Sent != 2 || s.Received != 2 || s.SentBytes < 40 || s.ReceivedBytes < 20 {
		t.Errorf("stats %+v", s)
	}
	c.Close()
	await(t, "end of the association", p.closed)
	if err := c.Send(t.Context(), client.Message{OpCode: 8, TargetPlayer: client.Server, Intent: client.Fast}); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestSecureFastRepeats: VERIFY_IDENTITY is repeated on the same association until it is
// answered, each time with a new number.
func TestSecureFastRepeats(t *testing.T) {
	const lost = 2
	f := newFastRig(t, func(p *fastPeer, n int, v wire.VerifyIdentity) {
		if n > lost {
			verified(p, n, v)
		}
	})
	r := newRig(t, f.secureLogin(), nil)
	c, _ := r.dial(r.fastOptions())
	p := await(t, "association", f.arrivals)
	for n := range int32(lost + 1) {
		h := await(t, "record", p.records)
		if v, _ := wire.ParseVerifyIdentity(h.Inner); h.Sequence != n || v.ConnectToken != token || v.PeerID != 3 {
			t.Errorf("record %d: %+v, %+v", n, h, v)
		}
	}
	if e := await(t, "event", c.Events()); e.Kind != client.EventFastUp {
		t.Errorf("got %+v", e)
	}
	if len(f.arrivals) > 0 {
		t.Error("there is a second association: the token is for one")
	}
}

// TestSecureFastAnsweredByWebSocket: an answer that comes by WebSocket counts (D-108), and a
// second answer has no effect.
func TestSecureFastAnsweredByWebSocket(t *testing.T) {
	f := newFastRig(t, nil)
	r := newRig(t, f.secureLogin(), nil)
	c, reliable := r.dial(r.fastOptions())
	p := await(t, "association", f.arrivals)
	await(t, "record", p.records)
	yes := wire.VerifyIdentityResult{Success: true, PeerID: 3}
	reliable.say(wire.NewVerifyIdentityResult(yes))
	if e := await(t, "event", c.Events()); e.Kind != client.EventFastUp {
		t.Errorf("got %+v", e)
	}
	p.say(wire.NewVerifyIdentityResult(yes))
	p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{}))
	p.say(wire.NewFrame(&wire.Header{OpCode: 9, Sender: client.Server, TargetPlayer: 3}))
	if e := await(t, "event", c.Events()); e.Kind != client.EventMessage || !c.FastUp() {
		t.Errorf("got %+v, up %v", e, c.FastUp())
	}
}

// TestASecureFastThatFailsLeavesTheLoginAlone: whatever goes wrong with the fast channel, the
// program is told the cause and continues by WebSocket.
// RT-32.
func TestASecureFastThatFailsLeavesTheLoginAlone(t *testing.T) {
	refusing := func(p *fastPeer, _ int, _ wire.VerifyIdentity) {
		p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{}))
	}
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]struct {
		answer func(p *fastPeer, n int, v wire.VerifyIdentity)
		change func(l *wire.LoginResult, o *client.Options)
		err    error
	}{
		"refused": {answer: refusing, err: client.ErrFastRefused},
		"closed":  {answer: func(p *fastPeer, _ int, _ wire.VerifyIdentity) { p.Close() }, err: dtls.ErrPeerClosed},
		"closed later": {answer: func(p *fastPeer, n int, v wire.VerifyIdentity) {
			verified(p, n, v)
			p.Close()
		}, err: dtls.ErrPeerClosed},
		"authority": {answer: verified, change: func(l *wire.LoginResult, o *client.Options) { l.CACert = []byte("no PEM") }},
		"port":      {answer: verified, change: func(l *wire.LoginResult, o *client.Options) { l.FastPort = 0 }},
		"name": {answer: verified, change: func(l *wire.LoginResult, o *client.Options) {
			// wss then ignores the name, DTLS does not
			o.TLS = &tls.Config{InsecureSkipVerify: true, ServerName: "example.com"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFastRig(t, c.answer)
			login := f.secureLogin()
			r := newRig(t, login, func(p *peer, h *wire.Header) { p.say(wire.NewFrame(h)) })
			o := r.fastOptions()
			if c.change != nil {
				c.change(login, &o)
			}
			cl, _ := r.dial(o)
			for {
				e := await(t, "event", cl.Events())
				if e.Kind == client.EventFastDown {
					break
				}
				if e.Kind != client.EventFastUp || name != "closed later" {
					t.Errorf("got %+v", e)
				}
			}
			if err := cl.FastErr(); err == nil || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("error %v", err)
			}
			if cl.FastUp() {
				t.Error("it is up")
			}
			if err := cl.Send(t.Context(), client.Message{OpCode: 5, TargetPlayer: client.Server, Intent: client.Fast}); err != nil {
				t.Fatal(err)
			}
			if e := await(t, "event", cl.Events()); e.OpCode != 5 || e.Fast {
				t.Errorf("got %+v", e)
			}
			select {
			case p := <-f.arrivals:
				await(t, "end of the association", p.closed)
			default:
			}
		})
	}
}

// TestSecureFastLeavesNothing: a connection that ends while the handshake or VERIFY_IDENTITY is
// unanswered closes the fast channel too.
func TestSecureFastLeavesNothing(t *testing.T) {
	already := goleak.IgnoreCurrent()
	t.Run("games", func(t *testing.T) {
		silent, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		f := newFastRig(t, nil)
		login := f.secureLogin()
		r := newRig(t, login, nil)
		c, _ := r.dial(r.fastOptions())
		p := await(t, "association", f.arrivals)
		await(t, "record", p.records)
		c.Close()
		await(t, "end of the association", p.closed)

		login.FastPort = int32(silent.LocalAddr().(*net.UDPAddr).Port)
		c, reliable := r.dial(r.fastOptions())
		if _, _, err := silent.ReadFrom(make([]byte, 2048)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		reliable.Close(messages.CloseGameEnded)
		ended(t, c)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		if all := kinds(c); len(all) > 0 {
			t.Errorf("events %v", all)
		}
	})
	if err := goleak.Find(already); err != nil {
		t.Error(err)
	}
}

// TestResumption: with Sessions a second connection needs no key exchange.
func TestResumption(t *testing.T) {
	f := newFastRig(t, verified)
	r := newRig(t, f.secureLogin(), nil)
	o := r.fastOptions()
	o.Sessions = dtls.NewSessions()
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		c, err := client.Dial(ctx, o)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if e := await(t, "event", c.Events()); e.Kind != client.EventFastUp {
			t.Errorf("got %+v", e)
		}
		c.Close()
	}
	if full, resumed := f.counters.Handshakes.Get(counters.HandshakeFull), f.counters.Handshakes.Get(counters.HandshakeResumed); full != 1 || resumed != 1 {
		t.Errorf("%d full handshakes, %d resumed", full, resumed)
	}
}
