package server

import (
	"strings"
	"testing"
)

func TestReadMetrics(t *testing.T) {
	t.Parallel()
	c, err := readMetrics(strings.NewReader(`# HELP go_goroutines Number of goroutines.
# TYPE go_goroutines gauge
go_goroutines 31
go_memstats_mallocs_total 1.234567e+06

troupe_messages_delivered_total{transport="ws",intent="a } b"} 10
troupe_messages_delivered_total{transport="kcp",intent="fast"} 5 1700000000000
troupe_messages_delivered_total_other 99
`))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Counters{Mallocs: 1234567, Delivered: 15, Goroutines: 31}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	if c, err = readMetrics(strings.NewReader("")); err != nil || c.Mallocs != -1 || c.Delivered != -1 {
		t.Errorf("nothing read as %+v, %v", c, err)
	}
	for _, bad := range []string{"a", "a{b=\"c\" 1", "a x"} {
		if _, err := readMetrics(strings.NewReader(bad)); err == nil {
			t.Errorf("%q parsed", bad)
		}
	}
}

func TestReadStats(t *testing.T) {
	t.Parallel()
	c, err := readStats(strings.NewReader(`{"mallocs":7,"inbound":1,"delivered":8,"goroutines":4}`))
	if want := (Counters{Mallocs: 7, Delivered: 8, Goroutines: 4}); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
}
