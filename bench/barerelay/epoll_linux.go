package barerelay

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"troupe/bench/loadgen"
)

const (
	readBytes     = 64 << 10 // buffer size of one read system call
	eventsMax     = 256      // events per epoll_wait call
	messageMax    = 128 << 10
	writableMax   = 5 * time.Second // a member that accepts no data for this long is dropped
	websocketGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

// ServeEpoll relays until ctx ends, as Serve does, but with one event loop per core on raw file descriptors.
func ServeEpoll(ctx context.Context, addr, announce string) error {
	r := &epollRelay{rooms: make(map[int]*epollRoom)}
	var running sync.WaitGroup
	defer running.Wait()
	for range runtime.GOMAXPROCS(0) {
		l, err := r.newLoop()
		if err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
		defer l.end()
		running.Go(l.run)
	}
	return serve(ctx, addr, announce, r.serveConn)
}

// newLoop makes a loop. A write to its wake descriptor stops it.
func (r *epollRelay) newLoop() (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(err, unix.Close(epoll))
	}
	l := &loop{relay: r, epoll: epoll, wake: wake, conns: make(map[int]*epollConn)}
	r.loops = append(r.loops, l)
	return l, unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wake)})
}

// end makes run return.
func (l *loop) end() { _, _ = unix.Write(l.wake, []byte{7: 1}) }

// epollRelay is the server. It holds the event loops and the rooms by number.
type epollRelay struct {
	loops []*loop

	mu    sync.Mutex // guards rooms and next
	rooms map[int]*epollRoom
	next  int // index of the loop that gets the next connection
}

// epollRoom holds the file descriptors of the members. The mutex is held while writing, as in room. drop also takes it
// to remove a member before the descriptor is closed, so that no broadcast writes to a reused descriptor number.
type epollRoom struct {
	counts
	members []int // guarded by mu
}

// epollConn is a connection, owned by its loop.
type epollConn struct {
	fd      int
	room    *epollRoom
	pending []byte // beginning of an incomplete frame
}

// loop is an event loop that reads from its connections.
type loop struct {
	relay *epollRelay
	epoll int
	wake  int    // becomes readable when the loop must stop
	frame []byte // scratch buffer for outgoing frames

	mu    sync.Mutex // guards conns
	conns map[int]*epollConn
}

// serveConn answers a request for /stats. It accepts any other request as a WebSocket upgrade and hands the connection
// to a loop.
func (r *epollRelay) serveConn(c net.Conn) {
	defer c.Close() // the loop uses its own duplicate of the descriptor
	_ = c.SetReadDeadline(time.Now().Add(requestTimeout))
	br := bufio.NewReaderSize(c, readBufferBytes)
	req, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	if req.URL.Path == "/stats" {
		_ = writeStats(c, r.totals())
		return
	}
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + websocketGUID))
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n"
	if _, err := io.WriteString(c, answer); err != nil {
		return
	}
	early, _ := br.Peek(br.Buffered())
	if fd, err := descriptor(c); err == nil {
		r.adopt(&epollConn{fd: fd, pending: append([]byte(nil), early...)})
	}
}

// descriptor returns a duplicate of a connection's file descriptor.
func descriptor(c net.Conn) (fd int, err error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var dup error
	if err := raw.Control(func(own uintptr) { fd, dup = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return 0, err
	}
	return fd, dup
}

// adopt assigns a connection to a loop, round robin.
func (r *epollRelay) adopt(c *epollConn) {
	r.mu.Lock()
	l := r.loops[r.next%len(r.loops)]
	r.next++
	r.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c.fd] = c
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(c.fd)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		delete(l.conns, c.fd)
		_ = unix.Close(c.fd)
	}
}

