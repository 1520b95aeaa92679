package scripts

import (
	"strings"
	"testing"
)

// The texts of a script's errors and log lines may have any content and length.
func TestErrorsThatSayTooMuch(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: (message) => {
					const error = new Error('odd');
					if (message.opCode === 1) error.stack = 'Error: odd\n    at f (' + 'y'.repeat(3e3) + '.js:7:8)';
					if (message.opCode === 2) error.stack = 'Error: odder\n    at f (' + 'y'.repeat(3e6) + '.js:7:8)';
					if (message.opCode < 3) throw error;
					session.sendReliableMessage(session.newTextGameMessage(4, -1, 'alive'), message.sender);
				},
			};`), setup{})
		ann := w.join(w.newGame(4), "ann")
		for op := range int32(3) {
			w.say(ann, op+1, "")
		}
		w.heard(ann, 4, "alive")
		line := w.log.await(t, "Error in onMessage: Error: odd\n")
		if !strings.HasPrefix(line.File, "yyyy") || len(line.File) > 300 || line.Row != 7 {
			t.Errorf("(%.30s..., of %d) %d", line.File, len(line.File), line.Row)
		}
		w.log.await(t, "Error in onMessage: Error: odder")
	})
}

// The log contains the removal of a player by the script, with its reason.
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

// An error of a script's own class is logged with the position of the throw, not of the class.
func TestErrorsOfOwnClassesHaveThePlaceThatThrows(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `class GameError extends Error { constructor(text) { super(text); this.name = 'GameError'; } }
class Cheating extends GameError {
  constructor(who) {
    super(who + ' cheats');
    this.who = who;
  }
}
class Bare extends Error {}
function Old(text) { Error.captureStackTrace(this, Old); this.message = text; }
Old.prototype = Object.create(Error.prototype);
Old.prototype.name = 'Old';
const thrown = [
  () => { throw new GameError('one'); },
  () => { throw new Cheating('two'); },
  () => { [1].forEach(() => { throw new Bare('three'); }); },
  () => { throw new Old('four'); },
  () => Promise.reject(new Cheating('five')),
  () => { setTimeout(() => { throw new Cheating('six'); }, 1); },
];
exports.ssExports = { init() {}, onMessage(message) { return thrown[message.opCode - 1](); } };`), setup{})
		ann := w.join(w.newGame(4), "ann")
		for i, text := range []string{"one", "two", "three", "Error in onMessage: Old", "five", "six"} {
			w.say(ann, int32(i+1), "")
			if line := w.log.await(t, text); line.File != "script.js" || line.Row != 13+i {
				t.Errorf("%s: (%s) %d: %s", text, line.File, line.Row, line.Text)
			}
		}
	})
}
