package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// fakeLink is a link whose input the test decides.
type fakeLink struct {
	c     *connection
	fast  fastPath // opened by openFast, unless nil
	reply func(l *fakeLink, unit []byte)

	mu       sync.Mutex
	sent     [][]byte
	how      string // how it ended: close, abort, or end
	finished sync.Once
	inbox    sync.Mutex // held by deliver
}

// deliver passes a unit on, which may block; the end of the link waits for that.
func (l *fakeLink) deliver(unit []byte) {
	l.inbox.Lock()
	defer l.inbox.Unlock()
	l.c.onUnit(unit)
}

func (l *fakeLink) send(ctx context.Context, unit []byte) error {
	l.mu.Lock()
	l.sent = append(l.sent, slices.Clone(unit))
	l.mu.Unlock()
	if l.reply != nil {
		l.reply(l, unit)
	}
	return ctx.Err()
}

func (l *fakeLink) openFast(f *fastChannel, _ *wire.LoginResult, o *Options) {
	if l.fast != nil && f.open(l.fast, 0) {
		f.c.spawn(f.announce)
	}
}

func (l *fakeLink) finish(how string, end End) {
	l.finished.Do(func() {
		l.mu.Lock()
		l.how = how
		l.mu.Unlock()
		l.inbox.Lock()
		defer l.inbox.Unlock()
		l.c.onEnd(end)
	})
}

func (l *fakeLink) close() { l.finish("close", End{}) }
func (l *fakeLink) abort() { l.finish("abort", End{}) }

func unitOf(f *wire.Frame) []byte {
	defer f.Release()
	return f.AppendReliable(nil)
}

// accept answers a LOGIN.
func accept(l *fakeLink, unit []byte) {
	l.c.onUnit(unitOf(wire.NewLoginResult(&wire.LoginResult{Success: true, PeerID: 7, FastPort: 1})))
}

func refuse(l *fakeLink, _ []byte)    { l.c.onUnit(unitOf(wire.NewLoginResult(&wire.LoginResult{}))) }
func saysBye(l *fakeLink, _ []byte)   { l.finish("end", End{Code: 1001, Reason: "host_draining"}) }
func breaks(l *fakeLink, _ []byte)    { l.finish("end", End{Err: net.ErrClosed}) }
func sayNothing(*fakeLink, []byte)    {}
func saysHello(l *fakeLink, _ []byte) { l.c.onUnit(unitOf(wire.NewPingResult(1))) }

// fakeNet opens fake links and records when.
type fakeNet struct {
	began  time.Time
	reply  map[Transport]func(l *fakeLink, unit []byte) // nil: opening fails; absent: opening blocks
	opened []Transport
	at     []time.Duration
	links  []*fakeLink
}

var errUnreachable = errors.New("unreachable")

func (n *fakeNet) open(ctx context.Context, t Transport, o *Options, c *connection) (link, error) {
	n.opened, n.at = append(n.opened, t), append(n.at, time.Since(n.began))
	reply, ok := n.reply[t]
	switch {
	case !ok:
		<-ctx.Done()
		return nil, ctx.Err()
	case reply == nil:
		return nil, errUnreachable
	}
	l := &fakeLink{c: c, reply: func(l *fakeLink, unit []byte) { go reply(l, unit) }}
	n.links = append(n.links, l)
	return l, nil
}

func (n *fakeNet) dial(ctx context.Context, t Transport) (*Client, error) {
	n.began = time.Now()
	o, err := Options{Addr: "127.0.0.1:1901", PlayerSessionID: "psess-1", Transport: t}.withDefaults()
	if err != nil {
		return nil, err
	}
	return dial(ctx, &o, n.open)
}

type replies = map[Transport]func(l *fakeLink, unit []byte)

