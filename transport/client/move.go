package client

import (
	"context"
	"fmt"
)

// Move opens a new connection, over another transport or another path, and then drops the current one. Later reconnects
// use t as well. If the host numbers messages, no reliable message is lost or arrives twice. The program must keep
// taking events: while their buffer is full, Move waits, at most until its context ends.
//
// If Move fails, the old connection stays. If that was lost in the meantime, Move returns ErrDetached, possibly three
// seconds later. Move also returns ErrDetached if there is no connection when it is called.
func (c *Client) Move(ctx context.Context, t Transport) error {
	if t < WS || t > Auto {
		return fmt.Errorf("client: %s is no transport", t)
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	select {
	case c.moves <- struct{}{}:
	case <-ctx.Done():
		return c.moveError(ctx.Err())
	}
	orphan, err := c.move(ctx, cancel, t)
	<-c.moves
	if orphan != nil {
		go c.detach(orphan) // detach may block until the program takes events
		if err != nil {
			err = fmt.Errorf("%w meanwhile: %w", ErrDetached, err)
		}
	}
	if err != nil {
		return c.moveError(err)
	}
	return nil
}

// move performs one Move. The caller holds moves. orphan is not nil if the old connection was lost before a new one was made.
func (c *Client) move(ctx context.Context, cancel context.CancelFunc, t Transport) (orphan *absence, err error) {
	c.mu.Lock()
	if c.current.Load() == nil {
		c.mu.Unlock()
		return nil, ErrDetached
	}
	c.moving, c.stop = true, cancel
	c.mu.Unlock()
	err = c.connect(ctx, t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moving = false
	if err == nil {
		c.prefer = t
	}
	return c.away, err
}

// moveError returns ErrClosed if the Client was closed, otherwise err.
func (c *Client) moveError(err error) error {
	if c.life.Err() != nil {
		return ErrClosed
	}
	return err
}
