package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"troupe/messages/lazy"
	"troupe/transport/ops"
)

// ErrNotTroupe means that the server at the given URL is not a Troupe host.
var ErrNotTroupe = errors.New("is not a Troupe host")

// Remote is a host that is already running.
type Remote struct {
	URL    string // URL of its service API
	Fleet  string // fleet of the game sessions; empty: fleet-dev
	Client *http.Client
	Sign   Signer // nil: calls are not signed
	Build  string // version of the host; set by Probe
}

// Attach returns a Process for a host that is already running. Stop ends the game sessions that the Process has
// created.
func Attach(r Remote) *Process {
	return &Process{Spec: Spec{Kind: Troupe, FleetID: r.Fleet}, remote: r.api(), client: r.Client}
}

func (r *Remote) api() *api {
	return &api{url: strings.TrimSuffix(r.URL, "/") + "/", client: r.Client, sign: r.Sign}
}

// Probe checks that a Troupe host answers and stores its version in Build. If another server answers, the error wraps
// ErrNotTroupe.
func (r *Remote) Probe(ctx context.Context) error {
	text, err := r.api().read(ctx, "/metrics")
	if answer := new(AnswerError); errors.As(err, &answer) {
		return fmt.Errorf("what answers at %s %w: it answers %d to /metrics", r.URL, ErrNotTroupe, answer.Status)
	}
	if err != nil {
		return err
	}
	version := buildInfo().FindSubmatch(text)
	if version == nil {
		return fmt.Errorf("what answers at %s %w: its metrics are another server's", r.URL, ErrNotTroupe)
	}
	r.Build = string(version[1])
	return nil
}

var buildInfo = lazy.Regexp(`(?m)^troupe_build_info\{version="([^"]*)"\} 1$`)

// note records a game session for Stop.
func (p *Process) note(session string) {
	if p.remote == nil || session == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = append(p.made, session)
}

// leaveTimeout bounds how long Stop may take to end the game sessions of the benchmark.
const leaveTimeout = 30 * time.Second

// leave ends the recorded game sessions.
func (p *Process) leave() error {
	defer p.client.CloseIdleConnections()
	p.mu.Lock()
	made := p.made
	p.made = nil
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	left := 0
	var first error
	for _, id := range made {
		if err := p.api().terminate(ctx, id); err != nil && !ended(err) {
			if left++; first == nil {
				first = err
			}
		}
	}
	if left > 0 {
		return fmt.Errorf("%d game sessions of the benchmark are left on the host, the first: %w", left, first)
	}
	return nil
}

// ended reports whether err means that the game session has already ended.
func ended(err error) bool {
	answer := new(AnswerError)
	return errors.As(err, &answer) && (strings.Contains(answer.Text, "InvalidGameSessionStatus") || strings.Contains(answer.Text, "NotFound"))
}

// figures are the process and runtime figures that the host reports.
type figures ops.RuntimeFigures

func (p *Process) figures(ctx context.Context) (f figures, err error) {
	text, err := p.api().read(ctx, "/debug/runtime")
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return f, fmt.Errorf("read the runtime's figures: %w", err)
	}
	return f, nil
}

func (f figures) usage() Usage {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return Usage{User: seconds(f.Process.UserSeconds), System: seconds(f.Process.SystemSeconds), RSSBytes: f.Process.ResidentBytes}
}

func (f figures) counters() Counters {
	known := func(names ...string) (sum int64) {
		for _, name := range names {
			v, ok := f.Runtime[name]
			if !ok {
				return -1
			}
			sum += int64(v)
		}
		return sum
	}
	return Counters{
		Collections: known("/gc/cycles/total:gc-cycles"),
		Mallocs:     known("/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"),
		Goroutines:  known("/sched/goroutines:goroutines"),
	}
}
