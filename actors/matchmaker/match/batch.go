package match

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// set is a set of positions in a batch. Batches are small, so the set of tickets that a rule allows is
// computed once. Intersections of such sets are the candidates.
type set [4]uint64

const _ = uint(len(set{})*64 - BatchSize)

func (s *set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *set) drop(i int)     { s[i/64] &^= 1 << (i % 64) }
func (s *set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }
func (s *set) empty() bool    { return s[0]|s[1]|s[2]|s[3] == 0 }
func (s *set) and(t *set) set { return set{s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]} }
func (s *set) or(t *set) set  { return set{s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]} }
func (s *set) without(t *set) set {
	return set{s[0] &^ t[0], s[1] &^ t[1], s[2] &^ t[2], s[3] &^ t[3]}
}

// first returns the lowest position. The set must not be empty.
func (s *set) first() int {
	for i, w := range s {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

func (s *set) common(t *set) int {
	return bits.OnesCount64(s[0]&t[0]) + bits.OnesCount64(s[1]&t[1]) + bits.OnesCount64(s[2]&t[2]) + bits.OnesCount64(s[3]&t[3])
}

// batch contains the tickets that a pass searches together, and for each rule the sets of tickets that it
// allows.
type batch struct {
	anchors  []*entry // in the order in which they become anchors
	order    []*entry // in the order of candidates; the index is the position of a ticket
	alive    set      // tickets that are neither gone nor spent
	removals uint64   // value of Pool.removals when alive was computed

	backfill set
	shared   set // tickets with a player that another ticket also names
	sizes    []kind
	stages   []kind
	used     uint64  // bits of locations that some tickets can use but not all
	near     [64]set // tickets that can use a location, by location bit
	anywhere set     // tickets that can use every location
	keys     []keyRange
}

// kind is the set of tickets with the same number n, which is a number of players or a stage.
type kind struct {
	n   int
	set set
}

// keyRange contains the tickets sorted by their value for one range rule.
type keyRange struct {
	entries []*entry
	values  []float64
	below   []set // below[i] is the set of the first i entries
}

// fill initializes the batch from b.anchors. The stages and masks of the tickets must be set.
func (b *batch) fill(p *Pool) {
	if len(b.keys) != p.ranges {
		b.keys = make([]keyRange, p.ranges)
	}
	for i := range b.keys {
		k := &b.keys[i]
		k.entries = append(k.entries[:0], b.anchors...)
		slices.SortFunc(k.entries, func(x, y *entry) int { return cmp.Compare(x.keys[i], y.keys[i]) })
		k.values = k.values[:0]
		for _, e := range k.entries {
			k.values = append(k.values, e.keys[i])
		}
	}
	b.order = append(b.order[:0], b.anchors...)
	b.arrange(p)
}

// arrange computes the sets for the current order of candidates.
func (b *batch) arrange(p *Pool) {
	b.backfill, b.shared, b.anywhere, b.used = set{}, set{}, set{}, 0
	b.sizes, b.stages = b.sizes[:0], b.stages[:0]
	for i, e := range b.order {
		e.pos = i
		if e.backfill {
			b.backfill.add(i)
		}
		if slices.ContainsFunc(e.who, func(who *player) bool { return who.tickets > 1 }) {
			b.shared.add(i)
		}
		b.sizes = addKind(b.sizes, e.n, i)
		b.stages = addKind(b.stages, e.stage, i)
		if e.mask == math.MaxUint64 {
			b.anywhere.add(i)
			continue
		}
		for mask := e.mask; mask != 0; mask &= mask - 1 {
			bit := bits.TrailingZeros64(mask)
			if b.used>>bit&1 == 0 {
				b.used |= 1 << bit
				b.near[bit] = set{}
			}
			b.near[bit].add(i)
		}
	}
	for i := range b.keys {
		k := &b.keys[i]
		k.below = slices.Grow(k.below[:0], len(k.entries)+1)[:len(k.entries)+1]
		k.below[0] = set{}
		for j, e := range k.entries {
			k.below[j+1] = k.below[j]
			k.below[j+1].add(e.pos)
		}
	}
	b.live(p)
}

func addKind(kinds []kind, n, position int) []kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.n == n })
	if i < 0 {
		i = len(kinds)
		kinds = append(kinds, kind{n: n})
	}
	kinds[i].set.add(position)
	return kinds
}

func (b *batch) live(p *Pool) {
	b.alive, b.removals = set{}, p.removals
	for i, e := range b.order {
		if !e.gone && !e.spent {
			b.alive.add(i)
		}
	}
}

// within returns the tickets whose value is in [low, high].
func (k *keyRange) within(low, high float64) set {
	from := sort.SearchFloat64s(k.values, low)
	to := from + sort.Search(len(k.values)-from, func(i int) bool { return k.values[from+i] > high })
	return k.below[to].without(&k.below[from])
}

func (b *batch) players(s *set) int {
	n := 0
	for i := range b.sizes {
		n += b.sizes[i].n * s.common(&b.sizes[i].set)
	}
	return n
}

// at returns the tickets that can use at least one of the locations in mask.
func (b *batch) at(mask uint64) set {
	out := b.anywhere
	for mask &= b.used; mask != 0; mask &= mask - 1 {
		out = out.or(&b.near[bits.TrailingZeros64(mask)])
	}
	return out
}

// parts calls f once per location in mask, with the tickets of s that can use it. Without a latency rule it
// calls f once, with s.
func (b *batch) parts(s *set, mask uint64, latencies bool, f func(*set)) {
	if mask &= b.used; !latencies || mask == 0 {
		f(s)
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		part := b.near[bits.TrailingZeros64(mask)].or(&b.anywhere)
		part = part.and(s)
		f(&part)
	}
}

// mostAt returns the number of players in the largest part of s. It is an upper bound on the players that can
// still be added.
func (b *batch) mostAt(s *set, mask uint64, latencies bool) int {
	if mask &= b.used; !latencies || mask&(mask-1) == 0 {
		return b.players(s)
	}
	most := 0
	for ; mask != 0; mask &= mask - 1 {
		part := b.near[bits.TrailingZeros64(mask)].or(&b.anywhere)
		part = part.and(s)
		most = max(most, b.players(&part))
	}
	return most
}
