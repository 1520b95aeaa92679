package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// errAbandoned is a login that nobody waits for any more.
var errAbandoned = errors.New("client: the attempt was given up")

// onLoginAnswer takes LOGIN_RESPONSE, which is the first packet there is. What
// follows it belongs to the connection that it lets in, so that is decided here,
// by the reader.
func (c *Client) onLoginAnswer(cn *connection, unit []byte) error {
	result, err := parseLoginAnswer(unit)
	switch {
	case err != nil:
		return err
	case !result.Success:
		return &RefusedError{milliseconds(result.RetryAfterMs)}
	}
	return c.attach(cn, &result)
}

func milliseconds(ms uint64) time.Duration {
	return time.Duration(min(ms, math.MaxInt32)) * time.Millisecond
}

// attach makes a connection the current one, in place of another if there is one,
// and tells the program.
func (c *Client) attach(cn *connection, r *wire.LoginResult) error {
	c.inbox <- struct{}{}
	defer func() { <-c.inbox }()
	c.mu.Lock()
	if cn.link == nil || cn.abandoned || c.closing || c.over {
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
		c.replaced = append(slices.DeleteFunc(c.replaced, (*connection).isDone), old)
	}
	cn.since, c.away, c.last, c.window = now, nil, cn.transport, milliseconds(r.WindowMs)
	c.peer.Store(r.PeerID)
	c.current.Store(cn)
	c.kick(cn)
	c.seeToAck(cn)
	c.wake()
	c.mu.Unlock()
	if old != nil {
		old.link.abort()
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
		c.tellGap(cn, Gap{done.gap})
	}
	if cn.fast != nil {
		cn.link.openFast(cn.fast, r, &c.o)
	}
	return nil
}

func (c *Client) tellReconnected(cn *connection, r Reconnected) {
	if c.o.OnReconnected != nil {
		c.o.OnReconnected(r)
	}
	c.emit(cn, Event{Kind: EventReconnected, Sender: wire.ServerPeer, Reconnected: &r})
}

func (c *Client) tellGap(cn *connection, g Gap) {
	if c.o.OnGap != nil {
		c.o.OnGap(g)
	}
	c.emit(cn, Event{Kind: EventGap, Sender: wire.ServerPeer, Gap: &g})
}

// tellDetached is for a connection that has ended.
func (c *Client) tellDetached(end End) {
	if c.o.OnDetached != nil {
		c.o.OnDetached(end)
	}
	select {
	case c.events <- Event{Kind: EventDetached, Sender: wire.ServerPeer, Detached: &end}:
	case <-c.life.Done():
	}
}

// lost is called when a connection has ended: the current one, or one that does
// not matter any more.
func (c *Client) lost(cn *connection, end End) {
	c.inbox <- struct{}{}
	c.mu.Lock()
	current, moving := c.current.Load() == cn, c.moving
	var away *absence
	if current {
		away = &absence{since: time.Now(), lasted: time.Since(cn.since), end: end}
		c.current.Store(nil)
		c.away = away
		c.wake()
		if moving && end.Code == uint16(messages.CloseTakenOver) { // by the Move itself
			away.end = End{Err: errDropped}
		}
	}
	c.mu.Unlock()
	<-c.inbox
	if current && !moving { // or Move decides what it was
		c.detach(away)
	}
}

// detach decides what follows from a loss, and tells the program.
func (c *Client) detach(away *absence) {
	c.inbox <- struct{}{}
	c.mu.Lock()
	if away.lasted > stableAfter {
		c.tries = 0
	}
	asked, atOnce, final := afterLoss(away.end, away.lasted)
	over := final || c.o.Reconnect.Off || c.closing
	c.over, away.told = c.over || over, !over
	c.wake()
	c.mu.Unlock()
	if !over {
		c.tellDetached(away.end)
	}
	<-c.inbox
	switch {
	case over:
		c.finish(away.end)
	case atOnce:
		go c.comeBack(away, 0)
	default:
		go c.comeBack(away, c.nextDelay(asked))
	}
}

// nextDelay is the wait before the next attempt.
func (c *Client) nextDelay(asked time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.o.Reconnect.delay(c.tries, asked)
	c.tries++
	return d
}

// comeBack is the goroutine of an absence: it logs in until that works, or is of
// no use.
func (c *Client) comeBack(away *absence, delay time.Duration) {
	c.mu.Lock()
	patience := c.o.Reconnect.patience(c.window)
	c.mu.Unlock()
	ctx, cancel := context.WithDeadline(c.life, away.since.Add(patience))
	defer cancel()
	err := context.DeadlineExceeded // of the last attempt
	for n := 0; c.pause(ctx, delay); n++ {
		if err = c.tryAgain(ctx, n); err == nil {
			return
		}
		asked, final := afterAttempt(err)
		if final {
			break
		}
		delay = c.nextDelay(asked)
	}
	end := away.end
	end.Err = fmt.Errorf("%w: %d attempts in %v after %q: %w",
		ErrGaveUp, away.attempts, time.Since(away.since).Round(time.Millisecond), end, err)
	c.finish(end)
}

// pause waits before an attempt; it reports false when ctx has ended.
func (c *Client) pause(ctx context.Context, d time.Duration) bool {
	until := time.Now().Add(d)
	for {
		c.mu.Lock()
		wait := time.Until(later(until, c.notBefore))
		c.mu.Unlock()
		if wait <= 0 {
			return ctx.Err() == nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.nudge:
			until = time.Time{}
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tryAgain makes attempt n. Without an error there is a connection, or there was.
func (c *Client) tryAgain(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.attemptMax(n))
	defer cancel()
	c.mu.Lock()
	c.away.attempts++
	c.stop = cancel
	t := c.prefer
	c.mu.Unlock()
	return c.connect(ctx, t)
}

// Move makes a new connection, over another transport or another path, and then
// drops the present one. Nothing reliable is lost or comes twice, if the host
// counts. After an error everything is as before, except that the connection may
// have been lost meanwhile. Reconnects go by t, too. While the connection is lost
// it is ErrDetached.
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
		c.detach(orphan)
	}
	if err != nil {
		return c.moveError(err)
	}
	return nil
}

// move is Move for one caller at a time. Orphan is the loss of the old connection
// before there was a new one.
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

// moveError is ErrClosed if that is why.
func (c *Client) moveError(err error) error {
	if c.life.Err() != nil {
		return ErrClosed
	}
	return err
}

// NetworkChanged drops the connection without a word and makes another at once,
// for programs that the system tells of a new network: they need not wait until
// the old one is found to be silent.
func (c *Client) NetworkChanged() { c.Outage(0) }

// Outage drops the connection without a goodbye and makes no attempt to come back
// before d is over, as if there were no network: for tests.
func (c *Client) Outage(d time.Duration) {
	c.mu.Lock()
	c.notBefore = time.Now().Add(d)
	if c.stop != nil {
		c.stop()
	}
	c.mu.Unlock()
	if cn := c.current.Load(); cn != nil {
		cn.drop(errDropped)
		return
	}
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}

// finish ends the Client. It is called once, when there is no connection and no
// attempt of comeBack.
func (c *Client) finish(end End) {
	c.leave()             // ends a Move
	c.moves <- struct{}{} // and waits for it
	c.mu.Lock()
	c.over = true
	if c.closing {
		end.Local, end.Err = true, nil
	}
	if c.ackTimer != nil {
		c.ackTimer.Stop()
	}
	replaced := c.replaced
	c.wake()
	c.mu.Unlock()
	for _, cn := range replaced {
		<-cn.done
	}
	c.end = end
	close(c.events)
	close(c.done)
}
