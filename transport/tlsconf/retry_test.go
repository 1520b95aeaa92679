package tlsconf

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestWatchTriesAgain: the cause of a failed reload may disappear without a change of the files' contents.
func TestWatchTriesAgain(t *testing.T) {
	var o Options
	var between *issued
	opts := func(t *testing.T) Options {
		o, _, between, _ = operators(t, "P-256", time.Now())
		return o
	}
	renew := func(t *testing.T, from time.Time, mode os.FileMode) *issued {
		next := issue(t, "P-256", between, from, time.Now().Add(99*day), "game.example", "192.0.2.7")
		write(t, o.CertFile, 0o644, next.pem, between.pem)
		write(t, o.KeyFile, mode, next.secr)
		return next
	}
	t.Run("permissions", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("permissions are not checked there")
		}
		watched(t, time.Minute, opts, func(t *testing.T, s *Store, log *logged) {
			next := renew(t, time.Now().Add(-day), 0o644)
			awaitNextCheck(time.Minute)
			awaitNextCheck(time.Minute)
			if log.count("chmod 600") != 1 {
				t.Fatal("not one complaint about the permissions")
			}
			if err := os.Chmod(o.KeyFile, 0o600); err != nil { // as the log message advises
				t.Fatal(err)
			}
			awaitNextCheck(time.Minute)
			if !s.Certificate().Leaf.Equal(next.cert) {
				t.Error("the new certificate is not in use, although the cause of the complaint is gone")
			}
		})
	})
	t.Run("not valid yet", func(t *testing.T) {
		watched(t, time.Minute, opts, func(t *testing.T, s *Store, log *logged) {
			next := renew(t, time.Now().Add(5*time.Minute), 0o600)
			awaitNextCheck(time.Minute)
			awaitNextCheck(time.Minute)
			if log.count("players would refuse it") != 1 {
				t.Fatal("not one complaint about a certificate that is not valid yet")
			}
			time.Sleep(5 * time.Minute)
			awaitNextCheck(time.Minute)
			if !s.Certificate().Leaf.Equal(next.cert) {
				t.Error("the new certificate is valid, and not in use")
			}
		})
	})
}
