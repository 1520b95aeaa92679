package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
)

// hang is a call that no interrupt ends: it is within one built-in.
const hang = `/^(a+)+\1$/.test('a'.repeat(50) + 'b');`

// stuckCases each leave goroutines that run for ever.
var stuckCases = map[string]func(t *testing.T){
	"an update that hangs": anUpdateThatHangs,
}

// TestStuckScripts runs each case in a process of its own, which ends with what it left.
func TestStuckScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process per case")
	}
	for name := range stuckCases {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneStuckScript$", "-test.v", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), "STUCK="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestOneStuckScript(t *testing.T) {
	test := stuckCases[os.Getenv("STUCK")]
	if test == nil {
		t.Skip("run by TestStuckScripts")
	}
	test(t)
	if !t.Failed() {
		os.Exit(0) // goroutines are stuck: the check for leaks is none here
	}
}

// stuckLimit has a call told as stuck after about two seconds.
func stuckLimit(c *host.Config) { c.Script.Callback = time.Second }

// failure takes what a host says when it cannot go on.
func failure(said chan string) func(*host.Options) {
	return func(o *host.Options) { o.OnFailure = func(reason string) { said <- reason } }
}

// A version that hangs before it is ready costs one thread, however many processes
// were to run it, and is not tried again.
func anUpdateThatHangs(t *testing.T) {
	said := make(chan string, 10)
	h := startHostWith(t, stuckLimit, failure(said))
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
	time.Sleep(3500 * time.Millisecond) // a second one, tried after 1 s, would be stuck after another 2 s
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

