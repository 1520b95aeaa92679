package placement

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, change func(*Options), f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change)
		defer w.stage.Close()
		f(t, w)
	})
}

// The vectors of service-api.md 3.5: where and when each placement ends. API-47.
func TestVectorsEndWhereAndWhenThereIsRoom(t *testing.T) {
	v0 := []string{"player1 us-east-1 100", "player1 us-west-2 50", "player2 us-east-1 120", "player2 us-west-2 150"}
	v6 := []string{"p1 us-east-1 90", "p2 us-east-1 30", "p2 us-west-2 70"}
	cap0, cap6 := []messages.LatencyPolicy{policy(130, 60*time.Second)}, []messages.LatencyPolicy{policy(80, 30*time.Second)}
	fleets0, fleets6 := []string{"W us-west-2", "E us-east-1", "X eu-west-1"}, []string{"C eu-west-1", "B us-west-2", "A us-east-1"}
	type at struct {
		destination string
		s           int
	}
	tests := []struct {
		name      string
		fleets    []string
		latencies []string
		policies  []messages.LatencyPolicy
		timeout   int
		room      []at
		want      string // location; empty means TIMED_OUT
		wantAt    int
	}{
		{"V0 both from 0", fleets0, v0, cap0, 120, []at{{"E/us-east-1", 0}, {"W/us-west-2", 0}}, "us-east-1", 0},
		{"V0 over the cap until it ends", fleets0, v0, cap0, 120, []at{{"W/us-west-2", 0}}, "us-west-2", 60},
		{"V0 another before it ends", fleets0, v0, cap0, 120, []at{{"W/us-west-2", 0}, {"E/us-east-1", 30}}, "us-east-1", 30},
		{"V0 one that nobody reported", fleets0, v0, cap0, 120, []at{{"W/us-west-2", 0}, {"X/eu-west-1", 5}}, "eu-west-1", 5},
		{"V0 best average once the cap is over", fleets0, v0, cap0, 120, []at{{"W/us-west-2", 60}, {"E/us-east-1", 60}}, "us-west-2", 60},
		{"V0 no room", fleets0, v0, cap0, 120, nil, "", 120},
		{"V6 over the cap until it ends", fleets6, v6, cap6, 60, []at{{"A/us-east-1", 10}}, "us-east-1", 30},
		{"V6 measured before not measured", fleets6, v6, cap6, 60, []at{{"B/us-west-2", 0}, {"C/eu-west-1", 0}}, "us-west-2", 0},
		{"V6 room a moment before the timeout", fleets6, v6, cap6, 60, []at{{"C/eu-west-1", 59}}, "eu-west-1", 59},
		{"V6 room at the timeout", fleets6, v6, cap6, 60, []at{{"C/eu-west-1", 60}}, "", 60},
		{"V6 a policy until the timeout", fleets6, v6, []messages.LatencyPolicy{policy(80, 0)}, 60, []at{{"A/us-east-1", 0}}, "", 60},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, w *world) {
				w.fleets(test.fleets...)
				q := messages.Queue{Policies: test.policies, Timeout: time.Duration(test.timeout) * time.Second}
				for _, f := range test.fleets {
					q.Destinations = append(q.Destinations, "fleet/"+f[:1])
				}
				w.queue(q)
				for _, r := range test.room {
					if r.s == 0 {
						w.free(r.destination, 1)
					}
				}
				began := time.Now()
				if p := w.placed(messages.StartPlacement{ID: "p", Latencies: latenciesOf(t, test.latencies...)}); p.Status != messages.PlacementPending {
					t.Fatalf("it begins as %s", p.Status)
				}
				for s := range test.timeout + 1 {
					synctest.Wait()
					for _, r := range test.room {
						if r.s == s && s > 0 {
							w.free(r.destination, 1)
						}
					}
					synctest.Wait()
					switch p := w.get("p"); {
					case s < test.wantAt && p.Status != messages.PlacementPending:
						t.Fatalf("at %d s it is %s in %q", s, p.Status, p.Location)
					case s == test.wantAt && test.want == "":
						w.want("p", messages.PlacementTimedOut)
						if !p.Ended.Equal(began.Add(time.Duration(s) * time.Second)) {
							t.Fatalf("ended %v", p.Ended.Sub(began))
						}
						return
					case s == test.wantAt:
						if got := w.want("p", messages.PlacementFulfilled); got.Location != test.want {
							t.Fatalf("in %s", got.Location)
						}
						return
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// API-46.
func TestPendingIsAnsweredWhenDurable(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.queue(messages.Queue{})
		w.store.Hold()
		answered := make(chan *messages.Placement, 1)
		go func() { answered <- w.placed(messages.StartPlacement{ID: "p"}) }()
		synctest.Wait()
		if len(answered) > 0 {
			t.Fatal("answered before it is durable")
		}
		_, err := request[messages.PlacementQuery, *messages.Placement](w, messages.PlacementQuery{ID: "p"})
		wantCode(t, err, messages.NotFound)
		_, err = w.cancel("p")
		wantCode(t, err, messages.NotFound)
		again := later[messages.StartPlacement, *messages.Placement](w, messages.StartPlacement{ID: "p", Queue: "q", MaxPlayers: 10})
		w.store.Release()
		synctest.Wait()
		wantCode(t, *again, messages.InvalidRequest)
		if p := <-answered; p.Status != messages.PlacementPending || p.GameSessionID != "" || !p.Ended.IsZero() {
			t.Fatalf("%+v", p)
		}
		w.want("p", messages.PlacementPending)
	})
}

// API-50.
func TestTheRecordOfAFulfilledPlacement(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.free("A/a-1", 1)
		w.with(func(s *standIn) { s.activate = 3 * time.Second })
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}, CustomEventData: "data", Notify: "arn:aws:sns:x"})
		w.placed(messages.StartPlacement{ID: "p", Players: players("x", "y")})
		synctest.Wait()
		// While the placement is PENDING, its record shows the latest attempt.
		if p := w.want("p", messages.PlacementPending); p.GameSessionID == "" || p.Location != "a-1" || p.Placed != nil {
			t.Fatalf("%+v", p)
		}
		stagetest.Pass(3 * time.Second)
		p := w.want("p", messages.PlacementFulfilled)
		if p.IPAddress != "192.0.2.1" || p.Port != 1900 || p.DNSName != "play.example" || p.Location != "a-1" || p.Ended.Sub(p.Started) != 3*time.Second {
			t.Fatalf("%+v", p)
		}
		if len(p.Placed) != 2 || p.Placed[0].PlayerID != "x" || p.Placed[1].PlayerID != "y" || p.Placed[0].PlayerSessionID == "" {
			t.Fatalf("%+v", p.Placed)
		}
		w.with(func(s *standIn) {
			if g := s.games[p.GameSessionID]; g.seats != 2 || g.over {
				t.Errorf("%+v", g)
			}
		})
	})
}

