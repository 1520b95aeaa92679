package matchmaker

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

func accepting(r *messages.Matchmaker) {
	r.AcceptanceRequired, r.AcceptanceTimeout = true, 20*time.Second
}

// FM-101, FM-22, FM-28.
func TestTwoPlayersPlay(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(func(r *messages.Matchmaker) {
			r.CustomEventData, r.Data, r.Properties = "mine", "data", []messages.Property{{Key: "k", Value: "v"}}
		})
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.want("T1 QUEUED", "T2 QUEUED")
		w.placer.set(func() { w.placer.hold = true })
		w.pass()
		w.want("T1 PLACING", "T2 PLACING")
		if w.ticket("T1").Game != nil {
			t.Error("it has a game session too early")
		}
		w.placer.release()
		synctest.Wait()
		w.want("T1 COMPLETED", "T2 COMPLETED")
		a := w.ticket("T1")
		if g := a.Game; g.Port != 1900 || len(g.Placed) != 1 || g.Placed[0].PlayerSessionID != "psess-a" || a.Players[0].Team != "red" || a.Ended.IsZero() {
			t.Errorf("%+v %+v", a, g)
		}
		r := w.placer.started[0]
		if string(r.ID) != string(a.Match) || r.Queue != "q" || r.MaxPlayers != 2 || len(r.Players) != 2 || r.Data != "data" || len(r.Properties) != 1 {
			t.Errorf("%+v", r)
		}
		for _, id := range []string{"T1", "T2"} {
			w.wantTold(id, "Searching PotentialMatchCreated Succeeded")
		}
		d := w.detail("MatchmakingSucceeded")
		if g := d["gameSessionInfo"].(map[string]any); g["port"] != 1900.0 || len(g["players"].([]any)) != 2 || d["customEventData"] != "mine" {
			t.Errorf("%v", d)
		}
		if d := w.detail("PotentialMatchCreated"); d["acceptanceRequired"] != false || d["acceptanceTimeout"] != nil || d["matchId"] != string(a.Match) {
			t.Errorf("%v", d)
		}
		began := d["tickets"].([]any)[0].(map[string]any)["startTime"] // FM-34
		if text, _ := began.(string); text != a.Started.UTC().Format("2006-01-02T15:04:05.000Z") {
			t.Errorf("%v, started %v", began, a.Started)
		}
		if d := w.detail("MatchmakingSearching"); d["estimatedWaitMillis"] != "NOT_AVAILABLE" { // FM-36
			t.Errorf("%v", d)
		}
		w.clean()
	})
}

// FM-102, FM-35.
func TestBothAccept(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(accepting)
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.pass()
		w.want("T1 REQUIRES_ACCEPTANCE", "T2 REQUIRES_ACCEPTANCE")
		w.wantCode(w.answer(true, "T1", "b"), messages.InvalidRequest) // a player of the other ticket
		assert.NoError(t, w.answer(true, "T1", "a"))
		players := w.detail("AcceptMatch")["gameSessionInfo"].(map[string]any)["players"].([]any)
		for _, p := range players {
			p := p.(map[string]any)
			if accepted, answered := p["accepted"]; answered != (p["playerId"] == "a") || answered && accepted != true {
				t.Errorf("%v", players)
			}
		}
		w.want("T1 REQUIRES_ACCEPTANCE")
		assert.NoError(t, w.answer(true, "T2", "b"))
		w.want("T1 COMPLETED", "T2 COMPLETED")
		w.wantTold("T2", "Searching PotentialMatchCreated AcceptMatch AcceptMatch AcceptMatchCompletedAccepted Succeeded")
		w.wantCode(w.answer(true, "T1", "a"), messages.InvalidRequest)
		if d := w.detail("PotentialMatchCreated"); d["acceptanceTimeout"] != 20.0 {
			t.Errorf("%v", d)
		}
		w.clean()
	})
}

// FM-103. T1 continues with its original StartTime.
func TestOneRejects(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(accepting)
		w.ask("T1", "a")
		w.ask("T2", "b")
		began := w.ticket("T1").Started
		w.pass()
		_ = w.answer(true, "T1", "a")
		assert.NoError(t, w.answer(false, "T2", "b"))
		w.want("T1 SEARCHING", "T2 CANCELLED")
		if one, two := w.ticket("T1"), w.ticket("T2"); !one.Started.Equal(began) || one.Players[0].Team != "" || one.Match != "" || two.Reason != "AcceptanceFailed" {
			t.Errorf("%+v %+v", one, two)
		}
		w.wantTold("T1", "Searching PotentialMatchCreated AcceptMatch AcceptMatch AcceptMatchCompletedRejected Searching")
		w.wantTold("T2", "Searching PotentialMatchCreated AcceptMatch AcceptMatch AcceptMatchCompletedRejected Cancelled")
		w.ask("T3", "c")
		w.pass()
		w.want("T1 REQUIRES_ACCEPTANCE", "T3 REQUIRES_ACCEPTANCE")
	})
}

