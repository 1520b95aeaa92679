package matchmaker

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// Each row has the state of two tickets before a restart, and their statuses after it. Each ticket continues,
// or ends once.
func TestRestart(t *testing.T) {
	placing := func(w *world) {
		w.config(nil)
		w.placer.set(func() { w.placer.hold = true })
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.pass()
		w.want("T1 PLACING", "T2 PLACING")
	}
	asked := func(w *world) {
		w.config(accepting)
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.pass()
		w.want("T1 REQUIRES_ACCEPTANCE")
	}
	for name, test := range map[string]struct {
		before, between, after func(w *world)
		want                   []string
		told                   string // events of T1
	}{
		"QUEUED": {
			before: func(w *world) { w.config(nil); w.ask("T1", "a"); w.ask("T2", "b") }, after: (*world).pass,
			want: []string{"T1 COMPLETED", "T2 COMPLETED"}, told: "Searching PotentialMatchCreated Succeeded",
		},
		"SEARCHING goes on with its age": {
			before: func(w *world) { w.config(nil); w.ask("T1", "a"); time.Sleep(30 * time.Second); w.ask("T2", "a2") },
			after: func(w *world) {
				if err := w.stop("T2"); err != nil {
					w.Fatal(err)
				}
				stagetest.Pass(30 * time.Second)
			},
			want: []string{"T1 TIMED_OUT", "T2 CANCELLED"}, told: "Searching TimedOut",
		},
		"REQUIRES_ACCEPTANCE keeps answers and deadline": {
			before: func(w *world) { asked(w); _ = w.answer(true, "T1", "a"); time.Sleep(10 * time.Second) },
			after: func(w *world) {
				w.want("T1 REQUIRES_ACCEPTANCE")
				stagetest.Pass(10 * time.Second)
			},
			want: []string{"T1 SEARCHING", "T2 CANCELLED"}, told: "Searching PotentialMatchCreated AcceptMatch AcceptMatchCompletedTimedOut Searching",
		},
		"REQUIRES_ACCEPTANCE goes on": {
			before: func(w *world) { asked(w); _ = w.answer(true, "T1", "a") }, after: func(w *world) { _ = w.answer(true, "T2", "b") },
			want: []string{"T1 COMPLETED", "T2 COMPLETED"},
			told: "Searching PotentialMatchCreated AcceptMatch AcceptMatch AcceptMatchCompletedAccepted Succeeded",
		},
		"PLACING waits for the same placement": {
			before: placing, after: func(w *world) { w.placer.release(); synctest.Wait() },
			want: []string{"T1 COMPLETED", "T2 COMPLETED"}, told: "Searching PotentialMatchCreated Succeeded",
		},
		"PLACING without a placement starts it": {
			before: placing, between: func(w *world) {
				w.placer.set(func() { clear(w.placer.ended); w.placer.started = nil; w.placer.hold = false })
			},
			want: []string{"T1 COMPLETED", "T2 COMPLETED"}, told: "Searching PotentialMatchCreated Succeeded",
		},
		"PLACING whose game session is gone waits again": {
			before: placing, between: func(w *world) {
				w.placer.set(func() { w.placer.dead[messages.GameSessionID("arn:game/"+string(w.placer.started[0].ID))] = true })
				w.placer.awaiting = map[messages.PlacementID][]func(PlacedMatch, error){}
				w.placer.release()
			},
			after: (*world).pass,
			want:  []string{"T1 COMPLETED", "T2 COMPLETED"}, told: "Searching PotentialMatchCreated Searching PotentialMatchCreated Succeeded",
		},
		"a damaged match is dropped": {
			before: asked, between: func(w *world) {
				_, _ = w.store.Load(store.Match, func(id string, _ []byte) error {
					go w.store.Memory.Commit([]store.Change{{Kind: store.Match, ID: id, Value: []byte("{")}}, nil)
					return nil
				})
				synctest.Wait()
			},
			after: (*world).pass, want: []string{"T1 REQUIRES_ACCEPTANCE", "T2 REQUIRES_ACCEPTANCE"},
			told: "Searching PotentialMatchCreated PotentialMatchCreated",
		},
		"the configuration is gone": {
			before: asked, between: func(w *world) { w.store.Commit([]store.Change{store.Delete(store.Matchmaker, "m")}, nil) },
			want: []string{"T1 FAILED", "T2 FAILED"}, told: "Searching PotentialMatchCreated Failed",
		},
		"ended tickets stay": {
			before: func(w *world) { w.config(nil); w.ask("T1", "a"); w.ask("T2", "b"); w.pass() },
			want:   []string{"T1 COMPLETED", "T2 COMPLETED"}, told: "Searching PotentialMatchCreated Succeeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *world) {
				test.before(w)
				w.ref.Stop()
				synctest.Wait()
				if test.between != nil {
					test.between(w)
				}
				w.open()
				if test.after != nil {
					test.after(w)
				}
				synctest.Wait()
				w.want(test.want...)
				w.wantTold("T1", test.told)
			})
		})
	}
}

