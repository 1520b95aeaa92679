package sdkclient

import (
	"context"
	"fmt"
	"time"
)

const (
	cppSendFor   = 180 * time.Second // that a send waits for a connection
	cppSendEvery = 5 * time.Second
	normal       = 1000
)

// connectCpp opens a connection, and closes the superseded one with 1001.
func (p *Process) connectCpp(t target) error {
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
	if old != nil {
		old.end(true)
	}
	return err
}

// closedCpp acts on the end of a connection: a close frame with 1000 or 1001 is final, and so is the end of a series.
func (p *Process) closedCpp(l *link, code int) {
	p.mu.Lock()
	heed := p.link == l && !l.redundant
	if heed {
		p.up = false
		p.lost = p.lost || code == normal || code == goingAway
		heed = !p.lost
	}
	t := p.target
	p.mu.Unlock()
	if !heed || p.ctx.Err() != nil {
		return
	}
	if err := p.connectCpp(t); err != nil {
		p.mu.Lock()
		p.lost = true
		p.mu.Unlock()
	}
}

// writeCpp sends a frame, and waits for a connection if there is none.
func (p *Process) writeCpp(ctx context.Context, frame []byte) error {
	for waited := time.Duration(0); ; waited += cppSendEvery {
		p.mu.Lock()
		l, up := p.link, p.up
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
		if waited >= cppSendFor {
			return fmt.Errorf("%w: not connected", ErrSend)
		}
		if err := p.sleep(ctx, cppSendEvery); err != nil {
			return err
		}
	}
}
