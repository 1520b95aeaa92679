package launch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"troupe/actors/serverprocess"
)

// play drives a pool. The clock is in seconds.
type play struct {
	*testing.T
	*pool
	now time.Time
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newPlay(t *testing.T, portFrom, ports int) *play {
	n := 0
	return &play{t, newPool(func() string { n++; return fmt.Sprint("p", n) }, newPorts(portFrom, ports)), epoch}
}

func newPorts(from, n int) *ports {
	p := new(ports)
	p.set(from, n)
	return p
}

func (p *play) at(seconds float64) *play {
	p.now = epoch.Add(time.Duration(seconds * float64(time.Second)))
	return p
}

var verbs = [...]string{start: "start", ask: "ask", stop: "stop", kill: "kill", event: "event", runs: "runs", fails: "fails"}

// does fails unless the actions are those wanted, such as "start p1:7000, event SERVER_PROCESS_CRASHED".
func (p *play) does(do []action, want string) {
	p.Helper()
	var got []string
	for _, a := range do {
		text := verbs[a.do]
		switch a.do {
		case start:
			text += fmt.Sprintf(" %s:%d", a.process, a.port)
		case event:
			text += " " + a.code
		case ask, stop, kill:
			text += " " + a.process
		}
		got = append(got, text)
	}
	if text := strings.Join(got, ", "); text != want {
		p.Errorf("at %v: %q, want %q", p.now.Sub(epoch), text, want)
	}
}

func (p *play) state(id string, s serverprocess.State, want string) {
	p.Helper()
	p.does(p.report(id, s, false, p.now), want)
}

func (p *play) up(id string, want string) {
	p.Helper()
	p.state(id, serverprocess.Connected, "")
	p.state(id, serverprocess.Ready, want)
}

var crash = exit{text: "exit status 2", bad: true}

func (p *play) dueAt(seconds float64) {
	p.Helper()
	want := epoch.Add(time.Duration(seconds * float64(time.Second)))
	if seconds < 0 {
		want = time.Time{}
	}
	if got := p.due(); !got.Equal(want) {
		p.Errorf("due at %v, want %v", got.Sub(epoch), want.Sub(epoch))
	}
}

func TestTheFirstProcessProvesTheExecutable(t *testing.T) {
	p := newPlay(t, 7000, 10)
	p.does(p.set(7, p.now), "start p1:7000")
	p.at(1).up("p1", "runs, start p2:7001, start p3:7002, start p4:7003, start p5:7004")
	p.up("p2", "runs, start p6:7005")
	p.up("p3", "runs, start p7:7006")
	p.up("p4", "runs")
	if len(p.all) != 7 {
		t.Errorf("%d processes", len(p.all))
	}
}

func TestProcessesThatCrashAtOnceAreBackedOff(t *testing.T) {
	p := newPlay(t, 0, 0)
	p.does(p.set(3, p.now), "start p1:0")
	at := 0.0
	for n, pause := range []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		p.at(at).does(p.exited(fmt.Sprint("p", n+1), crash, p.now), "event SERVER_PROCESS_CRASHED, fails")
		p.dueAt(at + pause)
		p.at(at+pause-0.001).does(p.tick(p.now), "")
		at += pause
		p.at(at).does(p.tick(p.now), fmt.Sprintf("start p%d:0", n+2))
	}
	p.at(at+1).up("p12", "runs, start p13:0")
	p.up("p13", "runs, start p14:0")
	// A process that lives for a minute shows that the executable runs.
	p.dueAt(at + 60)
	p.at(at+61).does(p.tick(p.now), "")
	// A crash after that is none of the executable at all.
	p.at(at+100).does(p.exited("p12", crash, p.now), "event SERVER_PROCESS_CRASHED, start p15:0")
	// One soon after the start is, and the next pause is the first again.
	p.at(at+101).up("p15", "runs")
	p.at(at+102).does(p.exited("p15", crash, p.now), "event SERVER_PROCESS_CRASHED")
	p.dueAt(at + 103)
	p.state("p13", serverprocess.Hosting, "start p16:0") // another has a game session: the executable runs
}

