package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

// A third node that is silent costs one call: the next goes through another one.
func TestASilentThirdNode(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		w.add("d").start()
		time.Sleep(time.Second)
		w.between("a", "b", true)
		w.between("a", "c", true)
		to := b.node.View().Self
		silent := 0
		for range 20 {
			if _, err := a.node.Call(w.Context(), to, coord.Reach{Node: c.node.View().Self, Incarnation: c.node.View().Self.Incarnation}); err != nil {
				silent++
			}
			time.Sleep(2 * time.Second)
		}
		if silent > 2 {
			w.Errorf("%d of 20 calls were not answered", silent)
		}
	})
}

// Calls to a node go through a third one while the path to it is broken, also those of a caller who waits for a second
// only. They go straight again when the path is whole. A change is passed on once.
func TestDetours(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		time.Sleep(time.Second)
		to := b.node.View().Self
		ask := func(patience time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(w.Context(), patience)
			defer cancel()
			began := time.Now()
			_, err := a.node.Call(ctx, to, coord.Reach{Node: c.node.View().Self, Incarnation: c.node.View().Self.Incarnation})
			return time.Since(began), err
		}
		want := func(what string, patience, most time.Duration) {
			w.Helper()
			if took, err := ask(patience); err != nil || took > most {
				w.Errorf("%s: %v after %v", what, err, took)
			}
		}
		want("the path is whole", time.Second, 0)
		w.between("a", "b", true)
		if _, err := ask(time.Second); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("the first call: %v", err)
		}
		time.Sleep(2 * time.Second)
		want("through c", time.Second, 0)
		w.between("a", "c", true)
		time.Sleep(10 * time.Second)
		if _, err := ask(5 * time.Second); err == nil {
			w.Error("a call that no path leads to is answered")
		}
		w.between("a", "c", false)
		time.Sleep(5 * time.Second)
		want("through c again", time.Second, 0)
		refusal := &messages.Error{Code: messages.InvalidRequest}
		if _, err := a.node.Call(w.Context(), c.node.View().Self, coord.Detour{To: to, Request: "Detour", Body: []byte("{}")}); !errors.Is(err, refusal) {
			w.Errorf("two detours: %v", err)
		}
		w.between("a", "b", false)
		time.Sleep(3 * time.Second)
		w.between("a", "c", true)
		want("straight again", time.Second, 0)
		w.between("a", "c", false)
		w.between("a", "b", true)
		_, _ = ask(time.Second)
		time.Sleep(2 * time.Second)
		b.process.Stop()
		if _, err := ask(5 * time.Second); !errors.Is(err, coord.ErrRefused) {
			w.Errorf("the process is gone: %v", err)
		}
	})
}
