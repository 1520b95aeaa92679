package endpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/transport/host"
)

// at returns a change of the configuration that puts the store into a file.
func at(path string) func(*host.Config) {
	return func(c *host.Config) { c.Store = host.Store{Path: path} }
}

// killed starts the host again with the files as they are now: what a SIGKILL would leave. The old host is closed first,
// but its end changes other files.
func (w *world) killed(path string) (after string) {
	w.t.Helper()
	after = filepath.Join(w.t.TempDir(), "after.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(after+suffix, text, 0o600)
		}
		if err != nil && suffix == "" {
			w.t.Fatal(err)
		}
	}
	w.Host.Host.Close()
	w.start(at(after))
	return after
}

// SS-11, SS-34, SS-112: the host is killed with 50 hosting processes. All keep their game sessions and player sessions, and no
// answered change is lost. A process that does not come back ends its game session.
func TestKilledHost(t *testing.T) {
	for _, how := range []string{"killed", "stopped"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "before.db")
				w := begin(t, at(path))
				const n = 50
				type played struct {
					p                         *process
					g                         *messages.GameSession
					active, reserved, removed messages.PlayerSessionID
				}
				all := make([]played, n)
				for i := range all {
					a := &all[i]
					a.p = w.connect(fmt.Sprint("p", i)).ready(i + 1)
					a.g = w.hosts(a.p, 4)
					ids := w.players(a.g.ID, "a", "r", "x")
					a.active, a.reserved, a.removed = ids[0], ids[1], ids[2]
					a.p.call(200, "AcceptPlayerSession", seat(a.g.ID, a.active))
					a.p.call(200, "RemovePlayerSession", seat(a.g.ID, a.removed))
					if i%2 == 0 {
						a.p.call(200, "UpdatePlayerSessionCreationPolicy", of(a.g.ID)+`,"PlayerSessionPolicy":"DENY_ALL"`)
					}
				}
				idle := w.connect("idle").ready(100)
				started := w.connect("started").ready(101)
				_ = started
				gone := w.connect("gone").ready(102)
				gone.call(200, "TerminateServerProcess", "")
				pending := w.create(3) // in idle, which has not activated it
				idle.pushed("CreateGameSession", nil)
				if how == "killed" {
					path = w.killed(path)
				} else {
					w.Host.Host.Close()
					w.start(at(path))
				}
				if c := all[0].p.ends(); c != 0 { // SS-36
					t.Errorf("closed with %d", c)
				}
				synctest.Wait()
				for i, a := range all {
					g := w.game(a.g.ID)
					if g.Status != messages.GameSessionActive || g.CurrentPlayers != 2 || g.AcceptsPlayers != (i%2 != 0) || g.Port != i+1 {
						t.Fatalf("%d: %+v", i, g)
					}
					if got := [3]messages.PlayerSessionStatus{w.player(a.active), w.player(a.reserved), w.player(a.removed)}; got != [3]messages.PlayerSessionStatus{messages.PlayerSessionActive, messages.PlayerSessionReserved, messages.PlayerSessionCompleted} {
						t.Fatal(i, got)
					}
				}
				if s := w.game(pending.ID).Status; s != messages.GameSessionActivating {
					t.Error(s)
				}
				time.Sleep(20 * time.Second)
				for i := range all[:n-1] {
					a := &all[i]
					a.p = w.connect(fmt.Sprint("p", i))
					a.p.call(200, "AcceptPlayerSession", seat(a.g.ID, a.reserved))
					a.p.call(400, "AcceptPlayerSession", seat(a.g.ID, a.active))
					a.p.beat(true)
					if i%2 != 0 {
						w.players(a.g.ID, "new")
					}
				}
				idle = w.connect("idle")
				idle.beat(true)
				idle.pushed("CreateGameSession", nil) // SS-204
				idle.call(200, "ActivateGameSession", of(pending.ID))
				if _, status := w.dial("/server-sdk", w.query("gone")); status != 403 { // SS-10
					t.Error(status)
				}
				w.full()
				back := w.connect("started")
				back.beat(true)
				w.create(1)
				back.pushed("CreateGameSession", nil)
				for range 4 {
					time.Sleep(50 * time.Second)
					for _, a := range all[:n-1] {
						a.p.beat(true)
					}
					idle.beat(true)
				}
				synctest.Wait()
				if s := w.game(all[n-1].g.ID).Status; s != messages.GameSessionTerminated {
					t.Error(s)
				}
				w.event("SERVER_PROCESS_CRASHED")
				for _, a := range all[:n-1] {
					if s := w.game(a.g.ID).Status; s != messages.GameSessionActive {
						t.Error(s)
					}
				}
			})
		})
	}
}
