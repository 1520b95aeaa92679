package fast

import (
	"net/netip"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
)

// logEvery is the shortest time between two log lines for the same reason, because anybody can send datagrams.
const logEvery = 10 * time.Second

// sampler allows one log line per logEvery. The zero value is ready to use.
type sampler struct {
	next    atomic.Int64 // time in nanoseconds before which no line may be written
	skipped atomic.Int64 // lines that were not written since the last one
}

// allow reports whether to log now, and how many lines were skipped since the last one.
func (s *sampler) allow(now time.Duration) (skipped int64, ok bool) {
	next := s.next.Load()
	if int64(now) < next || !s.next.CompareAndSwap(next, int64(now+logEvery)) {
		s.skipped.Add(1)
		return 0, false
	}
	return s.skipped.Swap(0), true
}

// refuse counts a dropped datagram and logs some of them. It does not log stale numbers, which are common.
func (p *Pool) refuse(why counters.Drop, from netip.AddrPort, peer messages.PeerID, now time.Duration) {
	p.opt.Counters.Dropped.Add(why, 1)
	if why == counters.DropFastStale {
		return
	}
	if skipped, ok := p.refusals[why&63].allow(now); ok {
		p.opt.Log.Warn().Stringer("reason", why).Stringer("remote", from).Int32("peer", int32(peer)).
			Int64("skipped", skipped).Msg("fast datagram refused")
	}
}

func (p *Pool) logWriteError(err error, d *datagram) {
	if skipped, ok := p.writeErrors.allow(p.now()); ok {
		p.opt.Log.Warn().Err(err).Stringer("remote", d.to).Int64("skipped", skipped).Msg("fast datagram not sent")
	}
}
