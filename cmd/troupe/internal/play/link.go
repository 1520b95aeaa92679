package play

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"troupe/transport/client"
)

// loginPatience bounds the first login.
const loginPatience = 10 * time.Second

// watcher receives the events of a link. The link calls it from a single goroutine.
type watcher interface {
	onEvent(e client.Event)
	// onLost is called when the connection is lost. The client is then reconnecting.
	onLost(end client.End)
	// onBack is called when the client has reconnected.
	onBack(b back)
}

// back describes a reconnect.
type back struct {
	client.Reconnected
	same       bool   // the client has the same peer id as before
	duplicates uint64 // duplicates received and dropped since the link was opened
}

// String describes the reconnect in one line.
func (b back) String() string {
	which := "the same peer as before"
	if !b.same {
		which = "a new peer: messages sent meanwhile are lost"
	}
	return fmt.Sprintf("back after %v, attempt %d, over %s, as peer %d, %s; %d sent again, %d lost, %d duplicates dropped so far",
		b.After.Round(time.Millisecond), b.Attempts, b.Transport, b.PeerID, which, b.Replayed, b.Lost, b.duplicates)
}

// outages are network failures that a link simulates.
type outages struct {
	every time.Duration // interval; 0: no outages
	last  time.Duration // duration of each outage
}

// link is a reserved seat and its client.
type link struct {
	seat    seat
	client  *client.Client
	outages outages

	mu   sync.Mutex
	calm bool             // no more outages
	peer int32            // current or last peer id
	over [client.Auto]int // number of connections so far, by transport
}

// advised adds advice to the error of a failed first login.
func advised(err error, t client.Transport) error {
	var plain tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, client.ErrRefused):
		return err
	case errors.As(err, &plain):
		return fmt.Errorf("%w; try --transport ws, or give the fleet certificates: GENERATED", err)
	case errors.As(err, &authority):
		return fmt.Errorf("%w; trust the host's own authority with --ca FILE", err)
	case t == client.WS && errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w; if the fleet has certificates, try --transport wss", err)
	case t == client.KCP && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w; if KCP listens at another port there, name it with --kcp-addr HOST:PORT", err)
	}
	return err
}

// open logs in.
func open(ctx context.Context, s seat, o client.Options, cuts outages) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	o.Addr, o.PlayerSessionID = s.addr, s.id
	c, err := client.Dial(ctx, o)
	if err != nil {
		return nil, advised(err, o.Transport)
	}
	l := &link{seat: s, client: c, outages: cuts, peer: c.PeerID()}
	l.over[c.Transport()]++
	return l, nil
}

// run forwards events until ctx ends and then leaves the game session. It returns an error if the player session ends
// earlier, or if the client is reconnecting when ctx ends.
func (l *link) run(ctx context.Context, w watcher) error {
	cut := time.NewTimer(1<<63 - 1)
	defer cut.Stop()
	if l.outages.every > 0 {
		cut.Reset(rand.N(l.outages.every)) // random, so that links do not fail at the same time
	}
	for {
		select {
		case e, ok := <-l.client.Events():
			if !ok {
				return errors.New(l.client.End().String())
			}
			l.onEvent(e, w)
		case <-cut.C:
			l.cut()
			cut.Reset(l.outages.every)
		case <-ctx.Done():
			away := !l.client.Attached()
			l.client.Close()
			if away {
				return errors.New("the connection was lost and had not come back")
			}
			return nil
		}
	}
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.calm {
		l.client.Outage(l.outages.last)
	}
}

// calmDown stops the simulated outages, so that the client reconnects and stays attached.
func (l *link) calmDown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm = true
}

func (l *link) onEvent(e client.Event, w watcher) {
	switch e.Kind {
	case client.EventDetached:
		w.onLost(*e.Detached)
	case client.EventReconnected:
		r := *e.Reconnected
		l.mu.Lock()
		same := l.peer == r.PeerID
		l.peer = r.PeerID
		l.over[r.Transport]++
		l.mu.Unlock()
		w.onBack(back{Reconnected: r, same: same, duplicates: l.client.Stats().Duplicates})
	default:
		w.onEvent(e)
	}
}

// traffic returns the counts of all connections so far.
func (l *link) traffic() traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	return traffic{over: l.over, stats: l.client.Stats()}
}
