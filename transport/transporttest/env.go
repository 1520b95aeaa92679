package transporttest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

// condition is a network condition under which guarantees are tested.
type condition struct {
	name string
	long bool // skipped with -short, because similar conditions suffice
	memnet.Condition
}

func (c *condition) skipIfShort(t *testing.T) {
	if c.long && testing.Short() {
		t.Skip("-short has the conditions around it")
	}
}

func lossy(name string, loss float64, long bool) condition {
	return condition{name, long, memnet.Condition{
		Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: loss, Reorder: 0.1, Duplicate: 0.05,
	}}
}

// conditions are the network conditions of RL-103 and RL-104.
var conditions = []condition{
	{name: "plain"}, lossy("loss 1 %", 0.01, true), lossy("loss 5 %", 0.05, true), lossy("loss 20 %", 0.20, false),
}

// env is the environment of one check.
type env struct {
	TB
	tr  Transport
	net *memnet.Network
	opt Options
	hub *hub

	patience  time.Duration // timeout for things that must happen
	soon      time.Duration // maximum duration of an undelayed message
	awaitIdle time.Duration // how long to wait for things that must not happen
	flight    time.Duration // time until everything in transit has arrived
	stuck     time.Duration // how long to wait without progress before assuming that there will be none
	lossy     bool

	server Server
}

// newEnv prepares a network and the options of a host side; start starts it.
func newEnv(tb TB, tr Transport, c *condition) *env {
	e := &env{TB: tb, tr: tr, hub: newHub(tb), net: memnet.New(memnet.Seed(tb))}
	e.opt = Options{
		Acceptor: e.hub, Counters: new(counters.Set), NextID: new(ids).next,
		MessageBytesMax: 65536, PendingMessageBytesMax: 8 << 10,
	}
	tb.Cleanup(e.net.Close)
	e.net.SetAll(c.Condition)
	e.opt.Network = e.net
	e.patience, e.soon, e.awaitIdle = 2*time.Minute, 100*time.Millisecond, time.Second
	e.flight, e.stuck = e.soon, 2500*time.Millisecond
	e.opt.WriteTimeout, e.opt.CloseLinger = 10*time.Second, time.Second
	if e.lossy = c.Loss > 0; e.lossy {
		e.soon, e.awaitIdle = 5*time.Second, 20*time.Second
		e.flight = e.soon
		e.opt.CloseLinger = 20 * time.Second // long enough to resend lost frames that were queued at the close
	}
	others := goleak.IgnoreCurrent()
	tb.Cleanup(func() {
		if err := goleak.Find(others); err != nil {
			tb.Errorf("goroutines left over: %v", err)
		}
	})
	return e
}

// ids generates the ids of connections.
type ids struct{ last atomic.Uint64 }

func (i *ids) next() uint64 { return i.last.Add(1) }

// start starts the host side. At the end of the test, it checks that no connection is open, and that tickets
// and gauges are released.
func (e *env) start() {
	e.server = e.tr.Start(e.TB, e.opt)
	e.Cleanup(func() {
		e.server.Stop()
		if n := e.opt.Counters.Connections.Total(); n != 0 {
			e.Errorf("%d connections counted as open in the end", n)
		}
		if a := e.opt.Admission; a != nil && a.Pending() != 0 {
			e.Errorf("%d admission tickets not given back", a.Pending())
		}
		for _, l := range e.hub.links() {
			if !l.closed() {
				e.Errorf("connection %d never ended", l.ID())
			}
		}
	})
}

// dial connects a client.
func (e *env) dial() (*peer, error) {
	p := newPeer(e.TB)
	ctx, cancel := context.WithTimeout(context.Background(), e.patience)
	defer cancel()
	client, err := e.server.Dial(ctx, p)
	if err != nil {
		return nil, err
	}
	p.Client = client
	e.Cleanup(func() {
		p.set(func(p *peer) { p.held, p.pace = false, 0 })
	})
	return p, nil
}

// connect connects a client and returns both ends of the connection.
func (e *env) connect() (*peer, *link) {
	e.Helper()
	p, err := e.dial()
	if err != nil {
		e.Fatalf("dial: %v", err)
	}
	return p, e.linkOf(p)
}

// login connects a client and logs it in.
func (e *env) login() (*peer, *link) {
	e.Helper()
	p, l := e.connect()
	l.LoggedIn()
	return p, l
}

// linkOf returns the host's end of a client's connection.
func (e *env) linkOf(p *peer) (found *link) {
	e.Helper()
	e.await("the connection is accepted", func() bool {
		found = e.hub.take(func(l *link) bool { return l.RemoteAddr() == p.Addr() })
		return found != nil
	})
	return found
}

// await waits until cond returns true.
func (e *env) await(what string, cond func() bool) {
	e.Helper()
	e.awaitFor(what, e.patience, cond)
}

func (e *env) awaitFor(what string, within time.Duration, cond func() bool) {
	e.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			e.Fatalf("not within %v: %s", within, what)
		}
	}
}

// ends waits for the end of a connection and returns how it ended.
func (e *env) ends(l *link) transport.End {
	e.Helper()
	e.await("the connection ends", l.closed)
	return l.how()
}

// flush calls Flush, which must not block.
func (e *env) flush(l *link) {
	e.Helper()
	e.atOnce("Flush", l.Flush)
}

// atOnce calls f and checks that it does not block: virtual time must not advance during the call.
func (e *env) atOnce(what string, f func()) {
	e.Helper()
	begun := time.Now()
	f()
	if took := time.Since(begun); took > 0 {
		e.Errorf("%s waited %v", what, took)
	}
}

// goes runs f in a goroutine. The returned channel is closed when f returns.
func goes(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

// join waits for a call that goes started.
func (e *env) join(what string, done <-chan struct{}) {
	e.Helper()
	select {
	case <-done:
	case <-time.After(e.patience):
		e.Fatalf("not within %v: %s", e.patience, what)
	}
}
