package acceptance_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// hang is a call that no interrupt ends: it is within one built-in.
const hang = `((o) => { for (let i = 0; i < 3e3; i++) o = Object.create(o); Array.prototype.indexOf.call(Object.assign(o, { length: 1e6 }), 1); })({});`

// stuckCases each leave goroutines that run for ever.
var stuckCases = map[string]func(t *testing.T){
	"an update that hangs":       anUpdateThatHangs,
	"a standby that hangs":       aStandbyThatHangs,
	"two that hang at the start": twoThatHangAtTheStart,
	"game sessions that hang":    gameSessionsThatHang,
}

// TestStuckScripts runs each case in a process of its own, which ends with what it left.
// RL-111.
func TestStuckScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process per case")
	}
	for name := range stuckCases {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for limit := time.Second; ; limit *= 4 {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneStuckScript$", "-test.v", "-test.timeout=10m")
				cmd.Env = append(os.Environ(), "STUCK="+name, "STUCK_LIMIT="+limit.String())
				out, err := cmd.CombinedOutput()
				if err == nil {
					return
				}
				if cmd.ProcessState.ExitCode() != tooSlow || limit > 10*time.Second {
					t.Errorf("%v\n%s", err, out)
					return
				}
				t.Logf("again: within %v a call ended that does not hang\n%s", limit, out)
			}
		})
	}
}

func TestOneStuckScript(t *testing.T) {
	test := stuckCases[os.Getenv("STUCK")]
	if test == nil {
		t.Skip("run by TestStuckScripts")
	}
	var err error
	if stuckAfter, err = time.ParseDuration(os.Getenv("STUCK_LIMIT")); err != nil {
		t.Fatal(err)
	}
	defer func() {
		switch c := stuckHost.Load(); {
		case !t.Failed():
			os.Exit(0) // goroutines are stuck: the check for leaks is none here
		case c != nil && c.host.Counters().ScriptInterrupts.Load() > c.host.Counters().ScriptsStuck.Load():
			os.Exit(tooSlow)
		}
	}()
	test(t)
}

// tooSlow is the exit code of a failed case in which the machine was too slow for the limit: a
// call that does not hang was interrupted.
const tooSlow = 3

// stuckAfter is the limit of a call. About a second later it is told as stuck.
var stuckAfter time.Duration

// stuckHost is the host of the case.
var stuckHost atomic.Pointer[testHost]

func startStuck(t *testing.T, said chan string, change func(*host.Config), options func(*host.Options)) *testHost {
	t.Helper()
	h := startHostWith(t, func(c *host.Config) {
		c.Script.Callback = stuckAfter
		change(c)
	}, func(o *host.Options) {
		onSystem(o)
		failure(said)(o)
		options(o)
	})
	stuckHost.Store(h)
	return h
}

// failure takes what a host says when it cannot go on.
func failure(said chan string) func(*host.Options) {
	return func(o *host.Options) { o.OnFailure = func(reason string) { said <- reason } }
}

