package client

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/wire"
)

func TestDefaults(t *testing.T) {
	o, err := Options{Addr: "[::1]:1901", PlayerSessionID: "p"}.withDefaults()
	if err != nil || o.Transport != WS || o.KCPAddr != "[::1]:33402" || o.EventsMax != 1024 ||
		o.DialTimeout != 15*time.Second || o.AutoTimeout != 3*time.Second || o.SilenceMax != 15*time.Second || o.StallMax != 2800*time.Millisecond {
		t.Errorf("got %+v, %v", o, err)
	}
	if name := o.serverName(o.KCPAddr); name != "::1" {
		t.Errorf("server name %q", name)
	}
	good := Options{Addr: "localhost:1900", PlayerSessionID: "p"}
	for name, change := range map[string]func(o *Options){
		"no address":   func(o *Options) { o.Addr = "" },
		"no port":      func(o *Options) { o.Addr = "localhost" },
		"no id":        func(o *Options) { o.PlayerSessionID = "" },
		"bad id":       func(o *Options) { o.PlayerSessionID = "\xff" },
		"payload":      func(o *Options) { o.Payload = make([]byte, PayloadMax+1) },
		"transport":    func(o *Options) { o.Transport = Auto + 1 },
		"KCP address":  func(o *Options) { o.KCPAddr = "localhost" },
		"events":       func(o *Options) { o.EventsMax = -1 },
		"dial timeout": func(o *Options) { o.DialTimeout = -1 },
		"auto timeout": func(o *Options) { o.AutoTimeout = -1 },
		"silence":      func(o *Options) { o.SilenceMax = -1 },
		"stall":        func(o *Options) { o.StallMax = -1 },
	} {
		o := good
		change(&o)
		if c, err := Dial(t.Context(), o); err == nil {
			c.Close()
			t.Errorf("%s: no error", name)
		} else if (name == "payload") != errors.Is(err, ErrTooLarge) || !strings.HasPrefix(err.Error(), "client: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If a game sets StallMax above unackedMax, the host may also acknowledge nothing for that long,
// because the game knows that its host may pause.
// RL-115.
func TestAHostMayAcknowledgeNothingForAsLongAsItMayBeSilent(t *testing.T) {
	for stall, want := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Second: 10 * time.Second, 35 * time.Second: 35 * time.Second} {
		o, err := Options{Addr: "localhost:1900", PlayerSessionID: "p", StallMax: stall}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if got := o.kcp().WriteTimeout; got != want {
			t.Errorf("StallMax %v: nothing may be acknowledged for %v, want %v", stall, got, want)
		}
	}
}

func TestTransportNames(t *testing.T) {
	for want, name := range map[Transport]string{WS: "ws", WSS: "wss", KCP: "kcp", Auto: "auto"} {
		if got, err := ParseTransport(name); got != want || err != nil || want.String() != name {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "tcp", "WS"} {
		if got, err := ParseTransport(bad); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
	if s := Transport(9).String(); s != "invalid(9)" {
		t.Error(s)
	}
}

// bare returns a client with a connection that was never opened.
func bare(o Options) (*Client, *connection) {
	o.EventsMax = cmp.Or(o.EventsMax, 1)
	o.SendBufferMessages = cmp.Or(o.SendBufferMessages, 100)
	o.SendBufferBytes = cmp.Or(o.SendBufferBytes, 1<<20)
	c := newClient(&o, nil)
	cn := newConnection(c, KCP, &c.o)
	c.current.Store(cn)
	return c, cn
}

// Send refuses messages that the host would drop silently, and sends none of them.
func TestSendRefusesWhatTheHostWouldDrop(t *testing.T) {
	h := newFakeHost(t)
	c := h.dial(Options{})
	defer c.Close()
	good := Message{OpCode: 1, TargetPlayer: 2}
	for name, bad := range map[string]struct {
		change func(m *Message)
		err    error
	}{
		"payload":      {func(m *Message) { m.Payload = make([]byte, PayloadMax+1) }, ErrTooLarge},
		"nobody":       {func(m *Message) { m.TargetPlayer = 0 }, ErrNoTarget},
		"no player":    {func(m *Message) { m.TargetPlayer = -2 }, ErrNoTarget},
		"no group":     {func(m *Message) { m.TargetGroup = -2 }, ErrNoTarget},
		"LOGIN answer": {func(m *Message) { m.OpCode = wire.OpLoginResponse }, ErrOpCode},
		"JOIN":         {func(m *Message) { m.OpCode = wire.OpJoinGroup }, ErrOpCode},
		"intent":       {func(m *Message) { m.Intent = 3 }, nil},
	} {
		m := good
		bad.change(&m)
		if err := c.Send(t.Context(), m); err == nil || bad.err != nil && !errors.Is(err, bad.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range []error{
		c.JoinGroup(t.Context(), 0), c.JoinGroup(t.Context(), -1), c.LeaveGroup(t.Context(), -1),
		c.RequestMembership(t.Context(), 0), c.RequestMembership(t.Context(), -2),
	} {
		if err == nil {
			t.Error("a group that cannot be is taken")
		}
	}
	if n := c.Stats().Reliable.Sent; n != 1 {
		t.Errorf("%d were sent beside the login", n-1)
	}
	for _, op := range []int32{0, 1, -500} { // op codes that games may use
		if err := c.Send(t.Context(), Message{OpCode: op, TargetGroup: AllPlayers}); err != nil {
			t.Errorf("op code %d: %v", op, err)
		}
	}
}

// fakePath stores the written datagrams.
type fakePath struct {
	mu      sync.Mutex
	written []wire.Header
	full    bool
	closed  bool
}

func (p *fakePath) write(unit []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var h wire.Header
	packet, _ := wire.SplitUnit(slices.Clone(unit))
	if h.Parse(packet) == nil && !p.full {
		p.written = append(p.written, h)
	}
	return !p.full
}

func (p *fakePath) close() { p.closed = true }

// TestFastCounts checks that unsent, stale, malformed and dropped messages are counted separately,
// for each channel. The counts can be reset.
func TestFastCounts(t *testing.T) {
	h := newFakeHost(t)
	c := h.dial(Options{Fast: true, EventsMax: 1})
	l, p := h.last(), h.last().path
	if e := <-c.Events(); e.Kind != EventFastUp {
		t.Errorf("got %+v", e)
	}
	send := func() {
		if err := c.Send(t.Context(), Message{OpCode: 1, TargetPlayer: 2, Intent: Fast}); err != nil {
			t.Error(err)
		}
	}
	send()
	p.full = true
	send()
	p.full = false
	send()
	if len(p.written) != 2 || p.written[0].Sequence != 0 || p.written[1].Sequence != 2 {
		t.Errorf("written %+v", p.written)
	}
	arrive := func(seq int32) {
		f := wire.NewFrame(&wire.Header{OpCode: 9, Sender: 2, TargetPlayer: 7})
		defer f.Release()
		l.cn.onDatagram(f.AppendFast(nil, seq))
	}
	arrive(0)
	arrive(5)
	arrive(4)
	arrive(5)
	l.cn.onDatagram(nil)
	l.cn.onUnit([]byte{1})
	s := c.Stats()
	fast := s.Fast
	fast.SentBytes, fast.ReceivedBytes = 0, 0
	if want := (ChannelStats{Sent: 2, Unsent: 1, Received: 5, Dropped: 1, Stale: 2, Malformed: 1}); fast != want {
		t.Errorf("fast %+v", s.Fast)
	}
	if r := s.Reliable; r.Malformed != 1 || r.Sent != 1 || r.Received != 2 || r.SentBytes < 20 || r.ReceivedBytes < 10 { // the login, and one byte
		t.Errorf("reliable %+v", r)
	}
	if c.ResetStats() != s || c.Stats() != (Stats{}) {
		t.Error("the reset is not one")
	}
	c.Close()
	if !p.closed {
		t.Error("the way is left open")
	}
}

// The handshake is repeated with the intervals of the official clients (realtime.md 7.1) until it
// is answered. Only the first answer counts.
func TestAFastHandshakeRepeatsUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cn := bare(Options{Fast: true})
		defer cn.ended()
		began := time.Now()
		var at []time.Duration
		p := &fakePath{}
		cn.fast.open(&fastPath{p.write, p.close}, wire.OpServerAck)
		go cn.fast.ask(nil, func(dst []byte, seq int32) []byte {
			at = append(at, time.Since(began))
			return wire.AppendUDPConnect(dst, 7, seq)
		})
		time.Sleep(20 * time.Second)
		cn.fast.answer(wire.OpVerifyIdentityResponse, true) // the answer to another kind of handshake
		if c.FastUp() {
			t.Error("up by an answer to what was not asked")
		}
		cn.fast.answer(wire.OpServerAck, true)
		cn.fast.answer(wire.OpServerAck, false)
		if !c.FastUp() || c.FastErr() != nil {
			t.Error("not up, or no longer")
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		if want := []time.Duration{0, ms(100), ms(300), ms(700), ms(1500), ms(3100), ms(6300), ms(11300), ms(16300)}; !slices.Equal(at, want) {
			t.Errorf("sent at %v", at)
		}
		for n, h := range p.written {
			if h.Sequence != int32(n) || h.OpCode != wire.OpUDPConnect {
				t.Errorf("packet %d: %+v", n, h)
			}
		}
	})
}

// Close works even if the program takes no events. A helper goroutine that is waiting to report an event ends with the connection.
func TestCloseDoesNotWaitForTheProgram(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{Fast: true, EventsMax: 1})
		l := h.last()
		synctest.Wait() // EventFastUp fills the channel of events
		h.say("waits")
		l.cn.spawn(func() { l.cn.fast.fail(io.EOF) })
		synctest.Wait()
		c.Close()
		f := wire.NewFrame(&wire.Header{OpCode: 9, Sender: 2, TargetPlayer: 7})
		defer f.Release()
		l.cn.onDatagram(f.AppendFast(nil, 3)) // a late datagram: KCP's reader may still deliver after the end
		if n := len(c.Events()); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}
