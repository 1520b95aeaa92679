package tlsconf

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// watched runs test in a synctest bubble with a store that Watch checks at the given interval.
func watched(t *testing.T, every time.Duration, o func(t *testing.T) Options, test func(t *testing.T, s *Store, log *logged)) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		opts := o(t)
		opts.Log = log.logger()
		s := load(t, opts)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.Watch(ctx, every) })
		test(t, s, &log)
		cancel()
		wg.Wait()
	})
}

// awaitNextCheck waits for the next check of Watch.
func awaitNextCheck(every time.Duration) {
	time.Sleep(every)
	synctest.Wait()
}

// seldom is the interval in tests that last months, because each check costs some system calls.
const seldom = 6 * time.Hour

func TestWatchRenews(t *testing.T) {
	dir := t.TempDir()
	own := func(*testing.T) Options { return Options{Dir: dir} }
	watched(t, seldom, own, func(t *testing.T, s *Store, log *logged) {
		first := s.Certificate().Leaf
		due := s.current.Load().renewAt
		time.Sleep(due.Sub(time.Now()) - seldom)
		synctest.Wait()
		if !s.Certificate().Leaf.Equal(first) {
			t.Error("renewed too early")
		}
		awaitNextCheck(seldom)
		awaitNextCheck(seldom)
		second := s.Certificate().Leaf
		if second.Equal(first) || !second.NotAfter.After(first.NotAfter) || log.count("making a certificate") != 2 {
			t.Errorf("not renewed once, ends at %v", second.NotAfter)
		}
		awaitNextCheck(seldom)
		if !s.Certificate().Leaf.Equal(second) || log.count("near its end") != 0 {
			t.Error("renewed again")
		}
	})
}

func TestWatchSeesFilesChange(t *testing.T) {
	var o Options
	var root, between *issued
	opts := func(t *testing.T) Options {
		o, root, between, _ = operators(t, "P-256", time.Now())
		return o
	}
	watched(t, seldom, opts, func(t *testing.T, s *Store, log *logged) {
		first := s.Certificate().Leaf
		awaitNextCheck(seldom)
		if log.count("certificate in use") != 1 {
			t.Error("reloaded for nothing")
		}

		// An ACME client writes one file first, and the other later.
		next := issue(t, "P-256", between, time.Now().Add(-day), time.Now().Add(99*day), "game.example", "192.0.2.7")
		write(t, o.CertFile, 0o644, next.pem, between.pem)
		awaitNextCheck(seldom)
		if !s.Certificate().Leaf.Equal(first) || log.count("not the private key") != 1 {
			t.Error("half a change was taken")
		}
		awaitNextCheck(seldom)
		if log.count("not the private key") != 1 {
			t.Error("the same complaint again")
		}
		write(t, o.KeyFile, 0o600, next.secr)
		awaitNextCheck(seldom)
		if !s.Certificate().Leaf.Equal(next.cert) || log.count("certificate in use") != 2 {
			t.Error("the change was not taken")
		}

		// The certificate is about to expire and nobody renews it: there is one warning a day, and the
		// certificate stays.
		time.Sleep(89*day + time.Hour) // 90 of its 99 days have passed
		synctest.Wait()
		if n := log.count("near its end"); n != 1 {
			t.Errorf("%d warnings on the first day", n)
		}
		time.Sleep(2 * day)
		synctest.Wait()
		if n := log.count("near its end"); n != 3 {
			t.Errorf("%d warnings after two more days", n)
		}

		// The operator renews it, with new anchors.
		root = issue(t, "P-256", nil, time.Now().Add(-day), time.Now().Add(1000*day))
		next = issue(t, "P-256", root, time.Now().Add(-day), time.Now().Add(99*day), "game.example", "192.0.2.7")
		write(t, o.CertFile, 0o644, next.pem)
		write(t, o.KeyFile, 0o600, next.secr)
		write(t, o.CAFile, 0o644, root.pem)
		awaitNextCheck(seldom)
		if !s.Certificate().Leaf.Equal(next.cert) || string(s.CAPEM()) != string(root.pem) {
			t.Error("the last change was not taken")
		}
	})
}
