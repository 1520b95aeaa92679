package acceptance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// A game session whose script is in an infinite loop ends immediately if it is terminated by force. That is
// long before the time limit of the callback, and the game session does not count as failed. The time is only
// logged, because the machine may be busy.
// RL-210.
func TestTerminatedByForceInALoop(t *testing.T) {
	for _, engine := range []string{"embedded", "node"} {
		if engine == "node" {
			if needNode(t); testing.Short() {
				t.Skip("make test-full starts Node.js for it: its processes end in the tests of actors/script/node")
			}
		}
		h := startHost(t, func(c *host.Config) { c.Script.Callback = 5 * time.Minute }, nil)
		h.real = true // in memory, but not in a bubble: virtual time does not advance while a script computes
		text := strings.Replace(says("well"), "onMessage: (m) =>", `onMessage: (m) => m.opCode === 66 ? (() => { for (;;) try { for (;;); } catch (e) {} })() :`, 1)
		_, fleet := h.scriptFleet(archive(map[string]string{"package.json": fmt.Sprintf(`{"troupe": {"engine": %q}}`, engine), "lib/main.js": text}))
		game, a := h.on(fleet)
		h.hears(a, "well")
		h.send(a, stock.Message{OpCode: 66, TargetPlayer: stock.ServerID, Reliable: true})
		time.Sleep(50 * time.Millisecond) // the script is probably in the loop now; the test is valid also if it is not
		if _, err := h.terminate(game, types.TerminationModeForceTerminate); err != nil {
			t.Fatal(err)
		}
		h.awaitClose(a, messages.CloseGameEnded)
		h.until("the game session is over", func() error {
			if g := h.game(game); g.Status != types.GameSessionStatusTerminated || g.StatusReason != types.GameSessionStatusReasonForceTerminated {
				return fmt.Errorf("it is %s, %s", g.Status, g.StatusReason)
			}
			return nil
		})
		if n := h.host.Counters().ScriptCrashes.Load(); n != 0 {
			t.Errorf("%d crashes are counted", n)
		}
	}
}
