package fleet_test

import (
	"encoding/json"
	"errors"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/messages"
)

// While a change of a game session or player session is being stored, readers see the previous state. They still do
// after the store has refused the change.
func TestNoChangeOfAGameSessionIsShownBeforeItIsDurable(t *testing.T) {
	for name, change := range map[string]func(h *host, id messages.GameSessionID) *[]error{
		"CreateGameSession": func(h *host, _ messages.GameSessionID) *[]error {
			return later[*messages.GameSession](h, create(actorstest.Fleet, ""))
		},
		"UpdateGameSession": func(h *host, id messages.GameSessionID) *[]error {
			return later[*messages.GameSession](h, messages.UpdateGameSession{ID: id, Name: new("other")})
		},
		"TerminateGameSession": func(h *host, id messages.GameSessionID) *[]error {
			return later[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: id})
		},
		"CreatePlayerSessions": func(h *host, id messages.GameSessionID) *[]error { return h.seatsLater(id, "b", "c") },
	} {
		t.Run(name, func(t *testing.T) {
			hosted(t, nil, func(h *host) {
				g := h.must(create(actorstest.Fleet, ""))
				assert.OK(h.seats(g.ID, "a"))(t)
				state := func() string {
					games, err1 := h.games(messages.FindGameSessions{FleetID: actorstest.Fleet})
					seats, err2 := h.players(messages.PlayerSessionQuery{GameSessionID: g.ID})
					text, err3 := json.Marshal([]any{games, seats})
					assert.NoError(t, errors.Join(err1, err2, err3))
					return string(text)
				}
				before := state()
				for _, broken := range []bool{true, false} {
					h.disk.Hold()
					h.disk.Break(broken)
					errs := change(h, g.ID)
					if now := state(); now != before || len(*errs) > 0 {
						t.Errorf("on its way to the store: %s, answered with %v, before it %s", now, *errs, before)
					}
					h.disk.Break(false)
					h.disk.Release()
					if len(*errs) != 1 || ((*errs)[0] != nil) != broken {
						t.Errorf("answered with %v", *errs)
					}
					if now := state(); (now == before) != broken {
						t.Errorf("broken: %v, and shown is %s", broken, now)
					}
				}
			})
		})
	}
}
