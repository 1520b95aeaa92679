package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/client"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
)

// kcpRig is a rig that speaks KCP.
type kcpRig struct {
	*rig
	endpoint *dtls.Endpoint
	fast     chan kcpFast // one for each connection that has logged in
	packets  chan wire.Header
}

// kcpFast is the host's side of the fast channel of one connection.
type kcpFast struct{ transport.FastLink }

func newKCPRig(t *testing.T, login *wire.LoginResult, onUnit func(p *peer, h *wire.Header)) *kcpRig {
	t.Helper()
	r := &kcpRig{
		rig:  &rig{T: t, peers: make(chan *peer, 16), login: login, onUnit: onUnit},
		fast: make(chan kcpFast, 16), packets: make(chan wire.Header, 64),
	}
	l := kcp.NewListener(kcp.Options{CloseLinger: 100 * time.Millisecond, NextID: new(counter).next}, r)
	e, err := dtls.Listen(dtls.Options{Addr: "127.0.0.1:0", Certificate: authority().Certificate}, l)
	if err != nil {
		t.Fatal(err)
	}
	r.endpoint, r.addr = e, e.Addr().String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		l.Close()
		l.CloseAll(messages.CloseGoingAway)
		if err := l.Wait(ctx); err != nil {
			t.Error(err)
		}
		e.Close()
	})
	return r
}

type counter struct{ n atomic.Uint64 }

func (c *counter) next() uint64 { return c.n.Add(1) }

// Accept opens the fast channel at once, because KCP needs no handshake for it.
func (r *kcpRig) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	f := c.OpenFast(func(packet []byte) {
		var h wire.Header
		if err := h.Parse(append([]byte(nil), packet...)); err != nil {
			r.Error(err)
		}
		r.packets <- h
	})
	r.fast <- kcpFast{f}
	return r.rig.Accept(c)
}

// options returns the options to reach the rig by KCP; it has no WebSocket.
func (r *kcpRig) options() client.Options {
	return client.Options{
		Addr: "127.0.0.1:1", KCPAddr: r.addr, PlayerSessionID: "psess-1", Transport: client.KCP,
		TLS: &tls.Config{RootCAs: authority().Roots()},
	}
}

func echo(p *peer, h *wire.Header) { p.say(wire.NewFrame(h)) }

func TestKCPTalk(t *testing.T) {
	r := newKCPRig(t, accepted, echo)
	o := r.options()
	o.Payload = make([]byte, client.PayloadMax)
	c, _ := r.dial(o)
	if c.PeerID() != 3 || c.Transport() != client.KCP {
		t.Errorf("peer %d over %s", c.PeerID(), c.Transport())
	}
	const count = 320
	for i := range count { // sent reliably, in order: Fast is not set
		m := client.Message{OpCode: int32(i + 1), TargetPlayer: client.Server, Payload: make([]byte, i*10), Intent: client.Fast}
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		for j := i - 7; i%8 == 7 && j <= i; j++ { // the rig queues at most 16 answers
			if e := await(t, "event", c.Events()); e.OpCode != int32(j+1) || len(e.Payload) != j*10 || e.Fast {
				t.Fatalf("event %d: %+v", j, e)
			}
		}
	}
	if s := c.Stats(); s.Reliable.Sent != count+1 || s.Reliable.Received != count+1 || s.Fast != (client.ChannelStats{}) || c.FastUp() {
		t.Errorf("stats %+v", s)
	}
}

// TestKCPFast: the fast channel is datagrams of KCP's own association. It is up right after the
// login, without a handshake, and numbers messages from 0.
func TestKCPFast(t *testing.T) {
	r := newKCPRig(t, accepted, echo)
	o := r.options()
	o.Fast = true
	c, _ := r.dial(o)
	if !c.FastUp() {
		t.Error("it is not up after Dial")
	}
	if e := await(t, "event", c.Events()); e.Kind != client.EventFastUp {
		t.Errorf("got %+v", e)
	}
	fast := <-r.fast
	for n := range int32(3) {
		m := client.Message{OpCode: 20, TargetPlayer: client.Server, Payload: make([]byte, client.FastPayloadMax), Intent: client.Fast}
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if h := await(t, "packet", r.packets); h.OpCode != 20 || h.Sequence != n || h.Reliable || h.Sender != 3 || len(h.Payload) != client.FastPayloadMax {
			t.Errorf("packet %d: %+v", n, h)
		}
		f := wire.NewFrame(&wire.Header{OpCode: 21, Sender: client.Server, TargetPlayer: 3, Payload: []byte{byte(n)}})
		fast.Send(f)
		if e := await(t, "event", c.Events()); e.OpCode != 21 || !e.Fast || e.Payload[0] != byte(n) {
			t.Errorf("event %d: %+v", n, e)
		}
	}
	if err := c.Send(t.Context(), client.Message{OpCode: 22, TargetPlayer: client.Server, Payload: make([]byte, client.FastPayloadMax+1), Intent: client.Fast}); err != nil {
		t.Fatal(err)
	}
	if e := await(t, "event", c.Events()); e.OpCode != 22 || e.Fast {
		t.Errorf("a large one: %+v", e)
	}
	if s := c.Stats().Fast; s.Sent != 3 || s.Received != 3 {
		t.Errorf("stats %+v", s)
	}
}

