package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/node"
	"troupe/messages"
	"troupe/messages/counters"
)

func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("memory, processor time and processes are watched on Linux only")
	}
}

// misbehave is a script that evaluates the text of a message.
const misbehave = `
exports.ssExports = {
  init(s) {},
  onMessage(m) { eval(m.getPayloadAsText()); },
  onSendToPlayer(m) { eval(m.getPayloadAsText()); return true; },
};`

// The script row of reliability.md 6, for scripts that run in Node.js. Each attack ends its own game session,
// at once or when the watchdog's limit is reached, and leaves no process behind. RL-111, RL-210.
func TestHostileScripts(t *testing.T) {
	onLinux(t)
	for name, c := range map[string]struct {
		code, reason string
		gate, stuck  bool // stuck means that only the watchdog ends the script
		cpu          time.Duration
		processes    int
	}{
		"loop":                 {code: "begun(); for (;;);", stuck: true},
		"loop in try, finally": {code: "begun(); for (;;) try { for (;;); } finally { continue; }", stuck: true},
		"loop in a gate":       {code: "begun(); for (;;);", gate: true, stuck: true},
		"loop in a timer":      {code: "setTimeout(() => { begun(); for (;;); }, 1)", stuck: true},
		"loop of promises":     {code: "begun(); (function again() { Promise.resolve().then(again); })()", stuck: true},
		"regular expression":   {code: "begun(); /^(a+)+$/.test('a'.repeat(50) + '!')", stuck: true},
		"back reference":       {code: "begun(); /^(a+)+\\1$/.test('a'.repeat(50) + '!')", stuck: true},
		"sort":                 {code: "begun(); [3, 1, 2].sort(() => { for (;;); })", stuck: true},
		"proxy":                {code: "begun(); Object.keys(new Proxy({}, { ownKeys() { for (;;); } }))", stuck: true},
		"atomic sleep":         {code: "begun(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", stuck: true},
		"stopped":              {code: "begun(); process.kill(process.pid, 'SIGSTOP')", stuck: true},
		"heap":                 {code: "const a = []; for (;;) a.push({ n: [a.length] });", reason: "heap out of memory"},
		"buffers":              {code: "globalThis.a = []; for (let i = 0; i < 12; i++) setTimeout(() => a.push(Buffer.alloc(16 << 20, 1)), 50 * i);", reason: "MiB of memory, more than 64 MiB"},
		"buffers at once":      {code: "globalThis.a = []; for (;;) a.push(Buffer.alloc(64 << 20, 1));", reason: ""},
		"processor time":       {code: "const f = () => setImmediate(f); f()", reason: "of processor time within 10s", cpu: 500 * time.Millisecond},
		"other threads": {code: "const {Worker} = require('worker_threads'); for (let i = 0; i < 3; i++) new Worker('for (;;);', {eval: true});",
			reason: "of processor time within 10s", cpu: time.Second},
		"processes": {code: "const {spawn} = require('child_process'); for (let i = 0; i < 12; i++) spawn('sleep', ['1000'])",
			reason: "processes, more than 4", processes: 4},
		"processes of other sessions": {code: "const {spawn} = require('child_process'); for (let i = 0; i < 12; i++) spawn('setsid', ['sleep', '1000'])",
			reason: "processes, more than 4", processes: 4},
		"reads the pipes":  {code: "require('fs').writeSync(4, 'garbage')", reason: "the host does not understand"},
		"says it lives":    {code: "for (;;) require('fs').writeSync(4, Buffer.from([9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]))", reason: "confirmed what it was not sent"},
		"closes the pipes": {code: "require('fs').closeSync(4)", reason: "node ended"},
		"kills its group":  {code: "process.kill(0, 'SIGKILL')", reason: "signal: killed"},
		"recursion":        {code: "setTimeout(function f() { f(); }, 1)", reason: "Maximum call stack size exceeded"},
		"deep source":      {code: "setTimeout(() => eval('['.repeat(2e6)), 1)", reason: "Maximum call stack size exceeded"},
		"deep JSON":        {code: "setTimeout(() => JSON.parse('['.repeat(2e6)), 1)", reason: "SyntaxError"},
	} {
		for _, perProcess := range []int{1, 2} {
			t.Run(fmt.Sprint(name, ", ", perProcess, " per process"), func(t *testing.T) {
				t.Parallel()
				s := setup{short: name == "stopped", cpu: c.cpu, processes: c.processes, perProcess: perProcess, limits: func(l *script.Limits) { l.MemoryMax = 64 << 20 }}
				play(t, pids(t)+"mark();"+misbehave, s, func(g *game) {
					g.processes()
					a := g.enter()
					to := messages.ServerPeer
					if c.gate {
						to = a.Peer()
					}
					a.Say(1, to, 0, c.code)
					if c.stuck {
						g.interrupted()
					} else if g.ended(c.reason); g.Count.ScriptInterrupts.Load() != 0 {
						t.Error("the watchdog ended it")
					}
				})
			})
		}
	}
}

