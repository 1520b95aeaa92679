package dtls

import (
	"net"
	"os"
	"sync"
	"time"
)

// pipe is the library's net.Conn during a handshake. Read returns records that the filter has admitted. Write
// inspects and counts what the library sends.
type pipe struct {
	write         func(datagram []byte)
	local, remote net.Addr
	in            chan []byte
	done          chan struct{} // closed by Close

	mu       sync.Mutex
	cut      chan struct{} // closed by a read deadline in the past, which ends reads
	isCut    bool
	output   outputState
	address  addressProof
	credit   int // bytes that may be sent before the peer's address is proven
	repeats  repeats
	last     []byte    // the latest datagram written
	answered time.Time // when the first datagram was written
	number   uint64    // next unused record number of epoch 1
}

// outputState says what happens to the library's writes. It never decreases.
type outputState uint8

const (
	outputOpen   outputState = iota
	outputMuted              // the handshake is complete: writes are dropped
	outputClosed             // the library has closed the pipe: writes are dropped
)

// addressProof says how far the peer has proven its address. It never decreases.
type addressProof uint8

const (
	proofNotNeeded addressProof = iota // this side is the client
	proofMissing
	proofRequested // a HelloVerifyRequest was sent
	proofGiven     // a ServerHello was sent after it: the peer has returned the cookie
)

func newPipe(local, remote net.Addr, write func([]byte)) *pipe {
	return &pipe{write: write, local: local, remote: remote, in: make(chan []byte, 16), done: make(chan struct{}), cut: make(chan struct{})}
}

// feed queues a copy of one datagram for the library. It returns false if the queue is full.
func (p *pipe) feed(raw []byte) bool {
	select {
	case p.in <- append([]byte(nil), raw...):
		p.mu.Lock()
		p.repeats.heard()
		p.mu.Unlock()
		return true
	default:
		return false
	}
}

// mute drops all later writes. It returns the last datagram sent and the next unused record number of epoch 1.
func (p *pipe) mute() (last []byte, number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output = max(p.output, outputMuted)
	return p.last, p.number
}

// amplification is how many bytes may be sent to an unproven address for each byte received from it (RL-27).
const amplification = 3

// heard records n bytes from the peer's address, which increase the credit.
func (p *pipe) heard(n int) {
	p.mu.Lock()
	p.credit += amplification * n
	p.mu.Unlock()
}

// isProven reports whether the peer has returned the cookie. A session id proves nothing, because it is sent in plain text.
func (p *pipe) isProven() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address == proofGiven
}

// givesWay reports whether a handshake may be evicted. It may if its address is still not proven cookieTime after this
// side's first answer, or if that answer is overdue (owedMax).
func (p *pipe) givesWay(now, began time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.address == proofGiven:
		return false
	case p.answered.IsZero():
		return now.Sub(began) >= owedMax
	}
	return now.Sub(p.answered) >= cookieTime || now.Sub(began) >= owedMax+cookieTime
}

// Read implements net.Conn.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	cut := p.cut
	p.mu.Unlock()
	select {
	case raw := <-p.in:
		return copy(b, raw), nil
	case <-cut:
		return 0, os.ErrDeadlineExceeded
	case <-p.done:
		return 0, net.ErrClosed
	}
}

// Write implements net.Conn.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.output != outputOpen {
		return len(b), nil
	}
	for rest := b; len(rest) > 0; {
		r, tail, drop := nextRecord(rest)
		if drop != 0 {
			break
		}
		if r.epoch == 1 && r.number >= p.number {
			p.number = r.number + 1
		}
		if r.epoch == 0 && r.typ == handshake {
			p.noteHandshake(r.fragment[0])
		}
		rest = tail
	}
	now := time.Now()
	if p.repeats.skips(b, now) {
		return len(b), nil
	}
	if p.address == proofMissing || p.address == proofRequested {
		if len(b) > p.credit {
			return len(b), nil // a real peer sends its hello again
		}
		p.credit -= len(b)
	}
	p.last = append([]byte(nil), b...)
	if p.answered.IsZero() {
		p.answered = now
	}
	p.write(b)
	return len(b), nil
}

// noteHandshake updates the address proof when a plaintext handshake message is sent.
func (p *pipe) noteHandshake(message byte) {
	switch {
	case p.address == proofMissing && message == msgHelloVerify:
		p.address = proofRequested
	case p.address == proofRequested && message == msgServerHello:
		p.address = proofGiven
	}
}

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.output != outputClosed {
		p.output = outputClosed
		close(p.done)
	}
	return nil
}

// SetReadDeadline implements net.Conn as far as the library needs it. A past time ends reads; any other time allows them.
func (p *pipe) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch past := !t.IsZero() && !t.After(time.Now()); {
	case past && !p.isCut:
		p.isCut = true
		close(p.cut)
	case !past && p.isCut:
		p.isCut = false
		p.cut = make(chan struct{})
	}
	return nil
}

// SetDeadline implements net.Conn.
func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn. It does nothing, because writes do not block.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (p *pipe) LocalAddr() net.Addr { return p.local }

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return p.remote }