// API-51.
func TestStopCancelsAPendingPlacement(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.with(func(s *standIn) { s.activate = 10 * time.Second })
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
		w.placed(messages.StartPlacement{ID: "idle"})
		p, err := w.cancel("idle")
		if must(t, p, err); p.Status != messages.PlacementCancelled || p.Ended.IsZero() {
			t.Fatalf("%+v", p)
		}
		w.want("idle", messages.PlacementCancelled)
		_, err = w.cancel("idle")
		wantCode(t, err, messages.InvalidRequest)
		_, err = w.cancel("unknown")
		wantCode(t, err, messages.NotFound)

		w.free("A/a-1", 1)
		w.placed(messages.StartPlacement{ID: "activating"})
		synctest.Wait()
		if len(w.live()) != 1 {
			t.Fatal("there is no attempt")
		}
		if p, err = w.cancel("activating"); err != nil || p.GameSessionID != "" {
			t.Fatalf("%+v %v", p, err)
		}
		w.want("activating", messages.PlacementCancelled)
		if live := w.live(); len(live) > 0 {
			t.Fatalf("%v lives", live)
		}

		w.free("A/a-1", 1)
		w.placed(messages.StartPlacement{ID: "fulfilled"})
		stagetest.Pass(10 * time.Second)
		w.want("fulfilled", messages.PlacementFulfilled)
		_, err = w.cancel("fulfilled")
		wantCode(t, err, messages.InvalidRequest)
		w.want("fulfilled", messages.PlacementFulfilled)
	})
}

