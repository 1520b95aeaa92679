package gateway

import (
	"testing"
	"testing/synctest"

	"troupe/actors/connection"
	"troupe/actors/gamesession"
	"troupe/actors/player"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

type silentLink struct{ connection.Link }

func (silentLink) LoggedIn() {}

// The game session is notified of a limit only once. This also holds if packets were dropped
// because of it before the login was accepted.
func TestAGameSessionIsToldOnceOfALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer s.Close()
		session := new(stagetest.Probe)
		g := New(Options{Counters: new(counters.Set)})
		p := &peer{gateway: g, conn: numberedConn{}, handle: connection.NewHandle(s.Stage, silentLink{}, counters.WS, nil, g.o.Counters)}
		p.drop(counters.DropPayloadTooLarge)
		p.handle.Bind(&player.Attachment{Player: new(player.Handle), Session: s.Spawn(session)})
		for range 3 {
			p.drop(counters.DropPayloadTooLarge)
		}
		synctest.Wait()
		told := 0
		for _, m := range session.Take() {
			if m, ok := m.(gamesession.Limited); ok && m.Why == counters.DropPayloadTooLarge {
				told++
			}
		}
		if told != 1 {
			t.Errorf("it is told %d times", told)
		}
	})
}
