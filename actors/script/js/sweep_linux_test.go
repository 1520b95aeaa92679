package js

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// TestEveryBuiltInTakesAHostileLength calls all built-ins with hostile lengths in a process with little
// memory. A built-in that allocates that much ends the process. RL-210.
func TestEveryBuiltInTakesAHostileLength(t *testing.T) {
	share, of := 0, 1
	if testing.Short() {
		of = 20
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSweep$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("SWEEP=%d %d", share, of), "GOMAXPROCS=2")
	out, err := cmd.CombinedOutput()
	if len(out) > 4000 {
		out = out[len(out)-4000:]
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "swept") {
		t.Errorf("it has not come to its end: %s", out)
	}
}

func TestSweep(t *testing.T) {
	share, of := 0, 0
	if n, _ := fmt.Sscanf(os.Getenv("SWEEP"), "%d %d", &share, &of); n != 2 {
		t.Skip("run by TestEveryBuiltInTakesAHostileLength")
	}
	limitMemory(t, 4<<30)
	callWatchdog.Grace = time.Hour
	source, err := os.ReadFile("testdata/sweep.js")
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, script.Limits{Callback: time.Hour, MemoryMax: 256 << 20, TimersMax: 100}, map[string]string{"sweep.js": string(source), "server.js": fmt.Sprintf(`
const { sweep } = require('./sweep.js');
let session;
exports.ssExports = { init(s) { session = s; }, onMessage() { const log = session.getLogger(); log.info('swept ' + sweep([%d, %d], said)); } };`, share, of)})
	// Shows the name if the built-in ends the process
	must(g.handler.(*Handler).vm.Set("said", func(name string) { fmt.Print(name, " ") }))
	g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1})
	fmt.Println(&g.lines)
	if peak := peakMemory(); peak > 1<<30 {
		t.Errorf("the process had %d MiB", peak>>20)
	}
}

// hidden lists ways to keep another 256 KiB with each message. Only some of them are visible to measurements.
var hidden = []struct{ name, code, says string }{
	{"bind", `kept.push((() => {}).bind(null, 'x'.repeat(1 << 18) + n))`, "it holds more than 64 MiB of memory"},
	{"characters", `kept.push(('x'.repeat(1 << 18) + n)[5])`, "more than its scripts are seen to hold, and this one allocated most of that"},
	{"Promise.all", `const p = new Promise(() => {}); kept.push(p); Promise.all(['x'.repeat(1 << 18) + n, p])`, "it holds more than 64 MiB of memory"},
	{"characters, and then no more", `if (n < 800) kept.push(('x'.repeat(1 << 18) + n)[5])`, "more than its scripts are seen to hold, and this one allocated most of that"},
}

// A script that hides its memory from measurements ends only its own game session, not another one and not
// the process. RL-210.
func TestScriptsThatHideMemoryEnd(t *testing.T) {
	rows := hidden
	if testing.Short() {
		rows = rows[:2]
	}
	if raceOn {
		t.Skip("the race detector's memory is part of the process")
	}
	for i, c := range rows {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestOneThatHidesMemory$")
			inLittleMemory(t, cmd, fmt.Sprintf("HIDES=%d", i))
		})
	}
}

func inLittleMemory(t *testing.T, cmd *exec.Cmd, env string) {
	cmd.Env = append(os.Environ(), env, "GOMAXPROCS=2", "GOMEMLIMIT=512MiB")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "it has ended") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The host is told if an abandoned call in a built-in takes more and more memory. RL-210.
func TestACallThatOutgrowsTheProcess(t *testing.T) {
	if raceOn || testing.Short() {
		t.Skip("make test-full; package watchdog has it in virtual time")
	}
	inLittleMemory(t, exec.Command(os.Args[0], "-test.run=^TestOneThatOutgrows$"), "OUTGROWS=1")
}

func TestOneThatOutgrows(t *testing.T) {
	if os.Getenv("OUTGROWS") == "" {
		t.Skip("run by TestACallThatOutgrowsTheProcess")
	}
	limitMemory(t, 4<<30)
	callWatchdog.Grace = 0
	limits := calm()
	limits.MemoryMax = 64 << 20
	told, urgently := make(chan string, 1), make(chan string, 1)
	Relieve(watchdog.Process{Memory: 512 << 20, Own: func() int64 { return 32 << 20 }, Outgrown: func(reason string, urgent bool) {
		if urgent {
			urgently <- reason
		} else {
			told <- reason
		}
	}})
	other := start(t, limits, body(`onMessage() {}`))
	g := start(t, limits, body(`onMessage() { grow(); }`))
	must(g.handler.(*Handler).vm.Set("grow", func() {
		var kept [][]byte
		g.handler.(*Handler).watch.EndWithin(0, "it is late") // interrupt now; a call that is interrupted earlier would not get stuck
		for {
			kept = append(kept, make([]byte, 1<<18))
			time.Sleep(4 * time.Millisecond)
		}
	}))
	stuck := make(chan struct{})
	g.stuck = func(string) { close(stuck) }
	go g.handler.OnMessage(message(1, ""))
	<-stuck
	g.handler.(script.Closer).Close() // the host does the same
	reason := <-told
	other.handler.OnMessage(message(1, ""))
	if text := <-urgently; other.exit != nil || !strings.Contains(reason, "cannot be ended") || !strings.Contains(text, "cannot be ended") {
		fmt.Printf("%q, %q, and the other: %q\n", reason, text, other.crash)
		os.Exit(1)
	}
	fmt.Println("it has ended:", reason, peakMemory()>>20)
	os.Exit(0) // the call is still running
}

