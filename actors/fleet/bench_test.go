package fleet_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// benchHost is a registry with a store on disk, in real time.
func benchHost(b *testing.B, s store.Store) (ref *stage.Ref, ready time.Duration, stop func()) {
	b.Helper()
	begin := time.Now()
	registry, err := fleet.New(fleet.Options{
		Region: "eu-test-1", Store: s, Advertised: fleet.Advertised{IPAddress: "192.0.2.1", Port: 1900}, Session: gamesession.DefaultSettings(),
		Fleets:     []*messages.Fleet{{ID: "fleet-a", Status: messages.FleetActive, Locations: []string{"home"}, GameSessionsMax: 1 << 20}},
		NewHandler: func(*messages.Fleet) script.Handler { return script.Relay{} },
		EndedMax:   1 << 20,
	})
	assert.NoError(b, err)
	st := stagetest.Start(b, func(o *stage.Options) { o.Shards = 2 })
	ref = st.SpawnAt(st.Stage.NewRef(counters.ActorFleet, stage.LaneLimits{}), registry)
	_, err = stage.Await(b.Context(), func(reply func([]*messages.Fleet, error)) {
		ref.Tell(stage.Request[catalog.Fleets, []*messages.Fleet]{Reply: reply})
	})
	assert.NoError(b, err)
	return ref, time.Since(begin), st.Close
}

func openDisk(b *testing.B, path string) *store.SQLite {
	b.Helper()
	s := assert.Value(store.Open(store.Options{Path: path}))(b)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkStart starts a host from the 100,000 records of a killed process: each game
// session has four player sessions.
func BenchmarkStart(b *testing.B) {
	const sessions, players = 20_000, 4
	path := filepath.Join(b.TempDir(), "troupe.db")
	disk := openDisk(b, path)
	ref, _, stop := benchHost(b, disk)
	var wait sync.WaitGroup
	for range sessions {
		wait.Add(1)
		ref.Tell(stage.Request[messages.CreateGameSession, *messages.GameSession]{
			Request: messages.CreateGameSession{FleetID: "fleet-a", MaxPlayers: players, Name: "a game session", Properties: properties("mode", "ranked", "map", "desert")},
			Reply: func(g *messages.GameSession, err error) {
				if err != nil {
					b.Error(err)
					wait.Done()
					return
				}
				q := messages.CreatePlayerSessions{GameSessionID: g.ID}
				for i := range players {
					q.Players = append(q.Players, messages.NewPlayer{PlayerID: messages.PlayerID(fmt.Sprint("player-", i))})
				}
				ref.Tell(stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]{Request: q, Reply: func(_ []*messages.PlayerSession, err error) {
					if err != nil {
						b.Error(err)
					}
					wait.Done()
				}})
			},
		})
	}
	wait.Wait()
	disk.Flush()
	if err := disk.Close(); err != nil { // the disk closes first, so the host's shutdown stores nothing
		b.Fatal(err)
	}
	stop()
	for b.Loop() {
		disk := openDisk(b, path)
		begin := time.Now()
		_, ready, stop := benchHost(b, disk)
		b.ReportMetric(ready.Seconds(), "s/start")
		b.Logf("ready after %v, with the opening %v", ready, time.Since(begin))
		b.StopTimer()
		stop()
		_ = disk.Close()
		b.StartTimer()
	}
}

// BenchmarkCreatePlayerSession measures durable reservations of player sessions by many callers.
func BenchmarkCreatePlayerSession(b *testing.B) {
	disk := openDisk(b, filepath.Join(b.TempDir(), "troupe.db"))
	ref, _, stop := benchHost(b, disk)
	defer stop()
	var ids []messages.GameSessionID
	for range 200 {
		g, err := stage.Await(b.Context(), func(reply func(*messages.GameSession, error)) {
			ref.Tell(stage.Request[messages.CreateGameSession, *messages.GameSession]{Request: messages.CreateGameSession{FleetID: "fleet-a", MaxPlayers: 1 << 30}, Reply: reply})
		})
		assert.NoError(b, err)
		ids = append(ids, g.ID)
	}
	b.SetParallelism(64)
	n := 0
	var mu sync.Mutex
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mu.Lock()
			id := ids[n%len(ids)]
			n++
			mu.Unlock()
			_, err := stage.Await(b.Context(), func(reply func([]*messages.PlayerSession, error)) {
				ref.Tell(stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]{Request: messages.CreatePlayerSessions{GameSessionID: id, Players: []messages.NewPlayer{{PlayerID: "p"}}}, Reply: reply})
			})
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
}