// Errors inside a callback are caught, and the game session continues.
func TestWhatACallbackMayDo(t *testing.T) {
	play(t, misbehave, setup{limits: func(l *script.Limits) { l.Tick = 20 * time.Millisecond }}, func(g *game) {
		a := g.enter()
		for _, code := range []string{"(function f() { f(); })()", "null.x", "throw undefined", "new Array(-1)",
			"const d = Date.now(); while (Date.now() < d + 60);", "setTimeout(() => { const d = Date.now(); while (Date.now() < d + 60); }, 1)"} {
			a.Say(1, messages.ServerPeer, 0, code)
		}
		g.Until(func() string {
			slow, failed := g.Count.ScriptSlowCalls.Load(), g.Count.HandlerErrors.Load()
			if slow < 2 || failed < 4 { // the recursion may also count as a slow call
				return fmt.Sprintf("%d slow calls, %d errors of callbacks", slow, failed)
			}
			return ""
		})
		g.logged("Maximum call stack")
		g.logged("onMessage took ")
		if n := g.Count.HandlerErrors.Load(); n != 4 {
			t.Errorf("%d errors of callbacks", n)
		}
		if s := g.Game(g.id); s.Status != messages.GameSessionActive {
			t.Error(s.Status, s.EndText)
		}
	})
}

// Processes that a script has started end with it, whatever the reason for its end.
func TestProcessesOfTheScriptEndWithIt(t *testing.T) {
	onLinux(t)
	const children = `
const {spawn, spawnSync} = require('child_process');
const a = spawn('sleep', ['1000']), b = spawn('sleep', ['1000'], {detached: true, stdio: 'ignore'}), c = spawn('sh', ['-c', 'sleep 1000 & echo $! ; wait']);
b.unref();
// What leaves the process group, and its parents, and knows nothing of either.
const leave = 'sleep 1000 > /dev/null 2>&1 & echo $!', env = { PATH: process.env.PATH };
const d = spawnSync('sh', ['-c', leave], {detached: true, env}), e = spawnSync('setsid', ['sh', '-c', leave], {env});
c.stdout.on('data', text => mark(a.pid, b.pid, c.pid, Number(text), Number(d.stdout), Number(e.stdout)));
`
	for name, end := range map[string]string{
		"exit":    "setTimeout(() => process.exit(0), 1)",
		"loop":    "begun(); for (;;);",
		"killed":  "process.kill(process.pid, 'SIGKILL')",
		"by host": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, pids(t)+misbehave+children, setup{}, func(g *game) {
				g.processes()
				if len(g.marks) != 7 {
					t.Fatal(g.marks)
				}
				if end != "" {
					g.enter().Say(1, messages.ServerPeer, 0, end)
					if name == "loop" {
						g.interrupted()
					}
					g.ended("")
				}
			})
		})
	}
}

// A script with a user of its own cannot hide the processes that it starts, even if the host may not read
// that user's resource limits.
func TestProcessesOfAnotherUserEndWithTheScript(t *testing.T) {
	onLinux(t)
	if os.Getuid() != 0 {
		t.Skip("only root may run scripts as another user")
	}
	const hide = `
const {stdout} = require('child_process').spawnSync('setsid', ['sh', '-c', '{ ulimit -w 5 || ulimit -x 5; } 2> /dev/null; sleep 1000 > /dev/null 2>&1 & echo $!']);
mark(Number(stdout));`
	s := setup{options: node.Options{UID: 65534, GID: 65534}}
	play(t, "function mark(pid) { console.log('pids ' + process.pid + ' ' + pid + ' end'); }"+misbehave+hide, s, func(g *game) {
		g.logged(" end")
		_, pids, _ := strings.Cut(g.log.String(), "pids ")
		pids, _, _ = strings.Cut(pids, " end")
		g.marks = strings.Fields(pids)
	})
}

