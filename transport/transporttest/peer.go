package transporttest

import (
	"sync"
	"time"
)

// peer is a client with its inbox.
type peer struct {
	Client
	tb TB

	mu     sync.Mutex
	wake   sync.Cond
	expect *reader // nil if anything may arrive
	broken bool
	got    int
	bytes  int
	kept   [][]byte // payloads received while keep is set
	keep   bool
	pace   time.Duration // delay before each message
	held   bool          // reading is stopped
	ended  bool
	code   uint16
	name   string
}

func newPeer(tb TB) *peer {
	p := &peer{tb: tb}
	p.wake.L = &p.mu
	return p
}

// OnMessage implements Inbox.
func (p *peer) OnMessage(b []byte) {
	p.mu.Lock()
	pace := p.pace
	for p.held {
		p.wake.Wait()
	}
	p.mu.Unlock()
	if pace > 0 {
		time.Sleep(pace)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		p.tb.Errorf("client: a message after the end")
	}
	p.got++
	p.bytes += len(b)
	if p.keep {
		body, err := payload(b)
		if err != nil {
			p.tb.Errorf("host to client: %v", err)
		}
		p.kept = append(p.kept, append([]byte(nil), body...))
	}
	if p.expect != nil && !p.broken {
		if err := p.expect.take(b); err != nil {
			p.broken = true
			p.tb.Errorf("host to client, %v", err)
		}
	}
}

// OnClosed implements Inbox.
func (p *peer) OnClosed(code uint16, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		p.tb.Errorf("client: OnClosed twice")
	}
	p.ended, p.code, p.name = true, code, name
}

// set changes the behaviour of the inbox.
func (p *peer) set(change func(p *peer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
	p.wake.Broadcast()
}

func (p *peer) expects(s series) {
	p.set(func(p *peer) { p.expect = &reader{want: s.unit} })
}

func (p *peer) hold(on bool) { p.set(func(p *peer) { p.held = on }) }

func (p *peer) counts() (messages, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got, p.bytes
}

func (p *peer) closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// goodbye returns the close code and name that the host sent.
func (p *peer) goodbye() (code uint16, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code, p.name
}

func (p *peer) payloads() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.kept...)
}
