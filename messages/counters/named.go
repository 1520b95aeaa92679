package counters

import (
	"sync"
	"sync/atomic"
	"time"
)

// namedMax limits the number of label values that become known only when they are counted. It is higher than the number
// of operations of the service API. Further values are counted under overflow.
const namedMax = 256

// overflow is the label value for all values beyond namedMax.
const overflow = "other"

// named is a bounded map from label values to metrics. The zero value is ready to use.
type named[K comparable, N any] struct {
	all   sync.Map // K to *N
	count atomic.Int64
}

func (m *named[K, N]) of(key, other K) *N {
	if n, ok := m.all.Load(key); ok {
		return n.(*N)
	}
	if key != other && m.count.Add(1) > namedMax {
		m.count.Add(-1)
		return m.of(other, other)
	}
	n, known := m.all.LoadOrStore(key, new(N))
	if known && key != other {
		m.count.Add(-1)
	}
	return n.(*N)
}

// Histograms holds one Histogram per label value. It has at most 256 values; further values share the label "other".
// The zero value is ready to use. It is safe for concurrent use.
type Histograms struct {
	m named[string, Histogram]
}

// Observe counts one duration under a label value.
func (h *Histograms) Observe(label string, d time.Duration) { h.m.of(label, overflow).Observe(d) }

// All calls f for every label value that has been counted, in any order.
func (h *Histograms) All(f func(label string, h *Histogram)) {
	h.m.all.Range(func(key, n any) bool {
		f(key.(string), n.(*Histogram))
		return true
	})
}

// Pairs holds one number per pair of label values. It has at most 256 pairs; further pairs share the labels "other",
// "other". The zero value is ready to use. It is safe for concurrent use.
type Pairs struct {
	m named[[2]string, atomic.Int64]
}

// Add adds n to the number of a pair.
func (p *Pairs) Add(a, b string, n int64) {
	p.m.of([2]string{a, b}, [2]string{overflow, overflow}).Add(n)
}

// All calls f for every pair that has been counted, in any order.
func (p *Pairs) All(f func(a, b string, n int64)) {
	p.m.all.Range(func(key, n any) bool {
		k := key.([2]string)
		f(k[0], k[1], n.(*atomic.Int64).Load())
		return true
	})
}
