package js

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/messages/counters"
)

// echo answers each message to the server.
const echo = `
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { session.sendReliableMessage(session.newBinaryGameMessage(m.opCode, session.getServerId(), m.payload), m.sender); },
};`

const echoText = `
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { session.sendReliableMessage(session.newTextGameMessage(m.opCode, session.getServerId(), m.getPayloadAsText()), m.sender); },
};`

var shared = new(counters.Set)

// sink is a session that counts what is sent.
type sink struct {
	script.Session
	bytes int
}

func (s *sink) SendReliableMessage(m script.Outgoing, _ messages.PeerID) { s.bytes += len(m.Payload) }

func program(tb testing.TB, source string) *Program {
	b := &bundle.Bundle{Files: map[string][]byte{"server.js": []byte(source)}, Version: "v1", NodeVersion: "24.x"}
	p, err := New(b, "server.js", actorstest.ScriptLimits())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func BenchmarkMessage(b *testing.B) {
	ballast := make([]byte, 64<<20) // a host's heap is not empty: the garbage collector runs less often
	defer runtime.KeepAlive(ballast)
	for name, source := range map[string]string{"binary": echo, "text": echoText} {
		for _, size := range []int{64, 1024} {
			b.Run(fmt.Sprintf("kind=%s/size=%d", name, size), func(b *testing.B) {
				h, _ := program(b, source).NewHandler(script.Process{Counters: shared})
				s := new(sink)
				if err := h.Init(s); err != nil {
					b.Fatal(err)
				}
				defer h.(script.Closer).Close()
				m := &script.Message{OpCode: 5, Sender: 1, TargetPlayer: -1, Reliable: true, Payload: bytes.Repeat([]byte{'x'}, size)}
				b.ReportAllocs()
				n, before := 0, cpu()
				for b.Loop() {
					h.OnMessage(m)
					n++
				}
				b.ReportMetric(float64(cpu()-before)/float64(n), "cpu-ns/op") // with the garbage collector's
				if s.bytes != n*size {
					b.Fatal(s.bytes)
				}
			})
		}
	}
}

func BenchmarkIdleRuntime(b *testing.B) {
	p := program(b, echo)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var list []script.Handler
	before := heap()
	for b.Loop() {
		h, _ := p.NewHandler(script.Process{Counters: shared})
		if err := h.Init(new(sink)); err != nil {
			b.Fatal(err)
		}
		list = append(list, h)
	}
	b.ReportMetric(float64(heap()-before)/float64(len(list))/1024, "KiB/runtime")
	for _, h := range list {
		h.(script.Closer).Close()
	}
}
