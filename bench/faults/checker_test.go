package faults

import (
	"slices"
	"testing"

	"troupe/transport/client"
)

// Each broken promise is detected, and only by its own verdict.
func TestCheckerSeesBrokenPromises(t *testing.T) {
	t.Parallel()
	message := func(op int32, number uint64) client.Event {
		return client.Event{Kind: client.EventMessage, Sender: 11, OpCode: op, Payload: payload(op, 1, number), Fast: op == opFast}
	}
	reliable := func(numbers ...uint64) (all []client.Event) {
		for _, n := range numbers {
			all = append(all, message(opReliable, n))
		}
		return all
	}
	damaged, foreign, invented := message(opReliable, 1), message(opReliable, 1), message(opReliable, 4)
	damaged.Payload[40]++
	foreign.Sender = 10
	for name, c := range map[string]struct {
		events []client.Event
		broken []string
	}{
		"nothing":               {reliable(1, 2, 3), nil},
		"one lost":              {reliable(1, 3), []string{"RL-2"}},
		"the last one lost":     {reliable(1, 2), []string{"RL-2"}},
		"one twice":             {reliable(1, 2, 2, 3), []string{"RL-3"}},
		"out of order":          {reliable(1, 3, 2), []string{"RL-1"}},
		"damaged":               {append([]client.Event{damaged}, reliable(1, 2, 3)...), []string{"RL-4"}},
		"not sent":              {append(reliable(1, 2, 3), invented), []string{"RL-4"}},
		"of somebody else":      {append([]client.Event{foreign}, reliable(2, 3)...), []string{"RL-10"}},
		"fast ones lost":        {append(reliable(1, 2, 3), message(opFast, 1), message(opFast, 3)), nil},
		"fast one twice":        {append(reliable(1, 2, 3), message(opFast, 1), message(opFast, 1)), []string{"RL-5"}},
		"fast one after later":  {append(reliable(1, 2, 3), message(opFast, 3), message(opFast, 1)), []string{"RL-5"}},
		"too short for a stamp": {append(reliable(1, 2, 3), client.Event{OpCode: opReliable, Sender: 11, Payload: []byte("x")}), []string{"RL-4"}},
	} {
		players := &crew{byPeer: map[int32]int{10: 0, 11: 1}}
		for i := range 2 {
			players.players = append(players.players, &player{index: i, crew: players, ledger: newLedger(2)})
		}
		sender := players.players[1]
		sender.sent.Store(3)
		sender.taken.Store(3)
		sender.takenFast.Store(3)
		for _, p := range players.players { // a player receives its own messages too
			for _, e := range c.events {
				p.ledger.take(players, &e)
			}
		}
		report := Report{}
		report.Verdicts = players.delivery(&report.Figures, recovery{})
		var got []string
		for _, v := range report.Verdicts {
			if v.Outcome == broken {
				got = append(got, v.Invariant)
			}
		}
		if !slices.Equal(got, c.broken) || report.Broken() != (c.broken != nil) {
			t.Errorf("%s: %v, want %v: %+v", name, got, c.broken, report.Verdicts)
		}
	}
}

// A loss that the host has reported breaks no promise. A loss beyond the reported number does.
func TestReportedLossIsNoBrokenPromise(t *testing.T) {
	t.Parallel()
	for told, want := range map[uint64]string{0: broken, 1: broken, 2: holds} {
		players := &crew{byPeer: map[int32]int{10: 0}}
		p := &player{crew: players, ledger: newLedger(1), gapLost: told}
		players.players = []*player{p}
		p.sent.Store(2)
		var f Figures
		if got := players.delivery(&f, recovery{})[0]; got.Outcome != want || f.Lost != 2 {
			t.Errorf("%d reported: %+v, %+v", told, got, f)
		}
	}
}