// A cancellation and a fulfilment occur at the same time. The one that is stored first wins.
func TestStopWhileTheEndIsBeingStored(t *testing.T) {
	for _, broken := range []bool{false, true} {
		bubble(t, nil, func(t *testing.T, w *world) {
			w.fleets("A a-1")
			w.free("A/a-1", 1)
			w.with(func(s *standIn) { s.activate = time.Second })
			w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
			w.placed(messages.StartPlacement{ID: "p"})
			w.store.Hold()
			stagetest.Pass(time.Second) // the end waits for the disk
			w.want("p", messages.PlacementPending)
			answers := make(chan error, 2)
			for range 2 {
				go func() { _, err := w.cancel("p"); answers <- err }()
			}
			synctest.Wait()
			if len(answers) > 0 {
				t.Fatal("answered before anything is decided")
			}
			if !broken {
				w.store.Release()
				wantCode(t, <-answers, messages.InvalidRequest)
				wantCode(t, <-answers, messages.InvalidRequest)
				w.want("p", messages.PlacementFulfilled)
				return
			}
			w.store.Refuse()
			w.store.Release()
			one, other := <-answers, <-answers // the answers of two goroutines may come in any order
			if one != nil {
				one, other = other, one
			}
			if one != nil {
				t.Fatal(one)
			}
			wantCode(t, other, messages.InvalidRequest)
			w.want("p", messages.PlacementCancelled)
			if live := w.live(); len(live) > 0 {
				t.Fatalf("%v lives", live)
			}
		})
	}
}

// API-52.
func TestDeletingTheQueueFailsItsPlacements(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.free("A/a-1", 2)
		w.with(func(s *standIn) { s.activate = time.Second })
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
		w.queue(messages.Queue{Name: "other"})
		w.placed(messages.StartPlacement{ID: "done"})
		time.Sleep(time.Second)
		w.placed(messages.StartPlacement{ID: "activating"})
		synctest.Wait()
		w.placed(messages.StartPlacement{ID: "idle"})
		w.placed(messages.StartPlacement{ID: "elsewhere", Queue: "other"})
		synctest.Wait()
		assert.NoError(t, w.drop("q"))
		w.want("done", messages.PlacementFulfilled)
		w.want("activating", messages.PlacementFailed)
		w.want("idle", messages.PlacementFailed)
		w.want("elsewhere", messages.PlacementPending)
		if live := w.live(); len(live) != 1 {
			t.Fatalf("%v live", live)
		}
		wantCode(t, w.drop("q"), messages.NotFound)
		_, err := w.startPlacement(messages.StartPlacement{ID: "late"})
		wantCode(t, err, messages.NotFound)
		w.queue(messages.Queue{}) // the name can be reused
	})
}

// API-49.
func TestAnIDIsFreeAgainAfterAFailure(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}, Timeout: 10 * time.Second})
		w.placed(messages.StartPlacement{ID: "p"})
		_, err := w.startPlacement(messages.StartPlacement{ID: "p"})
		wantCode(t, err, messages.InvalidRequest)
		stagetest.Pass(10 * time.Second)
		w.want("p", messages.PlacementTimedOut)
		if p := w.placed(messages.StartPlacement{ID: "p", Name: "again"}); p.Status != messages.PlacementPending {
			t.Fatal(p.Status)
		}
		w.free("A/a-1", 1)
		synctest.Wait()
		if p := w.get("p"); p.Status != messages.PlacementFulfilled || p.Request.Name != "again" {
			t.Fatalf("%+v", p)
		}
		if told := w.told("p"); !slices.Equal(told, []string{"PlacementTimedOut", "PlacementFulfilled"}) {
			t.Fatal(told)
		}
		_, err = w.startPlacement(messages.StartPlacement{ID: "p"})
		wantCode(t, err, messages.InvalidRequest)
	})
}

