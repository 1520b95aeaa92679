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
)

// TestEveryBuiltInTakesAHostileLength calls all built-ins, in a process of little memory: what asks Go for as much as a list says that it has ends it.
// RL-210.
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
	must(g.handler.(*Handler).vm.Set("said", func(name string) { fmt.Print(name, " ") })) // should it end the process
	g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1})
	fmt.Println(&g.lines)
	if peak := peakMemory(); peak > 1<<30 {
		t.Errorf("the process had %d MiB", peak>>20)
	}
}

func limitMemory(t *testing.T, bytes uint64) {
	t.Helper()
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		t.Fatal(err)
	}
}

// makesFile lists what the engine makes by a length that is no constant and not that of something it has. If a new version has others, see that
// a script cannot say the length before a guard has checked it, and add them.
const makesFile = "testdata/makes.txt"

func TestWhatTheEngineMakesByALength(t *testing.T) {
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
	want, err := os.ReadFile(makesFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(found, "\n") + "\n"; got != string(want) {
		t.Errorf("the engine makes\n%s\n%s has\n%s", got, makesFile, want)
	}
}

// known reports whether a size is above 0 and a constant, or the length of something.
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
