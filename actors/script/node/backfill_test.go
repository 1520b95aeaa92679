package node_test

import (
	"strings"
	"testing"

	"troupe/actors/script"
	"troupe/messages"
)

// A script requests backfill in a loop. Only 20 requests are accepted, and the game session continues. It was
// not created for a match, so each of the 20 requests is reported as failed.
func TestAScriptAsksForBackfillInALoop(t *testing.T) {
	play(t, `
let session, told = 0;
exports.ssExports = {
  init(s) { session = s; },
  onMessage() { for (let i = 0; i < 1000; i++) session.startMatchBackfill(); session.stopMatchBackfill(); console.log('asked'); },
  onUpdateGameSession(g, reason, id) { console.log('told', ++told, reason, typeof id, id.length, session.matchedPlayers.size); },
};`, setup{}, func(g *game) {
		a := g.enter()
		a.Say(1, messages.ServerPeer, 0, "")
		g.logged("asked")
		g.logged("told 20 BACKFILL_FAILED string 36 0")
		g.await(messages.GameSessionActive)
		if strings.Contains(g.log.String(), "told 21") {
			t.Error("the log has more than expected")
		}
	})
}

// Updates reach the child in order with the other callbacks, even if the script has frozen its game session
// object.
func TestUpdatesKeepTheOrderOfCallbacks(t *testing.T) {
	play(t, `
let session;
exports.ssExports = {
  init(s) { session = s; },
  onStartGameSession(g) { Object.freeze(g); },
  onPlayerDisconnect(id) { console.log('gone', id, session.matchmakerData); },
  onUpdateGameSession(g, reason, id) { console.log('update', g === session.gameSession, reason, id, session.matchmakerData); },
};`, setup{}, func(g *game) {
		update := func(id messages.TicketID, data string) {
			g.handler.OnUpdateGameSession(&messages.GameSession{MatchmakerData: data}, script.Update{Reason: messages.MatchDataUpdated, TicketID: id})
		}
		g.inside(func() {
			update("T1", "one")
			g.handler.OnPlayerDisconnect(7)
			update("T2", "two")
			g.handler.OnPlayerDisconnect(8)
		})
		g.logged("gone 8 two")
		at := 0
		for _, want := range []string{"update true MATCHMAKING_DATA_UPDATED T1 one", "gone 7 one", "update true MATCHMAKING_DATA_UPDATED T2 two", "gone 8 two"} {
			i := strings.Index(g.log.String()[at:], want)
			if i < 0 {
				t.Fatalf("no %q in its place", want)
			}
			at += i
		}
	})
}