// Where processes are identified only by their group, no process that a script starts gets its own group.
func TestNothingIsDetached(t *testing.T) {
	onLinux(t)
	const groups = `
const group = stat => Number(String(stat).replace(/.*\) /, '').split(' ')[2]), own = group(readFileSync('/proc/self/stat'));
const cat = '/proc/self/stat', o = {detached: true};
console.log('groups', [spawnSync('cat', [cat], o).stdout, spawnSync('cat ' + cat, {...o, shell: true}).stdout, execFileSync('cat', [cat], o), execSync('cat ' + cat, o)].map(s => group(s) === own).join(), o.detached);
`
	for entry, source := range map[string]string{
		"server.js":  "const {spawnSync, execFileSync, execSync} = require('child_process'), {readFileSync} = require('fs');" + groups + "exports.ssExports = { init() {} };",
		"server.mjs": "import {spawnSync, execFileSync, execSync} from 'child_process'; import {readFileSync} from 'fs';" + groups + "export const ssExports = { init() {} };",
	} {
		t.Run(entry, func(t *testing.T) {
			play(t, source, setup{entry: entry}, func(g *game) { g.logged("groups true,true,true,true true") })
		})
	}
}

// realtime.md 18.1: printed lines are logged, up to a limit.
func TestPrintedLinesAreBounded(t *testing.T) {
	play(t, `
exports.ssExports = { init() {}, onMessage(m) {
  const fs = require('fs');
  fs.writeSync(1, 'x'.repeat(100000) + '\nno end');
  for (let i = 0; i < 20000; i++) fs.writeSync(2, 'line ' + i + '\n');
  fs.writeSync(1, Buffer.from([10, 255, 254, 10]));
  process.exit(1);
} };`, setup{}, func(g *game) {
		g.enter().Say(1, messages.ServerPeer, 0, "")
		g.ended("exited with an error code")
		text := g.log.String()
		for _, want := range []string{"[INFO] (stdout) 0: " + strings.Repeat("x", 8<<10) + " ...\n", "(stdout) 0: no end", "(stderr) 0: line 19999", "lines are left out", "\ufffd"} {
			if !strings.Contains(text, want) {
				t.Errorf("%.100q is not in the log of %d bytes", want, len(text))
			}
		}
		if n := g.log.count(); n > 6000 || n < 1000 {
			t.Errorf("%d lines", n)
		}
		if n := g.Count.LogLinesDropped.Load(); n < 10000 {
			t.Errorf("%d lines dropped", n)
		}
	})
}

// A script that is too slow for the messages it gets is ended, and the host's memory does not grow.
func TestAScriptThatDoesNotKeepUpEnds(t *testing.T) {
	play(t, misbehave, setup{}, func(g *game) {
		payload := make([]byte, 60000)
		g.inside(func() {
			g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1, Payload: []byte("for (;;);")})
			for range 200 {
				g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1, Payload: payload})
			}
		})
		g.ended("does not keep up")
		if strings.Contains(g.log.String(), "too long") {
			t.Error("what does not fit is called too long")
		}
	})
}

// A call whose arguments exceed the maximum frame is left out, and the log says so.
func TestArgumentsThatAreTooLongAreLeftOut(t *testing.T) {
	play(t, misbehave, setup{}, func(g *game) {
		g.inside(func() {
			g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1, Payload: make([]byte, 2<<20)})
			g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1, Payload: []byte("console.log('goes on')")})
		})
		g.logged("its arguments are too long")
		g.logged("goes on")
	})
}

