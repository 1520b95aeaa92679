package js_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy forwards TCP, and breaks connections on request.
type proxy struct {
	addr, to string
	mu       sync.Mutex
	thawed   *sync.Cond
	frozen   bool
	closed   bool
	pairs    map[*pair]bool
}

// pair is one forwarded connection.
type pair struct{ near, far net.Conn }

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), to: to, pairs: map[*pair]bool{}}
	p.thawed = sync.NewCond(&p.mu)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { p.forward(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.freeze(false)
		p.cut()
		work.Wait()
	})
	return p
}

func (p *proxy) forward(near net.Conn) {
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		near.Close()
		return
	}
	both := &pair{near, far}
	p.mu.Lock()
	p.pairs[both] = true
	closed := p.closed
	p.mu.Unlock()
	if closed {
		both.reset()
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.copy(far, near) })
	ways.Go(func() { p.copy(near, far) })
	ways.Wait()
	p.mu.Lock()
	delete(p.pairs, both)
	p.mu.Unlock()
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		for p.frozen {
			p.thawed.Wait()
		}
		p.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err == io.EOF || err != nil {
			return
		}
	}
}

// freeze makes all connections, including new ones, forward nothing while they stay open. freeze(false) ends that.
func (p *proxy) freeze(frozen bool) {
	p.mu.Lock()
	p.frozen = frozen
	p.mu.Unlock()
	p.thawed.Broadcast()
}

// cut resets all connections. Data in flight is lost.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for both := range p.pairs {
		both.reset()
	}
}

func (c *pair) reset() {
	for _, conn := range []net.Conn{c.near, c.far} {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
}

// cutAgain calls cut at random times until ctx ends.
func (p *proxy) cutAgain(ctx context.Context, mean time.Duration) {
	for {
		wait := time.NewTimer(rand.N(2 * mean))
		select {
		case <-wait.C:
			p.cut()
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}
