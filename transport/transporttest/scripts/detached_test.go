package scripts

import "testing"

// A script is told why a player is detached. The reason does not depend on the transport and contains no
// address.
func TestOnPlayerDetachedIsToldWhy(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onPlayerDetached: (peerId, reason) => { session.getLogger().info('away', peerId, reason); return true; },
			};`), setup{})
		w.join(w.newGame(4), "ann").Kill()
		if line := w.log.await(t, "away 1"); line.Text != "away 1 connection_lost" {
			t.Error(line)
		}
	})
}