// A script that prints endlessly has to wait for the host, which continues.
func TestPrintingWithoutEndIsBounded(t *testing.T) {
	play(t, pids(t)+misbehave, setup{}, func(g *game) {
		before := heap()
		a := g.enter()
		a.Say(1, messages.ServerPeer, 0, "begun(); for (;;) console.log('x'.repeat(1000))")
		g.logged(strings.Repeat("x", 1000))
		g.interrupted()
		if after := heap(); after > before+64<<20 {
			// The log in this test keeps all lines in memory.
			if kept := uint64(len(g.log.String())); after > before+3*kept+64<<20 {
				t.Errorf("%d MiB more, %d MiB in the log", (after-before)>>20, kept>>20)
			}
		}
	})
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A child can see the host's time zone but not its environment or its files. Killing the child ends one game
// session and no other.
func TestAChildAndItsHost(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "canary")
	t.Setenv("TZ", "Asia/Tokyo")
	play(t, pids(t)+`mark();
const fs = require('fs');
console.log('environment', Object.keys(process.env).sort().join());
console.log('zone', new Date(0).getHours());
console.log('arguments', process.argv.length, process.argv[1].endsWith('/game/v-1/server.js'), process.argv.slice(2).join());
console.log('folder', process.cwd() === __dirname, fs.readFileSync(0).length);
let open = 0;
for (let fd = 0; fd < 100; fd++) try { const s = fs.fstatSync(fd); if (s.isSocket() || s.isFile()) open++; } catch (e) {}
console.log('open', open);
console.log('limits', fs.readFileSync('/proc/self/limits', 'utf8').match(/Max core file size +\d+/)[0].split(/ +/).pop(), require('os').getPriority());
exports.ssExports = { init() {} };`, setup{short: true, args: []string{"a", "b"}}, func(g *game) {
		for _, want := range []string{"environment HOME,NODE_ENV,PATH,TZ\n", "zone 9\n", "arguments 4 true a,b\n", "folder true 0\n", "open 0\n", "limits 0 5"} {
			if !strings.Contains(g.log.String()+"\n", want) {
				t.Errorf("%q is not in the log", want)
			}
		}
		if strings.Contains(g.log.String(), "canary") {
			t.Error("the host's environment is visible")
		}
		g.processes()
		h, err := g.program.NewHandler(script.Process{Counters: g.Count})
		if err != nil {
			t.Fatal(err)
		}
		other := g.Create(h)
		g.Until(func() string { return fmt.Sprint(strings.TrimPrefix(g.Game(other).Status.String(), "ACTIVE")) })
		pid, err := strconv.Atoi(g.marks[0])
		if n := g.Count.ScriptProcesses.Load(); err != nil || n != 2 {
			t.Errorf("%d processes are counted, %v", n, err)
		}
		if err := kill(pid); err != nil {
			t.Fatal(err)
		}
		g.ended("node ended (signal: killed)")
		if s := g.Game(other).Status; s != messages.GameSessionActive {
			t.Error("the other is", s)
		}
	})
}

func TestAnotherUser(t *testing.T) {
	onLinux(t)
	if os.Getuid() != 0 {
		t.Skip("only root may run scripts as another user")
	}
	play(t, "console.log('user', process.getuid(), process.getgid());\nexports.ssExports = { init() {} };", setup{options: node.Options{UID: 65534, GID: 65534}}, func(g *game) {
		g.logged("user 65534 65534")
	})
}

// The host is killed while a script is in an endless loop. The kernel kills the children of the host, and the
// next host kills the processes that the scripts have started.
func TestAKilledHostLeavesNothing(t *testing.T) {
	onLinux(t)
	need(t)
	file, dir := pidFile(t), t.TempDir()
	defer func() { _ = os.Remove(file) }()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), "TMPDIR="+dir, hostOnly+"="+pids(t)+"const p = require('child_process').spawnSync('setsid', ['sh', '-c', 'sleep 1000 > /dev/null 2>&1 & echo $!']); mark(Number(p.stdout)); for (;;);")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for until := time.Now().Add(time.Minute); len(ids) == 0; time.Sleep(time.Millisecond) {
		if data, _ := os.ReadFile(file); strings.HasSuffix(string(data), "end\n") {
			ids = strings.Fields(strings.TrimSuffix(string(data), "end\n"))
		} else if time.Now().After(until) {
			t.Fatal("the script does not run")
		}
	}
	folders := func() []string { // the directories left after another host has started and stopped
		p := program(t, dir, "", setup{})
		p.Close()
		if err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		left, _ := filepath.Glob(dir + "/*")
		return left
	}
	left := folders()
	if len(left) != 1 {
		t.Fatal("the host has", left)
	}
	age := func() {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(left[0], old, old); err != nil {
			t.Fatal(err)
		}
	}
	if age(); len(folders()) != 1 {
		t.Error("another host removes what is in use")
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	fresh := filepath.Join(dir, "troupe-node-fresh")
	if err := os.Mkdir(fresh, 0o700); err != nil {
		t.Fatal(err)
	}
	if left = folders(); !slices.Equal(left, []string{fresh}) {
		t.Fatal("there is", left, "and not what may be about to be locked")
	}
	if age(); len(folders()) != 0 {
		t.Error("files are left:", left)
	}
	for _, id := range ids {
		pid, _ := strconv.Atoi(id)
		for until := time.Now().Add(time.Minute); alive(pid); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				_ = kill(pid)
				t.Errorf("process %s of %s outlives the script's host", id, ids)
				break
			}
		}
	}
}

