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
	// windowMargin is added to the host's window, because the host notices the loss later than the client.
	windowMargin = 5 * time.Second
	// windowUnknown is the assumed window if the host announces none. It is the default of hosts.
	windowUnknown = 30 * time.Second
)

const (
	// The first attempts after the loss of a working connection are quick: their numbers start at triesQuick. If there was no other
	// loss within calm, the numbers start at triesCalm, because many clients may have lost their connections at the same time.
	triesQuick = -2
	triesCalm  = -1
	calm       = 30 * time.Second
	// On a bad link, losses come in series. But a host may also accept a player and drop it at once, again and again.
	// So quick attempts follow at most lossesMax losses in a row, plus one loss for each lossEvery.
	lossesMax = 10
	lossEvery = time.Second
	// abandonedLoginMax is how long it may take until an abandoned login reaches the host.
	abandonedLoginMax = 10 * time.Second
	// spreadMax limits the random delay that is added to the wait that a host asks for. The
	// delay is at most as long as that wait, because a host with more waiting clients asks
	// for a longer wait.
	spreadMax = 2 * time.Second
	// laterMin is the wait if the host asks the client to come later without giving a time.
	laterMin = time.Second
	// violationsMax is how many violations of the numbering end the Client, if no message arrives between them.
	violationsMax = 5
	// attemptFirst limits the first attempt after a loss. Each further attempt may take twice as long, up to
	// Options.DialTimeout. The first ones are short, because a new attempt notices a working network sooner than the
	// retransmissions of an old one. Over KCP these limits apply only to the host's silence during the handshake. There
	// a new attempt would discard the work that a busy host has done for the old one.
	attemptFirst = 3 * time.Second
)

// Reconnect says how a Client reconnects after a loss. The zero value means that it does, with the defaults.
type Reconnect struct {
	// Off disables reconnecting: the Client ends with its first connection.
	Off bool
	// Delay and DelayMax limit the wait before an attempt. Default 200 ms and 5 s. The
	// wait is random, so that many clients do not come back at the same time. Its maximum is:
	//
	//   - before the first attempt after a loss: Delay/2. If there was another loss in the
	//     30 s before: Delay/10, and Delay/2 before the second attempt.
	//   - before attempt n of the others, counted from 0: min(DelayMax, Delay<<n), and no
	//     more than the time since the loss or Delay, whichever is longer.
	//   - if the host has asked for a wait: that wait plus a random time. The random time is
	//     limited by the above or by min(the wait, 2 s), whichever is longer.
	//
	// Normally each loss resets n. After ten losses in a row at more than one loss per
	// second, it does not. After NetworkChanged the first attempt is made at once.
	Delay, DelayMax time.Duration
	// GiveUpAfter is how long after the loss the Client ends. Default: the host's reconnect window plus 5 s.
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

// giveUpAfter returns how long after a loss the Client keeps trying. window is the host's reconnect
// window, or 0 if the host announced none.
func (r *Reconnect) giveUpAfter(window time.Duration) time.Duration {
	switch {
	case r.GiveUpAfter > 0:
		return r.GiveUpAfter
	case window > 0:
		return window + windowMargin
	}
	return windowUnknown + windowMargin
}

// delayMax returns the maximum random wait before attempt n. Quick attempts have negative numbers.
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

// delay returns the random part of the wait before attempt n, in addition to what the host asks for. It is random so
// that many clients do not come back at the same time.
func (r *Reconnect) delay(n int) time.Duration { return rand.N(r.delayMax(n) + 1) }

// delayAfter returns the random part of the wait before attempt n. If the host has asked
// for a wait, the limit is delayMax or min(asked, spreadMax), whichever is longer.
// Otherwise the limit is delayMax, but no more than Delay or away, the time since the
// loss, whichever is longer.
func (r *Reconnect) delayAfter(n int, away, asked time.Duration) time.Duration {
	if asked > 0 {
		return rand.N(max(r.delayMax(n), min(asked, spreadMax)) + 1)
	}
	return rand.N(min(r.delayMax(n), max(r.Delay, away)) + 1)
}

// recentLosses counts recent losses of connections that worked.
type recentLosses struct {
	spent float64   // number of recent losses, up to lossesMax; it decreases by one per lossEvery
	at    time.Time // time of the last loss
	over  bool      // the last loss exceeded lossesMax
}

// next returns the number of the first attempt after a loss. After too many losses it does not start
// again, but returns tries, the number so far.
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

// afterLoss says what follows the end of a connection. asked is the least wait. final means that there is no further attempt. atOnce
// means that the wait needs no random part: this side dropped the connection, so other clients did not lose theirs at the same time.
func afterLoss(end End) (asked time.Duration, atOnce, final bool) {
	switch end.Retry() {
	case messages.RetryNever:
		return 0, false, true
	case messages.RetryLater:
		return laterMin, false, false
	}
	return 0, errors.Is(end.Err, errDropped), false
}

// afterAttempt is like afterLoss, but for the error of a failed attempt.
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

// attemptMax returns the time limit of attempt n.
func (o *Options) attemptMax(n int) time.Duration {
	return min(o.DialTimeout, attemptFirst<<min(n, 10))
}
