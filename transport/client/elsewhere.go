package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"troupe/messages/wire"
)

const (
	// redirectsMax is how many redirects one attempt follows. Hosts that do not agree about where a player belongs
	// must not keep a client busy.
	redirectsMax = 3
	// unreachedMax is how many attempts to reach the player's host fail before the client also asks other hosts.
	unreachedMax = 2
	// redirectedMin is the wait after a redirect that was not followed.
	redirectedMin = 2 * time.Second
)

// at returns the options for another node of the host's cluster.
func (o *Options) at(e wire.Endpoints) *Options {
	moved := *o
	moved.Addr, moved.WSSAddr, moved.KCPAddr = e.WS, e.WSS, e.KCP
	return &moved
}

// owner returns the options for the node that is believed to run the player's game session.
func (c *Client) owner() *Options {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.home
}

// redirected reports whether err is a login that was redirected to another node.
func redirected(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.moved != (wire.Endpoints{})
}

// follow makes the node to which a login was redirected the owner. It returns false if err is no redirect.
func (c *Client) follow(err error) bool {
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.moved == (wire.Endpoints{}) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.home = c.o.at(refused.moved)
	return true
}

// attempt logs in at the owner, and follows redirects. If it returns nil, the new connection became the current one. It
// may have ended since.
func (c *Client) attempt(ctx context.Context, t Transport) error {
	err := c.attemptAt(ctx, t, c.owner())
	for range redirectsMax {
		if !c.follow(err) {
			return err
		}
		err = c.attemptAt(ctx, t, c.owner())
	}
	return err
}

// keepAlternates takes over the addresses of other nodes from the answer to a login. It ignores invalid ones. The caller
// holds mu.
func (c *Client) keepAlternates(texts []string) {
	c.alternates = c.alternates[:0]
	for _, text := range texts {
		if e, err := wire.ParseEndpoints(text); err == nil {
			c.alternates = append(c.alternates, e)
		}
	}
	rand.Shuffle(len(c.alternates), func(i, j int) { c.alternates[i], c.alternates[j] = c.alternates[j], c.alternates[i] })
}

// others returns the nodes to ask before the next attempt. It returns nil unless the owner could not be reached
// unreachedMax times in a row.
func (c *Client) others() []wire.Endpoints {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away.unreached < unreachedMax {
		return nil
	}
	return append([]wire.Endpoints(nil), c.alternates...)
}

// askOthers asks other nodes, one after the other, what has become of the player's host. It returns the error of the
// first one that knows. over is set if the error settles the attempt. If no node knows anything, err is nil.
func (c *Client) askOthers(ctx context.Context, t Transport) (err error, over bool) {
	if t == Auto {
		t = c.Transport() // the one that worked last
	}
	for _, e := range c.others() {
		err := c.within(ctx, t, 0, func(ctx context.Context) error { return c.attemptAt(ctx, t, c.o.at(e)) })
		var refused *RefusedError
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, ErrGameOver):
			return err, true
		case c.follow(err), errors.As(err, &refused) && refused.RetryAfter > 0:
			return err, false
		}
	}
	return nil, false
}
