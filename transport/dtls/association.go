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

// Reasons for the end of an association, as passed to OnClosed.
var (
	// ErrClosed means that this side closed the association.
	ErrClosed = errors.New("dtls: association is closed")
	// ErrPeerClosed means that the peer sent close_notify or a fatal alert.
	ErrPeerClosed = errors.New("dtls: the peer closed the association")
	// ErrReplaced means that the peer established a new association from the same address.
	ErrReplaced = errors.New("dtls: association was replaced by a newer one")
	// ErrPanicked means that the host panicked while it handled a record.
	ErrPanicked = errors.New("dtls: panic while a record was handled")
	// ErrExhausted means that the record numbers are used up.
	ErrExhausted = errors.New("dtls: record numbers are used up")
)

// Handler receives the records of an Association.
type Handler interface {
	// OnRecord handles the plain text of one authentic application record, at most 2048 bytes. The bytes are
	// valid only during the call. Calls come one at a time, nearly all from the socket's reader. A call delays
	// all peers of the socket, so it must not block.
	OnRecord(plain []byte)
	// OnClosed is called once, after the last OnRecord, when the association has ended. It must not block.
	OnClosed(err error)
}

// Bounds on the retransmission of the last flight while the peer does not have it.
const (
	resendsMax  = 8
	resendPause = 50 * time.Millisecond
)

// Association is one established DTLS association, of either side. No method blocks. All methods are safe for concurrent use.
type Association struct {
	count    *counters.Set
	log      zerolog.Logger
	keys     keys
	remote   atomic.Pointer[netip.AddrPort]
	send     func(datagram []byte) bool
	arrivals *arrivals            // state of the socket's receive queue
	forget   func(a *Association) // removes the association from its endpoint
	running  *sync.WaitGroup      // of the endpoint; counts the association until OnClosed has returned

	closed  atomic.Bool
	number  atomic.Uint64 // next record number to seal with
	sealed  atomic.Uint64
	top     atomic.Uint64 // one above the highest number received: a copy of seen.top that is readable without holding in
	heard   atomic.Int64  // time of the last record, in nanoseconds of the endpoint's clock; server side only
	handler Handler       // set before anything arrives

	// guarded by the endpoint's lock
	ipIndex int // index in the list of its IP address; -1 if it is in no list

	// in is held while a record is processed and passed to the handler.
	in       sync.Mutex
	seen     window
	proved   bool   // an authentic record has arrived, so the peer has our last flight
	flight   []byte // our last datagram of the handshake, until proved; nil if the peer sent the last flight
	resends  int
	resentAt time.Time
}

// newAssociation makes an association, which the caller must end. running must not be zero when it is called.
func newAssociation(k keys, number uint64, count *counters.Set, running *sync.WaitGroup) *Association {
	a := &Association{keys: k, count: count, running: running, ipIndex: -1}
	running.Add(1)
	a.number.Store(number)
	count.Associations.Add(k.suite, 1)
	return a
}

// RemoteAddr returns the peer's address. On the server side it changes when the peer's address changes.
func (a *Association) RemoteAddr() netip.AddrPort {
	if remote := a.remote.Load(); remote != nil {
		return *remote
	}
	return netip.AddrPort{}
}

func (a *Association) setRemote(remote netip.AddrPort) { a.remote.Store(&remote) }

// Unread reports whether the socket's reader is behind: unread datagrams, perhaps of this peer, wait in the socket. It
// returns false if the kernel cannot be asked.
func (a *Association) Unread() bool { return a.arrivals.unread() }

// Write encrypts plain as one record and passes it to the kernel. It returns false if the record was not sent, because
// it is longer than PlainMax or the kernel did not accept it at once (both are counted), or because the association has
// ended. A record that was sent may still be lost. Write does not retain plain and does not allocate.
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

// Close sends a close_notify and ends the association. Another goroutine then calls OnClosed. Close is idempotent.
func (a *Association) Close() { a.end(ErrClosed, true) }

// closeNotify is the alert of a normal end (RFC 5246 section 7.2.1).
var closeNotify = []byte{1, 0}

// end ends the association once. With goodbye, it sends a close_notify first.
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

// receive decrypts one record of epoch 1 in place and processes it. It returns 0, or the reason for dropping the record,
// which the caller counts. The reason is RecordReplayed or RecordForged. After RecordForged the record's bytes are destroyed.
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

// take calls receive and counts a dropped record.
func (a *Association) take(r *record) {
	if drop := a.receive(r); drop != 0 {
		a.count.Records.Add(drop, 1)
	}
}

// takeEarly processes the records that came before the handshake was complete.
func (a *Association) takeEarly(early [][]byte) {
	for _, raw := range early {
		if r, _, drop := nextRecord(raw); drop == 0 {
			a.take(&r)
		}
	}
}

// adopt decrypts a record from an unknown address in place. If the record is authentic and newer than all before,
// the peer now has that address. adopt then calls move, and processes the record if move returns true. It returns
// true if the record belongs to this association.
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
	case handshake: // a repeated Finished: the peer does not have our last flight
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

// resendLocked sends the last flight again, unchanged. A peer that already has it drops the copy.
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
