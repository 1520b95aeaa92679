package client

import (
	"context"
	"fmt"
)

// Move opens a new connection, over another transport or another path, and then drops the current one. If the host numbers
// messages, no reliable message is lost or comes twice. Later reconnects use t as well. After an error everything is as
// before, unless the connection was lost in the meantime: then Move may take three seconds more, and returns ErrDetached, as
// while the connection is lost. The program must keep taking events: if their buffer is full, Move waits until its context ends.
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
		go c.detach(orphan) // it may wait for the program
		if err != nil {
			err = fmt.Errorf("%w meanwhile: %w", ErrDetached, err)
		}
	}
	if err != nil {
		return c.moveError(err)
	}
	return nil
}

// move is Move for one caller at a time. Orphan: the old connection was lost before a new one was made.
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
