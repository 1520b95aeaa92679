package main

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The runtime zeroes a ballast whose memory was in use before. Its pages must not stay resident.
func TestTheBallastIsNotResident(t *testing.T) {
	b := make([]byte, 4<<20)
	for i := range b {
		b[i] = 1
	}
	resident := func() (pages int) {
		in := make([]byte, len(b)/os.Getpagesize())
		if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
			t.Fatal(errno)
		}
		for _, p := range in {
			pages += int(p & 1)
		}
		return pages
	}
	if resident() == 0 {
		t.Fatal("what was written is not resident: this test cannot fail")
	}
	if n := len(dropped(b)); n != 4<<20 || resident() != 0 {
		t.Errorf("%d pages of %d bytes are resident", resident(), n)
	}
	if b[0] != 0 || b[len(b)-1] != 0 {
		t.Error("it is not zero")
	}
}
