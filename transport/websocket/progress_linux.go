package websocket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// progressOf returns how many bytes the peer's system has acknowledged, and how many the
// kernel still holds, at the TCP level. Ok is false if that is not known.
func progressOf(raw syscall.RawConn) (acked uint64, held int, ok bool) {
	if raw == nil {
		return 0, 0, false
	}
	err := raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return
		}
		n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		if err == nil {
			acked, held, ok = info.Bytes_acked, n, true
		}
	})
	return acked, held, ok && err == nil
}
