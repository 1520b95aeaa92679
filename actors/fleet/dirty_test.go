package fleet_test

import (
	"maps"
	"slices"
	"testing"

	"troupe/actors/fleet"
	"troupe/messages"
)

// What is read while a change is on its way to the store is what was there before; so it
// is when the store has refused it.
func TestNoChangeIsShownBeforeItIsDurable(t *testing.T) {
	var names []string
	withResources(t, func(h *resources) { names = slices.Sorted(maps.Keys(h.writes())) })
	for _, name := range append(names, "DeleteScript") {
		t.Run(name, func(t *testing.T) {
			withResources(t, func(h *resources) {
				writes := h.writes()
				spare := wanted[*messages.Script](h.host, newScriptOf("main.js=spare"))
				writes["DeleteScript"] = func() error {
					_, err := request[fleet.None](h.host, fleet.DropScript{ID: spare.ID})
					return err
				}
				before := h.state()
				h.disk.hold()
				h.disk.set(errDisk)
				_ = writes[name]() // nobody waits so long for the answer
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

// A content of a script that the store has refused, and a new name that it has stored: the
// host starts from that, with the content that was there before.
func TestTheHostStartsAfterARefusedUpdateScriptAndAStoredRename(t *testing.T) {
	withResources(t, func(h *resources) {
		h.disk.hold()
		h.disk.set(errDisk)
		_, _ = request[fleet.Changed](h.host, changeOf(h.script.ID, "main.js=two"))
		h.disk.set(nil)
		_, _ = request[fleet.Changed](h.host, fleet.ChangeScript{Request: messages.UpdateScript{ID: h.script.ID, Name: "other"}})
		h.disk.release()
		if s := wanted[[]*messages.Script](h.host, fleet.Scripts{ID: h.script.ID})[0]; s.Name != "other" || s.Contents != 1 {
			t.Errorf("the script is shown as %+v", s)
		}
		h.restart()
		if s := wanted[[]*messages.Script](h.host, fleet.Scripts{ID: h.script.ID})[0]; s.Name != "other" || s.Contents != 1 {
			t.Errorf("after a restart the script is shown as %+v", s)
		}
		h.runs("1 (1.0)", "one")
	})
}
