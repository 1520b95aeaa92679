package matchmaker

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// stubGame replaces a game session created by a placement. It is guarded by the lock of its stubPlacer.
type stubGame struct {
	session messages.GameSession
	seats   messages.GameSeats
	version uint64
	asks    []messages.AskBackfill
	waiting func(messages.SeatsReport, error)
	lock    *sync.Mutex
	filled  messages.MatchID
	told    []string // elements are "REASON ticket"
}

func newStubGame(r messages.StartPlacement) *stubGame {
	g := &stubGame{seats: messages.GameSeats{Live: true, Accepts: true, Free: r.MaxPlayers - len(r.Players)}}
	g.session = messages.GameSession{ID: messages.GameSessionID("arn:game/" + string(r.ID)), Location: "here", IPAddress: "192.0.2.1", Port: 1900, MatchmakerData: r.MatchmakerData}
	for _, p := range r.Players {
		g.seats.Players = append(g.seats.Players, p.PlayerID)
	}
	return g
}

func (s *stubPlacer) Seats(q messages.AwaitSeats, reply func(messages.SeatsReport, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.games[q.ID]
	if g == nil {
		go reply(messages.SeatsReport{}, messages.Errorf(messages.NotFound, "no game session %s", q.ID))
		return
	}
	g.version = max(g.version, 1)
	go g.report()()
	g.lock, g.waiting = &s.mu, reply
	if g.version > q.Since || len(g.asks) > 0 {
		go g.report()()
	}
}

// report returns a function that answers the pending AwaitSeats, if there is one. The caller must hold the
// lock.
func (g *stubGame) report() func() {
	reply, r := g.waiting, messages.SeatsReport{Version: g.version, Seats: g.seats, Asks: g.asks}
	if reply == nil {
		return func() {}
	}
	g.waiting, g.asks = nil, nil
	r.Seats.Players = slices.Clone(r.Seats.Players)
	return func() { reply(r, nil) }
}

// notify reports new seats, or a request of the game if ask is not nil.
func (g *stubGame) notify(ask *messages.AskBackfill) {
	g.lock.Lock()
	if ask != nil {
		g.asks = append(g.asks, *ask)
	} else {
		g.version++
	}
	answer := g.report()
	g.lock.Unlock()
	answer()
}

func (s *stubPlacer) Fill(q messages.FillGameSession, reply func(*messages.FilledGameSession, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.games[q.Session]
	switch {
	case g == nil:
		go reply(nil, messages.Errorf(messages.NotFound, "no game session %s", q.Session))
		return
	case q.Data != "" && len(q.Players) == 0 && s.noData:
		go reply(nil, messages.Errorf(messages.Internal, "the store fails"))
		return
	case !g.seats.Live:
		go reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", q.Session))
		return
	}
	if len(q.Players) > 0 {
		s.fills++
		if s.filled != nil {
			s.filled()
			s.filled = nil
		}
		if s.full != nil {
			go reply(nil, s.full)
			return
		}
	}
	if q.Match == "" || q.Match != g.filled {
		if q.Data != "" {
			g.session.MatchmakerData = q.Data
		}
		for _, p := range q.Players {
			if !slices.Contains(g.seats.Players, p.PlayerID) { // a player who has a seat keeps it
				g.seats.Players = append(g.seats.Players, p.PlayerID)
				g.seats.Free--
			}
		}
		if q.Match != "" {
			g.filled = q.Match
		}
		if q.Reason != "" {
			g.told = append(g.told, string(q.Reason)+" "+string(q.Ticket))
		}
		if len(q.Players) > 0 {
			g.version++
			go g.report()()
		}
	}
	f := &messages.FilledGameSession{Session: &g.session}
	for _, p := range g.seats.Players {
		f.Placed = append(f.Placed, messages.PlacedPlayer{PlayerID: p, PlayerSessionID: messages.PlayerSessionID("psess-" + p)})
	}
	go reply(f, nil)
}

// game returns the only game session. It fails the test if there are more or none.
func (w *world) game() *stubGame {
	w.Helper()
	w.placer.mu.Lock()
	defer w.placer.mu.Unlock()
	if len(w.placer.games) != 1 {
		w.Fatalf("%d game sessions", len(w.placer.games))
	}
	for _, g := range w.placer.games {
		return g
	}
	return nil
}

// change changes the game session, reports the change, and waits until it has been handled.
func (w *world) change(f func(g *stubGame)) {
	w.Helper()
	g := w.game()
	w.placer.set(func() { f(g) })
	g.notify(nil)
	stagetest.Pass(w.options.withDefaults().Interval)
}

// leaves removes a player from the game session.
func (w *world) leaves(id messages.PlayerID) {
	w.Helper()
	w.change(func(g *stubGame) {
		g.seats.Players = slices.DeleteFunc(g.seats.Players, func(p messages.PlayerID) bool { return p == id })
		g.seats.Free++
	})
}

// data returns the matchmaker data of the game session.
func (w *world) data() (d data) {
	w.Helper()
	assert.NoError(w, json.Unmarshal([]byte(w.game().session.MatchmakerData), &d))
	return d
}

func (d *data) players() (all []string) {
	for _, t := range d.Teams {
		for _, p := range t.Players {
			all = append(all, t.Name+":"+string(p.ID))
		}
	}
	return all
}

// wantGame checks the players in the matchmaker data, and the updates that the game session has received.
func (w *world) wantGame(players string, told ...string) {
	w.Helper()
	d := w.data()
	if got := d.players(); strings.Join(got, " ") != players {
		w.Errorf("players %v, want %s", got, players)
	}
	if g := w.game(); !slices.Equal(g.told, told) {
		w.Errorf("the game was told %q, want %q", g.told, told)
	}
}

const squads = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":10}],
	"teams":[{"name":"red","minPlayers":1,"maxPlayers":2},{"name":"blue","minPlayers":1,"maxPlayers":2}]}`

func (w *world) backfill(id string, session messages.GameSessionID, players ...string) (*messages.Ticket, error) {
	t, err := request[messages.StartMatchBackfill, *messages.Ticket](w, backfillOf(id, session, players...))
	synctest.Wait()
	return t, err
}

func backfillOf(id string, session messages.GameSessionID, players ...string) messages.StartMatchBackfill {
	q := messages.StartMatchBackfill{TicketID: messages.TicketID(id), Matchmaker: "m", Session: session}
	for _, p := range players {
		team, id, _ := strings.Cut(p, ":")
		q.Players = append(q.Players, messages.TicketPlayer{ID: messages.PlayerID(id), Team: team})
	}
	return q
}

// two creates a game session with the players a and b. The configuration is m, with two teams of one or two
// players.
func (w *world) two(change func(*messages.Matchmaker)) {
	w.Helper()
	w.named("m", squads, change)
	w.ask("A", "a")
	w.ask("B", "b")
	w.pass()
	w.want("A COMPLETED", "B COMPLETED")
}

func automatic(r *messages.Matchmaker) { r.AutoBackfill = true }

// FM-112, FM-31, FM-28: a manual backfill adds a player to the game session, without a placement.
func TestManualBackfill(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		if d := w.data(); d.Mode != nil || d.Ticket != nil {
			t.Errorf("automatic: %+v", d)
		}
		id := w.game().session.ID
		ticket, err := w.backfill("F", id, "red:a", "blue:b")
		if err != nil || ticket.Status != messages.TicketQueued || ticket.Game == nil || ticket.Game.ID != id || ticket.Players[0].Team != "red" {
			t.Fatal(ticket, err)
		}
		w.pass()
		w.want("F SEARCHING")
		w.ask("C", "c")
		w.pass()
		w.want("F COMPLETED", "C COMPLETED")
		if g := w.ticket("C").Game; g.ID != id || g.Port != 1900 || len(g.Placed) != 1 || g.Placed[0].PlayerSessionID != "psess-c" {
			t.Errorf("%+v", g)
		}
		if g := w.ticket("F").Game; len(g.Placed) != 2 {
			t.Errorf("%+v", g)
		}
		w.wantGame("red:a red:c blue:b", "MATCHMAKING_DATA_UPDATED F")
		if d := w.data(); d.Match != w.ticket("C").Match || d.Teams[0].Players[1].Attributes["skill"].Type != "DOUBLE" {
			t.Errorf("%+v", d)
		}
		assert.Equal(t, "placements", len(w.placer.started), 1)
		if seats := w.game().seats.Players; len(seats) != 3 {
			t.Errorf("the players who were there have got seats again: %v", seats)
		}
		w.wantTold("F", "Searching PotentialMatchCreated Succeeded")
		w.wantTold("C", "Searching PotentialMatchCreated Succeeded")
		w.ask("D", "d")
		if e := w.ticket("D").EstimatedWait; e > time.Second {
			t.Errorf("the wait of a backfill ticket counts: %v", e)
		}
		w.clean()
	})
}

// FM-113, FM-32: a backfill ticket is replaced, stopped, timed out, and superseded by a player's own ticket.
func TestBackfillEnds(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		start := func(name string) {
			w.Helper()
			assert.OK(w.backfill(name, id, "red:a", "blue:b"))(t)
		}
		start("F1")
		start("F2")
		w.want("F1 CANCELLED", "F2 QUEUED")
		if f := w.ticket("F1"); f.Game != nil || !strings.Contains(f.Text, "replaces") {
			t.Errorf("%+v", f)
		}
		assert.NoError(t, w.stop("F2"))
		start("F3")
		stagetest.Pass(time.Minute)
		start("F4")
		w.ask("A2", "a")
		w.want("F2 CANCELLED", "F3 TIMED_OUT", "F4 CANCELLED", "A2 QUEUED")
		w.wantGame("red:a blue:b", "BACKFILL_CANCELLED F1", "BACKFILL_CANCELLED F2", "BACKFILL_TIMED_OUT F3", "BACKFILL_CANCELLED F4")
	})
}

// The end of the game session cancels its backfill ticket, whatever the ticket is waiting for. The Manager
// then forgets the game session.
func TestBackfillEndsWithTheGameSession(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(func(r *messages.Matchmaker) { accepting(r); r.AcceptanceRequired = false })
		id := w.game().session.ID
		assert.OK(w.backfill("F", id, "red:a", "blue:b"))(t)
		w.pass()
		w.change(func(g *stubGame) { g.seats.Live, g.seats.Over = false, true })
		w.want("F CANCELLED")
		if _, err := w.backfill("F2", id, "red:a", "blue:b"); err == nil {
			t.Error("the game session has ended")
		} else {
			w.wantCode(err, messages.NotFound)
		}
		w.clean()
	})
}

// If the game session refuses the match, the other tickets wait again, and the backfill ticket fails. A
// temporary error does not end the ticket.
func TestBackfillIsRefusedByTheGameSession(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		_, _ = w.backfill("F", id, "red:a", "blue:b")
		w.placer.set(func() { w.placer.full = messages.Errorf(messages.Unavailable, "not now") })
		w.ask("C", "c")
		w.pass()
		w.want("F PLACING", "C PLACING")
		w.wantCode(w.stop("F"), messages.InvalidRequest)
		w.placer.set(func() { w.placer.full = messages.Errorf(messages.GameSessionFull, "full") })
		stagetest.Pass(2 * time.Second)
		w.want("F FAILED", "C SEARCHING")
		w.wantGame("red:a blue:b", "BACKFILL_FAILED F")
		w.wantTold("F", "Searching PotentialMatchCreated Failed")
		w.wantTold("C", "Searching PotentialMatchCreated Searching")
		w.placer.set(func() { w.placer.full = nil })
		_, _ = w.backfill("F2", id, "red:a", "blue:b")
		w.pass()
		w.want("F2 COMPLETED", "C COMPLETED")
	})
}

// FM-102 for backfill (flexmatch.md 14, point 7): only the new player is asked to accept. After a rejection,
// the backfill ticket continues to search.
func TestBackfillWithAcceptance(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.named("m", squads, accepting)
		w.ask("A", "a")
		w.ask("B", "b")
		w.pass()
		_, _ = w.answer(true, "A", "a"), w.answer(true, "B", "b")
		id := w.game().session.ID
		_, _ = w.backfill("F", id, "red:a", "blue:b")
		w.ask("C", "c")
		w.pass()
		w.want("F REQUIRES_ACCEPTANCE", "C REQUIRES_ACCEPTANCE")
		w.wantCode(w.answer(true, "F", "a"), messages.InvalidRequest)
		_ = w.answer(false, "C", "c")
		w.want("F SEARCHING", "C CANCELLED")
		if f := w.ticket("F"); f.Players[0].Team != "red" || f.Game == nil {
			t.Errorf("%+v", f)
		}
		w.ask("D", "d")
		w.pass()
		assert.NoError(t, w.answer(true, "D", "d"))
		w.want("F COMPLETED", "D COMPLETED")
	})
}

// Invalid backfill requests are refused.
func TestBackfillRefusals(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		for name, test := range map[string]struct {
			session messages.GameSessionID
			player  string
			want    messages.ErrorCode
		}{
			"no game session":      {"", "red:a", messages.InvalidRequest},
			"unknown game session": {"arn:none", "red:a", messages.NotFound},
			"no team":              {id, ":a", messages.InvalidRequest},
			"unknown team":         {id, "green:a", messages.InvalidRequest},
		} {
			_, err := w.backfill(name, test.session, test.player)
			w.wantCode(err, test.want)
		}
		_, err := w.backfill("A", id, "red:a")
		w.wantCode(err, messages.InvalidRequest) // the ID is in use
		w.named("s", squads, func(r *messages.Matchmaker) { r.Standalone, r.Queues = true, nil })
		q := messages.StartMatchBackfill{TicketID: "S", Matchmaker: "s", Session: id, Players: []messages.TicketPlayer{{ID: "a", Team: "red"}}}
		_, err = request[messages.StartMatchBackfill, *messages.Ticket](w, q)
		w.wantCode(err, messages.InvalidRequest)
		q.Session = ""
		if _, err = request[messages.StartMatchBackfill, *messages.Ticket](w, q); err != nil {
			t.Fatal(err)
		}
		assert.OK(w.try("S2", "s", "c"))(t)
		w.pass()
		w.want("S COMPLETED", "S2 COMPLETED")
		_, err = request[messages.CreateMatchmaker, *messages.Matchmaker](w, messages.CreateMatchmaker{Matchmaker: messages.Matchmaker{Name: "x", RuleSet: "s", Standalone: true, AutoBackfill: true}})
		w.wantCode(err, messages.InvalidRequest) // FM-29
	})
}

// FM-114, FM-33: automatic backfill continues until the game session is full, with one ticket at a time. A
// player who leaves frees a seat again.
func TestAutomaticBackfill(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(automatic)
		first := w.data()
		if first.Mode == nil || *first.Mode != "AUTOMATIC" || first.Ticket == nil {
			t.Fatalf("%+v", first)
		}
		f := w.ticket(string(*first.Ticket))
		if f.Status.Final() || len(f.Players) != 2 || !f.Backfill.Automatic || f.Backfill.Room != 2 {
			t.Fatalf("%+v %+v", f, f.Backfill)
		}
		w.ask("C", "c")
		w.pass()
		w.want("C COMPLETED", string(*first.Ticket)+" COMPLETED")
		second := w.data()
		if second.Ticket == nil || *second.Ticket == *first.Ticket {
			t.Fatalf("%+v", second)
		}
		if f := w.ticket(string(*second.Ticket)); f.Status.Final() || len(f.Players) != 3 {
			t.Fatalf("%+v", f)
		}
		w.ask("D", "d")
		w.pass()
		w.want("D COMPLETED")
		if d := w.data(); d.Ticket != nil || *d.Mode != "AUTOMATIC" || len(d.players()) != 4 {
			t.Errorf("%+v", d)
		}
		w.wantGame("red:a red:c blue:b blue:d", "MATCHMAKING_DATA_UPDATED "+string(*first.Ticket), "MATCHMAKING_DATA_UPDATED "+string(*second.Ticket))
		w.leaves("c")
		third := w.data()
		if third.Ticket == nil || strings.Join(third.players(), " ") != "red:a blue:b blue:d" {
			t.Fatalf("%+v", third)
		}
		w.leaves("d")
		if fourth := w.data(); *fourth.Ticket == *third.Ticket || w.ticket(string(*third.Ticket)).Status != messages.TicketCancelled {
			t.Errorf("%+v", fourth)
		}
		w.change(func(g *stubGame) { g.seats.Players, g.seats.Free = append(g.seats.Players, "d"), g.seats.Free-1 }) // the player is back
		w.wantCount(1)
		w.change(func(g *stubGame) { g.seats.Accepts = false })
		w.wantCount(0)
		w.change(func(g *stubGame) { g.seats.Accepts = true })
		w.ask("E", "e")
		w.pass()
		w.want("E COMPLETED")
		w.wantCount(0)
		w.change(func(g *stubGame) { g.seats.Live, g.seats.Over = false, true })
		w.wantCount(0)
		w.clean()
	})
}

// wantCount checks the number of backfill tickets that have not ended.
func (w *world) wantCount(want int) {
	w.Helper()
	var active []*messages.Ticket
	w.each(func(r *messages.Ticket) {
		if r.Backfill != nil && !r.Status.Final() {
			active = append(active, r)
		}
	})
	if len(active) != want {
		w.Errorf("%d backfill tickets, want %d: %+v", len(active), want, active)
	}
}

// each calls f for all stored tickets.
func (w *world) each(f func(*messages.Ticket)) {
	w.Helper()
	state := assert.Value(Load(w.store))(w)
	for _, t := range state.tickets {
		f(t.record)
	}
}

// FM-115, FM-33: StopMatchmaking with the ID in the matchmaker data ends automatic backfill permanently, even
// if there is no ticket yet.
func TestAutomaticBackfillIsStopped(t *testing.T) {
	for _, full := range []bool{false, true} {
		bubble(t, nil, func(w *world) {
			w.two(automatic)
			id := string(*w.data().Ticket)
			if full {
				w.change(func(g *stubGame) { g.seats.Accepts = false }) // cancels the ticket
				if f := w.ticket(id); f.Status != messages.TicketCancelled {
					t.Fatalf("%+v", f)
				}
				w.game().notify(&messages.AskBackfill{Stop: true})
				w.change(func(g *stubGame) { g.seats.Accepts = true })
			} else if err := w.stop(id); err != nil {
				t.Fatal(err)
			}
			w.wantGame("red:a blue:b", "BACKFILL_CANCELLED "+id)
			w.leaves("a")
			w.wantCount(0)
			w.reopen()
			w.leaves("x") // any player; it causes a review
			w.wantCount(0)
		})
	}
}

// A player of the game session who searches for another match is not in the next automatic ticket. After an
// automatic ticket has timed out, another one follows. After one has failed, another one follows after a
// pause.
func TestAutomaticBackfillGoesOn(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(automatic)
		first := string(*w.data().Ticket)
		w.ask("A2", "a")
		w.want(first+" CANCELLED", "A2 QUEUED")
		assert.NoError(t, w.stop("A2"))
		w.change(func(*stubGame) {})
		w.wantGame("red:a blue:b", w.game().told...)
		w.wantCount(1)
		stagetest.Pass(time.Minute)
		w.wantCount(1)
		w.placer.set(func() { w.placer.full = messages.Errorf(messages.GameSessionFull, "full") })
		w.ask("C", "c")
		w.pass()
		w.want("C SEARCHING")
		w.wantCount(0)
		fills := w.placer.fills
		w.placer.set(func() { w.placer.full = nil })
		w.change(func(*stubGame) {})
		time.Sleep(failedPause)
		w.pass()
		w.want("C COMPLETED")
		if w.placer.fills != fills+1 {
			t.Errorf("%d attempts, then %d", fills, w.placer.fills)
		}
	})
}

// A game requests backfill itself.
func TestAGameAsksForBackfill(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		w.game().notify(&messages.AskBackfill{Ticket: "G", Leaving: []messages.PlayerID{"b"}})
		synctest.Wait()
		if g := w.ticket("G"); len(g.Players) != 1 || g.Players[0].Team != "red" || g.Backfill.Automatic {
			t.Errorf("%+v", g)
		}
		w.game().notify(&messages.AskBackfill{Stop: true})
		synctest.Wait()
		w.want("G CANCELLED")
		w.leaves("b")
		w.leaves("a")
		w.game().notify(&messages.AskBackfill{Ticket: "H"})
		synctest.Wait()
		w.wantGame("red:a blue:b", "BACKFILL_CANCELLED G", "BACKFILL_FAILED H")
	})
}

// After a restart, a backfill ticket continues, or ends once. No player gets two seats.
func TestBackfillOutlivesARestart(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(*messages.Matchmaker)
		before, after  func(w *world)
		dead           bool
		want, whenDead []string
	}{
		"SEARCHING": {
			before: func(w *world) { _, _ = w.backfill("F", w.game().session.ID, "red:a", "blue:b"); w.pass() },
			after:  func(w *world) { w.ask("C", "c"); w.pass() },
			want:   []string{"F COMPLETED", "C COMPLETED"}, whenDead: []string{"F CANCELLED", "C SEARCHING"},
		},
		"PLACING": {
			before: func(w *world) {
				_, _ = w.backfill("F", w.game().session.ID, "red:a", "blue:b")
				w.placer.set(func() { w.placer.full = messages.Errorf(messages.Unavailable, "not now") })
				w.ask("C", "c")
				w.pass()
				w.want("F PLACING", "C PLACING")
				w.placer.set(func() { w.placer.full = nil })
			},
			after: (*world).pass,
			want:  []string{"F COMPLETED", "C COMPLETED"}, whenDead: []string{"F FAILED", "C SEARCHING"},
		},
		"PLACING, and the game session has the player": {
			before: func(w *world) {
				_, _ = w.backfill("F", w.game().session.ID, "red:a", "blue:b")
				w.ask("C", "c")
				w.placer.set(func() { w.placer.filled = func() { w.store.Break(true) } })
				w.pass()
				w.want("F PLACING", "C PLACING")
				w.ref.Stop()
				synctest.Wait()
				w.store.Break(false)
			},
			after: (*world).pass,
			want:  []string{"F COMPLETED", "C COMPLETED"}, whenDead: []string{"F FAILED", "C SEARCHING"},
		},
	} {
		for _, dead := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", and the game session is gone"}[dead], func(t *testing.T) {
				bubble(t, nil, func(w *world) {
					w.two(test.change)
					test.before(w)
					w.ref.Stop()
					synctest.Wait()
					if dead {
						g := w.game()
						w.placer.set(func() { g.seats.Live, g.seats.Over = false, true })
					}
					w.open()
					test.after(w)
					if dead {
						w.want(test.whenDead...)
						return
					}
					w.want(test.want...)
					w.wantGame("red:a red:c blue:b", "MATCHMAKING_DATA_UPDATED F")
					if seats := w.game().seats.Players; len(seats) != 3 {
						t.Errorf("seats %v", seats)
					}
					w.wantTold("F", "Searching PotentialMatchCreated Succeeded")
					w.clean()
				})
			})
		}
	}
}

// Automatic backfill continues after a restart, with the latencies for the location of the game session.
func TestAutomaticBackfillOutlivesARestart(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.named("m", strings.Replace(squads, `"teams"`, `"rules":[{"name":"Fast","type":"latency","maxLatency":100}],"teams"`, 1), automatic)
		ask := func(id string) {
			w.Helper()
			if _, err := request[messages.StartMatchmaking, *messages.Ticket](w, messages.StartMatchmaking{TicketID: messages.TicketID(id), Matchmaker: "m",
				Players: []messages.TicketPlayer{{ID: messages.PlayerID(id), Latencies: map[string]int{"here": 30, "there": 40}}}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ask("a")
		ask("b")
		w.pass()
		w.reopen()
		w.wantCount(1)
		w.change(func(*stubGame) {})
		w.wantCount(1)
		if f := w.ticket(string(*w.data().Ticket)); len(f.Players[0].Latencies) != 1 || f.Players[0].Latencies["here"] != 30 {
			t.Errorf("%+v", f)
		}
		w.leaves("b")
		ask("c")
		w.pass()
		w.want("c COMPLETED")
		w.wantCount(1)
	})
}
