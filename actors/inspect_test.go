package actors_test

import (
	"slices"
	"testing"

	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/messages"
)

// An operator sees which players are present, which are away and why, and how many messages wait for them.
func TestInspectShowsPlayersAndGroups(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		a, lost, left := w.Player(id), w.Player(id), w.Player(id)
		peer := lost.Peer()
		w.Seat(id)
		a.Group(gamesession.JoinGroup, 7)
		w.WaitIdle()
		lost.Lose()
		left.Depart()
		a.Say(1, peer, 0, "for the one who is away")
		w.WaitIdle()
		state := assert.Value(messages.Do(w.Context(), w.System, messages.InspectGameSession{ID: id}))(w)
		if len(state.Players) != 4 || len(state.Groups) != 1 || state.Groups[0].ID != 7 || !slices.Equal(state.Groups[0].Members, []messages.PeerID{1}) {
			w.Fatalf("%+v", state)
		}
		here, away, gone, reserved := state.Players[0], state.Players[1], state.Players[2], state.Players[3]
		if !here.InGame || !here.Attached || here.Transport != "ws" || here.Reason != "" || here.Peer != 1 || here.Status != messages.PlayerSessionActive {
			w.Errorf("the one who is there: %+v", here)
		}
		if !away.InGame || away.Attached || away.Waiting+away.Unconfirmed == 0 || away.QueueBytes == 0 || away.Reason != "reset" || away.ReasonAt.IsZero() {
			w.Errorf("the one who is away: %+v", away)
		}
		if gone.InGame || gone.Attached || gone.Reason != "left" || gone.Status != messages.PlayerSessionCompleted {
			w.Errorf("the one who has left: %+v", gone)
		}
		if reserved.InGame || reserved.Attached || reserved.Transport != "" || reserved.Status != messages.PlayerSessionReserved || reserved.Peer != 0 {
			w.Errorf("the one who has not come yet: %+v", reserved)
		}
	})
}

// Messages from and to a player are counted, no matter which channel they use, even across a lost connection.
func TestInspectCountsMessages(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		a, b := w.Player(id), w.Player(id)
		peer := b.Peer()
		count := func(want ...uint64) {
			w.Helper()
			w.WaitIdle()
			state := assert.Value(messages.Do(w.Context(), w.System, messages.InspectGameSession{ID: id}))(w)
			got := []uint64{state.Players[0].Received, state.Players[0].Sent, state.Players[1].Received, state.Players[1].Sent}
			assert.List(w, "from and to both players", got, want)
		}
		w.WaitIdle()
		state := assert.Value(messages.Do(w.Context(), w.System, messages.InspectGameSession{ID: id}))(w)
		atA, atB := state.Players[0].Sent, state.Players[1].Sent // messages that the host sent when they joined
		count(0, atA, 0, atB)
		a.Say(1, peer, 0, "one")
		count(1, atA, 0, atB+1)
		a.SayFast(1, peer, 0, "two") // a has no fast channel yet
		count(2, atA, 0, atB+2)
		b.Fast.Confirm()
		a.SayFast(1, peer, 0, "three")
		count(3, atA, 0, atB+3)
		b.Lose()
		a.Say(1, peer, 0, "four")
		count(4, atA, 0, atB+4)
	})
}

func TestInspectOfAGameSessionThatDoesNotRun(t *testing.T) {
	run(t, func(w *world) {
		_, err := messages.Do(w.Context(), w.System, messages.InspectGameSession{ID: "none"})
		w.IsError(err, messages.NotFound)
		id := w.Create(nil)
		assert.OK(messages.Do(w.Context(), w.System, messages.TerminateGameSession{GameSessionID: id, Force: true}))(w)
		w.WaitIdle()
		if state, err := messages.Do(w.Context(), w.System, messages.InspectGameSession{ID: id}); err == nil && len(state.Players) != 0 {
			w.Errorf("%+v", state)
		} else if err != nil {
			w.IsError(err, messages.InvalidGameSessionStatus)
		}
	})
}

// The reason why a game session ended can be read afterwards, because its timeline is kept.
func TestTheTimeLineStaysAfterTheEnd(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		w.Player(id)
		left := w.Player(id)
		w.WaitIdle()
		left.Depart()
		w.WaitIdle()
		before := assert.Value(messages.Do(w.Context(), w.System, messages.InspectGameSession{ID: id}))(w)
		assert.OK(messages.Do(w.Context(), w.System, messages.TerminateGameSession{GameSessionID: id, Force: true}))(w)
		w.WaitIdle()
		state := assert.Value(messages.Do(w.Context(), w.System, messages.InspectGameSession{ID: id}))(w)
		if n := len(before.Moments); n < 3 || len(state.Moments) < n || !slices.Equal(state.Moments[:n], before.Moments) || len(state.Players) != 0 {
			w.Errorf("before the end %+v, after it %+v", before.Moments, state.Moments)
		}
	})
}
