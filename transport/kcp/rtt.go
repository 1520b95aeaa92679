package kcp

import "time"

const (
	// probeMin is the shortest wait for an ack before the last data frame is sent again. It is above
	// the peer's ack delay and below KCP's 30 ms.
	probeMin = 10 * time.Millisecond
	// probeMax is the longest wait for an ack before that resend, even if a peer delays its acks on purpose.
	probeMax = time.Second
	// probeFirst is the wait before the first round trip sample.
	probeFirst = 100 * time.Millisecond
	// probeMargin is the least time that is added to the mean round trip. The peer may delay this ack but not
	// earlier ones, or its timer may fire late.
	probeMargin = ackDelay + 2*time.Millisecond
	// sampleMax is the longest plausible round trip.
	sampleMax = 10 * time.Second
)

// rtt estimates the round trip time (RFC 6298) for the loss probe, because KCP's own estimate is private. Both use the
// time stamp that an ack returns. It identifies which copy of a segment was acknowledged.
type rtt struct {
	mean, deviation time.Duration // mean is 0 before the first sample
}

// sample adds one round trip, in milliseconds. It ignores negative values and values over sampleMax:
// only a broken or hostile peer causes them.
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
