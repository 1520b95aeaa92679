package stage

// ring is a growing FIFO queue. It releases a large buffer when it becomes empty.
type ring[T any] struct {
	buf  []T // the length is a power of two, or zero
	head uint32
	n    uint32
}

// ringKeepMax is the maximum capacity that an empty ring keeps. It has room for the burst of one batch, so
// that a steady stream does not allocate.
const ringKeepMax = 2 * runBatch

// ringMin is the minimum capacity of a ring with entries. Most rings contain one entry.
const ringMin = 2

func (r *ring[T]) len() int { return int(r.n) }

func (r *ring[T]) push(v T) {
	r.reserve()
	r.buf[r.at(r.n)] = v
	r.n++
}

// pushFront inserts v before all other entries.
func (r *ring[T]) pushFront(v T) {
	r.reserve()
	r.head = r.at(uint32(len(r.buf)) - 1)
	r.buf[r.head] = v
	r.n++
}

func (r *ring[T]) pop() (v T, ok bool) {
	if r.n == 0 {
		return v, false
	}
	var zero T
	v, r.buf[r.head] = r.buf[r.head], zero
	r.head = r.at(1)
	if r.n--; r.n == 0 {
		r.head = 0
		if len(r.buf) > ringKeepMax {
			r.buf = nil
		}
	}
	return v, true
}

func (r *ring[T]) at(i uint32) uint32 { return (r.head + i) & uint32(len(r.buf)-1) }

func (r *ring[T]) reserve() {
	if int(r.n) < len(r.buf) {
		return
	}
	next := make([]T, max(ringMin, 2*len(r.buf)))
	for i := range r.n {
		next[i] = r.buf[r.at(i)]
	}
	r.buf, r.head = next, 0
}
