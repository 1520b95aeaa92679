package dtls

import (
	"sync"
	"testing"

	"troupe/messages/counters"
)

// pair returns two associations without a network: to receives what from writes.
func pair(suite counters.Suite, h Handler) (from, to *Association) {
	s := &secrets{suite: suite, localKey: make([]byte, 32), remoteKey: make([]byte, 32), localIV: make([]byte, 12), remoteIV: make([]byte, 12)}
	if suite == counters.SuiteAESGCM {
		s.localKey, s.remoteKey = s.localKey[:16], s.remoteKey[:16]
	}
	count := new(counters.Set)
	make := func() *Association {
		k, err := newKeys(s)
		if err != nil {
			panic(err)
		}
		return newAssociation(k, 1, count, new(sync.WaitGroup))
	}
	from, to = make(), make()
	to.handler = h
	to.send = func([]byte) bool { return true }
	from.send = func(b []byte) bool {
		r, _, drop := nextRecord(b)
		return drop == 0 && to.receive(&r) == 0
	}
	return from, to
}

type sink struct{ n int }

func (s *sink) OnRecord([]byte) { s.n++ }
func (s *sink) OnClosed(error)  {}

func TestARecordCostsNoAllocation(t *testing.T) {
	for _, suite := range []counters.Suite{counters.SuiteChaCha20, counters.SuiteAESGCM} {
		got := new(sink)
		from, _ := pair(suite, got)
		plain := make([]byte, 64)
		const rounds = 1000
		if n := testing.AllocsPerRun(rounds, func() { from.Write(plain) }); n != 0 && !raceEnabled {
			t.Errorf("%v: %v allocations per record", suite, n)
		}
		if got.n != rounds+1 {
			t.Errorf("%v: %d of %d records arrived", suite, got.n, rounds+1)
		}
	}
}
