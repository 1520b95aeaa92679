package placement_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/actors/store"
	"troupe/messages"
)

// site is a System with the real registry. Its fleets have virtual locations, with one process in each location of a
// fleet.
type site struct {
	*actorstest.World
	busy   map[string]messages.GameSessionID // running game sessions by "fleet/location"
	events []messages.Event                  // accessed only while the bubble is idle
}

// onSite runs a test. Each fleet is given as "W us-west-2,eu-west-1 0.5": name, locations and cost.
func onSite(t *testing.T, fleets []string, change func(*actors.Options), test func(s *site)) {
	t.Helper()
	s := &site{busy: map[string]messages.GameSessionID{}}
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Region = "us-east-1"
		o.Fleet.Fleets, o.Fleet.Locations = nil, nil
		known := map[string]bool{}
		for _, f := range fleets {
			var name, locations string
			var cost float64
			if n, err := fmt.Sscan(f, &name, &locations, &cost); n < 2 {
				t.Fatal(f, err)
			}
			record := &messages.Fleet{
				ID: messages.FleetID("fleet-" + name), Status: messages.FleetActive, Locations: strings.Split(locations, ","), GameSessionsMax: 1, Cost: cost,
			}
			o.Fleet.Fleets = append(o.Fleet.Fleets, record)
			for _, l := range record.Locations {
				if !known[l] {
					known[l] = true
					o.Fleet.Locations = append(o.Fleet.Locations, messages.Location{Name: l})
				}
			}
		}
		o.Fleet.Aliases = []*messages.Alias{{ID: "alias-x", FleetID: "fleet-" + messages.FleetID(fleets[0][:1])}, {ID: "alias-end", Message: "closed"}}
		o.Fleet.OnEvent = func(e messages.Event) {
			if e.Kind == messages.EventPlacement {
				s.events = append(s.events, e)
			}
		}
		if change != nil {
			change(o)
		}
	}, func(w *actorstest.World) {
		s.World = w
		test(s)
	})
}

func arnOf(destination string) string {
	if strings.HasPrefix(destination, "alias-") {
		return "arn:aws:gamelift:us-east-1::alias/" + destination
	}
	return "arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-" + destination
}

func (s *site) queue(q messages.Queue, destinations ...string) {
	s.Helper()
	q.Name = "q"
	for _, d := range destinations {
		q.Destinations = append(q.Destinations, arnOf(d))
	}
	if q.Timeout == 0 {
		q.Timeout = 120 * time.Second
	}
	assert.OK(messages.Do(s.Context(), s.System, messages.CreateQueue{Queue: q}))(s)
}

// occupy starts a game session in the process of a destination such as "W/us-west-2".
func (s *site) occupy(at string) {
	s.Helper()
	fleet, location, _ := strings.Cut(at, "/")
	g, err := s.Try(messages.CreateGameSession{FleetID: messages.FleetID("fleet-" + fleet), Location: location}, script.Relay{})
	if err != nil {
		s.Fatal(at, err)
	}
	s.busy[at] = g.ID
}

// free ends that game session, so that its process is free again.
func (s *site) free(at string) {
	s.Helper()
	if _, err := messages.Do(s.Context(), s.System, messages.TerminateGameSession{GameSessionID: s.busy[at], Force: true}); err != nil {
		s.Fatal(at, err)
	}
	s.WaitIdle()
}

func (s *site) start(r messages.StartPlacement) *messages.Placement {
	s.Helper()
	r.Queue = "q"
	p := assert.Value(messages.Do(s.Context(), s.System, r))(s)
	s.WaitIdle()
	return p
}

func (s *site) placement(id messages.PlacementID) *messages.Placement {
	s.Helper()
	return assert.Value(messages.Do(s.Context(), s.System, messages.PlacementQuery{ID: id}))(s)
}

