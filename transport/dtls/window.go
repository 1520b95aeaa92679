package dtls

// window is the replay window of one association (RFC 6347 section 4.1.2.6).
type window struct {
	top  uint64 // one above the highest number seen
	seen [windowSize / 64]uint64
}

// windowSize is how far records may arrive out of order.
const windowSize = 256

// fresh reports whether a number may be new. Only an authentic record counts as seen.
func (w *window) fresh(number uint64) bool {
	if number >= w.top {
		return true
	}
	return w.top-number <= windowSize && w.seen[number%windowSize/64]&(1<<(number%64)) == 0
}

// note marks a number as seen. It must be fresh.
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
