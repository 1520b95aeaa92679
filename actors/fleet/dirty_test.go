package fleet_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"troupe/actors/actorstest"
	"troupe/actors/fleet/catalog"
	"troupe/actors/stage"
	"troupe/messages"
)

// While a change is being stored, readers see the state before it; they still do after the
// store has refused it.
func TestNoChangeIsShownBeforeItIsDurable(t *testing.T) {
	var names []string
	withResources(t, func(h *resources) { names = slices.Sorted(maps.Keys(h.writes())) })
	for _, name := range append(names, "DeleteScript") {
		t.Run(name, func(t *testing.T) {
			withResources(t, func(h *resources) {
				writes := h.writes()
				spare := wanted[*messages.Script](h.host, newScriptOf("main.js=spare"))
				writes["DeleteScript"] = func() error {
					_, err := request[stage.None](h.host, catalog.DropScript{ID: spare.ID})
					return err
				}
				before := h.state()
				h.disk.hold()
				h.disk.set(errDisk)
				_ = writes[name]() // the answer is not awaited: the disk holds the change
				h.same("on its way to the store", h.state(), before)
				h.disk.set(nil)
				h.disk.release()
				h.same("refused", h.state(), before)
				if err := writes[name](); err != nil {
					t.Error(err)
				}
				if slices.Equal(h.state(), before) {
					t.Error("stored, and not shown")
				}
			})
		})
	}
}

// The store has refused a script's new content and stored its new name. The host starts from
// that, with the new name and the old content.
func TestTheHostStartsAfterARefusedUpdateScriptAndAStoredRename(t *testing.T) {
	withResources(t, func(h *resources) {
		h.disk.hold()
		h.disk.set(errDisk)
		_, _ = request[catalog.Changed](h.host, changeOf(h.script.ID, "main.js=two"))
		h.disk.set(nil)
		_, _ = request[catalog.Changed](h.host, catalog.ChangeScript{Request: messages.UpdateScript{ID: h.script.ID, Name: "other"}})
		h.disk.release()
		if s := wanted[[]*messages.Script](h.host, catalog.Scripts{ID: h.script.ID})[0]; s.Name != "other" || s.Contents != 1 {
			t.Errorf("the script is shown as %+v", s)
		}
		h.restart()
		if s := wanted[[]*messages.Script](h.host, catalog.Scripts{ID: h.script.ID})[0]; s.Name != "other" || s.Contents != 1 {
			t.Errorf("after a restart the script is shown as %+v", s)
		}
		h.runs("1 (1.0)", "one")
	})
}

// asks sends a message without waiting for its answer.
func asks[A any](h *host, errs *[]error, message func(reply func(A, error)) any) {
	h.registry.Tell(message(func(_ A, err error) { *errs = append(*errs, err) }))
	synctest.Wait()
}

// The same rule, for game sessions and player sessions.
func TestNoChangeOfAGameSessionIsShownBeforeItIsDurable(t *testing.T) {
	for name, change := range map[string]func(h *host, id messages.GameSessionID, errs *[]error){
		"CreateGameSession": func(h *host, _ messages.GameSessionID, errs *[]error) {
			asks(h, errs, func(reply func(*messages.GameSession, error)) any {
				return stage.Request[messages.CreateGameSession, *messages.GameSession]{Request: create(actorstest.Fleet, ""), Reply: reply}
			})
		},
		"UpdateGameSession": func(h *host, id messages.GameSessionID, errs *[]error) {
			asks(h, errs, func(reply func(*messages.GameSession, error)) any {
				return stage.Request[messages.UpdateGameSession, *messages.GameSession]{Request: messages.UpdateGameSession{ID: id, Name: pointer("other")}, Reply: reply}
			})
		},
		"TerminateGameSession": func(h *host, id messages.GameSessionID, errs *[]error) {
			asks(h, errs, func(reply func(*messages.GameSession, error)) any {
				return stage.Request[messages.TerminateGameSession, *messages.GameSession]{Request: messages.TerminateGameSession{GameSessionID: id}, Reply: reply}
			})
		},
		"CreatePlayerSessions": func(h *host, id messages.GameSessionID, errs *[]error) {
			asks(h, errs, func(reply func([]*messages.PlayerSession, error)) any {
				return stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]{Request: messages.CreatePlayerSessions{GameSessionID: id, Players: []messages.NewPlayer{{PlayerID: "b"}, {PlayerID: "c"}}}, Reply: reply}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			hosted(t, nil, func(h *host) {
				g := h.must(create(actorstest.Fleet, ""))
				if _, err := h.seats(g.ID, "a"); err != nil {
					t.Fatal(err)
				}
				state := func() string {
					games, err := h.games(messages.GameSessionQuery{FleetID: actorstest.Fleet})
					if err != nil {
						t.Fatal(err)
					}
					seats, err := h.players(messages.PlayerSessionQuery{GameSessionID: g.ID})
					if err != nil {
						t.Fatal(err)
					}
					text, err := json.Marshal([]any{games, seats})
					if err != nil {
						t.Fatal(err)
					}
					return string(text)
				}
				before := state()
				var errs []error
				for _, broken := range []error{errDisk, nil} {
					h.disk.hold()
					h.disk.set(broken)
					change(h, g.ID, &errs)
					if now := state(); now != before || len(errs) > 0 {
						t.Errorf("on its way to the store: %s, answered with %v, before it %s", now, errs, before)
					}
					h.disk.set(nil)
					h.disk.release()
					if len(errs) != 1 || (errs[0] != nil) != (broken != nil) {
						t.Errorf("answered with %v", errs)
					}
					errs = nil
					if now := state(); (now == before) != (broken != nil) {
						t.Errorf("%v, and shown is %s", broken, now)
					}
				}
			})
		})
	}
}
