package main

import "golang.org/x/sys/unix"

// dropped releases the pages of b to the system (madvise(2), MADV_DONTNEED) and returns b. The pages are zero when they
// are next read. Without this call, pages that make has zeroed would stay resident. b must be zero and large enough
// to be a separate allocation, which starts at a page boundary.
func dropped(b []byte) []byte {
	if len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED) // on failure, the ballast only uses memory
	}
	return b
}
