package js

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// outcome is the result of a call into a script.
type outcome string

const (
	returns     outcome = "returns"     // the call returns normally
	fails       outcome = "fails"       // the log contains an error; the game session continues
	interrupted outcome = "interrupted" // the watchdog interrupted the call, and the game session crashed
	gone        outcome = "stuck"       // the interrupt had no effect, and the host was told
	ended       outcome = "ended"       // only as an expectation: interrupted, and not stuck, however busy the machine is
	full        outcome = "full"        // only as an expectation: interrupted because of its memory, however long that takes
)

// hostileRow is a call into a hostile script.
type hostileRow struct {
	Name, Source string
	Want         outcome // interrupted also allows gone, because a built-in may take long
	Says         string  // text that the log must contain
}

func hostileTable(t *testing.T) (table []hostileRow) {
	text, err := os.ReadFile("testdata/hostile.json")
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTheTableKnowsItsOutcomes(t *testing.T) {
	for _, c := range hostileTable(t) {
		if !slices.Contains([]outcome{returns, fails, interrupted, gone, ended, full}, c.Want) {
			t.Errorf("%s is to end as %q", c.Name, c.Want)
		}
	}
}

// hostileBatch is the number of rows that share a process.
const hostileBatch = 12

// hostileShort lists the rows of a short run: each kind of attack once.
var hostileShort = []string{
	"endless loop", "endless loop behind finally", "endless loop behind catch", "recursion", "recursion behind catch", "recursion through a built-in",
	"recursion in a promise job", "proxy that is its own trap", "proxy with endless keys", "prototype chain through a proxy back into itself",
	"regular expression that explodes", "regular expression with a back reference that explodes", "regular expression of many slow matches", "call that no interrupt ends", "search without end",
	"allocation", "array of 15 million filled", "nearly empty array joined", "text of many long texts", "replacement that multiplies", "deep value made JSON", "big number in text",
	"huge regular expression", "string that doubles", "sort with an endless comparator", "promise storm", "endless await", "tick storm", "timers without end", "endless direct evals",
	"deep source", "deep JSON", "bytes without number", "arguments without number", "text that is repeated without end", "error that is a hostile proxy", "error whose printing never ends",
	"thenable that never ends", "globals taken away", "prototypes broken", "endless loop in a getter", "endless generator", "map without end", "text that doubles in text of a function",
	"texts made of a long one", "buffers in a row",
}

// TestHostileScripts runs the rows in other processes, several in each, so that it finds rows that crash or
// hang the process. RL-111, RL-210.
func TestHostileScripts(t *testing.T) {
	var batch []string
	run := func(name string, rows ...string) {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestSomeHostileScripts$")
			cmd.Env = append(os.Environ(), "HOSTILE="+strings.Join(rows, " "), "GOMEMLIMIT=off", "GOMAXPROCS=2")
			out, err := cmd.CombinedOutput()
			if len(out) > 2000 {
				out = append(out[:1000], out[len(out)-1000:]...)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	flush := func() {
		if len(batch) > 0 {
			run("rows "+strings.Join(batch, " "), batch...)
			batch = nil
		}
	}
	if raceOn {
		t.Run("others", func(t *testing.T) {
			t.Skip("make test-full runs all rows without the race detector, and every sixth with it")
		})
	}
	short := slices.Clone(hostileShort)
	for i, c := range hostileTable(t) {
		at := slices.Index(short, c.Name)
		if at >= 0 {
			short = slices.Delete(short, at, at+1)
		}
		if testing.Short() && at < 0 || raceOn && i%6 != 0 {
			continue
		}
		if row := strconv.Itoa(i); c.Want == gone || c.Want == interrupted && !testing.Short() { // the call may keep running
			run(c.Name, row)
		} else if batch = append(batch, row); len(batch) == hostileBatch {
			flush()
		}
	}
	flush()
	if len(short) != 0 {
		t.Errorf("not in the table: %q", short)
	}
}

func TestSomeHostileScripts(t *testing.T) {
	rows := strings.Fields(os.Getenv("HOSTILE"))
	if len(rows) == 0 {
		t.Skip("run by TestHostileScripts")
	}
	table, failed := hostileTable(t), false
	for _, row := range rows {
		n, err := strconv.Atoi(row)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(table[n].Name) // shows the row if it ends the process
		failed = oneHostileScript(t, table[n]) || failed
	}
	if failed {
		os.Exit(1)
	}
	os.Exit(0) // a goroutine may be stuck
}

// oneHostileScript makes the call of one row. It returns true if the call did not end as expected.
func oneHostileScript(t *testing.T, c hostileRow) (failed bool) {
	wrong := func(format string, args ...any) { // prints at once: os.Exit would discard the output of t
		failed = true
		fmt.Printf(format+"\n", args...)
	}
	limits := script.Limits{Callback: time.Hour, MemoryMax: 256 << 20, TimersMax: 100}
	if c.Want == full {
		limits.MemoryMax /= 16 // so that the limit is reached soon
	}
	callWatchdog.Grace = 0
	if c.Want != interrupted && c.Want != gone {
		callWatchdog.Grace = time.Hour
	}
	g := start(t, limits, only(`
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { if (m.opCode === 1) { `+c.Source+` } else session.sendMessage(m, 1); },
};`))
	hurry := func(limit string) {
		g.handler.(*Handler).watch.EndWithin(200*time.Millisecond, "it ran for more than "+limit)
	}
	switch c.Want {
	case interrupted, ended:
		other := callWatchdog.Watch(watchdog.Options{}) // another game session, so that calls are paced
		defer other.Release()
		hurry("200ms")
	case gone:
		go func() { // a call that is interrupted earlier would not get stuck
			for !inBuiltIn() {
				time.Sleep(time.Millisecond)
			}
			hurry("2s")
		}()
	}
	tellStuck := make(chan string, 1)
	g.stuck = func(reason string) { tellStuck <- reason }
	done := make(chan struct{})
	go func() {
		g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1})
		close(done)
	}()
	got := outcome("")
	select {
	case reason := <-tellStuck:
		if reason == "" {
			wrong("told no reason")
		}
		select {
		case <-done:
			wrong("the call came back")
		case <-time.After(50 * time.Millisecond):
		}
		got = gone
	case <-done:
		got = g.judge()
	case <-time.After(5 * time.Minute):
		wrong("still running")
		os.Exit(1)
	}
	want := c.Want
	if want == ended || want == full {
		want = interrupted
	}
	if got != want && (c.Want != interrupted || got != gone) || !strings.Contains(g.lines.String(), c.Says) {
		wrong("it %s, want %s (%q)\n%s", got, c.Want, c.Says, &g.lines)
	}
	if got == returns || got == fails { // the game session continues
		g.sent = nil
		g.handler.OnMessage(&script.Message{OpCode: 2, Sender: 1, Payload: []byte("ok")})
		if len(g.sent) != 1 {
			wrong("afterwards: %q\n%s", g.sent, &g.lines)
		}
	} else if n := g.counters.ScriptInterrupts.Load(); n != 1 {
		wrong("%d interrupts counted", n)
	}
	g.handler.(script.Closer).Close()                                       // otherwise the next call would be paced because of this one
	if peak := peakMemory(); peak > 4*limits.MemoryMax+512<<20 && !raceOn { // the memory of the race detector would be included
		wrong("the process had %d MiB", peak>>20)
	}
	return failed
}

// inBuiltIn reports whether a goroutine is in the built-in that cannot be interrupted.
func inBuiltIn() bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "arrayproto_indexOf")
}

// peakMemory returns the peak memory of the process in bytes on Linux, and 0 on other systems.
func peakMemory() (bytes int64) {
	status, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(peak, &bytes)
	return bytes << 10
}

// judge returns the outcome of the last call.
func (g *game) judge() outcome {
	switch {
	case g.crash != "" && strings.Contains(g.crash, "interrupted"):
		return interrupted
	case g.exit != nil:
		return outcome("crashed: " + g.crash)
	case strings.Contains(g.lines.String(), "[ERROR]"):
		return fails
	default:
		return returns
	}
}
