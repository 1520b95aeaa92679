package sdkclient

import (
	"math/rand/v2"
	"time"
)

// tick reports the health now and sets the timer of the next report.
func (p *Process) tick() {
	if !p.rules.serialHealth {
		p.nextTick()
	}
	p.report()
	if p.rules.serialHealth {
		p.nextTick()
	}
}

func (p *Process) nextTick() {
	t := p.o.Timing
	interval := t.HealthInterval
	if t.HealthJitter > 0 {
		interval += rand.N(2*t.HealthJitter) - t.HealthJitter
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.ready {
		return
	}
	if p.health == nil {
		p.health = time.AfterFunc(interval, func() { p.spawn(p.tick) })
	} else {
		p.health.Reset(interval)
	}
}

func (p *Process) stopHealth() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = false
	if p.health != nil {
		p.health.Stop()
	}
}

// report sends HeartbeatServerProcess with what the callback says.
func (p *Process) report() {
	healthy := p.rules.healthy
	if f := p.o.Handlers.OnHealthCheck; f != nil {
		said := make(chan bool, 1)
		p.spawn(func() { said <- f() })
		timeout := time.NewTimer(p.o.Timing.HealthTimeout)
		defer timeout.Stop()
		select {
		case healthy = <-said:
		case <-timeout.C:
			healthy = false
		case <-p.ctx.Done():
			return
		}
	}
	p.mu.Lock()
	ended := !p.ready
	p.mu.Unlock()
	if ended {
		return // while the callback ran
	}
	if p.Call(p.ctx, "HeartbeatServerProcess", struct{ HealthStatus bool }{healthy}, nil) == nil {
		p.mu.Lock()
		p.stats.Heartbeats++
		p.mu.Unlock()
	}
}
