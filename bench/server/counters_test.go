package server

import (
	"testing"
)

func TestReadStats(t *testing.T) {
	t.Parallel()
	c, err := readStats([]byte(`{"mallocs":7,"inbound":1,"delivered":8,"goroutines":4}`))
	if want := (Counters{Mallocs: 7, Goroutines: 4, Collections: -1}); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
}
