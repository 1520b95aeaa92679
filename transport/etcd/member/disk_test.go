package member

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A measurement has 100 writes, or takes a second.
func TestSyncTimes(t *testing.T) {
	for name, c := range map[string]struct {
		fast, slow time.Duration
		slows      int // writes that are slow, at the end
		writes     int
		want       time.Duration
	}{
		"fast":          {fast: 2 * time.Millisecond, writes: 100, want: 2 * time.Millisecond},
		"one slow":      {fast: time.Millisecond, slow: 300 * time.Millisecond, slows: 1, writes: 100, want: time.Millisecond},
		"two slow":      {fast: time.Millisecond, slow: 300 * time.Millisecond, slows: 2, writes: 100, want: 300 * time.Millisecond},
		"all slow":      {fast: 30 * time.Millisecond, writes: 34, want: 30 * time.Millisecond},
		"hardly at all": {fast: 5 * time.Second, writes: 1, want: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				p99, err := syncTime(dir, func(*os.File) error {
					if n++; n > syncsMax-c.slows {
						time.Sleep(c.slow)
					} else {
						time.Sleep(c.fast)
					}
					return nil
				})
				if err != nil || n != c.writes || p99 != c.want {
					t.Errorf("%d writes, p99 %v, %v, want %d and %v", n, p99, err, c.writes, c.want)
				}
			})
			if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
	if _, err := syncTime(t.TempDir(), func(*os.File) error { return os.ErrPermission }); err == nil {
		t.Error("an error of the disk is ignored")
	}
}