// API-54.
func TestAliasesAreResolvedAtEveryPass(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1", "B b-1")
		w.free("B/b-1", 1)
		w.with(func(s *standIn) { s.aliases["alias/x"], s.aliases["alias/end"] = "fleet/A", "" })
		w.queue(messages.Queue{Destinations: []string{"alias/end", "alias/x"}})
		w.placed(messages.StartPlacement{ID: "p"})
		stagetest.Pass(5 * time.Second)
		w.want("p", messages.PlacementPending)
		w.with(func(s *standIn) { s.aliases["alias/x"] = "fleet/B" })
		stagetest.Pass(time.Second)
		if p := w.want("p", messages.PlacementFulfilled); p.Location != "b-1" {
			t.Fatal(p.Location)
		}
	})
}

func TestActivationFailureGoesOnInTheSamePass(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1", "B b-1", "C c-1")
		for _, p := range []string{"A/a-1", "B/b-1", "C/c-1"} {
			w.free(p, 5)
		}
		w.with(func(s *standIn) {
			s.activate, s.broken[destination{"A", "a-1"}], s.noSeats[destination{"B", "b-1"}] = 300*time.Millisecond, true, true
		})
		w.queue(messages.Queue{Destinations: []string{"fleet/A", "fleet/B", "fleet/C"}})
		w.placed(messages.StartPlacement{ID: "p", Players: players("x")})
		stagetest.Pass(900 * time.Millisecond)
		if p := w.want("p", messages.PlacementFulfilled); p.Location != "c-1" {
			t.Fatalf("%+v", p)
		}
		if live := w.live(); len(live) != 1 {
			t.Fatalf("%v live", live)
		}
	})
}

func TestAllAttemptsFail(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.free("A/a-1", 1000)
		w.with(func(s *standIn) { s.activate, s.broken[destination{"A", "a-1"}] = 2500*time.Millisecond, true })
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}, Timeout: 10 * time.Second})
		w.placed(messages.StartPlacement{ID: "p"})
		stagetest.Pass(10 * time.Second)
		w.want("p", messages.PlacementTimedOut)
		w.with(func(s *standIn) {
			var at []time.Duration
			for _, g := range s.made {
				at = append(at, g.since.Sub(w.start))
			}
			// One attempt at a time, each at the first whole second after the previous one has failed.
			assert.List(t, "attempts at", at, []time.Duration{0, 3 * time.Second, 6 * time.Second, 9 * time.Second})
		})
		if live := w.live(); len(live) > 0 {
			t.Fatalf("%v live", live)
		}
	})
}

// An override of locations applies either to one pass or forever.
func TestOverride(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1", "B b-1")
		w.free("B/b-1", 2)
		q := prioritized("b-1", byLocation)
		q.Destinations, q.Timeout = []string{"fleet/A", "fleet/B"}, 10*time.Second
		w.queue(q)
		w.placed(messages.StartPlacement{ID: "fallback", LocationOrder: []string{"a-1"}})
		w.placed(messages.StartPlacement{ID: "none", LocationOrder: []string{"a-1"}, FallbackNone: true})
		synctest.Wait()
		w.want("fallback", messages.PlacementPending)
		stagetest.Pass(time.Second)
		if p := w.want("fallback", messages.PlacementFulfilled); p.Location != "b-1" {
			t.Fatal(p.Location)
		}
		stagetest.Pass(9 * time.Second)
		w.want("none", messages.PlacementTimedOut)

		w.queue(messages.Queue{Name: "plain"})
		_, err := w.startPlacement(messages.StartPlacement{ID: "refused", Queue: "plain", LocationOrder: []string{"a-1"}})
		wantCode(t, err, messages.InvalidRequest)
	})
}

