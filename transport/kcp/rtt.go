package kcp

import "time"

const (
	// probeMin is the shortest silence after which the last data datagram is sent
	// again: more than the peer lets an ack wait, less than KCP's 30 ms.
	probeMin = 10 * time.Millisecond
	// probeMax bounds it, also against a peer that delays its acks on purpose.
	probeMax = time.Second
	// probeFirst is used while nothing is known of the path.
	probeFirst = 100 * time.Millisecond
	// probeMargin is added to the mean at least: a peer's ack may wait for company
	// when those before rode on data, and its timer may be late.
	probeMargin = ackDelay + 2*time.Millisecond
	// sampleMax is the longest round trip that is believed.
	sampleMax = 10 * time.Second
)

// rtt estimates how long an ack takes (RFC 6298). It serves the loss probe alone;
// KCP has its own, private. Both go by the time stamp that an ack returns, so they
// know which copy of a segment it is for.
type rtt struct {
	mean, deviation time.Duration // mean 0: nothing is known
}

// sample takes in one round trip. Time stamps are in milliseconds; what is not
// within zero and sampleMax is a peer's invention.
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

// probeAfter is the silence after which a loss is likely.
func (r *rtt) probeAfter() time.Duration {
	if r.mean == 0 {
		return probeFirst
	}
	return min(max(r.mean+max(2*r.deviation, probeMargin), probeMin), probeMax)
}