// FM-26, FM-104, FM-105, FM-116 and a repeated answer. Each row has the answers of the players and the
// resulting statuses of the tickets.
func TestAcceptanceTimesOut(t *testing.T) {
	parties := `{"ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":2,"maxPlayers":2},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`
	for name, test := range map[string]struct {
		body    string
		timeout time.Duration // request timeout
		answers func(w *world)
		want    []string
	}{
		"FM-104 one is silent": {duel, time.Hour, func(w *world) { _ = w.answer(true, "T1", "a") }, []string{"T1 SEARCHING", "T2 CANCELLED"}},
		"FM-105 half a party is silent": {parties, time.Hour, func(w *world) {
			_ = w.answer(true, "T1", "a")
			_ = w.answer(true, "T2", "b")
		}, []string{"T1 CANCELLED", "T2 SEARCHING"}},
		"FM-116 the request is over": {duel, 10 * time.Second, func(w *world) { _ = w.answer(true, "T1", "a") }, []string{"T1 TIMED_OUT", "T2 CANCELLED"}},
		"all are silent":             {duel, time.Hour, func(w *world) {}, []string{"T1 CANCELLED", "T2 CANCELLED"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *world) {
				w.named("m", test.body, func(r *messages.Matchmaker) { accepting(r); r.RequestTimeout = test.timeout })
				if test.body == duel {
					w.ask("T1", "a")
				} else {
					w.ask("T1", "a", "a2")
				}
				w.ask("T2", "b")
				w.pass()
				test.answers(w)
				stagetest.Pass(19 * time.Second)
				w.want("T1 REQUIRES_ACCEPTANCE", "T2 REQUIRES_ACCEPTANCE")
				stagetest.Pass(time.Second)
				w.want(test.want...)
				if w.ticket("T1").Status == messages.TicketTimedOut { // it must not search again first
					w.wantTold("T1", "Searching PotentialMatchCreated AcceptMatch AcceptMatchCompletedTimedOut TimedOut")
				}
				if d := w.detail("AcceptMatchCompleted"); d["acceptance"] != "TimedOut" {
					t.Errorf("%v", d)
				}
				w.clean()
			})
		})
	}
}

// FM-106, FM-109, FM-25.
func TestStop(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(accepting)
		w.ask("T1", "a")
		w.pass()
		w.want("T1 SEARCHING")
		w.wantCode(w.answer(true, "T1", "a"), messages.InvalidRequest)
		w.wantCode(w.answer(true, "nobody", "a"), messages.NotFound)
		assert.NoError(t, w.stop("T1"))
		w.want("T1 CANCELLED")
		w.wantTold("T1", "Searching Cancelled")
		if r := w.ticket("T1"); r.Reason != "Cancelled" || r.Text != "Cancelled by request." {
			t.Errorf("%+v", r)
		}
		w.wantCode(w.stop("T1"), messages.InvalidRequest)
		w.wantCode(w.stop("nobody"), messages.NotFound)

		w.ask("T2", "b")
		w.ask("T3", "c")
		w.pass()
		if err := w.stop("T2"); err != nil { // ends the match like a rejection
			t.Fatal(err)
		}
		w.want("T2 CANCELLED", "T3 SEARCHING")
		w.ask("T4", "d")
		w.placer.set(func() { w.placer.hold = true })
		w.pass()
		_ = w.answer(true, "T3", "c")
		_ = w.answer(true, "T4", "d")
		w.want("T3 PLACING")
		if err := w.stop("T3"); err == nil || err.Error() != "Matchmaking ticket is in PLACING status and cannot be canceled." { // D-314
			t.Error(err)
		}
		w.placer.release()
	})
}

// FM-107, FM-24.
func TestRequestTimesOut(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(func(r *messages.Matchmaker) { r.RequestTimeout = 30 * time.Second })
		w.ask("T1", "a")
		stagetest.Pass(30*time.Second - time.Millisecond)
		w.want("T1 SEARCHING")
		stagetest.Pass(time.Millisecond)
		w.want("T1 TIMED_OUT")
		if r := w.ticket("T1"); r.Ended.Sub(r.Started) != 30*time.Second || r.Text != "Removed from matchmaking due to timing out." {
			t.Errorf("%+v", r)
		}
		w.wantTold("T1", "Searching TimedOut")
		w.ask("T2", "a")
		w.pass()
		w.want("T2 SEARCHING") // T1 is not in the pool any more
	})
}

