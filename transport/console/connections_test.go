package console

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
)

// slowCrowd is a host with one game session that takes its time to answer, and counts how often it is asked.
type slowCrowd struct {
	Backend
	takes time.Duration
	asked int
}

func (b *slowCrowd) Fleets(context.Context) ([]*messages.Fleet, error) {
	return []*messages.Fleet{{ID: "fleet"}}, nil
}

func (b *slowCrowd) ActiveGameSessions(context.Context, messages.ActiveGameSessionQuery) (iter.Seq2[*messages.GameSession, int], error) {
	return func(yield func(*messages.GameSession, int) bool) {
		yield(&messages.GameSession{ID: "game", Status: messages.GameSessionActive}, 1)
	}, nil
}

func (b *slowCrowd) InspectGameSession(context.Context, messages.GameSessionID) (*messages.GameSessionState, error) {
	b.asked++
	time.Sleep(b.takes)
	return new(messages.GameSessionState), nil
}

// However many look, game sessions are asked for a small share of the time.
func TestALookAtAllPlayersStandsForAWhile(t *testing.T) {
	for _, test := range []struct{ takes, stands time.Duration }{
		{time.Millisecond, crowdLife}, {100 * time.Millisecond, crowdShare * 100 * time.Millisecond}, {time.Second, crowdLifeMax},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, false)
			b := &slowCrowd{takes: test.takes}
			w.console.o.Backend = b
			look := func(asked int) {
				t.Helper()
				w.want(200, "", "GET", "/admin/v1/connections", "")
				if b.asked != asked {
					t.Errorf("a look that takes %v: asked %d times, not %d", test.takes, b.asked, asked)
				}
			}
			look(1)
			time.Sleep(test.stands - test.takes - time.Millisecond)
			look(1)
			time.Sleep(2 * time.Millisecond)
			look(2)
		})
	}
}
