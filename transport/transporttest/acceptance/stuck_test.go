package acceptance_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// hang is JavaScript code that cannot be interrupted, because it runs in a single built-in function.
const hang = `((o) => { for (let i = 0; i < 3e3; i++) o = Object.create(o); Array.prototype.indexOf.call(Object.assign(o, { length: 1e6 }), 1); })({});`

// TestStuckScripts runs TestOneStuckScript in its own process. The process ends together with the goroutines
// that never return.
// RL-111.
func TestStuckScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the limits of calls, in real time: scripts that compute do not end in a virtual one")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneStuckScript$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "STUCK=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// failure sends the reason to a channel when the host reports that it cannot continue.
func failure(said chan string) func(*host.Options) {
	return func(o *host.Options) { o.OnFailure = func(reason string) { said <- reason } }
}

// event waits for an event of a fleet that contains all the words.
func (h *testHost) event(fleet, code string, words ...string) {
	h.Helper()
	h.until("an event of "+fleet, func() error {
		out, err := h.api.DescribeFleetEvents(h.context(), &gamelift.DescribeFleetEventsInput{FleetId: &fleet})
		if err != nil {
			return err
		}
		all := ""
		for _, e := range out.Events {
			text := string(e.EventCode) + " " + aws.ToString(e.Message)
			all += text + "\n"
			found := string(e.EventCode) == code
			for _, w := range words {
				found = found && strings.Contains(text, w)
			}
			if found {
				return nil
			}
		}
		return fmt.Errorf("none says %s %q:\n%s", code, words, all)
	})
}

// A game session that hangs ends only itself, and so does a second one. After that, their version gets no new
// game sessions until the script is updated.
func TestOneStuckScript(t *testing.T) {
	if os.Getenv("STUCK") == "" {
		t.Skip("run by TestStuckScripts")
	}
	defer func() {
		if !t.Failed() {
			os.Exit(0) // skips the check for leaked goroutines, because some are stuck on purpose
		}
	}()
	said := make(chan string, 10)
	var log syncBuffer
	text := strings.Replace(says("well"), "onMessage: (m) =>", "onMessage: (m) => m.opCode === 66 ? "+strings.TrimSuffix(hang, ";")+" :", 1)
	h := startHostWith(t, func(c *host.Config) { c.Script.Callback = 10 * time.Second }, func(o *host.Options) {
		onSystem(o)
		failure(said)(o)
		o.Log = zerolog.New(&log)
	})
	files := func(text string) []byte { return archive(map[string]string{"lib/main.js": text}) }
	script, fleet := h.scriptFleet(files(text))
	healthy, a := h.on(fleet)
	b := h.join(h.seats(healthy, 1)[0], stock.Options{})
	peer := b.PeerID()
	round := func(n int) {
		t.Helper()
		h.send(a, stock.Message{OpCode: 7, TargetPlayer: peer, Payload: fmt.Append(nil, n), Reliable: true})
		h.expect(b, func(e stock.Event) bool { return e.OpCode == 7 && string(e.Payload) == fmt.Sprint(n) })
		h.hears(b, "well")
	}
	hangs := func() (game string, player *stock.Client) {
		game, player = h.on(fleet)
		h.hears(player, "well")
		h.send(player, stock.Message{OpCode: 66, TargetPlayer: stock.ServerID, Reliable: true})
		return game, player
	}

	first, c := hangs()
	n := 0
	for begun := time.Now(); h.game(first).Status != types.GameSessionStatusTerminated; n++ {
		if time.Since(begun) > patience {
			t.Fatal("the game session that hangs does not end")
		}
		round(n)
	}
	if n < 3 { // usually hundreds, but few on a busy machine
		t.Errorf("%d messages there and back meanwhile", n)
	}
	h.awaitClose(c, messages.CloseGameCrashed)
	h.event(fleet, "SERVER_PROCESS_CRASHED", "a game session of version 1", "cannot be ended")
	if n := h.host.Counters().ScriptsStuck.Load(); n != 1 || len(said) != 0 {
		t.Errorf("%d are stuck, the host said %d times that it cannot go on", n, len(said))
	}
	round(-1)
	_, d := h.on(fleet) // the version may still be used
	h.hears(d, "well")

	second, _ := hangs()
	h.until("the second one ends", func() error {
		if g := h.game(second); g.Status != types.GameSessionStatusTerminated {
			return fmt.Errorf("it is %s", g.Status)
		}
		return nil
	})
	round(-2)
	if n := h.host.Counters().ScriptsStuck.Load(); n != 2 || len(said) != 0 {
		t.Fatalf("%d are stuck, the host said %d times that it cannot go on", n, len(said))
	}
	if n := h.host.Counters().ScriptStuckAgain.Load(); n != 1 {
		t.Errorf("two within an hour are counted %d times", n)
	}
	h.event(fleet, "SERVER_PROCESS_CRASHED", "takes no new game sessions")
	_, err := h.api.CreateGameSession(h.context(), &gamelift.CreateGameSessionInput{FleetId: &fleet, MaximumPlayerSessionCount: aws.Int32(2)})
	if _, ok := errors.AsType[*types.InvalidFleetStatusException](err); !ok || !strings.Contains(err.Error(), "update the script") {
		t.Errorf("another game session: %v", err)
	}
	told := 0
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "cannot be stopped") {
			told++
			if strings.Count(line, `"actor":`) != 1 || !strings.Contains(line, `"game_session_id":"arn:`) {
				t.Error(line)
			}
		}
	}
	if told != 2 || strings.Count(log.String(), "within an hour") != 1 {
		t.Errorf("the log says it %d times:\n%s", told, log.String())
	}
	h.hears(d, "well")
	if _, err := h.api.UpdateScript(h.context(), &gamelift.UpdateScriptInput{ScriptId: &script, ZipFile: files(says("mended"))}); err != nil {
		t.Fatal(err)
	}
	_, e := h.on(fleet)
	h.hears(e, "mended")
}

// scriptFile writes a script to a new folder and returns its path.
func scriptFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "game.js")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
