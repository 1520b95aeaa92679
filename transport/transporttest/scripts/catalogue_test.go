package scripts

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script/bundle"
	"troupe/transport/transporttest/stock"
)

var update = flag.Bool("update", false, "write the traces of testdata/catalogue anew, from the engine node")

const catalogue = "testdata/catalogue"

// catalogued returns the names of the scripts in the catalogue.
func catalogued(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) < 8 {
		t.Fatalf("the catalogue has %d scripts only", len(names))
	}
	return names
}

// Every script of the catalogue loads, and passes a scripted run of two players without an uncaught error.
// Both engines produce the same trace. It equals the stored trace, which a human has reviewed.
// RT-62.
func TestCatalogueRunsAlikeInEveryEngine(t *testing.T) {
	for _, name := range catalogued(t) {
		t.Run(name, func(t *testing.T) {
			engines := everyEngine
			if name == "fourteen" { // this script has every callback
				engines = everyEngineAlways
			}
			engines(t, func(t *testing.T, e engine) {
				asks := asksFor(t, name)
				if asks == bundle.EngineNode && e.name != bundle.EngineNode {
					t.Skip("the script asks for engine node")
				}
				if e.shared && name == "toplevel" {
					t.Skip("it lists its folder, which has a package.json then")
				}
				got := playCatalogued(t, e, name)
				file := filepath.Join(catalogue, name+".trace")
				if *update && e.name == bundle.EngineNode && !e.shared {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				diff(t, string(want), got)
			})
		})
	}
}

// If a script uses something that the embedded engine lacks, loading fails with an error that names it and
// says what to do.
func TestEmbeddedEngineRefusesWithAReason(t *testing.T) {
	w := start(t, engine{name: bundle.EngineEmbedded}, filepath.Join(catalogue, "intruder"), setup{})
	w.neverReady("child_process", `"engine": "node"`)
}

// asksFor returns the engine that a script of the catalogue requests, if any.
func asksFor(t *testing.T, name string) string {
	t.Helper()
	b, err := bundle.FromPath(filepath.Join(catalogue, name), bundle.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	asks, err := b.Engine()
	if err != nil {
		t.Fatal(err)
	}
	return asks
}

// playCatalogued runs NAME.play with the script and returns the trace.
func playCatalogued(t *testing.T, e engine, name string) string {
	t.Helper()
	steps, err := os.ReadFile(filepath.Join(catalogue, name+".play"))
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, e, filepath.Join(catalogue, name), setup{Launch: name + ".js", Args: "one two loggingLevel:debug"})
	p := &play{world: w, game: w.newGame(8), players: map[int32]*stock.Client{}}
	p.run(string(steps))
	p.awaitStatus(p.game, types.GameSessionStatusTerminated)
	p.log.awaitEnd(p) // then the trace is complete
	if t.Failed() {
		t.FailNow()
	}
	for n, c := range p.players {
		if err := c.CheckReceived(); err != nil {
			t.Errorf("player %d: %v", n, err)
		}
	}
	if name != "ticked" { // the purpose of this script is an error
		w.noErrors()
	}
	return p.trace()
}

// spaces matches the places at which engines break the lines of a printed list.
var spaces = regexp.MustCompile(`([\[,])\s+|\s+(\])`)

// diff fails the test at the first line that differs. It ignores line breaks in printed lists.
func diff(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(spaces.ReplaceAllString(want, "$1$2"), "\n"), strings.Split(spaces.ReplaceAllString(got, "$1$2"), "\n")
	for i := range max(len(w), len(g)) {
		line := func(all []string) string {
			if i < len(all) {
				return all[i]
			}
			return "(nothing)"
		}
		if line(w) != line(g) {
			t.Errorf("line %d of the trace:\n got %s\nwant %s\nall:\n%s", i+1, line(g), line(w), got)
			return
		}
	}
}
