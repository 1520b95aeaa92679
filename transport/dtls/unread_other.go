//go:build !linux

package dtls

// arrivals would ask the kernel whether datagrams wait in a socket.
type arrivals struct{}

func newArrivals(any) *arrivals { return nil }

func (*arrivals) unread() bool { return false }
