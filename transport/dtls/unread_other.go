//go:build !linux

package dtls

// arrivals does nothing: only Linux reports how many datagrams are unread.
type arrivals struct{}

func newArrivals(any) *arrivals { return nil }

func (*arrivals) unread() bool { return false }
