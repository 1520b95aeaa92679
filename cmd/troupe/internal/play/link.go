package play

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/transport/client"
)

// Coming back after a loss: full jitter, for half a minute.
const (
	retryBase     = 200 * time.Millisecond
	retryMax      = 5 * time.Second
	retryPatience = 30 * time.Second
	// refusalsMax logins that the host does not accept are enough.
	refusalsMax = 3
	// loginPatience is how long one attempt may take.
	loginPatience = 10 * time.Second
	// laterFrom is the number of the attempt whose delay the first one gets
	// when the host asks to come back later.
	laterFrom = 3
)

// errAway is the answer to a send while the connection is lost.
var errAway = errors.New("not connected at the moment")

// watcher is told what happens on a link, from the link's one goroutine.
type watcher interface {
	onEvent(e client.Event)
	// onLost: the connection is gone and will be tried again.
	onLost(end client.End)
	// onBack: logged in again, as the same peer or not.
	onBack(b back)
}

// back tells how a link came back.
type back struct {
	peer     int32
	over     client.Transport
	same     bool // peer is the one before
	away     time.Duration
	attempts int
}

// link is a seat with a connection that is made again when it is lost. It is a
// stub of the reconnection contract: the same player session id, nothing else.
type link struct {
	seat    seat
	options client.Options
	current atomic.Pointer[client.Client] // nil while away

	mu   sync.Mutex // held while a connection goes over to past
	past traffic    // of connections that have ended
}

// open logs in for the first time.
func open(ctx context.Context, s seat, o client.Options) (*link, error) {
	o.Addr, o.PlayerSessionID = s.addr, s.id
	l := &link{seat: s, options: o}
	c, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	l.current.Store(c)
	return l, nil
}

func (l *link) dial(ctx context.Context) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	return client.Dial(ctx, l.options)
}

// run hands on events until ctx ends, which leaves the game session, or until
// the connection is gone for good, which is an error. It is one, too, if the
// connection is away when ctx ends.
func (l *link) run(ctx context.Context, w watcher) error {
	for {
		c := l.current.Load()
		if l.take(ctx, c, w) {
			c.Close()
			l.retire(c)
			return nil
		}
		<-c.Done()
		l.retire(c)
		if c.End().Retry() == messages.RetryNever {
			return errors.New(c.End().String())
		}
		w.onLost(c.End())
		next, b, err := l.again(ctx, c)
		if ctx.Err() != nil && err != nil {
			return errors.New("the connection was lost and had not come back")
		}
		if err != nil {
			return fmt.Errorf("did not come back: %w", err)
		}
		l.current.Store(next)
		w.onBack(b)
	}
}

// take hands on the events of one connection, and reports whether ctx ended it.
func (l *link) take(ctx context.Context, c *client.Client, w watcher) (left bool) {
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				return false
			}
			w.onEvent(e)
		case <-ctx.Done():
			return true
		}
	}
}

// again logs in until it works, for up to retryPatience.
func (l *link) again(ctx context.Context, lost *client.Client) (*client.Client, back, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, retryPatience)
	defer cancel()
	first, refusals := 0, 0
	if lost.End().Retry() == messages.RetryLater {
		first = laterFrom
	}
	var last error
	for attempt := 1; ; attempt++ {
		if sleep(ctx, jitter(first+attempt-1)) != nil {
			return nil, back{}, fmt.Errorf("%d attempts in %v: %w", attempt-1, time.Since(began).Round(time.Millisecond), errors.Join(ctx.Err(), last))
		}
		c, err := l.dial(ctx)
		if err == nil {
			return c, back{peer: c.PeerID(), over: c.Transport(), same: c.PeerID() == lost.PeerID(), away: time.Since(began), attempts: attempt}, nil
		}
		last = err
		if errors.Is(err, client.ErrRefused) {
			if refusals++; refusals == refusalsMax {
				return nil, back{}, err
			}
		}
	}
}

// jitter is the delay before attempt n, counted from 0.
func jitter(n int) time.Duration {
	return rand.N(min(retryMax, retryBase<<min(n, 10)))
}

// send sends on the present connection.
func (l *link) send(ctx context.Context, m client.Message) error {
	c := l.current.Load()
	if c == nil {
		return errAway
	}
	return c.Send(ctx, m)
}

// with does something on the present connection.
func (l *link) with(do func(c *client.Client) error) error {
	c := l.current.Load()
	if c == nil {
		return errAway
	}
	return do(c)
}

// retire notes that a connection is gone and what it carried.
func (l *link) retire(c *client.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past.count(c)
	l.current.Store(nil)
}

// traffic is what all connections so far carried.
func (l *link) traffic() traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.past
	if c := l.current.Load(); c != nil {
		sum.count(c)
	}
	return sum
}