// hostOnly is the name of an environment variable. If it is set, the test binary only acts as a host for the
// script in it.
const hostOnly = "TROUPE_TEST_HOST_OF"

// stand replaces a game session's actor. It queues the functions passed to Do but does not run them.
type stand struct {
	script.Session
	tasks chan func()
}

func (s *stand) Do(f func()) bool { s.tasks <- f; return true }

func beHost(source string) {
	p, err := node.New(&bundle.Bundle{Files: map[string][]byte{"server.js": []byte(source)}, Version: "v"}, "server.js", actorstest.ScriptLimits(), node.Options{})
	if err != nil {
		panic(err)
	}
	h, err := p.NewHandler(script.Process{Counters: new(counters.Set)})
	if err != nil {
		panic(err)
	}
	h.(script.Loader).Load(&stand{tasks: make(chan func(), 10)})
	time.Sleep(time.Minute) // the host is killed before that
}

// The number of pending timers is limited. Timers that have fired or were cleared do not count.
func TestTimersThatWaitAreBounded(t *testing.T) {
	for name, one := range map[string]string{
		"timeouts":   "setTimeout(() => {}, 1e6)",
		"intervals":  "require('timers').setInterval(() => {}, 1e6)",
		"immediates": "setImmediate(() => {})",
		"refreshed":  "setTimeout(() => {}, 1e6).refresh()",
		"promises":   "require('timers/promises').setTimeout(1e6)",
		"promisify":  "require('util').promisify(setTimeout)(1e6)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, misbehave, setup{limits: func(l *script.Limits) { l.TimersMax = 300 }}, func(g *game) {
				a := g.enter()
				for _, code := range []string{
					"for (let i = 0; i < 1000; i++) clearTimeout(setTimeout(() => {}, 1e6));",
					"for (let i = 0; i < 300; i++) " + one,
					"console.log('made all'); " + one,
				} {
					a.Say(1, messages.ServerPeer, 0, code)
				}
				if name == "immediates" { // immediates fire before the next message
					g.logged("made all")
					a.Say(1, messages.ServerPeer, 0, "for (;;) "+one)
				}
				g.logged("more than 300 timers wait")
				if text := g.log.String(); strings.Index(text, "made all") > strings.Index(text, "timers wait") || !strings.Contains(text, "made all") {
					t.Error(text)
				}
				if s := g.Game(g.id); s.Status != messages.GameSessionActive {
					t.Error(s.Status, s.EndText)
				}
			})
		})
	}
}

func TestTimersThatHaveFiredAreForgotten(t *testing.T) {
	play(t, misbehave, setup{limits: func(l *script.Limits) { l.TimersMax = 300 }}, func(g *game) {
		g.enter().Say(1, messages.ServerPeer, 0, `
const sleep = require('timers/promises').setTimeout, again = n => n > 0 ? setTimeout(again, 0, n - 1) : console.log('all fired');
(async () => {
  const all = new AbortController(), aborted = [];
  for (let i = 0; i < 300; i++) aborted.push(sleep(1e6, 0, { signal: all.signal }).catch(error => error.name));
  all.abort();
  console.log('aborted', new Set(await Promise.all(aborted)));
  for (let i = 0; i < 400; i++) await sleep(0);
  console.log('all slept');
  again(400);
})();`)
		g.logged("aborted Set(1) { 'AbortError' }")
		g.logged("all slept")
		g.logged("all fired")
	})
}

func TestATimerThatIsAbortedAndNobodyAsksForIsTold(t *testing.T) {
	play(t, misbehave, setup{}, func(g *game) {
		g.enter().Say(1, messages.ServerPeer, 0, "const c = new AbortController(); require('timers/promises').setTimeout(1e6, 0, { signal: c.signal }); c.abort()")
		g.logged("AbortError")
	})
}