// The oldest placements are served first. Of thousands of waiting placements, only a few launch at the same time.
func TestOldestFirst(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}, Timeout: 600 * time.Second})
		const n = 3000
		for i := range n {
			w.placed(messages.StartPlacement{ID: messages.PlacementID(fmt.Sprintf("p%04d", i))})
			time.Sleep(time.Millisecond)
		}
		for i := range 5 {
			var before, after int
			w.with(func(s *standIn) { before = s.launches })
			w.free("A/a-1", 1)
			synctest.Wait()
			w.want(messages.PlacementID(fmt.Sprintf("p%04d", i)), messages.PlacementFulfilled)
			w.want(messages.PlacementID(fmt.Sprintf("p%04d", i+1)), messages.PlacementPending)
			if w.with(func(s *standIn) { after = s.launches }); after-before > launchesMax+1 {
				t.Fatalf("%d launches for one process", after-before)
			}
		}
		w.free("A/a-1", n-5)
		stagetest.Pass(time.Second)
		w.want(messages.PlacementID(fmt.Sprintf("p%04d", n-1)), messages.PlacementFulfilled)
	})
}

// If thousands of placements cannot use a free process, they do not each cause a pass.
func TestRoomThatNoPlacementCanUse(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1", "B b-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A", "fleet/B"}, Timeout: 600 * time.Second, Policies: []messages.LatencyPolicy{policy(10, 0)}})
		for i := range 1000 {
			w.placed(messages.StartPlacement{ID: messages.PlacementID(fmt.Sprintf("p%d", i)), Latencies: latenciesOf(t, "p a-1 20")})
		}
		var before, after int
		w.with(func(s *standIn) { before = s.asked })
		for range 100 {
			w.free("A/a-1", 1)
			synctest.Wait()
		}
		if w.with(func(s *standIn) { after = s.asked }); after-before > 3 {
			t.Fatalf("%d passes", after-before)
		}
		w.free("B/b-1", 1)
		stagetest.Pass(pauseFor)
		w.want("p0", messages.PlacementFulfilled)
	})
}

// Changed settings of a queue apply from the next pass on.
func TestUpdateOfAQueueReachesItsPlacements(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1", "B b-1")
		w.free("B/b-1", 1)
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}, Timeout: 100 * time.Second})
		w.placed(messages.StartPlacement{ID: "p"})
		w.placed(messages.StartPlacement{ID: "q"})
		time.Sleep(3500 * time.Millisecond)
		both := []string{"fleet/A", "fleet/B"}
		assert.OK(request[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Destinations: &both, Timeout: 10 * time.Second}))(t)
		stagetest.Pass(500 * time.Millisecond)
		w.want("p", messages.PlacementFulfilled)
		stagetest.Pass(6 * time.Second)
		w.want("q", messages.PlacementTimedOut)
	})
}

// The API shows the end of a placement after it is durable and before its event is sent. API-53.
func TestTheStateIsVisibleBeforeTheEvent(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.free("A/a-1", 1)
		q := w.queue(messages.Queue{Destinations: []string{"fleet/A"}, CustomEventData: "mine", Notify: "arn:aws:sns:topic", Timeout: 10 * time.Second})
		seen := make(chan messages.PlacementStatus, 10)
		w.mu.Lock()
		w.heard = func(e messages.Event) {
			id := messages.PlacementID(detailOf(t, e)["placementId"].(string))
			messages.Send(w.ref, messages.PlacementQuery{ID: id}, func(p *messages.Placement, err error) { seen <- must(t, p, err).Status })
		}
		w.mu.Unlock()
		w.placed(messages.StartPlacement{ID: "p", Players: players("x")})
		if s := <-seen; s != messages.PlacementFulfilled {
			t.Fatalf("seen %s", s)
		}
		p := w.want("p", messages.PlacementFulfilled)
		e := w.events[0]
		if e.Kind != messages.EventPlacement || e.Name != "q" || e.ARN != q.ARN || e.Target != "arn:aws:sns:topic" || !e.Time.Equal(p.Ended) || e.ID == "" {
			t.Fatalf("%+v", e)
		}
		want := map[string]any{
			"type": "PlacementFulfilled", "placementId": "p", "port": "1900", "gameSessionArn": string(p.GameSessionID), "ipAddress": "192.0.2.1",
			"dnsName": "play.example", "gameSessionRegion": "a-1", "customEventData": "mine",
			"startTime": "2000-01-01T00:00:00.000Z", "endTime": "2000-01-01T00:00:00.000Z",
			"placedPlayerSessions": []any{map[string]any{"playerId": "x", "playerSessionId": string(p.Placed[0].PlayerSessionID)}},
		}
		if got := detailOf(t, e); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v\nwant %v", got, want)
		}
		stored := 0
		_, _ = w.store.Load("event", func(id string, _ []byte) error {
			if id == e.ID {
				stored++
			}
			return nil
		})
		if stored != 1 {
			t.Fatal("the event is not in the store")
		}
		w.placed(messages.StartPlacement{ID: "late"})
		time.Sleep(10 * time.Second)
		if s := <-seen; s != messages.PlacementTimedOut {
			t.Fatalf("seen %s", s)
		}
		want = map[string]any{
			"type": "PlacementTimedOut", "placementId": "late", "customEventData": "mine",
			"startTime": "2000-01-01T00:00:00.000Z", "endTime": "2000-01-01T00:00:10.000Z",
		}
		if got := detailOf(t, w.events[1]); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v\nwant %v", got, want)
		}
	})
}

