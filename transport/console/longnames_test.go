package console

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"testing"

	"troupe/messages"
)

// longNames is a host whose game sessions have names as long as they may be.
type longNames struct{ aFew }

func (longNames) ActiveGameSessions(context.Context, messages.ActiveGameSessionQuery) (iter.Seq2[*messages.GameSession, int], error) {
	return func(yield func(*messages.GameSession, int) bool) {
		for i := range 7 {
			id := messages.GameSessionID("arn:aws:gamelift:us-east-1::gamesession/fleet-dev/" + strings.Repeat("x", 40) + string(rune('a'+i)))
			if !yield(&messages.GameSession{ID: id, FleetID: "fleet-dev", Name: strings.Repeat("☃", 1023) + string(rune('z'-i)), Status: messages.GameSessionActive}, 0) {
				return
			}
		}
	}, nil
}

// Pages by name are complete, and none has a game session twice, however long the names are.
func TestPagesByLongNamesGoOn(t *testing.T) {
	w := newWorld(t, false)
	w.console.o.Backend = longNames{}
	for _, direction := range []string{"ASC", "DESC"} {
		all := w.pages("game-sessions", "status=ACTIVE&limit=2&sort="+url.QueryEscape("gameSessionName "+direction), "gameSessions", "name")
		if less := slices.IsSorted(all); len(all) != 7 || len(slices.Compact(slices.Clone(all))) != 7 || direction == "ASC" && !less {
			t.Errorf("%s: %d, %v", direction, len(all), fmt.Sprint(all)[:0])
		}
	}
}