// FM-24: the timeout counts from the first StartTime, even if matches have failed meanwhile.
func TestRequestTimesOutAfterMatches(t *testing.T) {
	for name, fails := range map[string]func(w *world, other string){
		"placements": func(*world, string) {},
		"acceptance": func(w *world, other string) {
			_ = w.answer(true, "T1", "a")
			_ = w.answer(false, other, other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *world) {
				w.config(func(r *messages.Matchmaker) {
					if r.RequestTimeout = 30 * time.Second; name == "acceptance" {
						accepting(r)
					}
				})
				w.placer.set(func() {
					w.placer.outcomes = []messages.PlacementStatus{messages.PlacementTimedOut, messages.PlacementTimedOut, messages.PlacementTimedOut}
				})
				w.ask("T1", "a")
				for _, other := range []string{"b", "c", "d"} {
					time.Sleep(7 * time.Second)
					w.ask(other, other)
					w.pass()
					fails(w, other)
					w.want("T1 SEARCHING")
					_ = w.stop(other)
				}
				r := w.ticket("T1")
				stagetest.Pass(time.Until(r.Started.Add(30*time.Second - time.Millisecond)))
				w.want("T1 SEARCHING")
				stagetest.Pass(time.Millisecond)
				w.want("T1 TIMED_OUT")
				if n := strings.Count(strings.Join(w.told("T1"), " "), "PotentialMatchCreated"); n != 3 || !w.ticket("T1").Started.Equal(r.Started) {
					t.Errorf("%d matches, %+v", n, w.ticket("T1"))
				}
			})
		})
	}
}

// FM-108, FM-23: also for a ticket in another configuration, and whatever the older ticket is waiting for.
func TestANewerTicketOfThePlayer(t *testing.T) {
	for _, status := range []string{"QUEUED", "SEARCHING", "REQUIRES_ACCEPTANCE"} {
		t.Run(status, func(t *testing.T) {
			bubble(t, nil, func(w *world) {
				w.config(accepting)
				w.named("other", duel, nil)
				w.ask("T1", "a")
				if status == "REQUIRES_ACCEPTANCE" {
					w.ask("T0", "z")
				}
				if status != "QUEUED" {
					w.pass()
				}
				w.want("T1 " + status)
				assert.OK(w.try("T2", "other", "a"))(t)
				synctest.Wait()
				w.want("T1 CANCELLED", "T2 QUEUED")
				if status == "REQUIRES_ACCEPTANCE" { // it ends the match like a rejection
					w.want("T0 SEARCHING")
					_ = w.stop("T0")
				}
				w.ask("T3", "b")
				w.pass()
				w.want("T3 SEARCHING", "T2 SEARCHING")
			})
		})
	}
}

// FM-110, FM-27.
func TestPlacementTimesOut(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(nil)
		w.placer.set(func() {
			w.placer.outcomes = []messages.PlacementStatus{messages.PlacementTimedOut, messages.PlacementTimedOut}
		})
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.pass()
		w.want("T1 SEARCHING", "T2 SEARCHING")
		if r := w.ticket("T1"); r.Reason != "PlacementTimedOut" {
			t.Errorf("%+v", r)
		}
		w.pass()
		w.pass()
		w.want("T1 COMPLETED", "T2 COMPLETED")
		w.wantTold("T1", "Searching PotentialMatchCreated Searching PotentialMatchCreated Searching PotentialMatchCreated Succeeded")
		ids := map[messages.PlacementID]bool{}
		for _, r := range w.placer.started {
			ids[r.ID] = true
		}
		assert.Equal(t, "match ids", len(ids), 3)
	})
}

// A missing queue or a failed placement ends the tickets. A temporary error does not.
func TestPlacementFails(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(nil)
		w.placer.set(func() { w.placer.outcomes = []messages.PlacementStatus{messages.PlacementFailed} })
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.pass()
		w.want("T1 FAILED", "T2 FAILED")
		w.wantTold("T1", "Searching PotentialMatchCreated Failed")
		w.placer.set(func() { w.placer.refuse = messages.Errorf(messages.NotFound, "no queue") })
		w.ask("T3", "a")
		w.ask("T4", "b")
		w.pass()
		w.want("T3 FAILED", "T4 FAILED")
		w.placer.set(func() { w.placer.refuse = messages.Errorf(messages.Unavailable, "the host drains") })
		w.ask("T5", "a")
		w.ask("T6", "b")
		w.pass()
		w.want("T5 PLACING")
		w.placer.set(func() { w.placer.refuse = nil })
		stagetest.Pass(time.Second)
		w.want("T5 COMPLETED", "T6 COMPLETED")
	})
}

// FM-111, FM-29.
func TestStandalone(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(func(r *messages.Matchmaker) { r.Standalone, r.Queues = true, nil })
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.pass()
		w.want("T1 COMPLETED", "T2 COMPLETED")
		if len(w.placer.started) > 0 || w.ticket("T1").Game != nil {
			t.Error("it was placed")
		}
		d := w.detail("MatchmakingSucceeded")["gameSessionInfo"].(map[string]any)
		if d["gameSessionArn"] != nil || d["ipAddress"] != nil || d["port"] != nil || len(d["players"].([]any)) != 2 {
			t.Errorf("%v", d)
		}
		_, err := request[messages.CreateMatchmaker, *messages.Matchmaker](w, messages.CreateMatchmaker{Matchmaker: messages.Matchmaker{Name: "x", RuleSet: "m", Standalone: true, Queues: []messages.QueueName{"q"}}})
		w.wantCode(err, messages.InvalidRequest)
	})
}