// TestAuto: which transports Auto tries, when, and with what result.
func TestAuto(t *testing.T) {
	for name, c := range map[string]struct {
		reply    replies
		patience time.Duration // of the context; 0 for none
		opened   []Transport
		at       []time.Duration
		used     Transport
		err      []error
		text     string
	}{
		"KCP works":        {reply: replies{KCP: accept}, opened: []Transport{KCP}, at: []time.Duration{0}, used: KCP},
		"KCP is silent":    {reply: replies{WSS: accept}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 3 * time.Second}, used: WSS},
		"less time":        {reply: replies{WSS: accept}, patience: 6 * time.Second, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 2 * time.Second}, used: WSS},
		"KCP is closed":    {reply: replies{KCP: nil, WSS: accept}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 0}, used: WSS},
		"KCP goes silent":  {reply: replies{KCP: sayNothing, WSS: accept}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 3 * time.Second}, used: WSS},
		"KCP breaks":       {reply: replies{KCP: breaks, WSS: accept}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 0}, used: WSS},
		"KCP refuses":      {reply: replies{KCP: refuse, WSS: accept}, opened: []Transport{KCP}, at: []time.Duration{0}, err: []error{ErrRefused}, text: "kcp at 127.0.0.1:33402: client: login refused"},
		"KCP says goodbye": {reply: replies{KCP: saysBye, WSS: accept}, opened: []Transport{KCP}, at: []time.Duration{0}, err: []error{ErrClosed}, text: "kcp at 127.0.0.1:33402: closed by the host: 1001 host_draining"},
		"neither works": {
			reply: replies{KCP: breaks, WSS: nil}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 0},
			err: []error{errUnreachable, net.ErrClosed}, text: "wss at 127.0.0.1:1901: unreachable; before: kcp at 127.0.0.1:33402: connection lost",
		},
		"WSS refuses": {
			reply: replies{WSS: refuse}, opened: []Transport{KCP, WSS}, at: []time.Duration{0, 3 * time.Second},
			err: []error{ErrRefused, context.DeadlineExceeded}, text: "wss at 127.0.0.1:1901: client: login refused; before: kcp at 127.0.0.1:33402: no answer in time: context deadline exceeded",
		},
		"no time at all": {patience: -1, opened: []Transport{KCP}, at: []time.Duration{0}, err: []error{context.DeadlineExceeded}, text: "kcp at 127.0.0.1:33402: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.patience != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.patience)
					defer cancel()
				}
				n := &fakeNet{reply: c.reply}
				got, err := n.dial(ctx, Auto)
				if !slices.Equal(n.opened, c.opened) || !slices.Equal(n.at, c.at) {
					t.Errorf("opened %v at %v", n.opened, n.at)
				}
				for _, want := range c.err {
					if !errors.Is(err, want) {
						t.Errorf("error %v is not %v", err, want)
					}
				}
				if (err != nil) != (c.err != nil) || err != nil && !strings.HasPrefix(err.Error(), c.text) {
					t.Errorf("error %v", err)
				}
				if err == nil {
					if got.Transport() != c.used {
						t.Errorf("used %s", got.Transport())
					}
					got.Close()
				}
				synctest.Wait() // other attempts have ended; else the bubble fails the test
				for i, l := range n.links {
					if l.how == "" {
						t.Errorf("link %d is left open", i)
					}
				}
			})
		})
	}
}

// TestDialEnds: Dial returns the right error for each answer, and leaves no link open.
func TestDialEnds(t *testing.T) {
	for name, c := range map[string]struct {
		reply func(l *fakeLink, unit []byte)
		how   string
		err   error
		took  time.Duration
	}{
		"refused":       {reply: refuse, how: "close", err: ErrRefused},
		"broken":        {reply: breaks, how: "end", err: ErrClosed},
		"goodbye":       {reply: saysBye, how: "end", err: ErrClosed},
		"another first": {reply: saysHello, how: "abort"},
		"garbage":       {reply: func(l *fakeLink, _ []byte) { l.c.onUnit([]byte{5, 1}) }, how: "abort", err: wire.ErrMalformed},
		"silent":        {reply: sayNothing, how: "abort", err: context.DeadlineExceeded, took: dialTimeoutDefault},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &fakeNet{reply: replies{WS: c.reply}}
				got, err := n.dial(t.Context(), WS)
				if got != nil || err == nil || c.err != nil && !errors.Is(err, c.err) {
					t.Errorf("got %v, %v", got, err)
				}
				if how := n.links[0].how; how != c.how || time.Since(n.began) != c.took {
					t.Errorf("%s after %v", how, time.Since(n.began))
				}
			})
		})
	}
}

// TestEndError: the error of an end has the host's reason and what it asks the client to do.
func TestEndError(t *testing.T) {
	n := &fakeNet{reply: replies{WS: saysBye}}
	_, err := n.dial(t.Context(), WS)
	var end *EndError
	if !errors.As(err, &end) || end.End.Retry() != messages.RetryLater || end.End.Reason != "host_draining" {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, context.Canceled) || !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A login's answer counts even if the host closes right after it.
func TestALoginAnswerCountsIfTheHostClosesAtOnce(t *testing.T) {
	o, err := Options{Addr: "127.0.0.1:1901", PlayerSessionID: "psess-1"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 { // Dial finds both the answer and the end
		c, err := dial(t.Context(), &o, func(_ context.Context, _ Transport, _ *Options, c *connection) (link, error) {
			return &fakeLink{c: c, reply: func(l *fakeLink, unit []byte) {
				accept(l, unit)
				l.finish("end", End{Code: 4006, Reason: "kicked"})
			}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if c.End().Code != 4006 || c.End().Retry() != messages.RetryNever {
			t.Fatalf("end %s", c.End())
		}
	}
}