func TestBounds(t *testing.T) {
	bubble(t, func(o *Options) {
		o.PendingMax, o.EndedMax, o.EndedKeep, o.QueuesMax = 3, 2, time.Hour, 1
	}, func(t *testing.T, w *world) {
		w.queue(messages.Queue{})
		_, err := request[messages.CreateQueue, *messages.Queue](w, messages.CreateQueue{Queue: messages.Queue{Name: "more", Timeout: time.Minute}})
		wantCode(t, err, messages.LimitExceeded)
		_, err = request[messages.CreateQueue, *messages.Queue](w, messages.CreateQueue{Queue: messages.Queue{Name: "q", Timeout: time.Minute}})
		wantCode(t, err, messages.InvalidRequest)
		for i := range 3 {
			w.placed(messages.StartPlacement{ID: messages.PlacementID(fmt.Sprint(i))})
		}
		_, err = w.startPlacement(messages.StartPlacement{ID: "more"})
		wantCode(t, err, messages.LimitExceeded)
		for i := range 3 {
			assert.OK(w.cancel(messages.PlacementID(fmt.Sprint(i))))(t)
		}
		w.placed(messages.StartPlacement{ID: "next"})
		_, err = request[messages.PlacementQuery, *messages.Placement](w, messages.PlacementQuery{ID: "0"})
		wantCode(t, err, messages.NotFound)
		w.want("1", messages.PlacementCancelled)
		time.Sleep(time.Hour + time.Second)
		_, err = request[messages.PlacementQuery, *messages.Placement](w, messages.PlacementQuery{ID: "2"})
		wantCode(t, err, messages.NotFound)
		w.placed(messages.StartPlacement{ID: "last"})
		left := 0
		_, _ = w.store.Load("placement", func(string, []byte) error { left++; return nil })
		if left != 2 { // "last", and "next", which has timed out by then
			t.Errorf("%d records", left)
		}
	})
}

func TestBytesAreBounded(t *testing.T) {
	bubble(t, func(o *Options) { o.BytesMax = 10_000 }, func(t *testing.T, w *world) {
		w.queue(messages.Queue{})
		data := string(make([]byte, 1000))
		n := 0
		for ; n < 100; n++ {
			if _, err := w.startPlacement(messages.StartPlacement{ID: messages.PlacementID(fmt.Sprint(n)), Data: data}); err != nil {
				wantCode(t, err, messages.LimitExceeded)
				break
			}
		}
		if n == 0 || n > 9 {
			t.Fatalf("%d fit", n)
		}
		assert.OK(w.cancel("0"))(t)
		w.placed(messages.StartPlacement{ID: "next", Data: data})
		_, err := request[messages.PlacementQuery, *messages.Placement](w, messages.PlacementQuery{ID: "0"})
		wantCode(t, err, messages.NotFound)
	})
}