// run reads from ready connections until end is called. Then it closes all connections.
func (l *loop) run() {
	defer l.close()
	events, buf := make([]unix.EpollEvent, eventsMax), make([]byte, readBytes)
	for {
		n, err := unix.EpollWait(l.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for i := range max(n, 0) {
			if int(events[i].Fd) == l.wake {
				return
			}
			l.mu.Lock()
			c := l.conns[int(events[i].Fd)]
			l.mu.Unlock()
			if c != nil && !l.read(c, buf) {
				l.drop(c)
			}
		}
	}
}

func (l *loop) close() {
	for _, c := range l.conns { // adopt may still add a connection concurrently; it leaks only until the process exits
		_ = unix.Close(c.fd)
	}
	_, _ = unix.Close(l.epoll), unix.Close(l.wake)
}

// read makes one read from a connection and handles all complete frames. It returns false if the connection must be
// closed.
func (l *loop) read(c *epollConn, buf []byte) bool {
	n, err := unix.Read(c.fd, buf)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return true
	}
	if err != nil || n <= 0 {
		return false
	}
	got := buf[:n]
	if len(c.pending) > 0 {
		c.pending = append(c.pending, got...)
		got = c.pending
	}
	for {
		op, payload, rest, ok := nextFrame(got)
		if !ok {
			break
		}
		got = rest
		if !l.handle(c, op, payload) {
			return false
		}
	}
	c.pending = append(c.pending[:0], got...)
	return len(c.pending) <= messageMax
}

// nextFrame removes the first masked frame from b and unmasks it in place. ok is false if b holds no complete frame.
func nextFrame(b []byte) (op byte, payload, rest []byte, ok bool) {
	if len(b) < 6 {
		return 0, nil, b, false
	}
	size, head := uint64(b[1]&0x7f), 2
	switch {
	case size == 126 && len(b) >= 8:
		size, head = uint64(binary.BigEndian.Uint16(b[2:])), 4
	case size == 127 && len(b) >= 14:
		size, head = binary.BigEndian.Uint64(b[2:]), 10
	case size >= 126:
		return 0, nil, b, false
	}
	if size > messageMax || uint64(len(b)) < uint64(head)+4+size {
		return 0, nil, b, false
	}
	key := [4]byte(b[head:])
	end := head + 4 + int(size)
	payload = b[head+4 : end]
	unmask(payload, key)
	return b[0] & 0x0f, payload, b[end:], true
}

// unmask XORs b with the masking key, eight bytes at a time.
func unmask(b []byte, key [4]byte) {
	word := uint64(binary.LittleEndian.Uint32(key[:]))
	word |= word << 32
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^word)
	}
	for i := range b {
		b[i] ^= key[i&3]
	}
}

// handle processes one frame. It returns false if the connection must be closed.
func (l *loop) handle(c *epollConn, op byte, payload []byte) bool {
	switch op {
	case 0x2:
	case 0x9:
		return len(payload) < 126 && write(c.fd, append([]byte{0x8a, byte(len(payload))}, payload...)) == nil
	case 0xa:
		return true
	default:
		return false
	}
	if c.room == nil {
		return l.login(c, payload) == nil
	}
	l.frame = appendFrame(l.frame[:0], payload)
	rm := c.room
	rm.mu.Lock()
	defer rm.mu.Unlock()
	for _, fd := range rm.members {
		_ = write(fd, l.frame)
	}
	rm.inbound++
	rm.delivered += uint64(len(rm.members))
	return true
}

func (l *loop) login(c *epollConn, unit []byte) error {
	number, index, err := readLogin(unit)
	if err != nil {
		return err
	}
	r := l.relay
	r.mu.Lock()
	if c.room = r.rooms[number]; c.room == nil {
		c.room = new(epollRoom)
		r.rooms[number] = c.room
	}
	r.mu.Unlock()
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	c.room.members = append(c.room.members, c.fd)
	return write(c.fd, appendFrame(nil, loadgen.AppendLoginResponse(nil, int32(index)+1, fastPort)))
}

// write writes all of b. It waits for a slow reader, as a blocking write does, but for at most writableMax.
func write(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		switch {
		case err == nil:
			b = b[n:]
		case errors.Is(err, unix.EAGAIN):
			ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(writableMax.Milliseconds()))
			if ready == 0 || err != nil && !errors.Is(err, unix.EINTR) {
				return errors.Join(errors.New("a reader that does not read"), err)
			}
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
	return nil
}

// drop removes a connection from its room and its loop, and closes it.
func (l *loop) drop(c *epollConn) {
	if rm := c.room; rm != nil {
		rm.mu.Lock()
		for i, fd := range rm.members {
			if fd == c.fd {
				rm.members = append(rm.members[:i], rm.members[i+1:]...)
				break
			}
		}
		rm.mu.Unlock()
	}
	l.mu.Lock()
	delete(l.conns, c.fd)
	l.mu.Unlock()
	_ = unix.Close(c.fd) // this also removes it from the epoll set
}

func (r *epollRelay) totals() stats {
	s := memoryStats()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, room := range r.rooms {
		s.add(&room.counts)
	}
	return s
}