// TestKCPEnds: a leave, a loss and a close by the host are distinguished over KCP, too.
func TestKCPEnds(t *testing.T) {
	r := newKCPRig(t, accepted, nil)
	c, p := r.dial(r.options())
	c.Close()
	if end := await(t, "end", p.closed); !end.Clean || end.Code != 1000 {
		t.Errorf("after Close the host sees %+v", end)
	}
	if end := c.End(); !end.Local || end.Err != nil {
		t.Errorf("end %+v", end)
	}
	c, p = r.dial(r.options())
	c.Abort()
	if end := await(t, "end", p.closed); end.Clean {
		t.Errorf("after Abort the host sees %+v", end)
	}
	if err := c.JoinGroup(t.Context(), 1); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Abort: %v", err)
	}
	c, p = r.dial(r.options())
	p.Close(messages.CloseTakenOver)
	end := ended(t, c)
	if end.Code != 4001 || end.Reason != "taken_over" || end.Local || end.Err != nil || end.Retry() != messages.RetryNever {
		t.Errorf("end %+v", end)
	}
}

// TestKCPSilence: a host that falls silent is detected as lost.
func TestKCPSilence(t *testing.T) {
	r := newKCPRig(t, accepted, nil)
	way := newTap(t, r.addr)
	o := r.options()
	o.KCPAddr, o.SilenceMax, o.Reconnect = way.addr, 500*time.Millisecond, once
	c := r.dialSilent(&o)
	way.cut.Store(true)
	end := ended(t, c)
	if !errors.Is(end.Err, client.ErrSilent) || end.Code != 0 || end.Retry() != messages.RetryResume {
		t.Errorf("end %+v", end)
	}
}

// dialSilent is dial with limits on silence so low that a busy machine may exceed them before
// the login. Then it raises them.
func (r *kcpRig) dialSilent(o *client.Options) *client.Client {
	r.Helper()
	for tries := 4; ; tries-- { // the rig accepts 16 connections
		c, err := client.Dial(r.Context(), *o)
		if err == nil {
			r.Cleanup(c.Abort)
			return c
		}
		if tries == 0 || !errors.Is(err, client.ErrSilent) {
			r.Fatal(err)
		}
		o.SilenceMax, o.StallMax = 2*o.SilenceMax, 2*o.StallMax
	}
}

// TestKCPStall: the loss is detected sooner while a message is unacknowledged.
func TestKCPStall(t *testing.T) {
	r := newKCPRig(t, accepted, nil)
	way := newTap(t, r.addr)
	o := r.options()
	o.KCPAddr, o.StallMax, o.SilenceMax, o.Reconnect = way.addr, 200*time.Millisecond, time.Hour, once
	for tries := 2; ; tries-- {
		way.cut.Store(false)
		c := r.dialSilent(&o)
		way.cut.Store(true)
		began := time.Now()
		if err := c.JoinGroup(t.Context(), 1); err != nil && !errors.Is(err, client.ErrClosed) { // the connection may have ended already
			t.Fatal(err)
		}
		end, took := ended(t, c), time.Since(began)
		if !errors.Is(end.Err, client.ErrSilent) {
			t.Errorf("end %+v", end)
		}
		if took <= 10*o.StallMax {
			break
		}
		if tries == 0 {
			t.Fatalf("end %+v after %v", end, took)
		}
		t.Logf("again: it took %v", took) // the machine may be busy
	}
}

