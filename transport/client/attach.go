package client

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"troupe/messages/wire"
)

var errAbandoned = errors.New("client: the attempt was given up")

// onLoginAnswer handles LOGIN_RESPONSE. The reader calls it, so the connection is attached before the next packet is read.
func (c *Client) onLoginAnswer(cn *connection, unit []byte) error {
	result, err := parseLoginAnswer(unit)
	switch {
	case err != nil:
		return err
	case !result.Success:
		return refusalOf(&result)
	}
	return c.attach(cn, &result)
}

// refusalOf returns the error for a refused login. An error other than a RefusedError says that the answer is invalid.
func refusalOf(r *wire.LoginResult) error {
	no := &RefusedError{RetryAfter: milliseconds(r.RetryAfterMs)}
	if r.Caps == 0 {
		return no
	}
	no.Reason = cmp.Or(r.Over.String(), wire.Refusal(r.Outcome).String())
	no.Over = r.Over != 0 || wire.Refusal(r.Outcome) == wire.RefusedGameSessionEnded
	if r.Endpoints != "" {
		to, err := wire.ParseEndpoints(r.Endpoints)
		if err != nil {
			return err
		}
		no.moved, no.RetryAfter = to, max(no.RetryAfter, redirectedMin)
	}
	return no
}

func milliseconds(ms uint64) time.Duration {
	return time.Duration(min(ms, math.MaxInt32)) * time.Millisecond
}

// attach makes cn the current connection and reports that to the program. cn may replace another connection.
func (c *Client) attach(cn *connection, r *wire.LoginResult) error {
	if !cn.enter() {
		return errAbandoned
	}
	defer func() { <-c.inbox }()
	c.mu.Lock()
	if cn.link == nil || isClosed(cn.abandoned) || c.closing || c.over || cn.began.Before(c.notBefore) {
		c.mu.Unlock()
		return errAbandoned
	}
	done, err := c.numbers.answer(r, cn.said)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	now := time.Now()
	old, away := c.current.Load(), c.away
	if old != nil {
		c.replaced = append(slices.DeleteFunc(c.replaced, func(cn *connection) bool { return isClosed(cn.done) }), old)
	}
	c.keepAlternates(r.Alternates)
	cn.since, c.away, c.last, c.window = now, nil, cn.transport, milliseconds(r.WindowMs)
	c.peer.Store(r.PeerID)
	c.current.Store(cn)
	c.kick(cn)
	c.scheduleAck(cn)
	c.wake()
	c.mu.Unlock()
	fast := old.takeFastDown() || away != nil && !away.told && away.fast
	if old != nil {
		old.link.abort()
	}
	if fast {
		c.emit(cn, Event{Kind: EventFastDown, Sender: wire.ServerPeer})
	}
	if away != nil && away.told {
		c.resumes.reconnects.Add(1)
		c.tellReconnected(cn, Reconnected{
			Transport: cn.transport, Attempts: away.attempts, After: now.Sub(away.since), Replayed: done.replay, Lost: done.gap, PeerID: r.PeerID,
		})
	}
	if done.gap > 0 {
		c.resumes.gaps.Add(1)
		c.resumes.lost.Add(done.gap)
		gap := Gap{done.gap}
		if c.o.OnGap != nil {
			c.o.OnGap(gap)
		}
		c.emit(cn, Event{Kind: EventGap, Sender: wire.ServerPeer, Gap: &gap})
	}
	if cn.fast != nil {
		cn.link.openFast(cn.fast, r, cn.o)
	}
	return nil
}

func (c *Client) tellReconnected(cn *connection, r Reconnected) {
	if c.o.OnReconnected != nil {
		c.o.OnReconnected(r)
	}
	c.emit(cn, Event{Kind: EventReconnected, Sender: wire.ServerPeer, Reconnected: &r})
}

func (c *Client) tellDetached(end End) {
	if c.o.OnDetached != nil {
		c.o.OnDetached(end)
	}
	select {
	case c.events <- Event{Kind: EventDetached, Sender: wire.ServerPeer, Detached: &end}:
	case <-c.life.Done():
	}
}
