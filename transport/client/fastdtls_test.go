package client_test

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport/client"
	"troupe/transport/dtls"
)

// The association trusts only the anchors from the login's answer and presents the token. Then it carries messages, numbered from 0.
// RT-30, RT-31.
func TestSecureFastCarriesMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		f := w.newFastRig(verified)
		r := w.newRig(f.secureLogin(), nil)
		o := r.options()
		o.Fast, o.Payload = true, []byte("payload of the login")
		c, _ := r.dial(o)
		p := await(t, "association", f.arrivals)
		h := await(t, "record", p.records)
		if h.OpCode != wire.OpVerifyIdentity || h.Sequence != 0 || h.Sender != 3 || h.Reliable || string(h.Payload) != "payload of the login" {
			t.Errorf("first record %+v", h)
		}
		if e := awaitKind(t, c, client.EventFastUp); e.Sender != client.Server {
			t.Errorf("got %+v", e)
		}
		if !c.FastUp() || c.FastErr() != nil {
			t.Errorf("up %v, %v", c.FastUp(), c.FastErr())
		}
		toServer(t, c, client.Message{OpCode: 8, Payload: []byte("quick"), Intent: client.Fast})
		if h := await(t, "record", p.records); h.OpCode != 8 || h.Sequence != 1 || h.Reliable || h.Sender != 3 || string(h.Payload) != "quick" {
			t.Errorf("second record %+v", h)
		}
		p.say(wire.NewFrame(&wire.Header{OpCode: 9, Sender: client.Server, TargetPlayer: 3, Payload: []byte("back")}))
		if e := awaitKind(t, c, client.EventMessage); e.OpCode != 9 || !e.Fast || string(e.Payload) != "back" {
			t.Errorf("got %+v", e)
		}
		if s := c.Stats().Fast; s.Sent != 2 || s.Received != 2 || s.SentBytes < 40 || s.ReceivedBytes < 20 {
			t.Errorf("stats %+v", s)
		}
		c.Close()
		await(t, "end of the association", p.closed)
	})
}

// VERIFY_IDENTITY is repeated on the same association until it is answered. Each repetition has a new number.
func TestSecureFastRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lost = 2
		w := newWeb(t)
		f := w.newFastRig(func(p *fastPeer, n int, v wire.VerifyIdentity) {
			if n > lost {
				verified(p, n, v)
			}
		})
		began := time.Now()
		c, _ := w.newRig(f.secureLogin(), nil).dialFast()
		p := await(t, "association", f.arrivals)
		for n := range int32(lost + 1) {
			h := await(t, "record", p.records)
			if v, _ := wire.ParseVerifyIdentity(h.Inner); h.Sequence != n || v.ConnectToken != token || v.PeerID != 3 {
				t.Errorf("record %d: %+v, %+v", n, h, v)
			}
		}
		awaitKind(t, c, client.EventFastUp)
		if took := time.Since(began); took != 300*time.Millisecond || len(f.arrivals) > 0 {
			t.Errorf("up after %v, and %d other associations: the token is for one", took, len(f.arrivals))
		}
	})
}

// An answer over the WebSocket counts (D-108). A second answer has no effect.
func TestSecureFastAnsweredByWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		f := w.newFastRig(nil)
		c, reliable := w.newRig(f.secureLogin(), nil).dialFast()
		p := await(t, "association", f.arrivals)
		await(t, "record", p.records)
		yes := wire.VerifyIdentityResult{Success: true, PeerID: 3}
		reliable.say(wire.NewVerifyIdentityResult(yes))
		awaitKind(t, c, client.EventFastUp)
		p.say(wire.NewVerifyIdentityResult(yes))
		p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{}))
		p.say(wire.NewFrame(&wire.Header{OpCode: 9, Sender: client.Server, TargetPlayer: 3}))
		if awaitKind(t, c, client.EventMessage); !c.FastUp() {
			t.Error("not up any more")
		}
	})
}