// Ended tickets are shown for endedKeep. After that, their IDs can be used again (D-318).
func TestTicketsAreForgotten(t *testing.T) {
	bubble(t, func(o *Options) { o.EndedMax = 2 }, func(w *world) {
		w.config(nil)
		for _, id := range []string{"T1", "T2", "T3"} {
			w.ask(id, id)
			_ = w.stop(id)
		}
		w.ask("T4", "d")
		n := 0
		_, _ = w.store.Load(store.Ticket, func(string, []byte) error { n++; return nil })
		if n > 3 {
			t.Errorf("%d tickets are stored", n)
		}
		_ = w.stop("T4")
		time.Sleep(3*time.Hour + time.Second)
		found, err := request[messages.TicketQuery, []*messages.Ticket](w, messages.TicketQuery{IDs: []messages.TicketID{"T3", "T4"}})
		if err != nil || len(found) != 0 {
			t.Errorf("%v %v", found, err)
		}
		w.ask("T5", "e")
		w.ask("T3", "f")
	})
}

// If the store fails, no ticket is lost, and nothing is shown that is not durable.
func TestStoreFails(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(nil)
		w.store.Break(true)
		_, err := w.try("T0", "m", "a")
		w.wantCode(err, messages.Internal)
		w.store.Break(false)
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.store.Break(true)
		w.pass()
		w.pass()
		w.want("T1 QUEUED", "T2 QUEUED")
		if told := w.told("T1"); len(told) > 0 {
			t.Errorf("%v", told)
		}
		w.store.Break(false)
		stagetest.Pass(5 * time.Second)
		w.want("T1 COMPLETED", "T2 COMPLETED")
	})
}

// FM-39, FM-40, and other invalid requests for configurations and tickets.
func TestRefusals(t *testing.T) {
	bubble(t, func(o *Options) { o.ActiveMax = 2 }, func(w *world) {
		w.config(nil)
		_, err := w.ruleSet("bad", `{"ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":5,"maxPlayers":4}]}`)
		w.wantCode(err, messages.InvalidRequest)
		if want := "E_TEAM_SIZE: $.teams[0]"; err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%v", err)
		}
		_, err = w.ruleSet("m", duel)
		w.wantCode(err, messages.InvalidRequest)
		for want, r := range map[messages.ErrorCode]messages.Matchmaker{
			messages.NotFound:       {Name: "x", RuleSet: "none", Queues: []messages.QueueName{"q"}},
			messages.InvalidRequest: {Name: "x", RuleSet: "m", Queues: []messages.QueueName{"q"}, AdditionalPlayers: 1},
		} {
			_, err := request[messages.CreateMatchmaker, *messages.Matchmaker](w, messages.CreateMatchmaker{Matchmaker: r})
			w.wantCode(err, want)
		}
		_, err = w.try("T1", "none", "a")
		w.wantCode(err, messages.NotFound)
		_, err = request[messages.StartMatchmaking, *messages.Ticket](w, messages.StartMatchmaking{
			TicketID: "T1", Matchmaker: "m", Players: []messages.TicketPlayer{{ID: "a", Attributes: map[string]messages.Attribute{"skill": {Kind: messages.AttributeText, S: "x"}}}},
		})
		w.wantCode(err, messages.InvalidRequest)
		w.ask("T1", "a")
		_, err = w.try("T1", "m", "b")
		w.wantCode(err, messages.InvalidRequest)
		_, err = request[messages.DeleteMatchmaker, stage.None](w, messages.DeleteMatchmaker{Name: "m"})
		w.wantCode(err, messages.InvalidRequest)
		_, err = request[messages.DeleteRuleSet, stage.None](w, messages.DeleteRuleSet{Name: "m"})
		w.wantCode(err, messages.InvalidRequest)
		w.pass()
		w.ask("T2", "a") // T1 ends once T2 is durable, which supersedes it
		_, err = w.try("T3", "m", "c")
		if err != nil { // err is nil if T1 has already ended
			w.wantCode(err, messages.LimitExceeded)
		}
		for _, id := range []string{"T1", "T2", "T3"} {
			_ = w.stop(id)
		}
		assert.OK(request[messages.DeleteMatchmaker, stage.None](w, messages.DeleteMatchmaker{Name: "m"}))(t)
		assert.OK(request[messages.DeleteRuleSet, stage.None](w, messages.DeleteRuleSet{Name: "m"}))(t)
	})
}
