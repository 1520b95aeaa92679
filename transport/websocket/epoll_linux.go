package websocket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/transport"
)

// pollers reports whether there are event loops.
const pollers = true

const (
	// loopReadBytes is the size of one read. A larger message is assembled from several.
	loopReadBytes = 16 << 10
	// loopEventsMax is how many connections a loop reads before it runs its Batch. So the
	// messages that have arrived for a game session are handled together.
	loopEventsMax = 4096
	// loopHoldMax is how long a loop reads, at most, before it runs its Batch.
	loopHoldMax = 5 * time.Millisecond
	// loopTimeEvery is how many connections are read between two looks at the clock.
	loopTimeEvery = 64
	// loopBlockedMax is how often the watch looks for a loop that is blocked. Such a loop gets another
	// goroutine after one to two of these.
	loopBlockedMax = 10 * time.Millisecond
)

// poller is the event loops of a Listener. It ends with the last connection once the Listener is
// closed.
type poller struct {
	loops  []*loop
	next   atomic.Uint32
	users  atomic.Int64 // connections, and the Listener
	active atomic.Bool  // the watch is running, or about to
	wake   chan struct{}
	stop   chan struct{}
}

// newPoller starts one loop per CPU. NewBatch may be nil.
func newPoller(newBatch func() transport.Batch) (*poller, error) {
	p := &poller{wake: make(chan struct{}, 1), stop: make(chan struct{})}
	p.users.Store(1)
	for range runtime.GOMAXPROCS(0) {
		l, err := newLoop(p)
		if err != nil {
			p.release()
			return nil, err
		}
		if newBatch != nil {
			l.batch = newBatch()
		}
		p.loops = append(p.loops, l)
	}
	for _, l := range p.loops {
		go l.owner.run()
	}
	go p.watch()
	return p, nil
}

// retain adds a user. It returns false if the loops have ended.
func (p *poller) retain() bool {
	for {
		n := p.users.Load()
		if n == 0 {
			return false
		}
		if p.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release ends the loops after the last use.
func (p *poller) release() {
	if p.users.Add(-1) > 0 {
		return
	}
	close(p.stop)
	for _, l := range p.loops {
		_ = l.file.Close()
	}
}

// adopt takes the descriptor out of a TCP connection, and closes that. The caller calls release
// when the socket has ended.
func (p *poller) adopt(nc net.Conn) (*socket, error) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil, errors.New("not a TCP socket")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	if !p.retain() {
		return nil, net.ErrClosed
	}
	fd := -1
	var failed error
	err = raw.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		p.release()
		return nil, fmt.Errorf("duplicate: %w", err)
	}
	_ = tcp.Close()
	s := &socket{fd: fd, loop: p.loops[int(p.next.Add(1))%len(p.loops)]}
	s.loop.remember(s)
	return s, nil
}

// loop reads for its connections. Its owner is the worker that does so. When that is blocked by the
// handler of a connection, another worker becomes the owner. The former owner goes on with that
// connection alone, and then ends.
type loop struct {
	poller *poller
	epoll  int
	file   *os.File // of epoll; registered with Go's poller, so that a waiting loop needs no thread
	raw    syscall.RawConn
	batch  transport.Batch          // nil without one
	take   func(epoll uintptr) bool // the method takeNow, made once
	busy   atomic.Bool              // the owner does not wait for events

	mu    sync.Mutex
	owner *worker // guarded by mu

	// of the owner
	events [loopEventsMax]unix.EpollEvent
	at, n  int       // events[at:n] are not handled yet
	since  time.Time // when the reading began
	failed error     // of takeNow

	slotsMu sync.Mutex // taken last
	slots   []*socket  // guarded by slotsMu
	free    []int32    // guarded by slotsMu; indexes of slots that are nil
}

func newLoop(p *poller) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(epoll, true); err != nil { // otherwise os.NewFile does not register it
		return nil, errors.Join(err, unix.Close(epoll))
	}
	l := &loop{poller: p, epoll: epoll, file: os.NewFile(uintptr(epoll), "epoll")}
	if l.raw, err = l.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	l.owner, l.take = newWorker(l), l.takeNow
	return l, nil
}

// remember gives a socket its slot.
func (l *loop) remember(s *socket) {
	l.slotsMu.Lock()
	defer l.slotsMu.Unlock()
	if n := len(l.free); n > 0 {
		s.slot, l.free = l.free[n-1], l.free[:n-1]
		l.slots[s.slot] = s
		return
	}
	s.slot = int32(len(l.slots))
	l.slots = append(l.slots, s)
}

// forget frees the slot of a socket. An event that was taken before may still reach the next socket
// in that slot, for which it is harmless.
func (l *loop) forget(s *socket) {
	l.slotsMu.Lock()
	defer l.slotsMu.Unlock()
	l.slots[s.slot] = nil
	l.free = append(l.free, s.slot)
}

// socketOf returns the socket of an event, nil if it is closed.
func (l *loop) socketOf(slot int32) *socket {
	l.slotsMu.Lock()
	defer l.slotsMu.Unlock()
	return l.slots[slot]
}