// A version that hangs before it is ready costs one thread, however many processes
// were to run it, and is not tried again.
func anUpdateThatHangs(t *testing.T) {
	said := make(chan string, 10)
	h := startStuck(t, said, func(*host.Config) {}, func(*host.Options) {})
	files := func(text string) []byte { return archive(map[string]string{"lib/main.js": text}) }
	script, fleet := h.scriptFleet(files(says("one")))
	other, err := h.api.CreateFleet(h.context(), &gamelift.CreateFleetInput{Name: aws.String("f"), ScriptId: &script,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{
			{LaunchPath: aws.String("/local/game/lib/main.js"), ConcurrentExecutions: aws.Int32(2)}}}})
	if err != nil {
		t.Fatal(err)
	}
	second := *other.FleetAttributes.FleetId
	h.untilActive(second)
	_, a := h.on(fleet)
	if _, err := h.api.UpdateScript(h.context(), &gamelift.UpdateScriptInput{ScriptId: &script, ZipFile: files(hang)}); err != nil {
		t.Fatal(err)
	}
	h.hears(a, "one")
	for _, id := range []string{fleet, second} {
		h.event(id, "SERVER_PROCESS_CRASHED", "could not be stopped", "go on with version 1 (1.0)")
	}
	time.Sleep(stuckAfter + 2500*time.Millisecond) // a second one, tried after 1 s, would be stuck 1 s after its limit
	if n := h.host.Counters().ScriptsStuck.Load(); n != 1 || len(said) != 0 {
		t.Fatalf("%d are stuck, the host said %d times that it cannot go on", n, len(said))
	}
	for _, id := range []string{fleet, second} {
		game, b := h.on(id)
		h.hears(b, "one")
		if v := h.version(game); v != "1 (1.0)" {
			t.Error(v)
		}
	}
	if _, err := h.api.UpdateScript(h.context(), &gamelift.UpdateScriptInput{ScriptId: &script, ZipFile: files(says("three"))}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{fleet, second} {
		_, c := h.on(id)
		h.hears(c, "three")
	}
}

// event waits for an event of a fleet that has all words.
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

// A version that ran and hangs later, as it is to stand by, is not started again for
// that.
func aStandbyThatHangs(t *testing.T) {
	said := make(chan string, 10)
	later := time.Now().Add(2 * stuckAfter)
	text := fmt.Sprintf("if (Date.now() > %d) %s\n%s", later.UnixMilli(), hang, says("one"))
	h := startStuck(t, said, func(c *host.Config) {
		c.Fleets[0].Script, c.Fleets[0].Standby = scriptFile(t, text), 1
	}, func(*host.Options) {})
	time.Sleep(time.Until(later.Add(10 * time.Millisecond)))
	_, a := h.on("fleet-dev") // the one that stood by
	h.hears(a, "one")
	h.event("fleet-dev", "SERVER_PROCESS_CRASHED", "could not be stopped")
	time.Sleep(stuckAfter + 2500*time.Millisecond)
	if n := h.host.Counters().ScriptsStuck.Load(); n != 1 || len(said) != 0 {
		t.Fatalf("%d are stuck, the host said %d times that it cannot go on", n, len(said))
	}
	h.hears(a, "one")
}

// With two scripts that hang as it starts, a host goes on with the others.
func twoThatHangAtTheStart(t *testing.T) {
	said := make(chan string, 10)
	h := startStuck(t, said, func(c *host.Config) {
		c.Fleets[0].Script = scriptFile(t, hang)
		c.Fleets = append(c.Fleets, host.Fleet{ID: "fleet-second", GameSessionsMax: 1, Script: scriptFile(t, "// another\n"+hang)},
			host.Fleet{ID: "fleet-third", GameSessionsMax: 1, Script: scriptFile(t, says("well"))})
	}, func(*host.Options) {})
	h.until("two are stuck", func() error {
		if n := h.host.Counters().ScriptsStuck.Load(); n != 2 {
			return fmt.Errorf("%d are stuck", n)
		}
		return nil
	})
	_, a := h.on("fleet-third")
	h.hears(a, "well")
	if len(said) != 0 {
		t.Errorf("the host cannot go on: %s", <-said)
	}
}

// A game session that hangs costs itself; so does a second one, and then its version takes no
// new game sessions until the script is updated.
func gameSessionsThatHang(t *testing.T) {
	said := make(chan string, 10)
	var log syncBuffer
	text := strings.Replace(says("well"), "onMessage: (m) =>", "onMessage: (m) => m.opCode === 66 ? "+strings.TrimSuffix(hang, ";")+" :", 1)
	h := startStuck(t, said, func(*host.Config) {}, func(o *host.Options) { o.Log = zerolog.New(&log) })
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
	if n < 3 { // on a busy machine; hundreds else
		t.Errorf("%d messages there and back meanwhile", n)
	}
	h.awaitClose(c, messages.CloseInternalError)
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

// scriptFile writes a script into a folder of its own.
func scriptFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "game.js")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
