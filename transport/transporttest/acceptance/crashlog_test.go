package acceptance_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// For a crash, the host logs one line in addition to the script's own lines and stack. Lines of the host
// about a game session are not lines of the script's file.
func TestACrashIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log syncBuffer
		file := scriptFile(t, "exports.ssExports = { init() {},\n onMessage() { setTimeout(() => { throw new Error('boom'); }, 1); },\n};")
		h := startHostWith(t, func(c *host.Config) { c.Fleets[0].Script, c.Log.GameSessions.Show = file, true }, func(o *host.Options) {
			o.Log = zerolog.New(&log)
		})
		game := h.newGame(2)
		p := h.join(h.seats(game, 1)[0], stock.Options{})
		h.send(p, stock.Message{OpCode: 1, TargetPlayer: -1, Reliable: true})
		h.awaitClose(p, messages.CloseGameCrashed)
		h.awaitEnd(game, "")
		h.host.Close()
		var said []string
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "boom") {
				said = append(said, line)
			}
			if strings.Contains(line, ".go\"") {
				t.Errorf("a file of the host's: %s", line)
			}
		}
		if len(said) != 2 || !strings.Contains(said[0], `"file":"game.js"`) || !strings.Contains(said[1], `"level":"warn"`) || !strings.Contains(said[1], `"message":"game session crashed"`) ||
			!strings.Contains(said[1], `"game_session_id":"`+game) {
			t.Errorf("%d lines:\n%s", len(said), strings.Join(said, ""))
		}
	})
}
