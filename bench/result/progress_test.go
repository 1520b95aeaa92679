package result

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := NewProgress(&out, "relay")
		s.Begin("round 1 of 2, bare", 0, 2, 10*time.Second)
		time.Sleep(20 * time.Second)
		s.End("CPU 3 us")
		s.Begin("round 2 of 2, bare", 1, 2, 10*time.Second)
		want := "relay: round 1 of 2, bare, about 20s left\nrelay: round 1 of 2, bare: CPU 3 us\nrelay: round 2 of 2, bare, about 20s left\n"
		if out.String() != want {
			t.Errorf("%q", out.String())
		}
	})
}
