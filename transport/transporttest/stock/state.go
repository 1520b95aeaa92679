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

// await waits until ready, called with the lock held, returns true or an error, or the connection is over.
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

// AwaitLogin waits for LOGIN_RESPONSE and takes it from the queue. On success false it returns the result together with
// [ErrLoginRefused], and with [ErrNoAnchors] when the C# client would have thrown for want of caCert. In the secured mode
// it returns when the DTLS handshake is over, whatever came of that.
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

// AwaitFast waits until SERVER_ACK was received and CLIENT_ACK sent, or VERIFY_IDENTITY_RESPONSE with success in the
// secured mode, and takes SERVER_ACK or VERIFY_IDENTITY_RESPONSE from the queue (the latter's repetition by WebSocket may
// come later). It fails with [ErrNoFast] if that cannot happen.
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

// AwaitFastEnd waits until the DTLS association of the present login has ended, by either side, and its program is gone.
// The status stays, as the SDK does not notice. It fails with [ErrNoFast] where there never was one.
func (c *Client) AwaitFastEnd(ctx context.Context) error {
	return c.await(ctx, "await end of DTLS", func() (bool, error) {
		if c.fast == nil || c.fast.via != ChannelDTLS {
			return false, ErrNoFast
		}
		return c.fast == c.fastGone, nil
	})
}

// fastEnded notes that nothing more can come by the channel.
func (c *Client) fastEnded(fast *fastChannel) {
	fast.shut(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fast == fast {
		c.fastGone = fast
	}
	c.notifyLocked()
}

// AwaitClose waits until the connection has ended, whoever ended it. It returns nil then; see [Client.CloseStatus] and
// [Client.Err] for how.
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

// Done returns a channel that is closed when the connection has ended and all goroutines of the client with it.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns nil while the connection lives and after a close frame of the server, else the reason of its end.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// CloseStatus returns code and reason of the close frame received from the server, the echo of ours included; ok is
// false without one. A close frame without code counts as 1005.
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

// PeerID returns the own id, 0 before login.
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

// Groups returns the groups the client believes to be in, in ascending order. As in the SDK the belief changes with the
// request already and is corrected by the next membership update.
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
