package gamesession_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
	"troupe/messages/counters"
)

// A player session is not shown as ACTIVE when its game session has ended while that was stored.
func TestAcceptedAsTheGameSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer func() {
			s.Close()
			time.Sleep(5 * time.Second) // until goroutines of the actor library have ended
		}()
		probe := new(stagetest.Probe)
		fleet := s.Spawn(probe)
		ref := s.Stage.NewRef(counters.ActorGameSession, stage.LaneLimits{})
		record := &messages.GameSession{ID: "arn:one", Status: messages.GameSessionActivating, MaxPlayers: 2, AcceptsPlayers: true}
		published := gamesession.NewPublisher(record)
		published.ForServer()
		fleet.Tell(stagetest.Do(func(c *stage.Context) {
			c.Spawn(ref, gamesession.New(gamesession.Options{
				Fleet: c.Self(), Handler: script.Base{}, Settings: gamesessiontest.Settings(), Server: true, Record: record, Publisher: published,
			}))
		}))
		synctest.Wait()
		asked := func() any {
			synctest.Wait()
			for _, m := range probe.Take() {
				if a, ok := m.(stage.Ask); ok {
					return a.Request
				}
			}
			t.Fatal("the fleet was not asked")
			return nil
		}
		messages.Send(ref, gamesession.CreatePlayers{CreatePlayerSessions: messages.CreatePlayerSessions{Players: []messages.NewPlayer{{PlayerID: "p"}}}},
			func([]*messages.PlayerSession, error) {})
		made := asked().(gamesession.PlayerSessionsCreated)
		made.Show()
		id := made.Records[0].ID
		ref.Tell(gamesession.PlayerSessionsStored{IDs: []messages.PlayerSessionID{id}})
		messages.Send(ref, gamesession.SetPlayer{SetPlayer: messages.SetPlayer{Session: record.ID, Player: id, Accept: true}}, func(messages.None, error) {})
		accept := asked().(gamesession.StorePlayer)
		ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "over", Force: true})
		synctest.Wait()
		accept.Show()
		if s := published.PlayerStatus(id); s != messages.PlayerSessionCompleted {
			t.Error(s)
		}
	})
}
