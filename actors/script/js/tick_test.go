package js

import (
	"os"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// ticking is a game session that drops what its script sends. Its timers do not fire by themselves.
type ticking struct {
	*game
	sent int
}

func (q *ticking) Send(m script.Outgoing, _ script.Target)  { q.sent += len(m.Payload) }
func (q *ticking) After(time.Duration, func()) script.Timer { return never{} }

type never struct{}

func (never) Reset(time.Duration) {}
func (never) Stop()               {}

// startTicking starts the script of the workload ticks (bench/suite).
func startTicking(t testing.TB) (*Handler, *ticking) {
	t.Helper()
	source, err := os.ReadFile("../../../bench/suite/scripts/ticks.js")
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, calm(), only(string(source)))
	h, q := g.handler.(*Handler), &ticking{game: g}
	h.session = q
	h.OnStartGameSession(&messages.GameSession{ID: "g"})
	return h, q
}

// tickOnce makes the only timer of the script due, and fires it.
func (h *Handler) tickOnce() {
	h.timers.queue[0].due = time.Now()
	h.timers.fire()
}

func BenchmarkTick(b *testing.B) {
	h, q := startTicking(b)
	b.ReportAllocs()
	for b.Loop() {
		h.tickOnce()
	}
	b.ReportMetric(float64(q.sent)/float64(b.N), "bytes/op")
}

func BenchmarkInput(b *testing.B) {
	h, _ := startTicking(b)
	b.ReportAllocs()
	m := script.Message{OpCode: 8, Sender: 1, Payload: make([]byte, 16)}
	for b.Loop() {
		h.OnMessage(&m)
	}
}

// What a tick and an input allocate is nearly all numbers and objects of the script itself.
func TestATickAllocatesLittle(t *testing.T) {
	h, _ := startTicking(t)
	m := script.Message{OpCode: 8, Sender: 1, Payload: make([]byte, 16)}
	for what, c := range map[string]struct {
		do   func()
		most float64
	}{"a tick": {h.tickOnce, 120}, "an input": {func() { h.OnMessage(&m) }, 34}} {
		if n := testing.AllocsPerRun(100, c.do); n > c.most {
			t.Errorf("%s allocates %v times, want at most %v", what, n, c.most)
		}
	}
}
