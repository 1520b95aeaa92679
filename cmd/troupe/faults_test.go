package main

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/bench/faults"
	"troupe/bench/faults/cgroup"
	"troupe/transport"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
)

// runFaults runs troupe faults and returns its exit code and its output. If it starts a host, the host is a process.
func runFaults(args ...string) (code int, text string) { return runFaultsOn(nil, args...) }

// runFaultsOn runs troupe faults on a network, for a host on that network.
func runFaultsOn(on transport.Network, args ...string) (code int, text string) {
	code, out, said := callOn(on, append([]string{"faults"}, args...)...)
	return code, out + said
}

// readReport reads a report and fails unless exactly the given promises are broken.
func readReport(t *testing.T, file, text string, broken ...string) faults.Report {
	t.Helper()
	r, err := faults.Read(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got []string
	for _, v := range r.Verdicts {
		if v.Outcome == "BROKEN" {
			got = append(got, v.Invariant)
		}
	}
	if !slices.Equal(got, broken) {
		t.Errorf("broken: %v, want %v\n%s", got, broken, text)
	}
	return r
}

// The promises hold in each scenario at its quick size, over real sockets and with a separate host. Scenarios mostly
// wait, so more of them run in parallel than the test binary's limit. A short run tests only one of them, because
// scenarios are plans and bench/faults tests everything that plans can contain. RL-120.
func TestEveryScenarioIsQuick(t *testing.T) {
	t.Parallel()
	var work sync.WaitGroup
	slots := make(chan struct{}, 6)
	all := faults.Scenarios()
	slices.SortFunc(all, func(a, b faults.Plan) int { return cmp.Compare(b.Length, a.Length) }) // longest first
	for _, p := range all {
		if p.Name == "little-memory" || testing.Short() && p.Name != "reconnect-storm" { // see TestLittleMemoryIsQuick
			continue
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			playQuick(t, p.Name)
		})
	}
	work.Wait()
}

// The host is this test binary. With the race detector it needs so much memory that it cannot start within the
// scenario's 64 MiB.
func TestLittleMemoryIsQuick(t *testing.T) {
	t.Parallel()
	long(t)
	g, err := cgroup.New(1 << 30)
	if errors.Is(err, cgroup.ErrUnsupported) {
		t.Skip(err)
	}
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "memory.yaml")
	text := "about: a test\nlength: 8s\nfaults:\n- {at: 2s, fault: memory, target: host, for: 4s, mib: 700}\n"
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	playQuick(t, plan)
}

