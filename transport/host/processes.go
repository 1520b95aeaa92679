package host

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"troupe/actors"
	"troupe/actors/fleet"
	"troupe/messages"
)

// processes is the Backend of the Server SDK's endpoint: processes belong to this host, and the rest to the cluster.
type processes struct {
	messages.Doer
	system *actors.System
	latest *latest // nil if the host is not part of a cluster
}

// Call implements endpoint.Backend. A handshake that is refused is decided once more with all that other hosts have answered
// before: its compute may have been registered, or its token made, at one of them a moment ago.
func (p processes) Call(c messages.ProcessCall, reply func(any, error)) {
	open, is := c.What.(messages.OpenProcess)
	if p.latest == nil || !is || !open.Asks {
		p.system.Send(fleet.ProcessCall{ProcessCall: c}, reply)
		return
	}
	first := c
	open.MayBeOld = true
	first.What = open
	p.system.Send(fleet.ProcessCall{ProcessCall: first}, func(answer any, err error) {
		if !errors.Is(err, messages.ErrMayBeOld) {
			reply(answer, err)
			return
		}
		p.latest.then(func(err error) {
			if err != nil {
				reply(nil, messages.RefuseProcess(http.StatusServiceUnavailable, "The host cannot ask for new computes and tokens now."))
				return
			}
			p.system.Send(fleet.ProcessCall{ProcessCall: c}, reply)
		})
	})
}

const (
	latestEvery = 100 * time.Millisecond // from the end of one read to the next one
	latestMax   = time.Second            // of one read
)

// latest brings this host's copy of the catalog up to date for many callers. One read is for all who wait, and the next one is
// latestEvery later, so a flood of wrong tokens makes ten reads in a second. Any goroutine may call it.
type latest struct {
	synced func(ctx context.Context) error
	ctx    context.Context // ends with the host
	work   *sync.WaitGroup

	mu      sync.Mutex
	waiting []func(error)
	reading bool
}

// then calls f once the copy has all changes that were answered before then was called, or with an error.
func (l *latest) then(f func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting = append(l.waiting, f); !l.reading {
		l.reading = true
		l.work.Go(l.read)
	}
}

// read serves all who wait until there are none.
func (l *latest) read() {
	for {
		l.mu.Lock()
		all := l.waiting
		l.waiting = nil
		l.reading = len(all) > 0
		l.mu.Unlock()
		if len(all) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, latestMax)
		err := l.synced(ctx)
		cancel()
		for _, f := range all {
			f(err)
		}
		select {
		case <-time.After(latestEvery):
		case <-l.ctx.Done():
		}
	}
}
