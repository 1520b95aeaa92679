package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts a command in a network namespace of its own, with the rights to change it: as root, or with a user namespace in which this user
// is root. build is called once or twice. The command is killed when this process ends.
func Start(build func() *exec.Cmd) (*exec.Cmd, error) {
	attempts := []*syscall.SysProcAttr{{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}}
	if os.Geteuid() == 0 {
		attempts = append([]*syscall.SysProcAttr{{Cloneflags: unix.CLONE_NEWNET}}, attempts...)
	}
	var err error
	for _, attr := range attempts {
		cmd := build()
		cmd.SysProcAttr = attr
		cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
		if err = cmd.Start(); err == nil {
			return cmd, nil
		}
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EINVAL) { // no rights, no namespaces left, none in this kernel
			return nil, err
		}
	}
	return nil, missing("make a namespace", plain(err))
}

// plain says why the kernel makes no namespace.
func plain(err error) error {
	errno := unix.Errno(0)
	switch errors.As(err, &errno); {
	case errno == unix.ENOSPC:
		return errors.New("the limits user.max_user_namespaces and user.max_net_namespaces (sysctl) allow no more")
	case errno != 0:
		return errno
	}
	return err
}

// Namespace is a network namespace. Its methods may be called from any goroutine.
type Namespace struct {
	work chan func() // of its thread; nil: that of the process
	over chan struct{}
	file *os.File // the namespace
}

// Here is the namespace of this process, which must be new: there is nothing in it but lo, which is down or was started by this function.
func Here() (*Namespace, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, missing("see the interfaces", err)
	}
	for _, i := range all {
		if i.Flags&(net.FlagLoopback|net.FlagPointToPoint) == 0 {
			return nil, errors.New("this process is not in a network namespace of its own: there is " + i.Name)
		}
	}
	return new(Namespace), up("lo", netip.Prefix{})
}

// New makes a namespace, whose lo is up. Close ends it and must be called when its processes have ended.
func New() (*Namespace, error) {
	n := &Namespace{work: make(chan func()), over: make(chan struct{})}
	ready := make(chan error, 1)
	go n.run(ready)
	if err := <-ready; err != nil {
		<-n.over
		return nil, err
	}
	return n, nil
}

// own is the namespace of the calling thread.
const own = "/proc/thread-self/ns/net"

// run is the goroutine whose thread is in the namespace. The thread stays for as long as there are processes, because the kernel kills those
// when it ends (Pdeathsig).
func (n *Namespace) run(ready chan<- error) {
	defer close(n.over)
	runtime.LockOSThread()
	before, err := os.Open(own)
	if err != nil {
		ready <- missing("open the namespace", err)
		return
	}
	defer before.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		ready <- missing("make a namespace", plain(err))
		return
	}
	n.file, err = os.Open(own)
	if err == nil {
		err = up("lo", netip.Prefix{})
	}
	ready <- err
	if err == nil {
		for do := range n.work {
			do()
		}
	}
	_ = n.file.Close()
	if unix.Setns(int(before.Fd()), unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread() // else the thread ends with the goroutine
	}
}

// Do calls a function on a thread that is in the namespace: sockets that it opens, and processes that it starts, are there. It is one at a time.
func (n *Namespace) Do(f func() error) error {
	if n.work == nil {
		return f()
	}
	done := make(chan error)
	n.work <- func() { done <- f() }
	return <-done
}

// DialContext connects from the namespace to an address without a name. It does not wait for Do.
func (n *Namespace) DialContext(ctx context.Context, network, addr string) (c net.Conn, err error) {
	if _, err := netip.ParseAddrPort(addr); err != nil {
		return nil, fmt.Errorf("dial in a namespace: %w", err) // a name would be looked up in other goroutines
	}
	runtime.LockOSThread()
	before, err := os.Open(own)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer before.Close()
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("enter the namespace: %w", err)
	}
	c, err = new(net.Dialer).DialContext(ctx, network, addr)
	if back := unix.Setns(int(before.Fd()), unix.CLONE_NEWNET); back != nil {
		panic(fmt.Sprintf("leave the namespace: %v", back)) // the caller's goroutine must not go on there
	}
	runtime.UnlockOSThread()
	return c, err
}

// TUN makes a TUN device with an IPv4 address, whose network is behind it, and the MTU of Ethernet. A read gives one packet, a write takes one. The
// device ends with the file.
func (n *Namespace) TUN(name string, addr netip.Prefix) (tun *os.File, err error) {
	err = n.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return missing("open /dev/net/tun", err)
		}
		request, err := unix.NewIfreq(name)
		if err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err == nil {
			err = up(name, addr)
		}
		if err != nil {
			_ = unix.Close(fd)
			return missing("make a TUN device", err)
		}
		tun = os.NewFile(uintptr(fd), name) // polled from now on, when it is a device
		return nil
	})
	return tun, err
}

// up starts an interface of the calling thread's namespace, and gives it an address, if there is one.
func up(name string, addr netip.Prefix) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("configure %s: %w", name, err)
	}
	defer unix.Close(fd)
	set := func(request uint, fill func(*unix.Ifreq) error) {
		if err != nil {
			return
		}
		var r *unix.Ifreq
		if r, err = unix.NewIfreq(name); err == nil {
			err = fill(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, request, r)
		}
	}
	if addr.IsValid() {
		set(unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(addr.Addr().AsSlice()) })
		set(unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.CIDRMask(addr.Bits(), 32)) })
	}
	set(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil })
	if err != nil {
		return fmt.Errorf("configure %s: %w", name, err)
	}
	return nil
}

// Resent is how many TCP segments the kernel has sent again in the namespace.
func (n *Namespace) Resent() (count uint64, err error) {
	var text []byte
	if err = n.Do(func() (err error) { text, err = os.ReadFile("/proc/thread-self/net/snmp"); return err }); err != nil {
		return 0, err
	}
	var names [][]byte
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "Tcp:" {
			continue
		}
		for i := range names {
			if string(names[i]) == "RetransSegs" && i < len(fields) {
				return strconv.ParseUint(string(fields[i]), 10, 64)
			}
		}
		names = fields
	}
	return 0, errors.New("/proc/net/snmp does not count RetransSegs")
}

// Close ends the thread. The namespace ends when nobody uses it any more.
func (n *Namespace) Close() error {
	if n.work != nil {
		close(n.work)
		<-n.over
	}
	return nil
}