func TestDrain(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
		w.placed(messages.StartPlacement{ID: "p"})
		w.ref.Tell(Drain{})
		_, err := w.startPlacement(messages.StartPlacement{ID: "late"})
		wantCode(t, err, messages.Unavailable)
		w.free("A/a-1", 1)
		stagetest.Pass(2 * time.Second)
		w.want("p", messages.PlacementPending)
		if live := w.live(); len(live) > 0 {
			t.Fatal("launched while draining")
		}
		w.ref.Tell(CancelDrain{})
		synctest.Wait()
		if live := w.live(); len(live) != 1 {
			t.Fatal("not launched when the drain was cancelled")
		}
		w.placed(messages.StartPlacement{ID: "late"})
	})
}

func TestTagsOfAQueue(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.queue(messages.Queue{Tags: map[string]string{"a": "1"}})
		tag := func(set map[string]string, remove ...string) (map[string]string, error) {
			return request[messages.UpdateTags, map[string]string](w, messages.UpdateTags{Resource: messages.Resource{ID: "q"}, Set: set, Remove: remove})
		}
		got, err := tag(map[string]string{"b": "2", "a": "3"}, "c")
		if err != nil || fmt.Sprint(got) != "map[a:3 b:2]" {
			t.Fatal(got, err)
		}
		if got, err = tag(nil, "a"); err != nil || fmt.Sprint(got) != "map[b:2]" {
			t.Fatal(got, err)
		}
		many := map[string]string{}
		for i := range 50 {
			many[fmt.Sprint(i)] = ""
		}
		_, err = tag(many)
		wantCode(t, err, messages.TaggingFailed)
		if got, err = tag(nil); err != nil || fmt.Sprint(got) != "map[b:2]" {
			t.Fatal(got, err)
		}
		if got, err = request(w, messages.TagQuery{Resource: messages.Resource{Kind: "gamesessionqueue", ID: "q"}}); err != nil || fmt.Sprint(got) != "map[b:2]" {
			t.Fatal(got, err)
		}
		_, err = request[messages.UpdateTags, map[string]string](w, messages.UpdateTags{Resource: messages.Resource{ID: "no"}})
		wantCode(t, err, messages.NotFound)
		_, err = request(w, messages.TagQuery{Resource: messages.Resource{Kind: "gamesessionqueue", ID: "no"}})
		wantCode(t, err, messages.NotFound)
	})
}

// Place starts only one placement per id, no matter how often it is requested. All callers get the result.
func TestPlace(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
		var ends []string
		place := func(id messages.PlacementID, queue messages.QueueName) {
			messages.Send(w.ref, Place{Placement: messages.StartPlacement{ID: id, Queue: queue, MaxPlayers: 2}}, func(p *messages.Placement, err error) {
				if err != nil {
					ends = append(ends, code(err).String())
					return
				}
				ends = append(ends, p.Status.String())
			})
			synctest.Wait()
		}
		want := func(want ...string) {
			t.Helper()
			if !slices.Equal(ends, want) {
				t.Fatalf("at %v %v, want %v", time.Since(w.start), ends, want)
			}
			ends = nil
		}
		w.store.Hold()
		place("p", "q")
		place("p", "q") // while the first placement is being stored
		w.store.Release()
		stagetest.Pass(time.Second)
		place("p", "q") // while it is PENDING
		want()
		w.free("A/a-1", 2)
		synctest.Wait()
		want("FULFILLED", "FULFILLED", "FULFILLED")
		place("p", "q") // after it has ended
		want("FULFILLED")
		if live := w.live(); len(live) != 1 {
			t.Errorf("%v live", live)
		}
		w.placed(messages.StartPlacement{ID: "old"})
		w.with(func(s *standIn) { clear(s.room) })
		w.placed(messages.StartPlacement{ID: "stopped"})
		_, _ = w.cancel("stopped")
		place("stopped", "q")
		want("CANCELLED")
		place("refused", "no queue")
		want("not found")
		w.store.Break(true)
		place("unstored", "q")
		want("internal")
		w.store.Break(false)
		place("crashed", "q")
		w.crash()
		want("unavailable")
	})
}
