package client

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// fakeHost is a host of one player session with numbered messages. It has no sockets and no actors.
type fakeHost struct {
	*testing.T
	caps   uint64
	window time.Duration
	// enter returns the answer to the nth login; the first is 1. A nil result means the default answer.
	enter func(n int, l *hostLink) *wire.LoginResult
	// down has the error of each transport that cannot connect.
	down map[Transport]error

	mu     sync.Mutex
	n      numbers // numbering of the host's side
	joined bool    // a login has succeeded
	logins []wire.Login
	dials  []Transport
	at     []time.Time
	links  []*hostLink
	got    []string
	gotAt  []time.Time // arrival times of all packets
	forget uint64      // how many messages are missing at the next resume
}

func newFakeHost(t *testing.T) *fakeHost {
	h := &fakeHost{T: t, caps: wire.CapNumbers, window: 30 * time.Second}
	h.n = numbers{bytesMax: 1 << 20, messagesMax: 1 << 20, numbering: numberingOn}
	return h
}

// hostLink is one connection to a fakeHost. It has a reader goroutine, like a real connection.
type hostLink struct {
	h     *fakeHost
	cn    *connection
	units chan []byte
	once  sync.Once
	over  chan struct{}
	end   End
	how   string        // which side ended it, and in which way
	late  time.Duration // delay of the answer to the login
	turns chan struct{} // each send needs one turn; nil for no limit
	path  *fakePath     // path of the fast channel, once that is open
}

func (h *fakeHost) open(ctx context.Context, t Transport, _ *Options, cn *connection) (link, error) {
	h.mu.Lock()
	h.dials, h.at = append(h.dials, t), append(h.at, time.Now())
	err, down := h.down[t]
	h.mu.Unlock()
	switch {
	case down && err == nil:
		<-ctx.Done()
		return nil, ctx.Err()
	case down:
		return nil, err
	}
	l := &hostLink{h: h, cn: cn, units: make(chan []byte, 1<<16), over: make(chan struct{})}
	h.mu.Lock()
	h.links = append(h.links, l)
	h.mu.Unlock()
	go l.read()
	return l, nil
}

func (l *hostLink) read() {
	for {
		select {
		case unit := <-l.units:
			l.cn.onUnit(unit)
			continue
		case <-l.over:
		}
		l.cn.onEnd(l.end)
		return
	}
}

func (l *hostLink) send(ctx context.Context, unit []byte) error {
	select {
	case <-l.over:
		return ErrClosed
	default:
	}
	if l.turns != nil {
		<-l.turns
	}
	l.h.receive(l, slices.Clone(unit))
	return ctx.Err()
}

func (l *hostLink) openFast(f *fastChannel, _ *wire.LoginResult, o *Options) {
	if l.path = new(fakePath); o.Fast && f.open(&fastPath{l.path.write, l.path.close}, 0) {
		f.c.spawn(f.announce)
	}
}

func (l *hostLink) finish(how string, end End) {
	l.once.Do(func() {
		l.how, l.end = how, end
		close(l.over)
	})
}

func (l *hostLink) close() { l.finish("close", End{}) }
func (l *hostLink) abort() { l.finish("abort", End{Err: net.ErrClosed}) }

// cut ends the link as a broken network does. bye ends it as a close by the host does.
func (l *hostLink) cut() { l.finish("cut", End{Err: net.ErrClosed}) }

func (l *hostLink) bye(c messages.CloseReason) {
	l.finish("bye", End{Code: uint16(c), Reason: c.String()})
}

// answer sends the answer to a login, after late. The answer is lost if the connection has ended.
func (l *hostLink) answer(r *wire.LoginResult) {
	unit := unitOf(wire.NewLoginResult(r))
	select {
	case <-l.over:
		return
	default:
	}
	if l.late == 0 {
		l.units <- unit
		return
	}
	go func() {
		select {
		case <-time.After(l.late):
			l.units <- unit
		case <-l.over:
		}
	}()
}

func unitOf(f *wire.Frame) []byte {
	defer f.Release()
	return f.AppendReliable(nil)
}

func (h *fakeHost) receive(l *hostLink, unit []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var head wire.Header
	if err := parse(&head, unit); err != nil {
		h.Error(err)
		return
	}
	if head.Command == wire.CommandLogin {
		h.onLogin(l, &head)
		return
	}
	if l != h.links[len(h.links)-1] {
		return // another login has taken over the player
	}
	h.gotAt = append(h.gotAt, time.Now())
	h.n.numbering = numberingOf(h.caps)
	fresh, err := h.n.take(head.RelSeq, head.Ack)
	if err != nil {
		h.Error(err)
	}
	if fresh && head.OpCode != 0 {
		h.got = append(h.got, string(head.Payload))
	}
	h.n.acksRide = false // the fakeHost has no timer for delayed acks
	h.flush()
}

func (h *fakeHost) onLogin(l *hostLink, head *wire.Header) {
	login, err := wire.ParseLogin(head.Inner)
	if err != nil || login.Caps != wire.CapNumbers|wire.CapMoves {
		h.Errorf("login %+v, %v", login, err)
	}
	h.logins = append(h.logins, login)
	if h.enter != nil {
		if r := h.enter(len(h.logins), l); r != nil {
			l.answer(r)
			return
		}
	}
	r := wire.LoginResult{Success: true, PeerID: 7, FastPort: 1, Caps: h.caps, WindowMs: uint64(h.window.Milliseconds())}
	if h.joined && h.caps != 0 {
		h.n.out.trim(login.LastReceived + h.forget)
		r.Outcome, r.LastReceived, r.Base = wire.OutcomeResumed, h.n.received, login.LastReceived
		if h.forget > 0 {
			r.Outcome, r.Base = wire.OutcomeReplayLost, login.LastReceived+h.forget
		}
	}
	h.forget, h.joined = 0, true
	h.n.out.rewind()
	h.n.told, h.n.heard = 0, 0
	r.ReconnectToken = fmt.Sprint("token-", len(h.logins))
	l.answer(&r)
	h.flush()
}

// flush writes all queued messages to the newest link. The caller holds mu.
func (h *fakeHost) flush() {
	h.n.numbering = numberingOf(h.caps)
	for {
		unit, _, ok := h.n.next(nil)
		if !ok {
			return
		}
		h.links[len(h.links)-1].units <- unit
	}
}

// say sends one reliable message to the player.
func (h *fakeHost) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n.numbering = numberingOf(h.caps)
	h.n.put(&wire.Header{OpCode: 9, Sender: Server, TargetPlayer: 7, Payload: []byte(text)}, false)
	if h.attached() {
		h.flush()
	}
}

func (h *fakeHost) attached() bool {
	select {
	case <-h.links[len(h.links)-1].over:
		return false
	default:
		return true
	}
}

// last returns the newest link.
func (h *fakeHost) last() *hostLink {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.links[len(h.links)-1]
}

// heard returns all messages of the player so far.
func (h *fakeHost) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

func (h *fakeHost) counts() (dials, logins int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.dials), len(h.logins)
}

// try dials the fakeHost and returns the error.
func (h *fakeHost) try(ctx context.Context, o Options) (*Client, error) {
	o.Addr, o.PlayerSessionID = "localhost:1900", "p"
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return dial(ctx, &o, h.open)
}

// dial dials the fakeHost. An error fails the test.
func (h *fakeHost) dial(o Options) *Client {
	h.Helper()
	c, err := h.try(h.Context(), o)
	if err != nil {
		h.Fatal(err)
	}
	return c
}
