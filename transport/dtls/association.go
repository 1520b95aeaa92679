package dtls

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/transport"
)

// Why an association ended, for OnClosed.
var (
	// ErrClosed: this side closed it.
	ErrClosed = errors.New("dtls: association is closed")
	// ErrPeerClosed: the peer sent close_notify or a fatal alert.
	ErrPeerClosed = errors.New("dtls: the peer closed the association")
	// ErrReplaced: the peer made a new one from the same address.
	ErrReplaced = errors.New("dtls: association was replaced by a newer one")
	// ErrPanicked: the host panicked while it handled a record.
	ErrPanicked = errors.New("dtls: panic while a record was handled")
	// ErrExhausted: its record numbers are used up.
	ErrExhausted = errors.New("dtls: record numbers are used up")
)

// Handler takes what arrives on an Association.
type Handler interface {
	// OnRecord takes the plain text of one authentic application record, at most 2048 bytes, valid only during the call. Calls
	// come one at a time, nearly all from the socket's reader, and hold up all its peers: the handler must not block.
	OnRecord(plain []byte)
	// OnClosed is called once, last, when the association has ended. It must not block.
	OnClosed(err error)
}

// Bounds on retransmissions of the last flight to a peer that has not received it.
const (
	resendsMax  = 8
	resendPause = 50 * time.Millisecond
)

// Association is one established DTLS association, of either side. No method blocks, and any goroutine may call them.
type Association struct {
	count    *counters.Set
	log      zerolog.Logger
	keys     keys
	remote   atomic.Pointer[netip.AddrPort]
	send     func(datagram []byte) bool
	arrivals *arrivals            // of the socket
	forget   func(a *Association) // takes it off its endpoint
	running  *sync.WaitGroup      // of the endpoint; counts the association until OnClosed has returned

	closed  atomic.Bool
	number  atomic.Uint64 // next to seal with
	sealed  atomic.Uint64
	top     atomic.Uint64 // one above the highest number received: a copy of seen.top for readers that do not hold in
	heard   atomic.Int64  // time of the last record, in nanoseconds of the endpoint's clock; server side only
	handler Handler       // set before anything arrives

	// guarded by the endpoint's lock
	ipIndex int // index in the list of its IP address; -1 if it is on no list

	// in is held while a record is processed and passed to the handler.
	in       sync.Mutex
	seen     window
	proved   bool   // an authentic record has arrived: the peer has received our last flight
	flight   []byte // our last datagram of the handshake, until proved; nil if the peer sent the last flight
	resends  int
	resentAt time.Time
}

// newAssociation makes an association, which the caller must end. The caller must be counted in running.
func newAssociation(k keys, number uint64, count *counters.Set, running *sync.WaitGroup) *Association {
	a := &Association{keys: k, count: count, running: running, ipIndex: -1}
	running.Add(1)
	a.number.Store(number)
	count.Associations.Add(k.suite, 1)
	return a
}

// RemoteAddr is the peer's address. On the server's side it follows the peer.
func (a *Association) RemoteAddr() netip.AddrPort {
	if remote := a.remote.Load(); remote != nil {
		return *remote
	}
	return netip.AddrPort{}
}

func (a *Association) setRemote(remote netip.AddrPort) { a.remote.Store(&remote) }

// Unread reports whether datagrams wait in the socket, perhaps the peer's. False where the kernel cannot be asked.
func (a *Association) Unread() bool { return a.arrivals.unread() }

// Write encrypts plain as one record and hands it to the kernel. It returns false if the record was not sent: it is longer
// than PlainMax, the kernel did not take it at once (both are counted), or the association has ended. A record that was sent
// may still be lost. Write does not keep plain and does not allocate.
func (a *Association) Write(plain []byte) bool {
	if a.closed.Load() {
		return false
	}
	if len(plain) > PlainMax {
		a.count.Records.Add(counters.RecordTooLarge, 1)
		return false
	}
	if a.exhausted() {
		a.count.Records.Add(counters.RecordExhausted, 1)
		a.end(ErrExhausted, true)
		return false
	}
	return a.write(applicationData, plain)
}

func (a *Association) exhausted() bool {
	return a.keys.suite == counters.SuiteAESGCM && a.sealed.Load() >= gcmRecordsMax || a.number.Load() >= numberMax-8
}

