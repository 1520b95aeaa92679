package scripts

import (
	"strings"
	"testing"
)

// What a script's errors and lines say of themselves may be anything, and of any length.
func TestErrorsThatSayTooMuch(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: (message) => {
					const error = new Error('odd');
					if (message.opCode === 1) error.stack = 'Error: odd\n    at f (' + 'y'.repeat(3e6) + '.js:7:8)';
					if (message.opCode === 2) console.log('\n'.repeat(2e7));
					if (message.opCode < 3) throw error;
					session.sendReliableMessage(session.newTextGameMessage(4, -1, 'alive'), message.sender);
				},
			};`), setup{})
		ann := w.join(w.newGame(4), "ann")
		for op := range int32(3) {
			w.say(ann, op+1, "")
		}
		w.heard(ann, 4, "alive")
		line := w.log.await(t, "Error in onMessage: Error: odd")
		if !strings.HasPrefix(line.File, "yyyy") || len(line.File) > 300 || line.Row != 7 {
			t.Errorf("(%.30s..., of %d) %d", line.File, len(line.File), line.Row)
		}
	})
}

// A player that a script removes, and why, is in the log.
func TestKickedPlayersAreInTheLog(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: (message) => { session.kickPlayer(message.sender, 'too', 'loud'); session.kickPlayer(message.sender, 'again'); session.kickPlayer(99); },
			};`), setup{})
		ann := w.join(w.newGame(4), "ann")
		w.say(ann, 1, "")
		w.awaitClose(ann)
		w.log.await(t, "player 1 is removed: too")
		w.log.await(t, "player 99 cannot be removed: it is not there")
		if w.log.has("again") {
			t.Error(w.log)
		}
	})
}