// API-50: the reservations' 60 s begin with the fulfilment, not with the launch.
func TestPlayerSessionsAreReservedFromTheFulfilment(t *testing.T) {
	onSite(t, []string{"A us-1"}, nil, func(s *site) {
		s.queue(messages.Queue{}, "A")
		s.occupy("A/us-1")
		s.start(messages.StartPlacement{ID: "p", MaxPlayers: 1, Players: []messages.NewPlayer{{PlayerID: "x"}}})
		s.Pass(90 * time.Second)
		s.free("A/us-1")
		p := s.placement("p")
		if p.Status != messages.PlacementFulfilled {
			s.Fatal(p.Status)
		}
		s.Pass(59 * time.Second)
		s.Want(p.Placed[0].PlayerSessionID, messages.PlayerSessionReserved, 1)
		s.Pass(2 * time.Second)
		s.Want(p.Placed[0].PlayerSessionID, messages.PlayerSessionTimedOut, 0)
	})
}

// More players than a single call of CreatePlayerSessions may name.
func TestAllDesiredPlayersGetPlayerSessions(t *testing.T) {
	onSite(t, []string{"A us-1"}, nil, func(s *site) {
		s.queue(messages.Queue{}, "A")
		var all []messages.NewPlayer
		for i := range 200 {
			all = append(all, messages.NewPlayer{PlayerID: messages.PlayerID(fmt.Sprint(i)), PlayerData: "data"})
		}
		s.start(messages.StartPlacement{ID: "p", MaxPlayers: 200, Players: all})
		p := s.placement("p")
		if p.Status != messages.PlacementFulfilled || len(p.Placed) != 200 || s.Game(p.GameSessionID).CurrentPlayers != 200 {
			s.Fatal(p.Status, len(p.Placed))
		}
		if seat := s.Seated(p.Placed[199].PlayerSessionID); seat.PlayerID != "199" || seat.PlayerData != "data" {
			s.Errorf("%+v", seat)
		}
	})
}

// API-53.
func TestEachPlacementHasOneTerminalEvent(t *testing.T) {
	onSite(t, []string{"A us-1"}, nil, func(s *site) {
		s.queue(messages.Queue{Timeout: 10 * time.Second}, "A")
		s.start(messages.StartPlacement{ID: "fulfilled", MaxPlayers: 1})
		s.start(messages.StartPlacement{ID: "cancelled", MaxPlayers: 1})
		s.start(messages.StartPlacement{ID: "late", MaxPlayers: 1})
		assert.OK(messages.Do(s.Context(), s.System, messages.StopPlacement{ID: "cancelled"}))(s)
		s.Pass(11 * time.Second)
		s.start(messages.StartPlacement{ID: "failed", MaxPlayers: 1})
		assert.NoError(s, messages.Run(s.Context(), s.System, messages.DeleteQueue{Name: "q"}))
		s.Pass(time.Minute)
		var told []string
		for _, e := range s.events {
			var d map[string]any
			assert.NoError(s, json.Unmarshal(e.Detail, &d))
			told = append(told, fmt.Sprint(d["placementId"], " ", d["type"], " ", d["port"]))
		}
		want := []string{"fulfilled PlacementFulfilled 1900", "cancelled PlacementCancelled <nil>", "late PlacementTimedOut <nil>", "failed PlacementFailed <nil>"}
		assert.List(s, "told", told, want)
	})
}

// slow is a game that takes the time after to start. If after is 0, it never starts.
type slow struct {
	script.Relay
	session script.Session
	after   time.Duration
	refuse  bool
}

func (g *slow) Init(s script.Session) error {
	g.session = s
	return nil
}

func (g *slow) OnStartGameSession(*messages.GameSession) script.Decision {
	p := new(script.Pending)
	if g.after > 0 {
		g.session.After(g.after, func() { p.Decide(!g.refuse) })
	}
	return script.Later(p)
}

