package gamesession_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// A match adds its players only once: neither while they are being stored nor afterwards can it add them again. Players
// that the store has refused may be added again.
func TestAMatchFillsOnce(t *testing.T) {
	standby(t, script.Base{}, func(p *standbyProcess) {
		p.assign()
		p.fleet.Take()
		var err error
		fill := func(match messages.MatchID, players ...messages.PlayerID) (created []messages.PlayerSessionID) {
			q := gamesession.Fill{FillGameSession: messages.FillGameSession{Session: "arn:one", Match: match}}
			for _, id := range players {
				q.Players = append(q.Players, messages.NewPlayer{PlayerID: id})
			}
			err = nil
			messages.Send(p.ref, q, func(_ []*messages.PlayerSession, e error) { err = e })
			synctest.Wait()
			for _, m := range p.fleet.Take() {
				if m, ok := m.(stage.Ask); ok && m.Request.(gamesession.PlayerSessionsCreated).Fill != nil {
					for _, s := range m.Request.(gamesession.PlayerSessionsCreated).Records {
						created = append(created, s.ID)
					}
				}
			}
			return created
		}
		code := func(want messages.ErrorCode) {
			t.Helper()
			if !errors.Is(err, &messages.Error{Code: want}) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		first := fill("m1", "a")
		if len(first) != 1 {
			t.Fatalf("%v", first)
		}
		if again := fill("m1", "a"); len(again) != 0 {
			t.Errorf("created again: %v", again)
		}
		code(messages.Unavailable)
		p.ref.Tell(gamesession.PlayerSessionsStored{IDs: first, Match: "m1"})
		if again := fill("m1", "a"); len(again) != 0 || err != nil {
			t.Errorf("created again: %v, %v", again, err)
		}
		if more := fill("m2", "b", "c"); len(more) != 0 {
			t.Errorf("more than there is room for: %v", more)
		}
		code(messages.GameSessionFull)
		refused := fill("m3", "b")
		p.ref.Tell(gamesession.PlayerSessionsStored{IDs: refused, Match: "m3", Refused: true})
		synctest.Wait()
		if again := fill("m3", "b"); len(again) != 1 || err != nil {
			t.Errorf("%v %v", again, err)
		}
		if again := fill("m1", "a"); len(again) != 0 || err != nil {
			t.Errorf("after another match created again: %v, %v", again, err)
		}
	})
}

// D-324: a match does not give a second player session to a player that already has one. The existing one waits for its
// first login for the full time again.
func TestAMatchLeavesASeatToItsPlayer(t *testing.T) {
	standby(t, script.Base{}, func(p *standbyProcess) {
		p.assign()
		p.fleet.Take()
		var answered []error
		fill := func(match messages.MatchID, players ...messages.PlayerID) (created []messages.PlayerID) {
			q := gamesession.Fill{FillGameSession: messages.FillGameSession{Session: "arn:one", Match: match}}
			for _, id := range players {
				q.Players = append(q.Players, messages.NewPlayer{PlayerID: id})
			}
			messages.Send(p.ref, q, func(_ []*messages.PlayerSession, err error) { answered = append(answered, err) })
			synctest.Wait()
			for _, m := range p.fleet.Take() {
				if m, ok := m.(stage.Ask); ok {
					made := m.Request.(gamesession.PlayerSessionsCreated)
					ids := []messages.PlayerSessionID{}
					for _, s := range made.Records {
						ids, created = append(ids, s.ID), append(created, s.PlayerID)
					}
					made.Show()
					p.ref.Tell(gamesession.PlayerSessionsStored{IDs: ids, Match: match})
					m.Reply(made.Records, nil)
					synctest.Wait()
				}
			}
			return created
		}
		if got := fill("m1", "a"); !slices.Equal(got, []messages.PlayerID{"a"}) {
			t.Fatal(got)
		}
		time.Sleep(40 * time.Second)
		assert.List(t, "seats for", fill("m2", "a", "b"), []messages.PlayerID{"b"})
		if got := fill("m3", "b", "a"); len(got) != 0 {
			t.Errorf("seats for %v", got)
		}
		if want := []error{nil, nil, nil}; !slices.Equal(answered, want) {
			t.Errorf("%v", answered)
		}
		free := func() int { return p.record.Reader().Seats().Free }
		time.Sleep(40 * time.Second)
		assert.Equal(t, "seats are free 40 s after the last match", free(), 0)
		time.Sleep(21 * time.Second)
		assert.Equal(t, "seats are free after that", free(), 2)
		if got := fill("m4", "a"); len(got) != 1 {
			t.Errorf("the seat of before has ended, and there is no other")
		}
	})
}