func TestOneThatHidesMemory(t *testing.T) {
	row := -1
	if n, _ := fmt.Sscanf(os.Getenv("HIDES"), "%d", &row); n != 1 {
		t.Skip("run by TestScriptsThatHideMemoryEnd")
	}
	limitMemory(t, 4<<30)
	limits := calm()
	limits.MemoryMax = 64 << 20
	t.Cleanup(Relieve(watchdog.Process{Memory: 512 << 20, Own: func() int64 { return 32 << 20 }, Outgrown: func(reason string, urgent bool) { t.Error(reason, urgent) }}))
	play := func(g *game) {
		g.handler.OnMessage(message(1, ""))
		for len(g.tasks) > 0 {
			(<-g.tasks)()
		}
	}
	other := start(t, limits, body(`onMessage() { globalThis.last = Array.from({ length: 200 }, (_, i) => ({ i })); }`))
	hog := start(t, limits, only(`const kept = []; let n = 0; exports.ssExports = { init() {}, onMessage() { n++; `+hidden[row].code+` } };`))
	for hog.exit == nil && other.exit == nil {
		play(hog)
		play(other)
		time.Sleep(4 * time.Millisecond) // otherwise it runs faster than the watchdog checks
	}
	if hog.exit == nil || !strings.Contains(hog.crash, hidden[row].says) || !strings.Contains(hog.lines.String(), hidden[row].says) || hog.counters.ScriptInterrupts.Load() != 1 {
		t.Errorf("it ended for something else: %q\n%s", hog.crash, &hog.lines)
	}
	hog.handler.(script.Closer).Close()
	for range 100 {
		play(other)
	}
	if other.exit != nil {
		t.Errorf("the other ended: %q", other.crash)
	}
	if peak := peakMemory(); peak > 768<<20 {
		t.Errorf("the process had %d MiB", peak>>20)
	}
	fmt.Println("it has ended:", hog.crash, peakMemory()>>20)
}

func limitMemory(t *testing.T, bytes uint64) {
	t.Helper()
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		t.Fatal(err)
	}
}

// makesFile contains a version of the engine, and those of its calls of make whose size is neither a constant
// nor the length of a value. If a newer version has other calls, make sure that a guard checks every size
// that a script can choose, and add the calls.
const makesFile = "testdata/makes.txt"

func TestWhatTheEngineMakesByALength(t *testing.T) {
	text, err := os.ReadFile(makesFile)
	if err != nil {
		t.Fatal(err)
	}
	version, want, _ := strings.Cut(string(text), "\n")
	if mod, err := os.ReadFile("../../../go.mod"); err != nil || !strings.Contains(string(mod), "\tgithub.com/dop251/goja "+version+"\n") {
		t.Errorf("%s is of version %s of the engine, and go.mod is not (%v): run this without -short", makesFile, version, err)
	}
	if testing.Short() {
		t.Skip("make test-full reads the engine's source: make test sees that it is the version that was read")
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/dop251/goja").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	var found []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "compiler") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			in, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(in, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && len(c.Args) > 1 && types.ExprString(c.Fun) == "make" && !slices.ContainsFunc(c.Args[1:], known) {
					found = append(found, filepath.Base(name)+" "+in.Name.Name+" "+types.ExprString(c))
				}
				return true
			})
		}
	}
	if got := strings.Join(found, "\n") + "\n"; got != want {
		t.Errorf("the engine makes\n%s\n%s has\n%s", got, makesFile, want)
	}
}

// known reports whether a size is a constant other than 0, or the length of a value.
func known(size ast.Expr) bool {
	switch x := size.(type) {
	case *ast.BasicLit:
		return x.Value != "0"
	case *ast.CallExpr:
		return types.ExprString(x.Fun) == "len"
	case *ast.BinaryExpr:
		return known(x.X)
	}
	return false
}