// A process that becomes ready and ends at once would be started again and again without a pause.
func TestProcessesThatEndWithoutAGameSessionAreBackedOff(t *testing.T) {
	p := newPlay(t, 0, 0)
	p.does(p.set(1, p.now), "start p1:0")
	at := 0.0
	for n, pause := range []float64{1, 2, 4, 8, 16, 32, 64} {
		id := fmt.Sprint("p", n+1)
		p.at(at).up(id, "runs")
		if n%2 == 0 { // ProcessEnding, and exit code 0
			p.does(p.report(id, serverprocess.Terminated, false, p.now), "")
			p.does(p.exited(id, exit{}, p.now), "")
		} else {
			p.does(p.exited(id, crash, p.now), "event SERVER_PROCESS_CRASHED")
		}
		p.dueAt(at + pause)
		at += pause
		p.at(at).does(p.tick(p.now), fmt.Sprintf("start p%d:0", n+2))
	}
}

// Processes that say that they end and do not are not without number.
func TestProcessesThatEndAreFew(t *testing.T) {
	p := newPlay(t, 0, 0)
	p.set(1, p.now)
	for n := 1; len(p.all) == n; n++ {
		id := fmt.Sprint("p", n)
		p.report(id, serverprocess.Ready, false, p.now)
		p.report(id, serverprocess.Hosting, false, p.now)
		p.report(id, serverprocess.Terminated, false, p.now)
	}
	if len(p.all) != 6 {
		t.Errorf("%d processes", len(p.all))
	}
	p.does(p.exited("p1", exit{}, p.now), "start p7:0")
}

func TestAGameSessionThatIsTakenBack(t *testing.T) {
	p := newPlay(t, 0, 0)
	p.set(2, p.now)
	p.up("p1", "runs, start p2:0")
	p.up("p2", "runs")
	p.state("p1", serverprocess.Hosting, "")
	p.does(p.set(1, p.now), "ask p2")
	p.state("p1", serverprocess.Ready, "") // it is the one that is wanted
	p.state("p1", serverprocess.Hosting, "")
	p.does(p.set(0, p.now), "")
	p.state("p1", serverprocess.Ready, "ask p1")
}

// What the host ends is no failure, also while it starts.
func TestTheHostEndsAProcessThatStarts(t *testing.T) {
	for _, dropped := range []bool{true, false} {
		p := newPlay(t, 0, 0)
		p.set(1, p.now)
		p.state("p1", serverprocess.Connected, "")
		p.does(p.set(0, p.now), "ask p1")
		if dropped {
			p.does(p.report("p1", serverprocess.Terminated, true, p.now), "stop p1")
		} else {
			p.does(p.report("p1", serverprocess.Terminated, false, p.now), "")
		}
		p.does(p.exited("p1", exit{}, p.now), "")
		p.does(p.set(1, p.now), "start p2:0")
	}
}

// A host that gets no token backs off, but says nothing of the executable.
func TestAHostThatCannotStartAnything(t *testing.T) {
	p := newPlay(t, 0, 0)
	p.set(1, p.now)
	p.does(p.exited("p1", exit{code: eventGeneric, bad: true, host: true}, p.now), "event GENERIC_EVENT")
	p.dueAt(1)
	p.at(1).does(p.tick(p.now), "start p2:0")
	p.does(p.exited("p2", crash, p.now), "event SERVER_PROCESS_CRASHED, fails")
	p.dueAt(3)
}

func TestTooFewPorts(t *testing.T) {
	all := newPorts(7000, 2)
	n := 0
	newID := func() string { n++; return fmt.Sprint("p", n) }
	p, q := &play{t, newPool(newID, all), epoch}, &play{t, newPool(newID, all), epoch}
	p.does(p.set(1, p.now), "start p1:7000")
	q.does(q.set(2, q.now), "start p2:7001")
	q.up("p2", "runs, event GENERIC_EVENT")
	q.does(q.tick(q.now), "") // said once
	p.does(p.set(0, p.now), "stop p1")
	p.does(p.exited("p1", exit{}, p.now), "")
	q.does(q.tick(q.now), "start p3:7000")
}

func TestAGameSessionAfterTheOther(t *testing.T) {
	p := newPlay(t, 7000, 2)
	p.does(p.set(1, p.now), "start p1:7000")
	p.at(1).up("p1", "runs")
	p.state("p1", serverprocess.Hosting, "")
	p.dueAt(-1)
	p.at(5).does(p.report("p1", serverprocess.Terminated, false, p.now), "start p2:7001") // ProcessEnding; its port is still taken
	p.at(6).does(p.exited("p1", exit{text: "exit status 0"}, p.now), "")
	p.up("p2", "runs")
	p.at(66).does(p.report("p2", serverprocess.Terminated, false, p.now), "start p3:7000")
	p.does(p.exited("p2", crash, p.now), "event SERVER_PROCESS_TERMINATED_UNHEALTHY")
}

