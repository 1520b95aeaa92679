package dtls

// window is the replay window of one association (RFC 6347 section 4.1.2.6).
type window struct {
	top  uint64 // one above the highest number seen
	seen [windowSize / 64]uint64
}

// windowSize is how far out of order records may arrive, in record numbers.
const windowSize = 256

// fresh reports whether a number may be new. Call note only after the record is known to be authentic.
func (w *window) fresh(number uint64) bool {
	if number >= w.top {
		return true
	}
	return w.top-number <= windowSize && w.seen[number%windowSize/64]&(1<<(number%64)) == 0
}

// note marks a number as seen. fresh must have returned true for it.
func (w *window) note(number uint64) {
	if number >= w.top {
		if number-w.top >= windowSize {
			w.seen = [windowSize / 64]uint64{}
		} else {
			for n := w.top; n < number; n++ {
				w.seen[n%windowSize/64] &^= 1 << (n % 64)
			}
		}
		w.top = number + 1
	}
	w.seen[number%windowSize/64] |= 1 << (number % 64)
}
