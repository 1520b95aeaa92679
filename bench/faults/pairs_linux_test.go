package faults

import (
	"net"
	"os"
	"strings"
	"testing"
)

// The kernel tells which process has opened a connection. This one is no host.
func TestOpenerOfAConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	there, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	here, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	socket, err := socketOf(here.RemoteAddr(), here.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	mine := false
	for _, f := range fds {
		to, _ := os.Readlink("/proc/self/fd/" + f.Name())
		mine = mine || to == "socket:["+socket+"]"
	}
	if _, err := opener(here); !mine || err == nil || !strings.Contains(err.Error(), "no host has socket") {
		t.Errorf("socket %s is one of this process: %v; %v", socket, mine, err)
	}
	if m := nodeArg().FindSubmatch([]byte("troupe\x00serve\x00--set\x00cluster.node=node-2\x00--set\x00")); m == nil || string(m[1]) != "2" {
		t.Errorf("%q", m)
	}
}
