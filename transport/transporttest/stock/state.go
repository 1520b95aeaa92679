package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// waitLocked returns a channel that is closed at the next change.
func (c *Client) waitLocked() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

func (c *Client) notifyLocked() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// await waits until ready returns true or an error, or the connection ends. ready is called with the lock
// held.
func (c *Client) await(ctx context.Context, what string, ready func() (bool, error)) error {
	for {
		c.mu.Lock()
		ok, err := ready()
		over, changed := c.over, c.waitLocked()
		c.mu.Unlock()
		switch {
		case err != nil:
			return fmt.Errorf("stock: %s: %w", what, err)
		case ok:
			return nil
		case over:
			return fmt.Errorf("stock: %s: %w", what, c.closedError())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("stock: %s: %w", what, context.Cause(ctx))
		}
	}
}

// AwaitLogin waits for LOGIN_RESPONSE and takes it from the queue. If success is false, it returns the result
// and [ErrLoginRefused]. If the C# client would have thrown because caCert is missing, it returns the result
// and [ErrNoAnchors]. In the secured mode, it returns after the DTLS handshake, whether that succeeded or
// not.
func (c *Client) AwaitLogin(ctx context.Context) (LoginResult, error) {
	if err := c.await(ctx, "await login", func() (bool, error) { return c.login != nil, nil }); err != nil {
		return LoginResult{}, err
	}
	c.dropPending(OpLoginResponse)
	c.mu.Lock()
	result, fastErr := *c.login, c.fastErr
	c.mu.Unlock()
	switch {
	case !result.Success:
		return result, fmt.Errorf("stock: %w", ErrLoginRefused)
	case errors.Is(fastErr, ErrNoAnchors):
		return result, fmt.Errorf("stock: LOGIN_RESPONSE: %w", fastErr)
	}
	return result, nil
}

// AwaitFast waits until SERVER_ACK was received and CLIENT_ACK sent or, in the secured mode, until
// VERIFY_IDENTITY_RESPONSE was received with success. It takes the received packet from the queue; a
// repetition of VERIFY_IDENTITY_RESPONSE by WebSocket may come later. If the fast channel cannot come up, it
// returns [ErrNoFast].
func (c *Client) AwaitFast(ctx context.Context) error {
	err := c.await(ctx, "await fast channel", func() (bool, error) {
		switch {
		case c.opts.NoUDP:
			return false, ErrNoFast
		case c.login != nil && !c.login.Success:
			return false, ErrLoginRefused
		case c.fastErr != nil:
			return false, c.fastErr
		}
		return c.status == StatusConnectedSendFast, nil
	})
	if err == nil {
		c.dropPending(OpServerAck)
		c.dropPending(OpVerifyIdentityResponse)
	}
	return err
}

// AwaitFastEnd waits until the DTLS association of the current login has ended, by either side, and its
// program has exited. The status does not change, because the SDK does not notice either. If there never was
// an association, it returns [ErrNoFast].
func (c *Client) AwaitFastEnd(ctx context.Context) error {
	return c.await(ctx, "await end of DTLS", func() (bool, error) {
		if c.fast == nil || c.fast.via != ChannelDTLS {
			return false, ErrNoFast
		}
		return c.fast == c.fastGone, nil
	})
}

// fastEnded records that the channel can receive nothing more.
func (c *Client) fastEnded(fast *fastChannel) {
	fast.shut(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fast == fast {
		c.fastGone = fast
	}
	c.notifyLocked()
}

// AwaitClose waits until the connection has ended, by either side. It then returns nil. [Client.CloseStatus]
// and [Client.Err] say how it ended.
func (c *Client) AwaitClose(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stock: await close: %w", context.Cause(ctx))
	}
}

func (c *Client) dropPending(opCode int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.DeleteFunc(c.pending, func(e Event) bool { return e.Err == nil && e.OpCode == opCode })
}

// Done returns a channel that is closed when the connection and all goroutines of the client have ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns the reason of the connection's end. It returns nil while the connection is open, and after a
// close frame of the server.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// CloseStatus returns the code and the reason of the close frame received from the server, which may be the
// echo of the client's. ok is false if none was received. The code is 1005 for a close frame without a code.
func (c *Client) CloseStatus() (code int, reason string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		return 0, "", false
	}
	return c.closed.code, c.closed.reason, true
}

func (c *Client) closedError() error {
	if code, reason, ok := c.CloseStatus(); ok {
		return fmt.Errorf("%w with code %d %q", ErrClosed, code, reason)
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return ErrClosed
}

// Status returns the connection status as the SDK would report it.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// PeerID returns the client's own id, or 0 before the login.
func (c *Client) PeerID() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peerID
}

// LoggedIn reports whether the last LOGIN_RESPONSE was a success.
func (c *Client) LoggedIn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.login != nil && c.login.Success
}

// Groups returns the groups in which the client believes to be, in ascending order. As in the SDK, a request
// changes this immediately, and the next membership update corrects it.
func (c *Client) Groups() []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]int32, 0, len(c.groups))
	for g := range c.groups {
		list = append(list, g)
	}
	slices.Sort(list)
	return list
}

// Stats returns the counters.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// ResetStats sets all counters to zero, as the SDK can.
func (c *Client) ResetStats() { c.count(func(s *Stats) { *s = Stats{} }) }
