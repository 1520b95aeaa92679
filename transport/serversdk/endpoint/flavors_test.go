package endpoint_test

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/transport/sdkclient"
	"troupe/transport/transporttest/hosttest"
)

// SS-34, SS-35, SS-37, SS-104, SS-111, SS-112, section 14: a process of each SDK keeps its game session across the loss of its
// connection, restarts of the host, a quick and a slow one, and a new token, and ends when it is told to. It sees nothing against
// the rules, and none of its calls fails.
func TestEachSDK(t *testing.T) {
	for _, flavor := range []sdkclient.Flavor{sdkclient.Go56, sdkclient.Go54, sdkclient.Cpp, sdkclient.CSharp} {
		t.Run(flavor.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := filepath.Join(t.TempDir(), "store.db")
				w, begun := begin(t, at(store)), time.Now()
				var on atomic.Pointer[hosttest.Host] // the host that runs now, or the last one
				on.Store(w.Host)
				dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
					h := on.Load()
					return h.Net.DialContext(ctx, network, h.Host.Addrs().API)
				}
				restart := func(after time.Duration) {
					w.Host.Host.Close()
					time.Sleep(after)
					w.start(at(store))
					on.Store(w.Host)
				}
				p, err := sdkclient.Init(t.Context(), sdkclient.Options{
					URL: w.Host.Host.Addrs().ServerSDK, ProcessID: "p_1", HostID: "host-01", FleetID: string(w.fleet), AuthToken: w.token, Flavor: flavor, Dial: dial,
					Handlers: sdkclient.Handlers{OnHealthCheck: func() bool { return true }, OnStartGameSession: func(p *sdkclient.Process, _ sdkclient.GameSession) {
						if err := p.ActivateGameSession(t.Context()); err != nil {
							t.Error(err)
						}
					}},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Wait()
				defer p.Destroy()
				if err := p.Ready(t.Context(), 7777); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				g := w.create(9)
				time.Sleep(time.Second)
				plays := func(player messages.PlayerID, connections int) {
					t.Helper()
					if s := w.game(g.ID).Status; s != messages.GameSessionActive {
						t.Fatal(s)
					}
					if err := p.AcceptPlayerSession(t.Context(), string(w.players(g.ID, player)[0])); err != nil {
						t.Errorf("%s: %v", player, err)
					}
					if s := p.Stats(); s.Connections != connections || !s.Connected {
						t.Errorf("%s: %+v", player, s)
					}
				}
				plays("first", 1)

				p.Drop()
				time.Sleep(20 * time.Second)
				plays("after a drop", 2)

				restart(0)
				time.Sleep(20 * time.Second)
				plays("after a restart", 3)

				restart(time.Minute)
				time.Sleep(40 * time.Second)
				plays("after a minute without a host", 4)

				time.Sleep(time.Until(begun.Add(170 * time.Minute)))
				plays("with a new token", 5)
				// 20 to 30 minutes before the end of the first one, and 200 ms after an answer at the least
				if d := p.Stats().ConnectedAt.Sub(begun); d <= 150*time.Minute || d > 160*time.Minute+time.Second {
					t.Errorf("the new token came after %v", d)
				}
				p.Drop()
				time.Sleep(30 * time.Minute) // the first token is over
				plays("after another drop", 6)

				ask(w, messages.TerminateGameSession{GameSessionID: g.ID})
				p.Wait()
				synctest.Wait()
				if g := w.game(g.ID); g.Status != messages.GameSessionTerminated || g.StatusReason != "TRIGGERED_ON_PROCESS_TERMINATE" {
					t.Errorf("%+v", g)
				}
				if v := p.Violations(); len(v) > 0 || p.Stats().Unmatched > 0 {
					t.Errorf("%v, %+v", v, p.Stats())
				}
			})
		})
	}
}

// SS-103: a process that does not heed RefreshConnection lives on with a token that has expired, but cannot connect with it again.
// It is dead 210 s after its last heartbeat.
func TestExpiredToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		g := w.hosts(p, 2)
		var last time.Time // RefreshConnection
		for range 200 {
			time.Sleep(time.Minute)
			p.send("HeartbeatServerProcess", `"HealthStatus":true`)
			synctest.Wait()
			for len(p.text) > 0 {
				if m := p.next(); m.Action == "RefreshConnection" {
					last = time.Now()
				} else if m.StatusCode != 200 {
					t.Fatal(m.text)
				}
			}
		}
		if last.IsZero() {
			t.Fatal("no RefreshConnection")
		}
		p.nc.Close()
		for range 3 {
			if _, status := w.dial("/server-sdk", w.query("p")); status != 403 {
				t.Error(status)
			}
			time.Sleep(time.Minute)
		}
		if s := w.game(g.ID).Status; s != messages.GameSessionActive {
			t.Error(s)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s, time.Since(last))
		}
		w.event("SERVER_PROCESS_CRASHED")
	})
}