// Attempts whose game session starts slowly, refuses to start, or is no longer needed.
func TestAttemptsThroughTheRegistry(t *testing.T) {
	games := map[messages.FleetID]func() script.Handler{}
	change := func(o *actors.Options) {
		o.Fleet.NewHandler = func(f *messages.Fleet) script.Handler {
			if newGame := games[f.ID]; newGame != nil {
				return newGame()
			}
			return script.Relay{}
		}
	}
	live := func(s *site) (live []string) {
		for _, f := range []messages.FleetID{"fleet-A", "fleet-B"} {
			all, err := messages.Do(s.Context(), s.System, messages.FindGameSessions{FleetID: f})
			assert.NoError(s, err)
			for _, g := range all.GameSessions {
				if g.Status < messages.GameSessionTerminated {
					live = append(live, string(f)+" "+g.Status.String())
				}
			}
		}
		return live
	}
	fleets := []string{"A us-1", "B eu-1"}
	t.Run("refused, then the next candidate", func(t *testing.T) {
		onSite(t, fleets, change, func(s *site) {
			games["fleet-A"] = func() script.Handler { return &slow{after: 300 * time.Millisecond, refuse: true} }
			s.queue(messages.Queue{}, "A", "B")
			s.start(messages.StartPlacement{ID: "p", MaxPlayers: 1})
			if p := s.placement("p"); p.Status != messages.PlacementPending || p.Location != "us-1" {
				s.Errorf("%s at %s", p.Status, p.Location)
			}
			s.Pass(400 * time.Millisecond)
			if p := s.placement("p"); p.Status != messages.PlacementFulfilled || p.Location != "eu-1" {
				s.Errorf("%s at %s", p.Status, p.Location)
			}
			assert.List(s, "live", live(s), []string{"fleet-B ACTIVE"})
		})
	})
	for name, end := range map[string]func(s *site){
		"stopped": func(s *site) {
			if _, err := messages.Do(s.Context(), s.System, messages.StopPlacement{ID: "p"}); err != nil {
				s.Fatal(err)
			}
		},
		"queue deleted": func(s *site) {
			if err := messages.Run(s.Context(), s.System, messages.DeleteQueue{Name: "q"}); err != nil {
				s.Fatal(err)
			}
		},
		"timed out": func(s *site) { s.Pass(9 * time.Second) },
	} {
		t.Run(name+" while ACTIVATING", func(t *testing.T) {
			onSite(t, fleets, change, func(s *site) {
				games["fleet-A"] = func() script.Handler { return &slow{after: time.Hour} }
				s.queue(messages.Queue{Timeout: 10 * time.Second}, "A")
				s.start(messages.StartPlacement{ID: "p", MaxPlayers: 1, Players: []messages.NewPlayer{{PlayerID: "x"}}})
				s.Pass(1500 * time.Millisecond)
				assert.List(s, "live", live(s), []string{"fleet-A ACTIVATING"})
				end(s)
				s.Pass(time.Second)
				if p := s.placement("p"); !p.Status.Final() || p.Status == messages.PlacementFulfilled || p.GameSessionID != "" {
					s.Errorf("%+v", p)
				}
				if l := live(s); len(l) > 0 {
					s.Error(l)
				}
				assert.Equal(s, "events", len(s.events), 1)
			})
		})
	}
}

// Destinations that do not exist or cannot be combined are refused.
func TestDestinationsAreChecked(t *testing.T) {
	onSite(t, []string{"A us-1", "B eu-1"}, func(o *actors.Options) { o.Fleet.Fleets[1].Certificates = true }, func(s *site) {
		s.queue(messages.Queue{}, "A", "alias-end", "alias-x")
		for d, code := range map[string]messages.ErrorCode{"no": messages.NotFound, "alias-no": messages.NotFound, "B": messages.InvalidRequest} {
			to := []string{arnOf("A"), arnOf(d)}
			_, err := messages.Do(s.Context(), s.System, messages.CreateQueue{Queue: messages.Queue{Name: "other", Timeout: time.Minute, Destinations: to}})
			s.IsError(err, code)
			_, err = messages.Do(s.Context(), s.System, messages.UpdateQueue{Name: "q", Destinations: &to})
			s.IsError(err, code)
		}
		all, err := messages.Do(s.Context(), s.System, messages.QueueQuery{})
		if err != nil || len(all) != 1 || len(all[0].Destinations) != 3 {
			s.Error(all, err)
		}
	})
}

