package counters

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestEveryLabelHasANameOfItsOwn(t *testing.T) {
	check(t, DropMalformed, DropOutOfOrder)
	check(t, WS, DTLS)
	check(t, RefusedPath, RefusedProxy)
	check(t, ClosedByPeer, ClosedByHost)
	check(t, LoginNew, LoginRejoined)
	check(t, PairOf(WS, WS), PairOf(KCP, KCP))
	check(t, LoginOtherReason, LoginMoved)
	check(t, PlacementFulfilled, PlacementFailed)
	check(t, PlayerReserved, PlayerLeaving)
	check(t, GameSessionActivating, GameSessionTerminating)
	check(t, ActorFleet, ActorProbe)
	check(t, StoreBusy, StoreFailed)
	check(t, EventDelivered, EventDropped)
	check(t, PeerCertificate, PeerFull)
	check(t, ServerState(1), ServerState(4))
	check(t, ServerLeft, ServerNotActivated)
	check(t, ServerMalformed, ServerLate)
}

func check[L Label](t *testing.T, first, last L) {
	t.Helper()
	seen := map[string]bool{}
	for l := first; l <= last; l++ {
		if n := l.String(); n == "" || seen[n] {
			t.Errorf("%T %d: name %q", l, l, n)
		} else {
			seen[n] = true
		}
	}
	if n := (last + 1).String(); n != "" {
		t.Errorf("%T: %q behind the last constant", last, n)
	}
	if last > 63 {
		t.Errorf("%T does not fit a Vec", last)
	}
}

// Every field of a Set declares a metric, and all metrics have different names.
func TestEveryNumberIsAMetric(t *testing.T) {
	form := regexp.MustCompile(`^troupe_[a-z_]+$`)
	seen := map[string]bool{}
	for i, m := range new(Set).Metrics() {
		field := reflect.TypeFor[Set]().Field(i).Name
		if !form.MatchString(m.Name) || seen[m.Name] || !strings.HasSuffix(m.Help, ".") {
			t.Errorf("%s: metric %q, help %q", field, m.Name, m.Help)
		}
		seen[m.Name] = true
		switch number := m.Number.(type) {
		case *atomic.Int64:
			if m.Label != "" {
				t.Errorf("%s: one number with the label %q", field, m.Label)
			}
		case *Histogram:
			if m.Counter() || m.Label != "" || !strings.HasSuffix(m.Name, "_seconds") {
				t.Errorf("%s: a histogram named %q with the label %q", field, m.Name, m.Label)
			}
		case *Histograms:
			if m.Counter() || m.Label == "" || !strings.HasSuffix(m.Name, "_seconds") {
				t.Errorf("%s: histograms named %q with the label %q", field, m.Name, m.Label)
			}
		case *Pairs:
			if !m.Counter() || strings.Count(m.Label, ",") != 1 {
				t.Errorf("%s: pairs named %q with the labels %q", field, m.Name, m.Label)
			}
		default:
			if m.Label == "" {
				t.Errorf("%s: a %T without a label", field, number)
			}
		}
	}
}

func TestVecCountsByLabel(t *testing.T) {
	var v Vec[Drop]
	v.Add(DropMalformed, 2)
	v.Add(DropStashFull, 3)
	v.Add(200, 1) // not a valid label value
	n := 0
	v.Values(func(string, int64) { n++ })
	if v.Get(DropMalformed) != 2 || v.Get(200) != 0 || v.Total() != 6 || n != int(DropOutOfOrder) {
		t.Errorf("%d %d %d %d", v.Get(DropMalformed), v.Get(200), v.Total(), n)
	}
}

func TestHistogram(t *testing.T) {
	var h Histogram
	if !math.IsNaN(quantile(&h, 0.5)) {
		t.Error("a quantile of nothing")
	}
	for range 99 {
		h.Observe(time.Millisecond)
	}
	h.Observe(time.Hour)
	h.Observe(-time.Second)
	count, sum, buckets := h.Snapshot()
	if count != 101 || math.Abs(sum-3600.099) > 1e-6 || buckets[1e-3] != 100 || buckets[50e-6] != 1 || buckets[10] != 100 {
		t.Errorf("%d %v %v", count, sum, buckets)
	}
	if quantile(&h, 0.5) != 1e-3 || !math.IsInf(quantile(&h, 1), 1) {
		t.Errorf("%v %v", quantile(&h, 0.5), quantile(&h, 1))
	}
}

// The number of label values that become known only when they are counted is limited, but no count is lost.
func TestNamedNumbersAreBounded(t *testing.T) {
	var p Pairs
	var h Histograms
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 2 * namedMax {
				p.Add("operation", fmt.Sprint(i), 1)
				h.Observe(fmt.Sprint(i), time.Millisecond)
			}
		})
	}
	all.Wait()
	pairs, sum := 0, int64(0)
	others := 0
	p.All(func(a, b string, n int64) {
		pairs, sum = pairs+1, sum+n
		if a == overflow && b == overflow && n > 0 {
			others++
		}
	})
	labels, count := 0, uint64(0)
	h.All(func(label string, one *Histogram) {
		n, _, _ := one.Snapshot()
		labels, count = labels+1, count+n
		if label == overflow {
			others++
		}
	})
	if sum != 8*namedMax || count != 8*namedMax {
		t.Errorf("%d and %d counted of %d", sum, count, 8*namedMax)
	}
	if pairs < 2 || pairs > namedMax+1 || labels < 2 || labels > namedMax+1 {
		t.Errorf("%d pairs and %d labels", pairs, labels)
	}
	if others != 2 {
		t.Error("what is too much is not counted as other")
	}
}

func quantile(h *Histogram, q float64) float64 {
	c := h.Cells()
	return c.Quantile(q)
}