func playQuick(t *testing.T, name string) {
	folder := t.TempDir()
	file := filepath.Join(folder, faults.StoreFile)
	code, text := runFaults("run", name, "--quick", "--players", "4", "--seed", "5", "--transport", "ws,kcp,wss", "--report", folder)
	if code != 0 {
		t.Errorf("%s: exit code %d\n%s", name, code, text)
		return
	}
	r, err := faults.Read(file)
	if err != nil || r.Broken() {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
	if name == "store-kills" { // this scenario has no players
		return
	}
	if f := r.Figures; f.Sent == 0 || f.Delivered != 4*f.Sent || f.FastDelivered == 0 || r.Seed != 5 || len(r.Events) == 0 || len(r.Verdicts) < 9 {
		t.Errorf("%s: %+v\n%s", name, r, text)
	}
	if page, err := os.ReadFile(filepath.Join(folder, faults.PageFile)); err != nil || !bytes.Contains(page, []byte("All ")) || len(r.Timeline) == 0 {
		t.Errorf("%s: %v: %s", name, err, page)
	}
	if name == "reconnect-storm" && r.Figures.Resumes == 0 {
		t.Errorf("nobody was cut\n%s", text)
	}
	if !strings.Contains(text, "seed 5, 4 players") {
		t.Errorf("%s: no seed\n%s", name, text)
	}
}

// A run against a host that is already running. Its report is then replayed with the same faults at the same times.
func TestFaultsAgainstAHost(t *testing.T) { synctest.Test(t, faultsAgainstAHost) }

func faultsAgainstAHost(t *testing.T) {
	host := startHost(t, nil, hosttest.Config(t))
	first, second := filepath.Join(t.TempDir(), "1.json"), filepath.Join(t.TempDir(), "2.json")
	code, text := runFaultsOn(host.net, "run", "reconnect-storm", "--quick", "--players", "3", "--against", strings.TrimPrefix(host.url, "http://"), "--json", first)
	if code != 0 || !strings.Contains(text, "not checked  RL-13") {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	if code, text := runFaultsOn(host.net, "replay", first, "--against", host.url, "--json", second); code != 0 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	one, two := readReport(t, first, text), readReport(t, second, text)
	if one.Seed != two.Seed || one.Scenario != two.Scenario || one.Players != two.Players || !reflect.DeepEqual(one.Events, two.Events) {
		t.Errorf("%+v, then %+v", one, two)
	}
	if one.Figures.Resumes == 0 {
		t.Errorf("nobody was cut\n%s", text)
	}
}

// A script that rejects a message breaks a promise. The output gives the number of the message, and the exit code is 1.
func TestFaultsSeeABrokenPromise(t *testing.T) { synctest.Test(t, faultsSeeABrokenPromise) }

func faultsSeeABrokenPromise(t *testing.T) {
	dir := t.TempDir()
	script, plan, file := filepath.Join(dir, "refuses.js"), filepath.Join(dir, "mine.yaml"), filepath.Join(dir, "r.json")
	for path, text := range map[string]string{
		script: `let first = true;
exports.ssExports = {
  init() {},
  onSendToGroup(message) {
    const refused = first && message.opCode === 7;
    if (refused) first = false;
    return !refused;
  },
};
`,
		plan: "seed: 9\nfaults:\n- {at: 100ms, fault: reset, target: all}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := hosttest.Config(t)
	c.Fleets[0].Script = script
	host := startHost(t, nil, c)
	code, text := runFaultsOn(host.net, "run", "reconnect-storm", "--quick", "--players", "2", "--seed", "3", "--against", host.url, "--json", file)
	if code != exitFailure || !strings.Contains(text, "troupe: faults: a promise is broken; the same faults again: troupe faults replay "+file+" --against "+host.url+"\n") {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	if r := readReport(t, file, text, "RL-2"); r.Figures.Lost != 2 { // once per player
		t.Errorf("%+v", r.Figures)
	}
	// The printed command breaks the same promise again. If no flag stores the report, it is stored for that purpose.
	code, text = runFaultsOn(host.net, "run", plan, "--players", "2", "--against", host.url)
	_, again, found := strings.Cut(text, "the same faults again: troupe ")
	if code != exitFailure || !found || !strings.Contains(text, "seed 9, 2 players, 2 faults") {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	words := strings.Fields(again)[1:]
	defer os.RemoveAll(filepath.Dir(words[1]))
	words = append(words, "--json", file) // otherwise this run would store another report
	if code, text := runFaultsOn(host.net, words...); code != exitFailure || !strings.Contains(text, "seed 9, 2 players, 2 faults") || !strings.HasPrefix(text, "mine: ") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	own := faultsFlags{Report: "out", Script: "g.js", Set: []string{"a=b", "c=d"}}
	if words, err := own.again(faults.Report{}); err != nil || words != "troupe faults replay "+filepath.Join("out", faults.StoreFile)+" --script g.js --set a=b --set c=d" {
		t.Errorf("%q, %v", words, err)
	}
}

// The report has a row for each promise of the script: with both engines, with a host that the run starts, and with a
// host that is already running.
func TestFaultsHearTheScript(t *testing.T) {
	t.Parallel()
	long(t)
	text, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(text), "```js\n")
	script, _, _ = strings.Cut(script, "```")
	script += "exports.ssExports.onProcessTerminate = () => troupe.expect('the end is no end', false);\n"
	for engine, rest := range map[string]string{"embedded": "", "node": `, "troupe": {"engine": "node"}`} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("node"); err != nil && engine == "node" {
				t.Skip("there is no Node.js")
			}
			folder := t.TempDir()
			for name, text := range map[string]string{"index.js": script, "package.json": `{"main": "index.js"` + rest + "}"} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			code, out := runFaults("run", "reconnect-storm", "--quick", "--players", "2", "--script", folder, "--transport", "ws", "--json", filepath.Join(t.TempDir(), "r.json"))
			if code != exitFailure {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			for _, want := range []string{`(?m)^holds +script +a player who is back is in the list  +the script said so [1-9]`, `(?m)^BROKEN +script +the end is no end `} {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("no %s in\n%s", want, out)
				}
			}
		})
	}
}

// If a script does not run, its error is reported.
func TestFaultsSayWhyAScriptDoesNotRun(t *testing.T) {
	t.Parallel()
	long(t)
	script := filepath.Join(t.TempDir(), "main.js")
	if err := os.WriteFile(script, []byte("not a script\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := runFaults("run", "reconnect-storm", "--quick", "--players", "2", "--script", script); code != exitUsage || !strings.Contains(out, "SyntaxError: Expected") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// If a run is impossible, a single line gives the reason, before anything is started or written.
func TestFaultsWrongUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "r.json")
	for line, want := range map[string]string{
		"run nothing":                                          `there is no scenario "nothing": troupe faults list shows them; a plan of your own is a file that ends in .yaml`,
		"run none.yaml":                                        "open none.yaml: no such file or directory",
		"run tunnel --players 0":                               "--players must be 1 to 200",
		"run tunnel --players 201":                             "--players must be 1 to 200",
		"run tunnel --transport auto":                          "--transport must be ws, wss or kcp",
		"run tunnel --transport tcp":                           "--transport must be ws, wss or kcp",
		"run tunnel --against h --transport kcp":               "--transport kcp with --against needs --kcp-addr",
		"run tunnel --against h --transport wss":               "--transport wss with --against needs --wss-addr",
		"run tunnel --json /dev/null/r.json":                   "--json: open /dev/null/r.json: not a directory",
		"run tunnel --report /dev/null/r":                      "--report: mkdir /dev/null: not a directory",
		"run server-crash --against h":                         "server-crash breaks the host itself, which must be started here: leave --against out",
		"run tunnel --against h --set a=b":                     "--script and --set are for a host that is started here: leave them out, or --against",
		"run tunnel --script none.js":                          "--script: stat none.js: no such file or directory",
		"run tunnel --against ftp://h":                         "ftp://h is not the URL of a host: is it http://h?",
		"replay none.json":                                     "open none.json: no such file or directory",
		"replay testdata/script/bench.txtar --against 1.2.3.4": "testdata/script/bench.txtar is not a report of troupe faults",
	} {
		args := append([]string{"faults"}, strings.Fields(line)...)
		if !strings.Contains(line, "--json") {
			args = append(args, "--json", file)
		}
		if code, out, said := call(args...); code != exitUsage || out != "" || said != "troupe: faults: "+want+"\n" {
			t.Errorf("%s: %d, %q, %q, want %q", line, code, out, said, want)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("half a report")
	}
	code, text := 0, ""
	synctest.Test(t, func(t *testing.T) {
		code, text = runFaultsOn(memnet.New(1).Machine(), "run", "tunnel", "--quick", "--against", "127.0.0.1:1")
	})
	if code != exitUsage || !strings.HasPrefix(text, "troupe: faults: no host answers at http://127.0.0.1:1, is it running?") {
		t.Errorf("%d: %s", code, text)
	}
}

func TestFaultsList(t *testing.T) {
	t.Parallel()
	code, out, said := call("faults", "list")
	if code != 0 || said != "" {
		t.Fatalf("%d: %s", code, said)
	}
	for _, name := range []string{
		"wifi-to-lte", "tunnel", "flappy", "train", "phone-sleep", "nat-rebind", "lossy-5", "slow-client", "reconnect-storm", "server-crash", "server-stall",
		"disk-full", "slow-disk", "disk-read-only", "bad-disk", "noisy-neighbour", "script-hang", "server-restart", "reorder", "out-of-files", "little-memory", "store-kills",
	} {
		p, err := faults.Find(name)
		if err != nil || !strings.Contains(out, "\n"+name+" ") || !strings.Contains(out, p.About) || time.Duration(p.Length) > time.Minute {
			t.Errorf("%s: %v in\n%s", name, err, out)
		}
	}
}

// Over kcp, fast messages are datagrams, so a path that loses packets loses some of them.
func TestFaultsFastMessagesAreDatagrams(t *testing.T) {
	t.Parallel()
	long(t)
	plan := filepath.Join(t.TempDir(), "half.yaml")
	if err := os.WriteFile(plan, []byte("faults:\n- {at: 0s, fault: link, target: all, for: 1500ms, loss: 0.5, direction: up}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "r.json")
	_, text := runFaults("run", plan, "--players", "4", "--seed", "1", "--transport", "kcp", "--json", file)
	if f := readReport(t, file, text).Figures; f.FastSent < 20 || f.FastDelivered >= 4*f.FastSent || f.Delivered != 4*f.Sent {
		t.Errorf("%+v", f)
	}
}

// The built-in script accepts more players than a script does by default.
func TestFaultsOfManyPlayers(t *testing.T) {
	t.Parallel()
	long(t)
	plan := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(plan, []byte("faults:\n- {at: 0s, fault: reset, target: one}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := runFaults("run", plan, "--quick", "--players", "33", "--transport", "ws"); code != 0 || !strings.Contains(text, ", 33 players") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}
