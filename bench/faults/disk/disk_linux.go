//go:build amd64 || arm64

package disk

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Disk injects disk faults into the child processes that were started with Exec. Its methods may be called from any
// goroutine. Close must be called, and only after these processes have ended, because their file calls fail from then
// on.
type Disk struct {
	listener *net.UnixListener
	work     sync.WaitGroup
	over     chan struct{}

	mu            sync.Mutex // guards the fields below
	delay         time.Duration
	writes, syncs syscall.Errno // error of each write and each sync; 0: no error
}

// Listen creates a Unix socket and accepts child processes on it.
func Listen(socket string) (*Disk, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	d := &Disk{listener: listener, over: make(chan struct{})}
	d.work.Go(d.accept)
	return d, nil
}

// Slow delays each sync of a file by delay. Zero ends the fault.
func (d *Disk) Slow(delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = delay
}

// FailWrites makes each write to a file fail with the error why: ENOSPC simulates a full disk, EROFS a read-only disk.
// Zero ends the fault.
func (d *Disk) FailWrites(why syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes = why
}

// FailSyncs makes each sync of a file fail with the error why. Data written before a failed sync is in the file
// nevertheless. Zero ends the fault.
func (d *Disk) FailSyncs(why syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs = why
}

// Close stops all goroutines and waits for them.
func (d *Disk) Close() error {
	close(d.over)
	err := d.listener.Close()
	d.work.Wait()
	return err
}

func (d *Disk) accept() {
	for {
		conn, err := d.listener.AcceptUnix()
		if err != nil {
			return // closed
		}
		d.work.Go(func() {
			defer conn.Close()
			filter, err := receive(conn)
			if err != nil {
				return
			}
			defer unix.Close(filter)
			if _, err := conn.Write([]byte{1}); err != nil {
				return
			}
			d.serve(filter)
		})
	}
}

// receiveTimeout bounds the wait for the descriptor that the child sends.
const receiveTimeout = 10 * time.Second

func receive(conn *net.UnixConn) (int, error) {
	if err := conn.SetDeadline(time.Now().Add(receiveTimeout)); err != nil {
		return 0, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return 0, err
	}
	all, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(all) != 1 {
		return 0, errors.Join(err, unix.EINVAL)
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) != 1 {
		return 0, errors.Join(err, unix.EINVAL)
	}
	return fds[0], nil
}

// notice and answer have the layout of the kernel's struct seccomp_notif and struct seccomp_notif_resp.
type notice struct {
	id         uint64
	pid, flags uint32
	call       int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// pollMs is the poll timeout in milliseconds, which bounds how long Close goes unnoticed.
const pollMs = 100

// serve answers the system calls of one process until that process ends.
func (d *Disk) serve(filter int) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		select {
		case <-d.over:
			return
		default:
		}
		poll := []unix.PollFd{{Fd: int32(filter), Events: unix.POLLIN}}
		switch n, err := unix.Poll(poll, pollMs); {
		case err != nil && !errors.Is(err, unix.EINTR):
			return
		case err != nil || n == 0:
			continue
		case poll[0].Revents&unix.POLLIN == 0:
			return // no process uses the filter any more
		}
		var call notice
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(filter), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&call))); errno != 0 {
			continue // the system call was interrupted
		}
		d.mu.Lock()
		delay, fails := d.delay, d.writes
		isSync := slices.Contains(syncs, uint32(call.call))
		if isSync {
			fails = d.syncs
		}
		d.mu.Unlock()
		reply := answer{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		switch {
		case fails != 0:
			reply.errno, reply.flags = -int32(fails), 0
		case isSync && delay > 0:
			calls.Go(func() {
				timer := time.NewTimer(delay)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-d.over:
				}
				reply.send(filter)
			})
			continue
		}
		reply.send(filter)
	}
}

// send answers one system call. It ignores the error, because sending fails if the process has ended.
func (a *answer) send(filter int) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(filter), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(a)))
}