// Placements that are PENDING when the process dies continue in the next process.
func TestRestartThroughTheRegistry(t *testing.T) {
	disk := new(store.Memory)
	onDisk := func(o *actors.Options) { o.Fleet.Store = unclosed{disk} }
	var first messages.GameSessionID
	onSite(t, []string{"A us-1"}, onDisk, func(s *site) {
		s.queue(messages.Queue{}, "A")
		s.start(messages.StartPlacement{ID: "fulfilled", MaxPlayers: 1})
		first = s.placement("fulfilled").GameSessionID
		s.start(messages.StartPlacement{ID: "pending", MaxPlayers: 1})
	})
	onSite(t, []string{"A us-1"}, onDisk, func(s *site) {
		s.WaitIdle()
		if p := s.placement("fulfilled"); p.Status != messages.PlacementFulfilled || p.GameSessionID != first {
			s.Errorf("%+v", p)
		}
		if g := s.Game(first); g.Status != messages.GameSessionTerminated {
			s.Errorf("%+v", g)
		}
		p := s.placement("pending")
		if p.Status != messages.PlacementFulfilled || p.GameSessionID == first || s.Game(p.GameSessionID).Status != messages.GameSessionActive {
			s.Errorf("%+v", p)
		}
		s.start(messages.StartPlacement{ID: "stays", MaxPlayers: 1})
		assert.Equal(s, "events", len(s.events), 1)
	})
}

// unclosed is a store that ignores Close, so that several processes can use it in turn.
type unclosed struct{ store.Store }

func (unclosed) Close() error { return nil }

// reasons returns the reasons in the placement events.
func (s *site) reasons() (all []string) {
	for _, e := range s.events {
		var d map[string]any
		assert.NoError(s, json.Unmarshal(e.Detail, &d))
		all = append(all, fmt.Sprint(d["placementId"], " ", d["type"], ": ", d["reason"]))
	}
	return all
}

// The only destination of a queue has been deleted. The queue's placements wait for another destination until their
// timeout, and their events say why they ended.
func TestAQueueWithoutADestination(t *testing.T) {
	onSite(t, []string{"A us-1"}, nil, func(s *site) {
		a := assert.Value(messages.Do(s.Context(), s.System, messages.CreateAlias{Name: "door", FleetID: "fleet-A"}))(s)
		s.queue(messages.Queue{Timeout: 10 * time.Second}, string(a.ID))
		assert.NoError(s, messages.Run(s.Context(), s.System, messages.DeleteAlias{ID: a.ID}))
		s.start(messages.StartPlacement{ID: "late", MaxPlayers: 1})
		s.Pass(8 * time.Second)
		s.start(messages.StartPlacement{ID: "patient", MaxPlayers: 1})
		s.Pass(4 * time.Second)
		to := []string{arnOf("A")}
		assert.OK(messages.Do(s.Context(), s.System, messages.UpdateQueue{Name: "q", Destinations: &to}))(s)
		s.Pass(3 * time.Second)
		want := []string{"late PlacementTimedOut: alias " + string(a.ID) + " is not known here", "patient PlacementFulfilled: <nil>"}
		if got := s.reasons(); !slices.EqualFunc(got, want, strings.HasPrefix) {
			s.Errorf("told %q", got)
		}
		assert.Equal(s, "are counted", s.Count.PlacementsNowhere.Load(), 1)
	})
}

// The placements of a queue whose record is damaged fail with that reason. The queue can be created again.
func TestAQueueThatIsDamaged(t *testing.T) {
	disk := new(store.Memory)
	onDisk := func(o *actors.Options) { o.Fleet.Store = unclosed{disk} }
	onSite(t, []string{"A us-1"}, onDisk, func(s *site) {
		s.queue(messages.Queue{}, "alias-end")
		s.start(messages.StartPlacement{ID: "pending", MaxPlayers: 1})
	})
	disk.Commit([]store.Change{{Kind: store.Queue, ID: "q", Value: []byte("{")}}, nil)
	onSite(t, []string{"A us-1"}, onDisk, func(s *site) {
		s.Pass(2 * time.Second)
		if got := s.reasons(); len(got) != 1 || !strings.HasPrefix(got[0], "pending PlacementFailed: ") || !strings.Contains(got[0], "queue q is not known here: its record in the store is damaged") {
			s.Errorf("told %q", got)
		}
		_, err := messages.Do(s.Context(), s.System, messages.StartPlacement{ID: "p", Queue: "q", MaxPlayers: 1})
		if s.IsError(err, messages.NotFound); !strings.Contains(err.Error(), "damaged") {
			s.Error(err)
		}
		s.queue(messages.Queue{}, "A")
		s.start(messages.StartPlacement{ID: "p", MaxPlayers: 1})
		if p := s.placement("p"); p.Status != messages.PlacementFulfilled {
			s.Error(p.Status)
		}
	})
}