func (l *loop) control(op int, s *socket, events uint32) error {
	err := unix.EpollCtl(l.epoll, op, s.fd, &unix.EpollEvent{Events: events, Fd: s.slot})
	if err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// worker is a goroutine that is or was the owner of a loop.
type worker struct {
	loop *loop
	buf  *[loopReadBytes]byte
	lost atomic.Bool // another worker is the owner; written under loop.mu

	// guarded by loop.mu
	turn uint64 // odd while the worker calls what may block; changes with every call
	seen uint64 // turn at the last check
	conn *Conn  // whose input is handled, nil between two
}

var loopBuffers = sync.Pool{New: func() any { return new([loopReadBytes]byte) }}

func newWorker(l *loop) *worker {
	return &worker{loop: l, buf: loopBuffers.Get().(*[loopReadBytes]byte)}
}

// run is the goroutine of the worker.
func (w *worker) run() {
	defer loopBuffers.Put(w.buf)
	for l := w.loop; ; {
		if !w.handleEvents() || !w.runBatch() {
			return
		}
		if l.at < l.n {
			continue
		}
		runtime.Gosched() // on a full machine the loop never waits, and would keep its CPU
		if !l.fetch() {
			return
		}
	}
}

// fetch waits for events and takes them. It returns false when the loop ends. Only the owner calls
// it.
func (l *loop) fetch() bool {
	l.at, l.n = 0, 0
	l.busy.Store(false)
	if err := l.raw.Read(l.take); err != nil || l.failed != nil {
		return false
	}
	l.busy.Store(true)
	l.poller.wakeWatch()
	return true
}

// takeNow is the callback of fetch. False waits until there are events.
func (l *loop) takeNow(uintptr) bool {
	for {
		n, err := epollNow(l.epoll, l.events[:])
		if err == syscall.EINTR {
			continue
		}
		l.n, l.failed = max(n, 0), err
		return n != 0
	}
}

// handleEvents reads from all connections that have input, or for loopHoldMax. It returns false if
// the worker has lost the loop.
func (w *worker) handleEvents() bool {
	l := w.loop
	l.since = time.Now()
	for l.at < l.n {
		if l.at%loopTimeEvery == loopTimeEvery-1 && time.Since(l.since) > loopHoldMax {
			return true
		}
		ev := l.events[l.at]
		l.at++
		s := l.socketOf(ev.Fd)
		if s == nil || !s.onEvent(ev.Events) {
			continue
		}
		c := s.conn
		w.begin(c)
		c.in.worker = w
		code, err := c.handleReady(w.buf[:])
		c.in.worker = nil
		lost := w.done()
		if lost {
			w.drainBatch() // the handler may have posted before it lost the loop
		}
		w.goOn(c, code, err, lost)
		if lost {
			return false
		}
	}
	return true
}

// begin notes that the worker calls what may block, on behalf of c if that is not nil.
func (w *worker) begin(c *Conn) {
	w.loop.mu.Lock()
	w.turn++
	w.conn = c
	w.loop.mu.Unlock()
}

// done notes that the call of begin has returned, and reports whether the worker has lost the
// loop.
func (w *worker) done() (lost bool) {
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	w.turn++
	w.conn = nil
	return w.lost.Load()
}

// goOn ends a connection, or lets the loop read for it again.
func (w *worker) goOn(c *Conn, code uint16, err error, lost bool) {
	if err == errDrained {
		if !lost {
			return
		}
		code, err = 0, c.sock.attach(c)
		if err == nil {
			return
		}
	}
	c.sock.detach()
	if lost {
		c.end(code, err)
	} else {
		go c.end(code, err) // it may wait
	}
}

// runBatch runs what the handlers have posted. It returns false if the worker has lost the loop.
func (w *worker) runBatch() bool {
	if w.loop.batch == nil {
		return true
	}
	for more := true; more; {
		w.begin(nil)
		more = w.loop.batch.RunNext()
		if w.done() {
			w.drainBatch()
			return false
		}
	}
	return true
}

func (w *worker) drainBatch() {
	for w.loop.batch != nil && w.loop.batch.RunNext() {
	}
}

// handOverLocked makes another worker the owner of the loop. The caller holds loop.mu, between
// begin and done of the worker.
func (w *worker) handOverLocked() {
	w.lost.Store(true)
	if w.conn != nil {
		w.conn.sock.detach()
	}
	w.loop.owner = newWorker(w.loop)
	go w.loop.owner.run()
}

// WillBlock implements transport.Looped.
func (c *Conn) WillBlock() {
	w := c.in.worker
	if w == nil {
		return
	}
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	if !w.lost.Load() {
		w.handOverLocked()
	}
}

// Batch implements transport.Looped.
func (c *Conn) Batch() transport.Batch {
	if w := c.in.worker; w != nil && !w.lost.Load() {
		return w.loop.batch
	}
	return nil
}

// wakeWatch starts the watch, if it sleeps.
func (p *poller) wakeWatch() {
	if !p.active.Load() && p.active.CompareAndSwap(false, true) {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// watch takes loops from workers that are blocked. It sleeps while the loops wait for input.
func (p *poller) watch() {
	timer := time.NewTimer(loopBlockedMax)
	defer timer.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-p.wake:
		}
		for busy := true; busy; {
			timer.Reset(loopBlockedMax)
			select {
			case <-p.stop:
				return
			case <-timer.C:
			}
			p.active.Store(false) // whoever takes events from now on sets it
			for _, l := range p.loops {
				l.check()
			}
			busy = p.active.Load() || p.anyBusy()
		}
	}
}

// check takes the loop from its owner if that is in the same call as at the last check.
func (l *loop) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.owner
	if w.turn%2 == 1 && w.turn == w.seen {
		w.handOverLocked()
		return
	}
	w.seen = w.turn
}

// anyBusy reports whether a loop does not wait for events.
func (p *poller) anyBusy() bool {
	for _, l := range p.loops {
		if l.busy.Load() {
			return true
		}
	}
	return false
}
