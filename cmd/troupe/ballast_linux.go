package main

import "golang.org/x/sys/unix"

// dropped returns b with its pages given back to the system (madvise(2), MADV_DONTNEED); they are
// zero when they are next read. Without this, memory that make has zeroed itself stays
// resident. b must be zero and a large allocation of its own: those begin at a page.
func dropped(b []byte) []byte {
	if len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED) // if refused, it only takes memory
	}
	return b
}
