package clustertest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

// inMemory returns a PeerPlace in which node b runs on a Net.
func inMemory(t *testing.T, d messages.Doer) *PeerPlace {
	n := NewNet(1)
	t.Cleanup(n.Close)
	b := coord.Node{Name: "b", Peers: "10.0.0.2:1", Incarnation: 7}
	now := n.Start(b, d)
	return &PeerPlace{
		A: n.Peers("a"), B: b,
		Begin: func(i int64) {
			next := b
			next.Incarnation = i
			now = n.Start(next, d)
		},
		Become:  func(i int64) { now.SetIncarnation(i) },
		Stop:    func() { now.Stop() },
		Other:   func() { now = n.Start(coord.Node{Name: "c", Peers: b.Peers, Incarnation: 7}, d) },
		Refused: func() int64 { return now.Refused() },
		Cut: func(requests, answers bool) {
			n.SetPath("a", "b", Path{Cut: requests})
			n.SetPath("b", "a", Path{Cut: answers})
		},
	}
}

func TestPeersConformance(t *testing.T) {
	for _, c := range PeerChecks() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, inMemory) })
		})
	}
}

type doer func(ctx context.Context, q messages.Request) (any, error)

func (d doer) Do(ctx context.Context, q messages.Request) (any, error) { return d(ctx, q) }

// Delays, losses and a temporarily stopped process.
func TestNet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		n := NewNet(2)
		defer n.Close()
		b := coord.Node{Name: "b", Peers: "10.0.0.2:1", Incarnation: 7}
		process := n.Start(b, doer(func(context.Context, messages.Request) (any, error) { asked++; return nil, nil }))
		a := n.Peers("a")
		call := func() error { _, err := a.Call(t.Context(), b, coord.Hello{}); return err }

		n.SetPath("a", "b", Path{Delay: 20 * time.Millisecond})
		n.SetPath("b", "a", Path{Delay: 30 * time.Millisecond})
		began := time.Now()
		if err := call(); err != nil || time.Since(began) != 50*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		process.Freeze(true) // requests that are already on their way arrive later
		if err := call(); !errors.Is(err, coord.ErrUnknown) {
			t.Errorf("a stopped process: %v", err)
		}
		if err := call(); !errors.Is(err, coord.ErrUnavailable) {
			t.Errorf("a stopped process, again: %v", err)
		}
		if asked != 1 {
			t.Errorf("a stopped process was asked %d times", asked)
		}
		process.Freeze(false)
		if synctest.Wait(); asked != 2 {
			t.Errorf("a process that goes on was asked %d times", asked)
		}

		n.SetPath("a", "b", Path{Loss: 0.25})
		n.SetPath("b", "a", Path{Loss: 0.25})
		asked = 0
		answered, unknown := 0, 0
		for range 1000 {
			switch err := call(); {
			case err == nil:
				answered++
			case errors.Is(err, coord.ErrUnknown):
				unknown++
			case !errors.Is(err, coord.ErrUnavailable):
				t.Fatal(err)
			}
		}
		if answered < 500 || answered > 625 || asked < answered+100 || unknown < asked-answered {
			t.Errorf("%d were answered, %d unknown, %d asked", answered, unknown, asked)
		}
	})
}
