package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

func launch(h *host, id messages.FleetID, location string) (*messages.GameSession, error) {
	return request[*messages.GameSession](h, messages.Launch{
		Request:        messages.CreateGameSession{FleetID: id, Location: location, MaxPlayers: 2, Name: "placed", IdempotencyToken: "not used", Tail: uuid.NewString()},
		MatchmakerData: "{}",
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
		assert.Equal(h, "activation", assert.Value(activation(h, g.ID))(h), messages.Activation{Active: true})
		h.stop(g.ID)
		if a, err := activation(h, g.ID); err != nil || a.Active || a.Text == "" {
			h.Errorf("after its end: %+v, %v", a, err)
		}
	})
}

func activation(h *host, id messages.GameSessionID) (messages.Activation, error) {
	return request[messages.Activation](h, messages.AwaitActivation{ID: id})
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
		if a, err := activation(h, g.ID); err != nil || a.Active || !strings.Contains(a.Text, "ready") {
			h.Errorf("%+v, %v", a, err)
		}
	})
}

// A request that waits for the activation is answered exactly once, when the game has started.
func TestActivationIsAwaited(t *testing.T) {
	for text, started := range map[string]bool{"": true, "ready": false} {
		hosted(t, nil, func(h *host) {
			h.handler = &game{Started: func() bool {
				time.Sleep(time.Second)
				return started
			}}
			g := assert.Value(launch(h, actorstest.Fleet, ""))(h)
			got := make(chan messages.Activation, 3)
			for range 2 {
				messages.Send(h.registry, messages.AwaitActivation{ID: g.ID}, func(a messages.Activation, err error) {
					assert.NoError(h, err)
					got <- a
				})
			}
			stagetest.Pass(time.Second / 2)
			if len(got) != 0 {
				h.Error("answered while it starts")
			}
			stagetest.Pass(time.Minute)
			if len(got) != 2 {
				h.Fatalf("%d answers", len(got))
			}
			if a, b := <-got, <-got; a != b || a.Active != started || !strings.Contains(a.Text, text) {
				h.Errorf("started %v: %+v, %+v", started, a, b)
			}
			_, err := activation(h, "arn:unknown")
			h.is(err, messages.NotFound)
		})
	}
}

func TestLaunchThatIsNotStoredHasNoEffect(t *testing.T) {
	hosted(t, nil, func(h *host) {
		h.disk.Break(true)
		_, err := launch(h, actorstest.Small, "")
		h.is(err, messages.Internal)
		h.disk.Break(false)
		if _, err := launch(h, actorstest.Small, ""); err != nil {
			h.Errorf("its place is not free again: %v", err)
		}
	})
}

func TestLaunchNeedsRoom(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := assert.Value(launch(h, actorstest.Small, ""))(h)
		_, err := launch(h, actorstest.Small, "")
		h.is(err, messages.FleetCapacityExceeded)
		room := h.room()
		if room() {
			h.Error("told of room before there is any")
		}
		h.stop(g.ID)
		if !room() {
			h.Error("not told of room")
		}
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
		got, err := request[[]messages.Candidate](h, messages.Candidates{Destinations: []string{
			"arn:aws:gamelift:eu-test-1:000000000000:fleet/" + string(actorstest.Asleep),
			"arn:aws:gamelift:eu-test-1::alias/" + string(actorstest.Terminal),
			"arn:aws:gamelift:eu-test-1::alias/alias-unknown",
			"arn:aws:gamelift:eu-test-1::alias/" + string(actorstest.Alias),
			"arn:aws:gamelift:eu-test-1::fleet/" + string(actorstest.Fleet),
			"arn:aws:gamelift:eu-test-1::fleet/" + string(actorstest.Small),
			"",
		}})
		want := []messages.Candidate{
			{Destination: 3, FleetID: actorstest.Fleet, Location: actorstest.Home, Room: true},
			{Destination: 3, FleetID: actorstest.Fleet, Location: actorstest.Away, Room: true, Cost: 0.5},
			{Destination: 5, FleetID: actorstest.Small, Location: actorstest.Home, Cost: 0.25},
		}
		if err != nil || !slices.Equal(got, want) {
			h.Errorf("%+v, %v", got, err)
		}
	})
}