// tap forwards datagrams between one client at a time and a host, until it is cut.
type tap struct {
	addr string
	cut  atomic.Bool
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	in, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out, err := net.Dial("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{addr: in.LocalAddr().String()}
	var from atomic.Pointer[net.UDPAddr]
	over := make(chan struct{}, 2)
	go func() {
		defer func() { over <- struct{}{} }()
		for b := make([]byte, 2048); ; {
			n, addr, err := in.ReadFrom(b)
			if err != nil {
				return
			}
			from.Store(addr.(*net.UDPAddr))
			if !w.cut.Load() {
				out.Write(b[:n])
			}
		}
	}()
	go func() {
		defer func() { over <- struct{}{} }()
		for b := make([]byte, 2048); ; {
			n, err := out.Read(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil && !w.cut.Load() {
				in.WriteTo(b[:n], from.Load())
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		out.Close()
		<-over
		<-over
	})
	return w
}

// backlog is a source of small messages with op codes from 1.
type backlog struct{ sent, count atomic.Int32 }

func (b *backlog) Drain(sink wire.Sink) (more bool) {
	for n := b.sent.Load(); n < b.count.Load(); n = b.sent.Load() {
		f := wire.NewFrame(&wire.Header{OpCode: n + 1, Sender: client.Server, TargetPlayer: 3, Payload: make([]byte, 64)})
		room := sink.Append(f)
		f.Release()
		b.sent.Add(1)
		if !room {
			return n+1 < b.count.Load()
		}
	}
	return false
}

// TestKCPBackPressure: if a program takes no events, KCP's window closes, and the host keeps its
// messages; none is lost.
func TestKCPBackPressure(t *testing.T) {
	r := newKCPRig(t, accepted, nil)
	o := r.options()
	o.EventsMax = 1
	c, p := r.dial(o)
	const count = 2000
	b := new(backlog)
	b.count.Store(count)
	p.SetSource(b)
	p.Flush()
	for sent := int32(-1); b.sent.Load() != sent; { // until sending has stopped
		sent = b.sent.Load()
		time.Sleep(200 * time.Millisecond)
	}
	if sent := b.sent.Load(); sent > count/2 {
		t.Errorf("%d of %d messages have left the host", sent, count)
	}
	if s := c.Stats().Reliable; s.Received > 3 { // the login, one in the channel, one being delivered
		t.Errorf("%d messages were taken from KCP", s.Received)
	}
	for i := range count {
		if e := await(t, "event", c.Events()); e.OpCode != int32(i+1) {
			t.Fatalf("event %d has op code %d", i, e.OpCode)
		}
	}
}

// TestKCPRefusals: roots, names and logins are checked, and a refused connection leaves nothing
// behind.
func TestKCPRefusals(t *testing.T) {
	already := goleak.IgnoreCurrent()
	t.Run("games", func(t *testing.T) {
		r := newKCPRig(t, &wire.LoginResult{}, nil)
		silent, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		for name, c := range map[string]struct {
			change func(o *client.Options)
			is     error
			as     any
		}{
			"login":        {is: client.ErrRefused},
			"auto":         {change: func(o *client.Options) { o.Transport = client.Auto }, is: client.ErrRefused},
			"roots":        {change: func(o *client.Options) { o.TLS = nil }, as: new(x509.UnknownAuthorityError)},
			"name":         {change: func(o *client.Options) { o.TLS.ServerName = "example.com" }, as: new(x509.HostnameError)},
			"nobody there": {change: func(o *client.Options) { o.KCPAddr = silent.LocalAddr().String() }, is: context.DeadlineExceeded},
		} {
			t.Run(name, func(t *testing.T) {
				o := r.options()
				o.DialTimeout = time.Minute // long enough that no case reaches it
				if c.change != nil {
					c.change(&o)
				}
				if o.KCPAddr != r.addr {
					o.DialTimeout = 300 * time.Millisecond
				}
				got, err := client.Dial(t.Context(), o)
				if got != nil || err == nil {
					t.Fatalf("got %v, %v", got, err)
				}
				if c.is != nil && !errors.Is(err, c.is) || c.as != nil && !errors.As(err, c.as) {
					t.Errorf("got %v", err)
				}
			})
		}
	})
	if err := goleak.Find(already); err != nil {
		t.Error(err)
	}
}

// TestAutoFallsBack: where KCP gets no answer, Auto uses WebSocket, over real sockets.
func TestAutoFallsBack(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r := newRig(t, accepted, nil)
	o := r.options()
	o.Transport, o.KCPAddr, o.AutoTimeout = client.Auto, silent.LocalAddr().String(), 300*time.Millisecond
	began := time.Now()
	c, _ := r.dial(o)
	if took := time.Since(began); c.Transport() != client.WSS || took < o.AutoTimeout || took > o.AutoTimeout+time.Minute {
		t.Errorf("%s after %v", c.Transport(), took)
	}
	k := newKCPRig(t, accepted, nil)
	o.KCPAddr, o.AutoTimeout, o.DialTimeout = k.addr, time.Minute, 3*time.Minute // enough for a busy machine
	c, err = client.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Transport() != client.KCP {
		t.Errorf("%s although KCP works", c.Transport())
	}
}
