package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

func launch(h *host, id messages.FleetID, location string) (*messages.GameSession, error) {
	return request[*messages.GameSession](h, fleet.Launch{
		Request:        messages.CreateGameSession{FleetID: id, Location: location, MaxPlayers: 2, Name: "placed", IdempotencyToken: "not used"},
		MatchmakerData: "{}", Notify: h.notify,
	})
}

func TestLaunchStartsAGameSessionAndReportsItsOutcomeOnce(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := assert.Value(launch(h, actorstest.Fleet, actorstest.Away))(h)
		tail := string(g.ID[strings.LastIndexByte(string(g.ID), '/')+1:])
		if len(tail) != 36 || !strings.HasSuffix(string(g.ID), "/"+actorstest.Away+"/"+tail) || g.IdempotencyToken != "" {
			h.Errorf("its id is %s (token %q)", g.ID, g.IdempotencyToken)
		}
		if g.Name != "placed" || g.MatchmakerData != "{}" || g.Location != actorstest.Away || g.IPAddress == "" {
			h.Errorf("%+v", g)
		}
		assert.List(h, "told", told[fleet.Launched](h), []fleet.Launched{{ID: g.ID, Active: true}})
		h.stop(g.ID)
		if all := told[fleet.Launched](h); len(all) != 0 {
			h.Errorf("told again: %+v", all)
		}
	})
}

// stop terminates a game session by force.
func (h *host) stop(id messages.GameSessionID) {
	h.Helper()
	_, err := request[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: id, Force: true})
	assert.NoError(h, err)
}

func TestLaunchOfAGameThatDoesNotStartSaysSo(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.handler = &game{Started: func() bool { return false }}
		g := assert.Value(launch(h, actorstest.Small, ""))(h)
		all := told[fleet.Launched](h)
		if len(all) != 1 || all[0].ID != g.ID || all[0].Active || !strings.Contains(all[0].Text, "ready") {
			h.Errorf("told %+v", all)
		}
	})
}

func TestLaunchedComesAfterTheAnswer(t *testing.T) {
	hosted(t, nil, func(h *host) {
		var order []string
		h.disk.Hold()
		launch := fleet.Launch{Request: messages.CreateGameSession{FleetID: actorstest.Fleet}, Notify: h.notify}
		stage.Send(h.registry, launch, func(*messages.GameSession, error) {
			order = append(order, "answer", string(rune('0'+len(told[fleet.Launched](h)))))
		})
		stagetest.Pass(time.Second)
		if len(order) != 0 || len(told[fleet.Launched](h)) != 0 {
			h.Errorf("it is not stored yet, and told: %v", order)
		}
		h.disk.Release()
		if all := told[fleet.Launched](h); !slices.Equal(order, []string{"answer", "0"}) || len(all) != 1 {
			h.Errorf("%v, then %+v", order, all)
		}
	})
}

func TestLaunchThatIsNotStoredHasNoEffect(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.disk.Break(true)
		_, err := launch(h, actorstest.Small, "")
		h.is(err, messages.Internal)
		if all := told[fleet.Launched](h); len(all) != 0 {
			h.Errorf("told %+v", all)
		}
		h.disk.Break(false)
		if _, err := launch(h, actorstest.Small, ""); err != nil {
			h.Errorf("its place is not free again: %v", err)
		}
		assert.Equal(h, "told times", len(told[fleet.Launched](h)), 1)
	})
}

func TestLaunchNeedsRoom(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.registry.Tell(fleet.WatchRoom{Notify: h.notify})
		g := assert.Value(launch(h, actorstest.Small, ""))(h)
		_, err := launch(h, actorstest.Small, "")
		h.is(err, messages.FleetCapacityExceeded)
		h.probe.Take()
		h.stop(g.ID)
		assert.List(h, "told of room", told[fleet.RoomFor](h), []fleet.RoomFor{{FleetID: actorstest.Small, Location: actorstest.Home}})
		if _, err = launch(h, actorstest.Small, ""); err != nil {
			h.Error(err)
		}
	})
}

func TestCandidatesAreTheActiveFleetsThatDestinationsLeadTo(t *testing.T) {
	priced := func(o *fleet.Options) {
		o.Locations = []messages.Location{{Name: actorstest.Away, Cost: 0.5}}
		o.Fleets[1].Cost = 0.25
	}
	hosted(t, priced, func(h *host) {
		assert.OK(launch(h, actorstest.Small, ""))(h)
		got, err := request[[]fleet.Candidate](h, fleet.Candidates{Destinations: []string{
			"arn:aws:gamelift:eu-test-1:000000000000:fleet/" + string(actorstest.Asleep),
			"arn:aws:gamelift:eu-test-1::alias/" + string(actorstest.Terminal),
			"arn:aws:gamelift:eu-test-1::alias/alias-unknown",
			"arn:aws:gamelift:eu-test-1::alias/" + string(actorstest.Alias),
			"arn:aws:gamelift:eu-test-1::fleet/" + string(actorstest.Fleet),
			"arn:aws:gamelift:eu-test-1::fleet/" + string(actorstest.Small),
			"",
		}})
		want := []fleet.Candidate{
			{Destination: 3, FleetID: actorstest.Fleet, Location: actorstest.Home, Room: true},
			{Destination: 3, FleetID: actorstest.Fleet, Location: actorstest.Away, Room: true, Cost: 0.5},
			{Destination: 5, FleetID: actorstest.Small, Location: actorstest.Home, Cost: 0.25},
		}
		if err != nil || !slices.Equal(got, want) {
			h.Errorf("%+v, %v", got, err)
		}
	})
}
