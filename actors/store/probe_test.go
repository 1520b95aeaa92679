package store

import (
	"path/filepath"
	"testing"
	"time"

	"troupe/actors/fault"
)

// A store that could not write must find out on its own that it can write again. This is necessary because a host whose
// store fails is not ready, so nobody commits anything.
func TestAFailedStoreProbes(t *testing.T) {
	if !fault.Enabled {
		t.Skip("built without -tags faults")
	}
	defer func(d time.Duration) { probeEvery = d }(probeEvery)
	probeEvery = time.Millisecond
	s := open(t, filepath.Join(t.TempDir(), "store.db"))
	setFaults(t, "store.commit=error:1")
	if err := commitNow(s, Put(Fleet, "lost", 1)); err == nil || s.count.StoreFailing.Load() != 1 {
		t.Fatalf("failing %d, error %v", s.count.StoreFailing.Load(), err)
	}
	for end := time.Now().Add(time.Minute); s.count.StoreFailing.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not write again")
		}
	}
	if got := all(t, s, Fleet); len(got) != 0 {
		t.Errorf("it has %q", got)
	}
}
