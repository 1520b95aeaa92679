package js

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// outcome is how a call into a script ends.
type outcome string

const (
	returns     outcome = "returns"     // nothing is wrong
	fails       outcome = "fails"       // an error in the log, the game goes on
	interrupted outcome = "interrupted" // by the watchdog, the game has crashed
	gone        outcome = "stuck"       // not even that helped: the host was told
	ended       outcome = "ended"       // as wanted: interrupted, and not stuck, however busy the machine is
	full        outcome = "full"        // as wanted: interrupted for what it holds, however long that takes
)

// hostileRow is a call into a script that means no good. The table belongs to the benchmarks:
// troupe bench hostile-scripts runs the rows with a way over a real host, beside another game.
type hostileRow struct {
	Way          int // of those that a host is measured with; 0: none
	Name, Source string
	Want         outcome // interrupted includes gone, where a built-in may take long
	Says         string  // in the log
}

func hostileTable(t *testing.T) (table []hostileRow) {
	text, err := os.ReadFile("../../../bench/suite/scripts/hostile.json")
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTheTableHasEveryWayOnce(t *testing.T) {
	ways := make(map[int]int)
	for _, c := range hostileTable(t) {
		ways[c.Way]++
		if !slices.Contains([]outcome{returns, fails, interrupted, gone, ended, full}, c.Want) {
			t.Errorf("%s is to end as %q", c.Name, c.Want)
		}
	}
	for way := 1; way <= hostileWays; way++ {
		if ways[way] != 1 {
			t.Errorf("%d rows have way %d", ways[way], way)
		}
	}
}

// hostileWays are the ways that a host is measured with.
const hostileWays = 56

// hostileBatch is how many of the rows that end by themselves share a process.
const hostileBatch = 6

// TestHostileScripts runs the table in processes of their own, so that what harms the host, or
// cannot be ended, fails its own test alone. Rows that end by themselves share one.
// RL-111, RL-210.
func TestHostileScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	var batch []string
	run := func(name string, rows ...string) {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			var out []byte
			var err error
			for try := 0; try < 2 && (try == 0 || err != nil); try++ { // on a busy machine, a script has been given up that was about to end
				cmd := exec.Command(os.Args[0], "-test.run=^TestSomeHostileScripts$")
				cmd.Env = append(os.Environ(), "HOSTILE="+strings.Join(rows, " "), "GOMEMLIMIT=off", "GOMAXPROCS=2")
				out, err = cmd.CombinedOutput()
			}
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
			t.Skip("make test runs all rows without the race detector, and every sixth with it")
		})
	}
	for i, c := range hostileTable(t) {
		if raceOn && i%6 != 0 {
			continue
		}
		if row := strconv.Itoa(i); c.Want != returns && c.Want != fails {
			run(c.Name, row)
		} else if batch = append(batch, row); len(batch) == hostileBatch {
			flush()
		}
	}
	flush()
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
		fmt.Println(table[n].Name) // should it end the process
		failed = oneHostileScript(t, table[n]) || failed
	}
	if failed {
		os.Exit(1)
	}
	os.Exit(0) // a goroutine may be stuck
}

// oneHostileScript makes a call of the table, and reports whether it did not end as it should.
func oneHostileScript(t *testing.T, c hostileRow) (failed bool) {
	wrong := func(format string, args ...any) { // os.Exit would keep t's
		failed = true
		fmt.Printf(format+"\n", args...)
	}
	limit := 200 * time.Millisecond
	switch c.Want {
	case fails, returns, full:
		limit = time.Minute // by itself, however busy the machine is
	case gone:
		limit = 2 * time.Second // a busy machine has reached the built-in by then
	}
	limits := script.Limits{Callback: limit, MemoryMax: 256 << 20, TimersMax: 100}
	if c.Want == full {
		limits.MemoryMax /= 16 // soon
	}
	g := start(t, limits, only(`
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { if (m.opCode === 1) { `+c.Source+` } else session.sendMessage(m, 1); },
};`))
	if c.Want != returns && c.Want != fails && c.Want != full { // those that allocate much would rest for longer than the limit
		other := callWatchdog.Watch(watchdog.Options{}) // another game session: calls are paced
		defer other.Release()
	}
	tellStuck := make(chan string, 1)
	g.stuck = func(reason string) { tellStuck <- reason }
	done := make(chan struct{})
	begun := time.Now()
	go func() {
		g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1})
		close(done)
	}()
	got := outcome("")
	select {
	case reason := <-tellStuck:
		if took := time.Since(begun); took > 30*time.Second || reason == "" {
			wrong("told after %v: %q", took, reason)
		}
		select {
		case <-done:
			wrong("the call came back")
		case <-time.After(50 * time.Millisecond):
		}
		got = gone
	case <-done:
		got = g.judge()
	case <-time.After(2 * time.Minute):
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
	if took := time.Since(begun); got != returns && got != fails && took > 30*time.Second {
		wrong("it took %v", took)
	}
	if got == returns || got == fails { // the game goes on
		g.sent = nil
		g.handler.OnMessage(&script.Message{OpCode: 2, Sender: 1, Payload: []byte("ok")})
		if len(g.sent) != 1 {
			wrong("afterwards: %q\n%s", g.sent, &g.lines)
		}
		g.handler.(script.Closer).Close() // the next one is not paced for it
	} else if n := g.counters.ScriptInterrupts.Load(); n != 1 {
		wrong("%d interrupts counted", n)
	}
	if peak := peakMemory(); peak > 4*limits.MemoryMax+512<<20 && !raceOn { // the race detector's is part of it
		wrong("the process had %d MiB", peak>>20)
	}
	return failed
}

// peakMemory is how much memory the process has had at most, as Linux tells it; 0 elsewhere.
func peakMemory() (bytes int64) {
	status, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(peak, &bytes)
	return bytes << 10
}

// judge says how the last call ended, from what it left.
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
