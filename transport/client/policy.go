package client

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"time"

	"troupe/messages"
)

// Defaults of Reconnect.
const (
	reconnectDelayDefault = 200 * time.Millisecond
	// windowMargin is added to the host's window, which begins later than the client's.
	windowMargin = 5 * time.Second
	// windowUnknown is assumed if the host announces no window: it is the host's default.
	windowUnknown = 30 * time.Second
)

const (
	// The first attempts after the loss of a working connection are quick: they are counted from triesQuick, or from triesCalm if
	// there was no loss for calm, because many clients may share such a first loss.
	triesQuick = -2
	triesCalm  = -1
	calm       = 30 * time.Second
	// Losses come in series on a bad link. But a host may accept a player and drop it at once, again and again. So quick attempts
	// follow only lossesMax losses in a row, and one more per lossEvery.
	lossesMax = 10
	lossEvery = time.Second
	// abandonedLoginMax is how long an abandoned login may take to reach the host.
	abandonedLoginMax = 10 * time.Second
	// spreadMax bounds the random delay that is added to the wait a host asks for. The delay is
	// up to as long as that wait: a host with more waiting clients asks for a longer one.
	spreadMax = 2 * time.Second
	// laterMin is the wait if the host says "later" without a time.
	laterMin = time.Second
	// violationsMax is how many violations of the numbering without a message between them end the Client.
	violationsMax = 5
	// attemptFirst bounds the first attempt after a loss. Each next one may take twice as long, up to Options.DialTimeout: a new
	// attempt finds that the network is back sooner than retransmissions of an old one. Over KCP it bounds only the host's silence
	// during the handshake: a new attempt would throw away what a busy host has done for the old one.
	attemptFirst = 3 * time.Second
)

// Reconnect says how a Client reconnects after a loss. The zero value is the default: it does.
type Reconnect struct {
	// Off ends the Client with its first connection.
	Off bool
	// Delay and DelayMax bound the wait before an attempt. Default 200 ms and 5 s. The
	// wait is random, so that a crowd does not come back in one instant, and at most:
	//
	//   - before the first attempt after a loss: Delay/2. If there was another loss in the
	//     30 s before: Delay/10, and Delay/2 before the second attempt.
	//   - before attempt n of the others, counted from 0: min(DelayMax, Delay<<n), and no
	//     more than the time since the loss or Delay, whichever is longer.
	//   - if the host has asked for a wait: that wait, and a random time on top that is
	//     bounded by the above or by min(the wait, 2 s), whichever is longer.
	//
	// After ten losses in a row at more than one a second, n is not counted anew with a
	// loss. After NetworkChanged the first attempt is made at once.
	Delay, DelayMax time.Duration
	// GiveUpAfter the loss the Client ends; default the host's window and 5 s.
	GiveUpAfter time.Duration
}

// check validates the options and fills in defaults.
func (r *Reconnect) check() error {
	if r.Delay < 0 || r.DelayMax < 0 || r.GiveUpAfter < 0 {
		return errors.New("client: the times of Options.Reconnect must not be negative")
	}
	r.Delay = cmp.Or(r.Delay, reconnectDelayDefault)
	r.DelayMax = cmp.Or(r.DelayMax, 5*time.Second)
	return nil
}

// giveUpAfter is how long after a loss the Client tries; window is the host's, 0 if it told none.
func (r *Reconnect) giveUpAfter(window time.Duration) time.Duration {
	switch {
	case r.GiveUpAfter > 0:
		return r.GiveUpAfter
	case window > 0:
		return window + windowMargin
	}
	return windowUnknown + windowMargin
}

// delayMax bounds the random wait before attempt n, which is negative for a quick one.
func (r *Reconnect) delayMax(n int) time.Duration {
	switch d := r.Delay; {
	case n <= triesQuick:
		return min(d/10, r.DelayMax)
	case n == triesCalm:
		return min(d/2, r.DelayMax)
	}
	d := r.Delay
	for ; n > 0 && d < r.DelayMax; n-- {
		d *= 2
	}
	return min(d, r.DelayMax)
}

// delay is the random part of the wait before attempt n, beside what the host asks for: a crowd must not come back in one instant.
func (r *Reconnect) delay(n int) time.Duration { return rand.N(r.delayMax(n) + 1) }

// delayAfter returns the random part of the wait before attempt n. If the host has asked for a
// wait, delayMax or that wait bounds it, whichever is longer, the wait counting up to spreadMax.
// Otherwise the time since the loss bounds it too, if it is longer than Delay.
func (r *Reconnect) delayAfter(n int, away, asked time.Duration) time.Duration {
	if asked > 0 {
		return rand.N(max(r.delayMax(n), min(asked, spreadMax)) + 1)
	}
	return rand.N(min(r.delayMax(n), max(r.Delay, away)) + 1)
}

// recentLosses counts losses of connections that worked.
type recentLosses struct {
	spent float64   // recent losses, of at most lossesMax; one less per lossEvery
	at    time.Time // time of the last loss
	over  bool      // the last loss was one too many
}

// next returns the number of the first attempt after a loss; after too many losses tries, those so far.
func (a *recentLosses) next(now time.Time, tries int) int {
	since := now.Sub(a.at)
	a.at, a.spent = now, max(0, a.spent-float64(since)/float64(lossEvery))
	switch a.over = a.spent+1 > lossesMax; {
	case a.over:
		return max(tries, 0)
	case since > calm:
		tries = triesCalm
	default:
		tries = triesQuick
	}
	a.spent++
	return tries
}

// afterLoss returns the least wait after the end of a connection, or that there is no further attempt. AtOnce: the wait needs
// no random part, because this side dropped the connection and other clients did not lose theirs with it.
func afterLoss(end End) (asked time.Duration, atOnce, final bool) {
	switch end.Retry() {
	case messages.RetryNever:
		return 0, false, true
	case messages.RetryLater:
		return laterMin, false, false
	}
	return 0, errors.Is(end.Err, errDropped), false
}

// afterAttempt is afterLoss for a failed attempt.
func afterAttempt(err error) (asked time.Duration, final bool) {
	var refused *RefusedError
	var end *EndError
	switch {
	case errors.As(err, &refused):
		return refused.RetryAfter, refused.RetryAfter == 0
	case errors.Is(err, errNumbers), errors.Is(err, errNotResumed):
		return 0, true
	case errors.As(err, &end):
		asked, _, final = afterLoss(end.End)
		return asked, final
	}
	return 0, false
}

// attemptMax bounds attempt n.
func (o *Options) attemptMax(n int) time.Duration {
	return min(o.DialTimeout, attemptFirst<<min(n, 10))
}
