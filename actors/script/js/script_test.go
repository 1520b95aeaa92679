package js

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/script"
)

func TestAScriptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, actorstest.ScriptLimits(), only(`
let session;
exports.ssExports = {
  init(s) { session = s; s.getLogger().info('hello', 1); },
  onMessage(m) {
    session.sendReliableMessage(session.newTextGameMessage(m.opCode + 1, session.getServerId(), m.getPayloadAsText() + '!'), m.sender);
    setTimeout(() => process.exit(0), 5);
  },
  onPlayerConnect: async m => { await null; return m.player.playerId === 'anna'; },
};`))
		g.handler.OnMessage(&script.Message{OpCode: 7, Sender: 3, Payload: []byte("žluť")})
		if len(g.sent) != 1 || g.sent[0] != `reliable op 8 from -1 to 3: "žluť!"` {
			t.Error(g.sent)
		}
		for name, want := range map[string]bool{"anna": true, "bob": false} {
			d := g.handler.OnPlayerConnect(&script.ConnectMessage{Player: script.Player{PeerID: 1, PlayerID: "anna"}})
			if name == "bob" {
				d = g.handler.OnPlayerConnect(&script.ConnectMessage{Player: script.Player{PeerID: 1, PlayerID: "bob"}})
			}
			if ok, now := d.Now(); !now || ok != want {
				t.Error(name, ok, now)
			}
		}
		g.play(time.Second)
		if g.exit == nil || *g.exit != 0 || g.crash != "" {
			t.Error(g.exit, g.crash)
		}
		if !strings.Contains(g.lines.String(), "[INFO] (server.js) 4: hello 1") {
			t.Error(&g.lines)
		}
	})
}