func TestAProcessThatDoesNotConnect(t *testing.T) {
	p := newPlay(t, 7000, 1)
	p.does(p.set(1, p.now), "start p1:7000")
	p.dueAt(300)
	p.at(300).does(p.tick(p.now), "event SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT, stop p1, fails")
	p.dueAt(301)
	p.at(310).does(p.tick(p.now), "kill p1")
	p.at(311).does(p.exited("p1", crash, p.now), "start p2:7000")
	// Connected, and never ready: the endpoint drops it.
	p.state("p2", serverprocess.Connected, "")
	p.dueAt(-1)
	p.at(700).does(p.report("p2", serverprocess.Terminated, true, p.now), "fails, stop p2")
	p.does(p.exited("p2", crash, p.now), "")
	p.at(702).does(p.tick(p.now), "start p3:7000")
}

func TestAProcessThatSaysItEndsAndDoesNot(t *testing.T) {
	p := newPlay(t, 0, 0)
	p.set(1, p.now)
	p.up("p1", "runs")
	p.state("p1", serverprocess.Hosting, "")
	p.does(p.report("p1", serverprocess.Terminated, false, p.now), "start p2:0")
	p.at(60).does(p.tick(p.now), "event SERVER_PROCESS_PROCESS_EXIT_TIMEOUT, stop p1")
	p.at(70).does(p.tick(p.now), "kill p1")
	p.does(p.exited("p1", crash, p.now), "")
}

func TestFewerProcesses(t *testing.T) {
	p := newPlay(t, 0, 0)
	p.set(4, p.now)
	p.up("p1", "runs, start p2:0, start p3:0, start p4:0")
	p.state("p1", serverprocess.Hosting, "")
	p.up("p2", "runs")
	p.state("p3", serverprocess.Connected, "")
	p.at(10).does(p.set(2, p.now), "stop p4, ask p3")
	p.does(p.set(0, p.now), "ask p2") // p1 has a game session
	p.state("p2", serverprocess.Terminating, "")
	p.at(20).does(p.report("p2", serverprocess.Terminated, false, p.now), "")
	p.does(p.exited("p2", exit{}, p.now), "")
	p.does(p.exited("p4", crash, p.now), "") // killed by the host: not a failure of its own
	p.at(320).does(p.tick(p.now), "stop p3") // the endpoint did not end it in time
	p.does(p.exited("p3", crash, p.now), "")
	p.does(p.report("p1", serverprocess.Terminated, false, p.now), "")
	p.does(p.exited("p1", exit{}, p.now), "")
	p.dueAt(-1)
	if len(p.all) != 0 {
		t.Errorf("%d are left", len(p.all))
	}
}

// Whatever happens, there are never more processes than wanted besides those that end, no port is used twice, and
// something is due while something is missing.
func TestPoolsNeverStartTooMany(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 0
		p := newPool(func() string { n++; return fmt.Sprint(n) }, newPorts(7000, 6))
		now, most := epoch, 0
		for range 200 {
			now = now.Add(time.Duration(r.IntN(60_000)) * time.Millisecond)
			ids := p.sorted()
			id := "none"
			if len(ids) > 0 {
				id = ids[r.IntN(len(ids))]
			}
			switch r.IntN(6) {
			case 0:
				most = r.IntN(6)
				p.set(most, now)
			case 1, 2:
				p.report(id, serverprocess.State(1+r.IntN(5)), r.IntN(2) == 0, now)
			case 3:
				p.exited(id, exit{bad: r.IntN(2) == 0}, now)
			default:
				p.tick(now)
			}
			live, starting, hosts, ports := 0, 0, 0, map[int]bool{}
			for _, o := range p.all {
				if ports[o.port] {
					t.Fatalf("seed %d: port %d twice", seed, o.port)
				}
				if ports[o.port] = true; !o.stage.going() {
					live++
				}
				if o.stage < ready { // if it hangs, the endpoint ends it
					starting++
				}
				if o.stage == hosting {
					hosts++
				}
			}
			if live > max(most, hosts) {
				t.Fatalf("seed %d: %d live, %d wanted", seed, live, most)
			}
			if len(p.ports.taken) != len(p.all) {
				t.Fatalf("seed %d: %d ports for %d processes", seed, len(p.ports.taken), len(p.all))
			}
			if live < most && len(p.all) == live && starting == 0 && p.due().IsZero() {
				t.Fatalf("seed %d: %d of %d, and nothing is due", seed, live, most)
			}
		}
	}
}
