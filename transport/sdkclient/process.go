package sdkclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Process is a game-server process that uses the Server SDK. All methods may be called concurrently, and, except Wait, from
// the handlers.
type Process struct {
	// Set once.
	o      Options
	rules  *rules
	ctx    context.Context // ends with Destroy
	cancel context.CancelCauseFunc

	// writing has capacity 1. A write holds it; the SDK for Go holds it while it connects, too. A sync.Mutex would stop
	// virtual time meanwhile.
	writing chan struct{}

	mu         sync.Mutex // guards the rest; never held while anything blocks
	closed     bool
	goroutines sync.WaitGroup // Add under mu while not closed

	target     target
	link       *link // current connection, open or not; nil before the first
	up         bool  // the SDK believes that the current connection is open
	connecting bool
	silent     int  // unanswered requests in a row
	replacing  bool // a new connection is being opened because of unanswered requests

	waiting     map[string]*call // by RequestId
	ready       bool
	health      *time.Timer
	gameSession string

	stats      Stats
	violations []string
}

// Init connects, as InitSDK does. The error is ErrConnect, with the last HandshakeError, after the SDK's last attempt, or that
// of the context. ctx limits Init only.
func Init(ctx context.Context, o Options) (*Process, error) {
	o.Flavor = cmp.Or(o.Flavor, Go56)
	o.Timing = o.Timing.withDefaults()
	p := &Process{o: o, rules: rulesOf[o.Flavor], writing: make(chan struct{}, 1)}
	if p.rules == nil {
		return nil, fmt.Errorf("unknown flavor %d", o.Flavor)
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { p.cancel(context.Cause(ctx)) })
	err := p.connect(p.newTarget(o.URL, o.AuthToken, o.SigV4))
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.Destroy()
		p.Wait()
		return nil, err
	}
	return p, nil
}

// Ready sends ActivateServerProcess, as ProcessReady does, and then the first report of its health, at once.
func (p *Process) Ready(ctx context.Context, port int, logPaths ...string) error {
	fields := struct {
		SdkVersion, SdkLanguage string
		Port                    int
		LogPaths                []string
	}{p.rules.version, p.rules.language, port, slices.Clip(logPaths)}
	if err := p.call(ctx, p.newID(), "ActivateServerProcess", cmp.Or(p.rules.readyTimeout, p.o.Timing.CallTimeout), fields, nil); err != nil {
		return err
	}
	p.mu.Lock()
	was := p.ready
	p.ready = true
	p.mu.Unlock()
	if !was {
		p.spawn(p.tick)
	}
	return nil
}

// Ending sends TerminateServerProcess, as ProcessEnding does, and ends the reports. The connection stays.
func (p *Process) Ending(ctx context.Context) error {
	if err := p.Call(ctx, "TerminateServerProcess", nil, nil); err != nil {
		return err
	}
	p.stopHealth()
	return nil
}

// Destroy closes the connection and ends everything: Go without a close frame, C++ with 1001, C# with 1000. A second Destroy does nothing.
func (p *Process) Destroy() {
	p.stopHealth()
	p.mu.Lock()
	was := p.closed
	p.closed = true
	l := p.link
	p.mu.Unlock()
	if was {
		return
	}
	p.cancel(ErrDestroyed)
	if l != nil {
		l.end(p.rules.closeCode)
	}
}

// Wait returns when all goroutines of a destroyed process have ended, those of handlers included.
func (p *Process) Wait() { p.goroutines.Wait() }

// Drop loses the connection, as a network does. The process acts on it as its SDK does.
func (p *Process) Drop() {
	p.mu.Lock()
	l := p.link
	p.mu.Unlock()
	if l != nil {
		l.end(0)
	}
}

// Stats returns what the process did so far.
func (p *Process) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Connected = p.link != nil && !p.link.ended
	return s
}

// Violations returns what the host sent against the rules of server-sdk.md 6.1 and 8: the first 16.
func (p *Process) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

// GameSessionID returns the id of the process's game session, or "".
func (p *Process) GameSessionID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gameSession
}

// ID returns the process id.
func (p *Process) ID() string { return p.o.ProcessID }

// spawn runs f on a goroutine that Wait waits for. It returns false if the process was destroyed.
func (p *Process) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.goroutines.Go(f)
	return true
}

// sleep waits, and returns early with an error if the process is destroyed or the context ends.
func (p *Process) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

func (p *Process) lockWriting(ctx context.Context) error {
	select {
	case p.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

func (p *Process) unlockWriting() { <-p.writing }

func (p *Process) violate(format string, args ...any) {
	const most = 16
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.violations) < most {
		p.violations = append(p.violations, fmt.Sprintf(format, args...))
	}
}
