package kcp

import "time"

const (
	// probeMin is the least time without an ack before the last data frame is sent again: above the peer's ack delay, below KCP's 30 ms.
	probeMin = 10 * time.Millisecond
	// probeMax is the longest such time, also for a peer that delays its acks on purpose.
	probeMax = time.Second
	// probeFirst is used before the first sample.
	probeFirst = 100 * time.Millisecond
	// probeMargin is the least that is added to the mean: the peer may delay this ack and not earlier ones, or its timer may be late.
	probeMargin = ackDelay + 2*time.Millisecond
	// sampleMax is the longest credible round trip.
	sampleMax = 10 * time.Second
)

// rtt estimates the round trip time (RFC 6298) for the loss probe; KCP's own estimate is private. Both use the time stamp that
// an ack returns, so they know which copy of a segment was acknowledged.
type rtt struct {
	mean, deviation time.Duration // mean is 0 before the first sample
}

// sample adds one round trip, in milliseconds. Only a broken or hostile peer causes values that it ignores.
func (r *rtt) sample(ms int32) {
	sample := max(time.Duration(ms)*time.Millisecond, time.Millisecond)
	switch {
	case ms < 0 || sample > sampleMax:
	case r.mean == 0:
		r.mean, r.deviation = sample, sample/2
	default:
		r.deviation += ((r.mean - sample).Abs() - r.deviation) / 4
		r.mean += (sample - r.mean) / 8
	}
}

// probeAfter returns the time without an ack after which a loss is likely.
func (r *rtt) probeAfter() time.Duration {
	if r.mean == 0 {
		return probeFirst
	}
	return min(max(r.mean+max(2*r.deviation, probeMargin), probeMin), probeMax)
}
