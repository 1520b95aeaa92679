package netns

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A process in a namespace that others use is refused, so that their network stays as it is.
func TestHereMustBeNew(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(i net.Interface) bool { return i.Flags&(net.FlagLoopback|net.FlagPointToPoint) == 0 }) {
		t.Skip("there is no interface here but lo")
	}
	if _, err := Here(); err == nil {
		t.Error("it is not")
	}
}

// What is missing is told in words.
func TestWhatIsMissing(t *testing.T) {
	err := missing("make a namespace", plain(&os.PathError{Op: "fork/exec", Path: "x", Err: unix.ENOSPC}))
	if want := "it takes Linux with /dev/net/tun, and root or user namespaces: make a namespace: the limits user.max_user_namespaces and user.max_net_namespaces (sysctl) allow no more"; err.Error() != want || !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	if got := plain(&exec.Error{Name: "x", Err: unix.EPERM}); got != unix.EPERM {
		t.Error(got)
	}
}
