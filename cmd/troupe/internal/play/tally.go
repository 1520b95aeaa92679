package play

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is recorded in microseconds with two significant digits. A histogram takes about 15 KiB per bot and channel.
const (
	latencyMax    = 2 * time.Minute
	latencyDigits = 2
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, latencyMax.Microseconds(), latencyDigits)
}

// tally counts the messages of one bot. It is safe for concurrent use.
type tally struct {
	mu sync.Mutex
	// guarded by mu
	sent       [channels]uint64
	unsent     uint64 // messages not sent because reconnecting took too long
	from       [channels][]stream
	latency    [channels]*hdrhistogram.Histogram
	duplicates [channels]uint64
	lostTimes  int // number of connection losses
	backTimes  int
	newPeer    int // reconnects with a new peer id
	gaps       int // number of times the host reported lost messages
	failed     error
}

// stream counts the messages from one bot on one channel. Reliable messages arrive in order. So do fast messages,
// except while the fast channel is coming up. A message whose number is not above last is a duplicate.
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

// received counts one message. now is its arrival time since the start of the run.
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
	t.latency[s.channel].RecordValue(us) // cannot fail: the value is within range
}

// sums holds the counts of one channel over all bots.
type sums struct {
	sent, expected, received, duplicates uint64
	// lost counts messages that did not arrive and were not reported as lost. excused counts missing messages of bots
	// that failed, got a new peer id, or were notified of a gap.
	lost, excused uint64
	latency       *hdrhistogram.Histogram
}

// report is the sum of all tallies.
type report struct {
	channels              [channels]sums
	bots, failed          int
	losses, backs, newIDs int
	unsent                uint64
}

// missing returns how many messages have not arrived yet or are lost.
func (s sums) missing() uint64 { return s.lost + s.excused }

// summarize adds up tallies. Each bot expects the messages of every bot, including its own. Histograms are merged only
// if latency is true, because merging is most of the work.
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

// count adds the messages that one bot expects and has received from another.
func (s *sums) count(sent, received uint64, excused bool) {
	s.expected += sent
	s.received += received
	switch {
	case received >= sent: // received may exceed sent: a message can arrive although Send has failed
	case excused:
		s.excused += sent - received
	default:
		s.lost += sent - received
	}
}
