package sdkclient

import (
	"context"
	"fmt"
	"time"
)

const (
	goWrites    = 5 // attempts to write on a connection, one second apart
	goReconnect = 2 // the failure after which a write reconnects
	goRetries   = 5 // times that all of that is tried, after pauses of 4, 8, 12, ... s
	goPause     = 4 * time.Second
)

// connectGo opens a connection while all sends wait, and closes the superseded one after Flush, without a close frame. If it
// fails, the process goes on with the old connection, but believes for ever that it is connecting, and so does not heed the
// loss of the old one: that is how the SDK is.
func (p *Process) connectGo(t target) error {
	if err := p.lockWriting(p.ctx); err != nil {
		return err
	}
	defer p.unlockWriting()
	p.mu.Lock()
	p.connecting = true
	p.mu.Unlock()
	l, err := p.dialSeries(t)
	if err != nil {
		return err
	}
	old, err := p.adopt(l, t)
	if err != nil || old == nil {
		return err
	}
	err = p.sleep(p.ctx, p.o.Timing.Flush)
	old.end(0)
	return err
}

// reconnectGo connects with the same URL, or waits until who connects now is ready.
func (p *Process) reconnectGo() error {
	p.mu.Lock()
	was, t := p.connecting, p.target
	p.connecting = true
	p.mu.Unlock()
	if !was {
		err := p.connectGo(t)
		p.mu.Lock()
		p.connecting = false
		p.mu.Unlock()
		return err
	}
	if err := p.lockWriting(p.ctx); err != nil {
		return err
	}
	defer p.unlockWriting()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connecting {
		return fmt.Errorf("%w: a failed refresh left it connecting", ErrConnect)
	}
	return nil
}

// closedGo acts on the end of a connection. A close frame ends the current connection, even if it came on an old one
// (server-sdk.md 12.2).
func (p *Process) closedGo(l *link, code int) {
	p.mu.Lock()
	current, connecting := p.link, p.connecting
	heed := !l.redundant && !connecting
	p.mu.Unlock()
	if code != 0 && current != l {
		current.end(0)
	}
	if heed && p.ctx.Err() == nil {
		_ = p.reconnectGo()
	}
}

// writeGo sends a frame with all attempts of the SDK.
func (p *Process) writeGo(ctx context.Context, frame []byte) error {
	var err error
	for i := range goRetries {
		if err = p.writeGoOnce(ctx, frame); err == nil || ctx.Err() != nil || p.ctx.Err() != nil {
			return err
		}
		if err := p.sleep(ctx, time.Duration(i+1)*goPause); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrSend, err)
}

func (p *Process) writeGoOnce(ctx context.Context, frame []byte) error {
	if err := p.lockWriting(ctx); err != nil {
		return err
	}
	defer p.unlockWriting()
	var err error
	for failures := 0; failures < goWrites; failures++ {
		p.mu.Lock()
		l := p.link
		p.mu.Unlock()
		if err = l.write(frame); err == nil {
			return nil
		}
		if failures != goReconnect {
			if err := p.sleep(ctx, time.Second); err != nil {
				return err
			}
			continue
		}
		p.unlockWriting()
		again := p.reconnectGo()
		if err := p.lockWriting(p.ctx); err != nil {
			p.writing <- struct{}{} // for the deferred unlock: nobody else writes any more
			return err
		}
		if again == nil {
			failures--
		}
	}
	return err
}
