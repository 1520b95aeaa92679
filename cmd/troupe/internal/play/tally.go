package play

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is kept in microseconds, with two digits: some 15 KiB per bot and
// channel.
const (
	latencyMax    = 2 * time.Minute
	latencyDigits = 2
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, latencyMax.Microseconds(), latencyDigits)
}

// tally is what one bot sent and received. Safe for concurrent use.
type tally struct {
	mu sync.Mutex
	// guarded by mu
	sent       [channels]uint64
	unsent     uint64 // not sent, because the connection was away for too long
	from       [channels][]stream
	latency    [channels]*hdrhistogram.Histogram
	duplicates [channels]uint64
	lostTimes  int // how often the connection was lost
	backTimes  int
	newPeer    int // of these as another peer
	gaps       int // how often the host said that messages are lost
	failed     error
}

// stream is what came from one bot by one channel. Reliable messages come in
// order, and so do fast ones, except around the moment the fast channel comes
// up: a number at or below the last one is a duplicate.
type stream struct{ last, received uint64 }

func newTally(bots int) *tally {
	t := &tally{}
	for ch := range channels {
		t.from[ch] = make([]stream, bots)
		t.latency[ch] = newHistogram()
	}
	return t
}

func (t *tally) update(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// received counts one message that came at now, in time since the run began.
func (t *tally) received(s stamp, now time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(s.bot) >= len(t.from[s.channel]) {
		return
	}
	from := &t.from[s.channel][s.bot]
	if s.number <= from.last {
		t.duplicates[s.channel]++
		return
	}
	from.last = s.number
	from.received++
	us := min(max(now-s.intended, time.Microsecond), latencyMax).Microseconds()
	t.latency[s.channel].RecordValue(us) // within range, so no error
}

// sums are the counts of one channel over all bots.
type sums struct {
	sent, expected, received, duplicates uint64
	// lost did not arrive, and nobody said so; excused are those of bots that
	// failed, began anew or were told of a gap.
	lost, excused uint64
	latency       *hdrhistogram.Histogram
}

// report is all tallies together.
type report struct {
	channels              [channels]sums
	bots, failed          int
	losses, backs, newIDs int
	unsent                uint64
}

// missing is what has not arrived, or not yet.
func (s sums) missing() uint64 { return s.lost + s.excused }

// summarize adds up. Each bot expects what every bot sent, its own included.
// Histograms are merged only if asked: that is most of the work.
func summarize(tallies []*tally, latency bool) report {
	r := report{bots: len(tallies)}
	sent := make([][channels]uint64, len(tallies))
	troubled := make([]bool, len(tallies))
	for i, t := range tallies {
		t.update(func() {
			sent[i] = t.sent
			troubled[i] = t.gaps > 0 || t.newPeer > 0 || t.failed != nil
			r.losses += t.lostTimes
			r.backs += t.backTimes
			r.newIDs += t.newPeer
			r.unsent += t.unsent
			if t.failed != nil {
				r.failed++
			}
		})
	}
	for ch := range channels {
		s := &r.channels[ch]
		s.latency = newHistogram()
		for i, t := range tallies {
			t.update(func() {
				s.sent += sent[i][ch]
				s.duplicates += t.duplicates[ch]
				if latency {
					s.latency.Merge(t.latency[ch])
				}
				for j := range tallies {
					s.count(sent[j][ch], t.from[ch][j].received, troubled[i] || troubled[j])
				}
			})
		}
	}
	return r
}

// count adds what one bot expects from one other.
func (s *sums) count(sent, received uint64, excused bool) {
	s.expected += sent
	s.received += received
	switch {
	case received >= sent: // more: it arrived although the sending seemed to fail
	case excused:
		s.excused += sent - received
	default:
		s.lost += sent - received
	}
}
