package stagetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/stage"
)

// Records of a Probe other than messages.
type (
	// Started is recorded by a probe's Started.
	Started struct{}
	// Stopped is recorded by a probe's Stopped.
	Stopped struct{}
)

// Do is a message that makes a Probe call the function. It is not recorded.
type Do func(c *stage.Context)

// Probe is an actor that records its messages. Set its fields before it is spawned. The test may call its
// methods on any goroutine.
type Probe struct {
	// OnStarted, OnReceive and OnStopped are called after the call has been recorded.
	OnStarted func(c *stage.Context)
	OnReceive func(c *stage.Context, msg any)
	OnStopped func(c *stage.Context)

	mu      sync.Mutex
	got     []any
	arrived chan struct{} // created by a waiter, closed by the next record
}

// Started implements stage.Actor.
func (p *Probe) Started(c *stage.Context) {
	p.record(Started{})
	if p.OnStarted != nil {
		p.OnStarted(c)
	}
}

// Receive implements stage.Actor.
func (p *Probe) Receive(c *stage.Context, msg any) {
	if do, ok := msg.(Do); ok {
		do(c)
		return
	}
	p.record(msg)
	if p.OnReceive != nil {
		p.OnReceive(c, msg)
	}
}

// Stopped implements stage.Actor.
func (p *Probe) Stopped(c *stage.Context) {
	p.record(Stopped{})
	if p.OnStopped != nil {
		p.OnStopped(c)
	}
}

func (p *Probe) record(msg any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, msg)
	if p.arrived != nil {
		close(p.arrived)
		p.arrived = nil
	}
}

// Take removes and returns the records, oldest first.
func (p *Probe) Take() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got
	p.got = nil
	return got
}

// Await removes and returns the oldest record of type T. If there is none within d, the test fails and shows
// the other records.
func Await[T any](t testing.TB, p *Probe, d time.Duration) T {
	t.Helper()
	late := time.NewTimer(d)
	defer late.Stop()
	for {
		p.mu.Lock()
		for i, m := range p.got {
			if v, ok := m.(T); ok {
				p.got = slices.Delete(p.got, i, i+1)
				p.mu.Unlock()
				return v
			}
		}
		if p.arrived == nil {
			p.arrived = make(chan struct{})
		}
		arrived := p.arrived
		p.mu.Unlock()
		select {
		case <-arrived:
		case <-late.C:
			var zero T
			t.Fatalf("stagetest: no %T within %v, only %s", zero, d, p.seen())
		}
	}
}

func (p *Probe) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var types []string
	for _, m := range p.got {
		types = append(types, fmt.Sprintf("%T", m))
	}
	return "[" + strings.Join(types, " ") + "]"
}
