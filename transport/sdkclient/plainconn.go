package sdkclient

import (
	"context"
	"fmt"
	"time"
)

// connectPlain opens a connection. C++ closes the superseded one with 1001, C# leaves it to the host.
func (p *Process) connectPlain(t target) error {
	p.mu.Lock()
	if p.connecting {
		p.mu.Unlock()
		return nil // the other one does it
	}
	p.connecting = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.connecting = false
		p.mu.Unlock()
	}()
	l, err := p.dialSeries(t)
	if err != nil {
		return err
	}
	old, err := p.adopt(l, t)
	switch {
	case old == nil:
	case p.rules.keepsOld:
		context.AfterFunc(p.ctx, func() { old.end(0) })
	default:
		old.end(p.rules.closeCode)
	}
	return err
}

// closedPlain acts on the end of a connection. After a close frame with 1000 or 1001, C++ never connects again, and C# does
// with the next send.
func (p *Process) closedPlain(l *link, code int) {
	p.mu.Lock()
	heed := p.link == l && !l.redundant
	if heed {
		p.up = false
		heed = code != normal && code != goingAway
	}
	p.mu.Unlock()
	if heed && p.ctx.Err() == nil {
		p.reconnectPlain()
	}
}

// reconnectPlain connects again. After the end of a series, C++ never does, and C# does with the next send.
func (p *Process) reconnectPlain() {
	p.mu.Lock()
	t := p.target
	p.mu.Unlock()
	if p.rules.newTokens {
		t = p.newTarget(t.endpoint, t.token, p.o.SigV4)
	}
	_ = p.connectPlain(t)
}

// writePlain sends a frame, and waits for a connection if there is none.
func (p *Process) writePlain(ctx context.Context, frame []byte) error {
	for waited := time.Duration(0); ; waited += p.rules.sendEvery {
		p.mu.Lock()
		l, up := p.link, p.up
		again := !up && !p.connecting && !p.rules.final
		p.mu.Unlock()
		if up {
			if err := p.lockWriting(ctx); err != nil {
				return err
			}
			err := l.write(frame)
			p.unlockWriting()
			if err == nil {
				return nil
			}
		}
		if again {
			p.spawn(p.reconnectPlain)
		}
		if waited >= p.rules.sendFor {
			return fmt.Errorf("%w: not connected", ErrSend)
		}
		if err := p.sleep(ctx, p.rules.sendEvery); err != nil {
			return err
		}
	}
}
