package client

import (
	"errors"
	"math/rand/v2"
	"time"

	"troupe/messages"
)

// Defaults of Reconnect.
const (
	reconnectDelayDefault    = 200 * time.Millisecond
	reconnectDelayMaxDefault = 5 * time.Second
	// windowMargin is tried beyond the host's window: its clock began later.
	windowMargin = 5 * time.Second
	// windowUnknown is the window of a host that does not tell: the default one.
	windowUnknown = 30 * time.Second
)

const (
	// Attempts after the loss of a connection that worked are quick at first: they are
	// counted from triesQuick, or, if there was no loss for calm, from triesCalm. That
	// one may be of a crowd.
	triesQuick = -2
	triesCalm  = -1
	calm       = 30 * time.Second
	// Losses come in series on a bad link. But a host that lets a player in and drops
	// it at once must not be asked without end: accidentsMax losses in a row are
	// followed by quick attempts, and one more per accidentEvery.
	accidentsMax  = 10
	accidentEvery = time.Second
	// strayMax is how long a login that was given up may take to reach the host.
	strayMax = 10 * time.Second
	// spreadMax bounds the random time on top of what a host asks for, which is as long
	// as that again: the longer it asks, the more there are.
	spreadMax = 2 * time.Second
	// laterMin is waited at least when the host says later without a time.
	laterMin = time.Second
	// violationsMax ends the Client: so many violations of the numbers, of either
	// side, without a message in between that arrived.
	violationsMax = 5
	// attemptFirst bounds the first attempt after a loss, the second may take twice
	// as long, and so on up to Options.DialTimeout: a network that comes back is
	// better met by a new attempt than by the repetitions of an old one.
	attemptFirst = 3 * time.Second
)

// Reconnect says how a Client reconnects after it has lost its connection. The zero
// value is the default: the Client reconnects.
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

// check says what is wrong, and fills in defaults.
func (r *Reconnect) check() error {
	if r.Delay < 0 || r.DelayMax < 0 || r.GiveUpAfter < 0 {
		return errors.New("client: the times of Options.Reconnect must not be negative")
	}
	setDefault(&r.Delay, reconnectDelayDefault)
	setDefault(&r.DelayMax, reconnectDelayMaxDefault)
	return nil
}

// patience is how long after a loss the Client tries; window is the host's, 0 if
// it told none.
func (r *Reconnect) patience(window time.Duration) time.Duration {
	switch {
	case r.GiveUpAfter > 0:
		return r.GiveUpAfter
	case window > 0:
		return window + windowMargin
	}
	return windowUnknown + windowMargin
}

// delayMax bounds the random wait before attempt n, which is negative for a quick
// one.
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

// delay is the random part of the wait before attempt n. It comes on top of what
// the host asks for, so that a crowd does not come back in one instant.
func (r *Reconnect) delay(n int) time.Duration { return rand.N(r.delayMax(n) + 1) }

// delayAfter is the same so long after the loss, which bounds it, on top of what the
// host asked for.
func (r *Reconnect) delayAfter(n int, away, asked time.Duration) time.Duration {
	if asked > 0 {
		return rand.N(max(r.delayMax(n), min(asked, spreadMax)) + 1)
	}
	return rand.N(min(r.delayMax(n), max(r.Delay, away)) + 1)
}

// accidents counts losses of connections that worked.
type accidents struct {
	spent float64   // of accidentsMax
	at    time.Time // of the last
	over  bool      // there were too many
}

// next returns from where the attempts after a loss are counted, or tries, how many
// there were, if there were too many losses.
func (a *accidents) next(now time.Time, tries int) int {
	since := now.Sub(a.at)
	a.at, a.spent = now, max(0, a.spent-float64(since)/float64(accidentEvery))
	switch a.over = a.spent+1 > accidentsMax; {
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

// afterLoss says what the end of a connection asks for: how long to wait at least,
// or that it was the last. AtOnce excuses from the random part who alone is lost; a
// host that fails loses everybody in one instant.
func afterLoss(end End) (asked time.Duration, atOnce, final bool) {
	switch end.Retry() {
	case messages.RetryNever:
		return 0, false, true
	case messages.RetryLater:
		return laterMin, false, false
	}
	return 0, errors.Is(end.Err, errDropped), false
}

// afterAttempt says the same of an attempt that failed.
func afterAttempt(err error) (asked time.Duration, final bool) {
	var refused *RefusedError
	var end *EndError
	switch {
	case errors.As(err, &refused):
		return refused.RetryAfter, refused.RetryAfter == 0
	case errors.Is(err, errNumbers), errors.Is(err, errNewStay):
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
