package faults

import (
	"testing"
	"time"
)

// A change that is confirmed while the disk is full breaks a promise. A call that was in progress when the disk became
// full, or that came after the fault, does not.
func TestCallsWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	made := []call{{at(0), at(1), "a"}, {at(1), at(3), "under way"}, {at(3), at(4), ""}, {at(9), at(11), "b"}, {at(11), at(12), "c"}}
	for name, c := range map[string]struct {
		more    []call
		outcome [2]string
	}{
		"as it should be":           {nil, [2]string{holds, holds}},
		"confirmed while it was":    {[]call{{at(5), at(6), "wrong"}}, [2]string{broken, holds}},
		"failed while it was":       {[]call{{at(5), at(6), ""}}, [2]string{holds, holds}},
		"not full, and none failed": {nil, [2]string{}},
	} {
		calls := &calls{made: append(append([]call(nil), made...), c.more...), from: at(2), to: at(10)}
		if c.outcome[0] == "" {
			calls.from = time.Time{}
		}
		got := calls.judgeBroken(storesMax)
		if c.outcome[0] == "" {
			if len(got) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if len(got) != 2 || got[0].Outcome != c.outcome[0] || got[1].Outcome != c.outcome[1] {
			t.Errorf("%s: %+v", name, got)
		}
	}
	late := &calls{made: []call{{at(3), at(4), ""}, {at(11), at(16), "late"}}, from: at(2), to: at(10)}
	if got := late.judgeBroken(storesMax); got[1].Outcome != broken {
		t.Errorf("%+v", got)
	}
	never := &calls{made: made[:3], from: at(2), to: at(10)}
	if got := never.judgeBroken(storesMax); got[1].Outcome != broken {
		t.Errorf("%+v", got)
	}
}