func (a *Association) write(typ contentType, plain []byte) bool {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if a.keys.suite == counters.SuiteAESGCM {
		a.sealed.Add(1)
		a.count.GCMRecords.Add(1)
	}
	if !a.send(a.keys.sealRecord(s, typ, a.number.Add(1)-1, plain)) {
		a.count.Records.Add(counters.RecordNotSent, 1)
		return false
	}
	return true
}

// Close sends a close_notify and ends the association. Another goroutine then calls OnClosed. Idempotent.
func (a *Association) Close() { a.end(ErrClosed, true) }

// closeNotify is the alert of a normal end (RFC 5246 section 7.2.1).
var closeNotify = []byte{1, 0}

// end ends the association once.
func (a *Association) end(why error, goodbye bool) {
	if a.closed.Swap(true) {
		return
	}
	if goodbye {
		a.write(alert, closeNotify)
	}
	a.count.Associations.Add(a.keys.suite, -1)
	if a.forget != nil {
		a.forget(a)
	}
	go func() {
		defer a.running.Done()
		a.in.Lock() // wait for the record that is being processed
		defer a.in.Unlock()
		defer transport.Rescue(a.count, &a.log, "end of a DTLS association", nil)
		if a.handler != nil {
			a.handler.OnClosed(why)
		}
	}()
}

// receive processes one record of epoch 1, which it decrypts in place. It returns 0, or the reason for a drop, which the caller
// counts: RecordReplayed, or RecordForged, after which the record's bytes are destroyed.
func (a *Association) receive(r *record) counters.RecordDrop {
	a.in.Lock()
	defer a.in.Unlock()
	if !a.seen.fresh(r.number) {
		return counters.RecordReplayed
	}
	s := scratches.Get().(*scratch)
	plain, ok := a.keys.openRecord(s, r)
	scratches.Put(s)
	if !ok {
		return counters.RecordForged
	}
	a.takeLocked(r, plain)
	return 0
}

// take is receive, and counts a dropped record.
func (a *Association) take(r *record) {
	if drop := a.receive(r); drop != 0 {
		a.count.Records.Add(drop, 1)
	}
}

// takeEarly takes records that came before the handshake was done.
func (a *Association) takeEarly(early [][]byte) {
	for _, raw := range early {
		if r, _, drop := nextRecord(raw); drop == 0 {
			a.take(&r)
		}
	}
}

// adopt processes a record from another address, and decrypts it in place. If it is authentic and newer than all before, the
// peer has moved there, and move reports whether the association may follow. Adopt reports whether the record is the association's.
func (a *Association) adopt(r *record, move func() bool) bool {
	a.in.Lock()
	defer a.in.Unlock()
	if a.closed.Load() || r.number < a.seen.top {
		return false
	}
	s := scratches.Get().(*scratch)
	plain, ok := a.keys.openRecord(s, r)
	scratches.Put(s)
	if ok && move() {
		a.takeLocked(r, plain)
	}
	return ok
}

// takeLocked processes an authentic record.
func (a *Association) takeLocked(r *record, plain []byte) {
	a.seen.note(r.number)
	a.top.Store(a.seen.top)
	if a.closed.Load() {
		return
	}
	switch r.typ {
	case applicationData:
		a.proved, a.flight = true, nil
		a.handler.OnRecord(plain)
	case alert:
		if len(plain) == 2 && (plain[0] == 2 || plain[1] == 0) { // fatal, or close_notify
			a.end(ErrPeerClosed, true)
		}
	case handshake: // a repeated Finished: the peer has not received ours
		a.resendLocked()
	default:
		a.count.Records.Add(counters.RecordUnexpected, 1)
	}
}

// resend retransmits the last flight to a peer that repeats its own.
func (a *Association) resend() {
	a.in.Lock()
	defer a.in.Unlock()
	a.resendLocked()
}

// resendLocked sends the last flight again, unchanged: a peer that has it drops it.
func (a *Association) resendLocked() {
	now := time.Now()
	if a.flight == nil || a.proved || a.resends >= resendsMax || now.Sub(a.resentAt) < resendPause {
		a.count.Records.Add(counters.RecordPlainAfter, 1)
		return
	}
	a.resends++
	a.resentAt = now
	a.send(a.flight)
}
