package node_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/node"
	"troupe/messages"
)

// stand is a game session's actor without the rest: it runs what is handed to Do.
type stand struct {
	script.Session
	tasks chan func()
	sent  chan struct{}
}

func (s *stand) Do(f func()) bool { s.tasks <- f; return true }
func (s *stand) SendReliableMessage(script.Outgoing, messages.PeerID) {
	s.sent <- struct{}{}
}
func (s *stand) Crash(reason string) { panic(reason) }

func (s *stand) until(done func() bool) {
	for !done() {
		(<-s.tasks)()
	}
}

// ready starts a script, and returns how long that took.
func (s *stand) ready(b *testing.B, h loader) time.Duration {
	b.Helper()
	start := time.Now()
	p := h.Load(s)
	s.until(func() bool { _, now := script.Later(p).Now(); return now })
	if ok, _ := script.Later(p).Now(); !ok {
		b.Fatal(p.Reason())
	}
	return time.Since(start)
}

func (s *stand) end(b *testing.B, h loader) {
	b.Helper()
	h.Close()
	for {
		select {
		case f := <-s.tasks:
			f()
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

const plain = `
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { session.sendReliableMessage(session.newTextGameMessage(m.opCode, -1, m.payload), m.sender); },
  onSendToPlayer(m) { return m.payload.length > 0; },
};`

func benchmark(b *testing.B, run func(s *stand, h loader)) {
	need(b)
	p := program(b, b.TempDir(), plain, setup{})
	defer func() { p.Close(); _ = p.Wait(b.Context()) }()
	h, err := p.NewHandler(script.Process{})
	if err != nil {
		b.Fatal(err)
	}
	s := &stand{tasks: make(chan func(), 10), sent: make(chan struct{}, 1)}
	run(s, h.(loader))
}

func BenchmarkMessageAndAnswer(b *testing.B) {
	benchmark(b, func(s *stand, h loader) {
		s.ready(b, h)
		m := &script.Message{OpCode: 1, Sender: 1, TargetPlayer: -1, Payload: make([]byte, 64)}
		for b.Loop() {
			h.OnMessage(m)
			s.until(func() bool { return len(s.sent) > 0 })
			<-s.sent
		}
		s.end(b, h)
	})
}

func BenchmarkGate(b *testing.B) {
	benchmark(b, func(s *stand, h loader) {
		s.ready(b, h)
		m := &script.Message{OpCode: 1, Sender: 1, TargetPlayer: 2, Payload: make([]byte, 64)}
		for b.Loop() {
			d := h.OnSendToPlayer(m)
			s.until(func() bool { return d.Pending() == nil })
		}
		s.end(b, h)
	})
}

// Many gates at a time: what each costs when there is much to do.
func BenchmarkGates100(b *testing.B) {
	benchmark(b, func(s *stand, h loader) {
		s.ready(b, h)
		m := &script.Message{OpCode: 1, Sender: 1, TargetPlayer: 2, Payload: make([]byte, 64)}
		for b.Loop() {
			var last script.Decision
			for range 100 {
				last = h.OnSendToPlayer(m)
			}
			s.until(func() bool { return last.Pending() == nil })
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/gate")
		s.end(b, h)
	})
}

func BenchmarkStart(b *testing.B) {
	need(b)
	p := program(b, b.TempDir(), plain, setup{})
	defer func() { p.Close(); _ = p.Wait(b.Context()) }()
	var all time.Duration
	for b.Loop() {
		s, h := started(b, p, &all)
		s.end(b, h)
	}
	b.ReportMetric(float64(all.Microseconds())/1000/float64(b.N), "ms/ready")
}

// What each of several children takes, the pages that they share divided among them.
func BenchmarkMemory(b *testing.B) {
	need(b)
	p := program(b, b.TempDir(), plain, setup{})
	defer func() { p.Close(); _ = p.Wait(b.Context()) }()
	const children = 8
	for b.Loop() {
		var all time.Duration
		var ends []func()
		for range children {
			s, h := started(b, p, &all)
			ends = append(ends, func() { s.end(b, h) })
		}
		pss, dirty := resident()
		b.ReportMetric(pss/children, "MiB/child")
		b.ReportMetric(dirty/children, "private-MiB/child")
		for _, end := range ends {
			end()
		}
	}
}

func started(b *testing.B, p *node.Program, all *time.Duration) (*stand, loader) {
	b.Helper()
	h, err := p.NewHandler(script.Process{})
	if err != nil {
		b.Fatal(err)
	}
	s := &stand{tasks: make(chan func(), 10), sent: make(chan struct{}, 1)}
	*all += s.ready(b, h.(loader))
	return s, h.(loader)
}

// resident is what the children of this process take, in MiB.
func resident() (pss, dirty float64) {
	all, _ := os.ReadDir("/proc")
	for _, e := range all {
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		_, after, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(after); len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		text, _ := os.ReadFile("/proc/" + e.Name() + "/smaps_rollup")
		for _, line := range strings.Split(string(text), "\n") {
			f := strings.Fields(line)
			if len(f) < 2 {
				continue
			}
			kib, _ := strconv.Atoi(f[1])
			switch f[0] {
			case "Pss:":
				pss += float64(kib) / 1024
			case "Private_Dirty:":
				dirty += float64(kib) / 1024
			}
		}
	}
	return pss, dirty
}
