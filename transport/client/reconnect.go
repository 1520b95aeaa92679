package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/messages"
)

// lost is called when a connection has ended. It may be the current one, or one that was replaced.
func (c *Client) lost(cn *connection, end End) {
	c.inbox <- struct{}{}
	c.mu.Lock()
	current, moving := c.current.Load() == cn, c.moving
	var away *absence
	if current {
		if cn.cause != nil && end.Code == 0 { // dropped after onEnd has read cause
			end.Err = cn.cause
		}
		away = &absence{since: time.Now(), end: end, fast: moving && cn.takeFastDown()}
		c.current.Store(nil)
		c.away = away
		select {
		case <-c.nudge: // remains of the previous absence
		default:
		}
		// NetworkChanged was called while the host was closing the connection.
		if errors.Is(cn.cause, errDropped) && !errors.Is(end.Err, errDropped) {
			c.nudge <- struct{}{}
		}
		c.wake()
		// The running attempt of Move now serves as the first attempt to reconnect, with the same time limit.
		if moving {
			time.AfterFunc(attemptFirst, c.stop)
		}
		ours := moving || time.Since(c.abandonedAt) < abandonedLoginMax
		// Probably a login of this Client has taken over the player. Reconnect: if another
		// device took over, the host refuses the login.
		if ours && end.Code == uint16(messages.CloseTakenOver) {
			away.end = End{Err: errDropped}
		}
	}
	c.mu.Unlock()
	<-c.inbox
	if current && !moving { // otherwise Move decides what follows the loss
		c.detach(away)
	}
}

// detach decides whether to reconnect after a loss, and notifies the program.
func (c *Client) detach(away *absence) {
	c.inbox <- struct{}{}
	c.mu.Lock()
	end := away.end
	asked, atOnce, final := afterLoss(end)
	c.tries = c.recentLosses.next(time.Now(), c.tries)
	if c.hopeless(end) {
		final, end.Err = true, fmt.Errorf("%w: %d times in a row: %w", ErrGaveUp, c.violated, errNumbers)
	}
	over := final || c.o.Reconnect.Off || c.closing
	c.over, away.told = c.over || over, !over
	c.wake()
	c.mu.Unlock()
	if !over {
		c.tellDetached(end)
	}
	<-c.inbox
	switch {
	case over:
		c.finish(end)
	case atOnce:
		go c.comeBack(away, 0, 0)
	default:
		go c.comeBack(away, asked, c.nextDelay(asked))
	}
}

// hopeless reports whether reconnecting is useless, because there were too many violations without progress. The caller holds mu.
func (c *Client) hopeless(end End) bool {
	if !c.numbers.on() || end.Code != uint16(messages.CloseOutOfOrder) && !errors.Is(end.Err, errNumbers) {
		return false
	}
	if p := c.numbers.progress(); p > c.progress {
		c.progress, c.violated = p, 0
	}
	c.violated++
	return c.violated >= violationsMax
}

// nextDelay returns the random wait in addition to asked. If the host has asked for a wait, it has probably asked many
// clients, so the random wait is not one of the short ones.
func (c *Client) nextDelay(asked time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked > 0 {
		c.tries = max(c.tries, 0)
	}
	away := time.Duration(0)
	switch {
	case c.recentLosses.over: // count these losses as one long absence
		away = c.o.Reconnect.DelayMax
	case c.away != nil:
		away = time.Since(c.away.since)
	}
	d := c.o.Reconnect.delayAfter(c.tries, away, asked)
	c.tries++
	return d
}

// comeBack is the goroutine of an absence. After a first pause it tries to log in until it succeeds or the Client ends.
func (c *Client) comeBack(away *absence, asked, delay time.Duration) {
	c.mu.Lock()
	giveUpAfter := c.o.Reconnect.giveUpAfter(c.window)
	c.mu.Unlock()
	ctx, cancel := context.WithDeadline(c.life, away.since.Add(giveUpAfter))
	defer cancel()
	err := context.DeadlineExceeded // error of the last attempt; this one if there was none
	for n := 0; c.pause(ctx, asked, delay); n++ {
		if err = c.tryAgain(ctx, n); err == nil {
			return
		}
		var final bool
		if asked, final = afterAttempt(err); final {
			break
		}
		delay = c.nextDelay(asked)
	}
	end := away.end
	end.Err = fmt.Errorf("%w: %d attempts in %v after %q: %w",
		ErrGaveUp, away.attempts, time.Since(away.since).Round(time.Millisecond), end, err)
	c.finish(end)
}

// pause waits as long as the host has asked for, and then for delay. A nudge ends the delay, but not the host's
// wait. It returns false if ctx has ended.
func (c *Client) pause(ctx context.Context, asked, delay time.Duration) bool {
	earliest := time.Now().Add(asked)
	until := earliest.Add(delay)
	for {
		c.mu.Lock()
		wait := max(time.Until(until), time.Until(c.notBefore))
		c.mu.Unlock()
		if wait <= 0 {
			return ctx.Err() == nil
		}
		select {
		case <-time.After(wait):
		case <-c.nudge:
			until = earliest
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return false
		}
	}
}

// tryAgain makes attempt n. It returns nil if a connection was made, even if that has ended already. If the owner was
// out of reach before, other nodes are asked first, which know whether it is lost.
func (c *Client) tryAgain(ctx context.Context, n int) error {
	c.mu.Lock()
	t := c.prefer
	c.mu.Unlock()
	said, over := c.askOthers(ctx, t)
	if over {
		return said
	}
	if said != nil {
		n = 0 // the network works, so an owner that is there answers soon
	}
	err := c.within(ctx, t, n, func(ctx context.Context) error { return c.connect(ctx, t) })
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil || c.away == nil:
	case answered(err):
		c.away.unreached = 0
	default:
		if c.away.unreached++; said != nil && !redirected(said) {
			return said
		}
	}
	return err
}

// within calls try with the time limit of attempt n over t.
func (c *Client) within(ctx context.Context, t Transport, n int, try func(context.Context) error) error {
	c.mu.Lock()
	bound := c.o.attemptMax(n)
	if t == KCP { // KCP detects a dead path itself
		c.away.silence, bound = bound, c.o.DialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	c.away.attempts++
	c.stop = cancel
	c.mu.Unlock()
	return try(ctx)
}

// NetworkChanged drops the connection without a close frame and opens another one at once. It is for programs that
// the operating system notifies of a new network. If the host has asked the Client to come later, the Client still
// waits. With Reconnect.Off the Client ends.
func (c *Client) NetworkChanged() { c.Outage(0) }

// Outage simulates a network outage, for tests. It drops the connection without a close frame. The
// Client does not reconnect before d has passed.
func (c *Client) Outage(d time.Duration) {
	c.mu.Lock()
	c.notBefore = time.Now().Add(d)
	if c.stop != nil {
		c.stop()
	}
	cn := c.current.Load()
	// Under mu, either lost has not run yet and sees the cause, or it has already drained the nudge.
	switch {
	case cn == nil:
		select {
		case c.nudge <- struct{}{}:
		default:
		}
	case cn.cause == nil:
		cn.cause = errDropped
	}
	c.mu.Unlock()
	if cn != nil {
		cn.link.abort()
	}
}

// finish ends the Client. It is called once, when there is no connection and comeBack makes no more attempts.
func (c *Client) finish(end End) {
	c.leave()             // ends a running Move
	c.moves <- struct{}{} // waits for that Move
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
	close(c.done) // close done first: a program that has received the last event may call End
	close(c.events)
}