// If the fast channel fails, the program gets the cause, and messages continue over the WebSocket.
// RT-32.
func TestASecureFastThatFailsLeavesTheLoginAlone(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(p *fastPeer, n int, v wire.VerifyIdentity)
		change func(l *wire.LoginResult, o *client.Options)
		err    error
	}{
		"refused": {answer: func(p *fastPeer, _ int, _ wire.VerifyIdentity) {
			p.say(wire.NewVerifyIdentityResult(wire.VerifyIdentityResult{}))
		}, err: client.ErrFastRefused},
		"closed": {answer: func(p *fastPeer, _ int, _ wire.VerifyIdentity) { p.Close() }, err: dtls.ErrPeerClosed},
		"closed later": {answer: func(p *fastPeer, n int, v wire.VerifyIdentity) {
			verified(p, n, v)
			p.Close()
		}, err: dtls.ErrPeerClosed},
		"not offered": {answer: verified, change: func(l *wire.LoginResult, o *client.Options) { l.CACert = nil }, err: client.ErrFastRefused},
		"authority":   {answer: verified, change: func(l *wire.LoginResult, o *client.Options) { l.CACert = []byte("no PEM") }},
		"port":        {answer: verified, change: func(l *wire.LoginResult, o *client.Options) { l.FastPort = 0 }},
		"name": {answer: verified, change: func(l *wire.LoginResult, o *client.Options) {
			// wss then ignores the name, but DTLS does not
			o.TLS = &tls.Config{InsecureSkipVerify: true, ServerName: "example.com"}
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWeb(t)
			f := w.newFastRig(c.answer)
			login := f.secureLogin()
			r := w.newRig(login, echo)
			o := r.options()
			o.Fast = true
			if c.change != nil {
				c.change(login, &o)
			}
			cl, p := r.dial(o)
			if name == "closed later" {
				awaitKind(t, cl, client.EventFastUp)
			}
			if e := awaitKind(t, cl, client.EventFastDown); e.Sender != client.Server {
				t.Errorf("got %+v", e)
			}
			if err := cl.FastErr(); cl.FastUp() || err == nil || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("up %v, error %v", cl.FastUp(), err)
			}
			toServer(t, cl, client.Message{OpCode: 5, Intent: client.Fast})
			if e := awaitKind(t, cl, client.EventMessage); e.OpCode != 5 || e.Fast {
				t.Errorf("got %+v", e)
			}
			select {
			case p := <-f.arrivals:
				await(t, "end of the association", p.closed)
			default:
			}
			p.Close(messages.CloseGameEnded)
			if e, more := <-cl.Events(); more {
				t.Errorf("and %+v", e)
			}
		})
	}
}

// If the connection ends while the handshake or VERIFY_IDENTITY is not answered yet, the fast channel is closed, too.
func TestSecureFastLeavesNothing(t *testing.T) {
	bubble(t, "verify", func(t *testing.T) {
		w := newWeb(t)
		f := w.newFastRig(nil)
		c, _ := w.newRig(f.secureLogin(), nil).dialFast()
		p := await(t, "association", f.arrivals)
		await(t, "record", p.records)
		c.Close()
		await(t, "end of the association", p.closed)
	})
	bubble(t, "handshake", func(t *testing.T) {
		w := newWeb(t)
		login, silent := w.newFastRig(nil).secureLogin(), w.packets()
		login.FastPort = int32(silent.LocalAddr().(*net.UDPAddr).Port)
		c, reliable := w.newRig(login, nil).dialFast()
		if _, _, err := silent.ReadFromUDPAddrPort(make([]byte, 2048)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		reliable.Close(messages.CloseGameEnded)
		if ended(t, c); time.Since(began) != 0 {
			t.Errorf("took %v", time.Since(began))
		}
		if e, more := <-c.Events(); more {
			t.Errorf("got %+v", e)
		}
	})
}

// With Sessions a second connection needs no key exchange.
func TestResumption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		f := w.newFastRig(verified)
		r := w.newRig(f.secureLogin(), nil)
		o := r.options()
		o.Fast, o.Sessions = true, dtls.NewSessions()
		for range 2 {
			c, _ := r.dial(o)
			awaitKind(t, c, client.EventFastUp)
			c.Close()
		}
		if full, resumed := f.counters.Handshakes.Get(counters.HandshakeFull), f.counters.Handshakes.Get(counters.HandshakeResumed); full != 1 || resumed != 1 {
			t.Errorf("%d full handshakes, %d resumed", full, resumed)
		}
	})
}
