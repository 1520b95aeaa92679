package play

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestStamp(t *testing.T) {
	s := stamp{run: 1<<63 + 5, bot: 199, channel: fast, number: 1 << 40, intended: 3 * time.Hour}
	for _, size := range []int{0, stampBytes, 64, 4096} {
		b := s.appendTo(nil, size)
		if len(b) != max(size, stampBytes) {
			t.Errorf("size %d: %d bytes", size, len(b))
		}
		if got, ok := parseStamp(b); !ok || got != s {
			t.Errorf("size %d: got %+v, %v", size, got, ok)
		}
	}
	b := s.appendTo(nil, 0)
	b[14] = 9
	for _, bad := range [][]byte{nil, []byte("hello"), b[:stampBytes-1], append([]byte("nope"), b[4:]...), b} {
		if _, ok := parseStamp(bad); ok {
			t.Errorf("%x is a stamp", bad)
		}
	}
}

// tell makes bot i send n more messages. arrive returns how many times a message reaches bot j.
func tell(tallies []*tally, ch channel, i, n int, arrive func(j int, number uint64) int) {
	for range n {
		tallies[i].sent[ch]++
		number := tallies[i].sent[ch]
		for j, t := range tallies {
			for range arrive(j, number) {
				t.received(stamp{bot: uint16(i), channel: ch, number: number, intended: time.Second}, time.Second+5*time.Millisecond)
			}
		}
	}
}

func all(int, uint64) int { return 1 }

func three() []*tally { return []*tally{newTally(3), newTally(3), newTally(3)} }

func TestSummarize(t *testing.T) {
	for name, c := range map[string]struct {
		play                             func(tallies []*tally)
		sent, received, lost, excused, d uint64
		verdict                          string
	}{
		"all arrive": {
			play: func(b []*tally) { tell(b, reliable, 0, 10, all); tell(b, reliable, 2, 5, all) },
			sent: 15, received: 45,
		},
		"one lost": {
			play: func(b []*tally) {
				tell(b, reliable, 0, 10, func(j int, n uint64) int {
					if j == 1 && n == 4 {
						return 0
					}
					return 1
				})
			},
			sent: 10, received: 29, lost: 1, verdict: "1 reliable messages were lost",
		},
		"the receiver began anew": {
			play: func(b []*tally) {
				tell(b, reliable, 0, 10, func(j int, n uint64) int { return 1 - j/2 })
				b[2].newPeer = 1
			},
			sent: 10, received: 20, excused: 10,
		},
		"the sender was told": {
			play: func(b []*tally) {
				tell(b, reliable, 1, 10, func(int, uint64) int { return 0 })
				b[1].gaps = 1
			},
			sent: 10, excused: 30,
		},
		"twice": {
			play: func(b []*tally) { tell(b, reliable, 0, 2, func(int, uint64) int { return 2 }) },
			sent: 2, received: 6, d: 6, verdict: "6 reliable messages arrived twice",
		},
		"failed": {
			play: func(b []*tally) {
				b[0].failed = errors.New("no")
				tell(b, reliable, 1, 1, func(j int, _ uint64) int { return min(j, 1) })
			},
			sent: 1, received: 2, excused: 1, verdict: "1 of 3 bots failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tallies := three()
			c.play(tallies)
			r := summarize(tallies, true)
			s := r.channels[reliable]
			if s.sent != c.sent || s.expected != 3*c.sent || s.received != c.received || s.lost != c.lost || s.excused != c.excused || s.duplicates != c.d {
				t.Errorf("got %+v", s)
			}
			if uint64(s.latency.TotalCount()) != c.received || c.received > 0 && s.latency.Max() < 5000 {
				t.Errorf("latency of %d, at most %d", s.latency.TotalCount(), s.latency.Max())
			}
			if err := r.verdict(); (err == nil) != (c.verdict == "") || err != nil && !strings.Contains(err.Error(), c.verdict) {
				t.Errorf("verdict %v", err)
			}
		})
	}
}

// TestFastMayBeLost checks that lost fast messages are not an error.
func TestFastMayBeLost(t *testing.T) {
	tallies := three()
	tell(tallies, fast, 0, 10, func(j int, n uint64) int { return int(n % 2) })
	r := summarize(tallies, true)
	if s := r.channels[fast]; s.lost != 15 || s.received != 15 || r.verdict() != nil {
		t.Errorf("got %+v, %v", s, r.verdict())
	}
	if table := r.table(); !strings.Contains(table, "fast") || !strings.Contains(table, " 15 ") {
		t.Errorf("table:\n%s", table)
	}
	if table := summarize(three(), true).table(); strings.Contains(table, "fast") || !strings.Contains(table, " - ") {
		t.Errorf("table of nothing:\n%s", table)
	}
}

// TestForeignStamps checks stamps whose numbers or times are out of range.
func TestForeignStamps(t *testing.T) {
	b := newTally(1)
	b.received(stamp{bot: 7, number: 1}, 0)
	b.received(stamp{bot: 0, number: 1, intended: time.Hour}, 0) // sent in the future
	b.received(stamp{bot: 0, number: 2}, 1000*time.Hour)
	if b.from[reliable][0].received != 2 || b.latency[reliable].TotalCount() != 2 {
		t.Errorf("got %+v", b.from)
	}
}

// If the game's script rejects the bots' messages, the output says so instead of reporting ever more messages in
// transit.
func TestNothingCameBack(t *testing.T) {
	const say = "no message of op code 2 came back"
	var r report
	for _, c := range []struct {
		received uint64
		want     bool
	}{{0, true}, {1, false}} {
		r.channels = [channels]sums{}
		for ch := range channels {
			r.channels[ch].latency = newHistogram()
		}
		r.channels[reliable].sent, r.channels[reliable].received, r.channels[reliable].lost = 10, c.received, 10-c.received
		for at, want := range map[time.Duration]bool{time.Second: false, unansweredAfter: c.want} {
			if got := strings.Contains(r.line(report{}, at), say); got != want {
				t.Errorf("%d received, after %v: %t", c.received, at, got)
			}
		}
		if err := r.verdict(); err == nil || strings.Contains(err.Error(), say) != c.want {
			t.Error(err)
		}
	}
}
