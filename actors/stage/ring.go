package stage

// ring is a growing first-in first-out queue. Empty and large, it gives its
// memory back.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

// ringKeepMax is the capacity an empty ring may keep, in entries.
const ringKeepMax = 32

func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

func (r *ring[T]) pop() (v T, ok bool) {
	if r.n == 0 {
		return v, false
	}
	var zero T
	v, r.buf[r.head] = r.buf[r.head], zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	if r.n--; r.n == 0 {
		r.head = 0
		if len(r.buf) > ringKeepMax {
			r.buf = nil
		}
	}
	return v, true
}

func (r *ring[T]) grow() {
	next := make([]T, max(4, 2*len(r.buf)))
	for i := range r.n {
		next[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
	}
	r.buf, r.head = next, 0
}
