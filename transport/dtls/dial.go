package dtls

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
)

// DialOptions configure Dial.
type DialOptions struct {
	Addr       string         // host:port
	Conn       net.Conn       // used instead of Addr: a connected datagram socket, which the association owns from now on
	Roots      *x509.CertPool // nil for the system's
	ServerName string         // name that the certificate must be valid for; default the host of Addr
	Sessions   *Sessions      // cache for resumption; nil for none
	Counters   *counters.Set  // nil for a private Set
	SilenceMax time.Duration  // a handshake ends after this much silence of the host; 0 for no limit
}

// Dial establishes an association as a client. ctx limits only the handshake. Dial verifies the server's certificate.
// It calls accept before it returns and before any record arrives. The Handler that accept returns receives the
// records. Errors of the handshake wrap those of the library. If someone else closes the socket, the handshake or the
// association ends at once with net.ErrClosed.
func Dial(ctx context.Context, o DialOptions, accept func(a *Association) Handler) (*Association, error) {
	conn, name, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	d := &dialled{conn: conn, count: o.Counters, filter: filter{client: true, suite: counters.SuiteChaCha20}}
	d.pipe = newPipe(conn.LocalAddr(), conn.RemoteAddr(), func(b []byte) { _, _ = conn.Write(b) })
	shaking, cancel := context.WithCancel(ctx)
	defer cancel()
	d.cancel = cancel
	if d.silenceMax = o.SilenceMax; d.silenceMax > 0 {
		d.silence = time.AfterFunc(d.silenceMax, cancel)
		defer d.silence.Stop()
	}
	d.running.Go(d.read)
	s, err := clientHandshake(shaking, d.pipe, o.Roots, name, o.Sessions)
	var k keys
	if err == nil {
		k, err = newKeys(s)
	}
	if err != nil {
		d.stop()
		d.running.Wait()
		if d.gone {
			return nil, errSocketClosed
		}
		if ctx.Err() == nil && shaking.Err() != nil {
			return nil, errSilent
		}
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return d.complete(k, s, accept), nil
}

func (o *DialOptions) open(ctx context.Context) (conn net.Conn, name string, err error) {
	conn, name = o.Conn, o.ServerName
	if host, _, splitErr := net.SplitHostPort(o.Addr); splitErr == nil && name == "" {
		name = host
	}
	if conn == nil {
		var d net.Dialer
		if conn, err = d.DialContext(ctx, "udp", o.Addr); err != nil {
			return nil, "", fmt.Errorf("dtls: %w", err)
		}
	}
	return conn, name, nil
}

// dialled is the client's side of one socket. It has a reader, first a handshake, and then an association.
type dialled struct {
	conn    net.Conn
	count   *counters.Set
	pipe    *pipe
	filter  filter // filter and flight are owned by the reader
	flight  flight
	running sync.WaitGroup
	cancel  func() // ends the handshake

	silenceMax time.Duration
	silence    *time.Timer // calls cancel; nil without a limit

	stopped atomic.Bool

	mu    sync.Mutex
	early [][]byte
	assoc *Association
	gone  bool // someone else has closed the socket
}

var errSilent = fmt.Errorf("dtls: the host says nothing: %w", os.ErrDeadlineExceeded)

var errSocketClosed = fmt.Errorf("dtls: the socket was closed: %w", net.ErrClosed)

// lost ends the handshake or the association after someone else has closed the socket.
func (d *dialled) lost() {
	d.mu.Lock()
	a := d.assoc
	d.gone = true
	d.mu.Unlock()
	if d.cancel(); a != nil {
		a.end(errSocketClosed, false)
	}
}

func (d *dialled) stop() {
	if !d.stopped.Swap(true) {
		_ = d.conn.Close()
	}
}

func (d *dialled) complete(k keys, s *secrets, accept func(a *Association) Handler) *Association {
	last, number := d.pipe.mute()
	a := newAssociation(k, number, d.count, &d.running)
	if remote, ok := d.conn.RemoteAddr().(*net.UDPAddr); ok {
		ap := remote.AddrPort()
		a.setRemote(netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()))
	}
	a.send = func(b []byte) bool { _, err := d.conn.Write(b); return err == nil }
	a.forget, a.arrivals = func(*Association) { d.stop() }, newArrivals(d.conn)
	if s.resumed { // otherwise the server sent the last flight
		a.flight = last
	}
	a.in.Lock() // an early end waits until the handler is set
	a.handler = accept(a)
	a.in.Unlock()
	d.mu.Lock()
	early, gone := d.early, d.gone
	d.assoc, d.early = a, nil
	d.mu.Unlock()
	a.takeEarly(early)
	if gone {
		a.end(errSocketClosed, false)
	}
	return a
}

func (d *dialled) drop(why counters.RecordDrop) { d.count.Records.Add(why, 1) }

// read is the reader goroutine. It ends when the socket is closed. Other read errors only report
// datagrams that were not delivered (ICMP).
func (d *dialled) read() {
	buf := make([]byte, datagramMax+1)
	for failures := 0; ; {
		n, err := d.conn.Read(buf)
		switch {
		case err == nil && n <= datagramMax:
			failures = 0
			d.handle(buf[:n])
		case err == nil:
			d.drop(counters.RecordTooLarge)
		case d.stopped.Load():
			return
		case errors.Is(err, net.ErrClosed):
			d.lost()
			return
		default:
			if failures++; failures > transport.ReadFailuresFree {
				time.Sleep(transport.ReadFailurePause)
			}
		}
	}
}

func (d *dialled) shake(r *record) {
	drop := d.filter.admit(r)
	if drop != 0 {
		d.drop(drop)
		return
	}
	if d.silence != nil {
		d.silence.Reset(d.silenceMax)
	}
	if out := d.flight.take(r); len(out) > 0 && !d.pipe.feed(out) {
		d.drop(counters.RecordHandshakeCap)
	}
}

func (d *dialled) handle(datagram []byte) {
	for len(datagram) > 0 {
		r, rest, drop := nextRecord(datagram)
		if drop != 0 {
			d.drop(drop)
			return
		}
		datagram = rest
		d.mu.Lock()
		a := d.assoc
		if a == nil && r.epoch == 1 && r.typ != handshake { // application data, or an alert by which the server refuses the client
			if len(d.early) < earlyMax {
				d.early = append(d.early, append([]byte(nil), r.raw...))
			} else {
				d.drop(counters.RecordEarly)
			}
			d.mu.Unlock()
			continue
		}
		d.mu.Unlock()
		switch {
		case a == nil:
			d.shake(&r)
		case r.epoch == 1:
			a.take(&r)
		case r.epoch == 0 && (r.typ == handshake || r.typ == changeCipherSpec):
			a.resend()
		default:
			d.drop(counters.RecordPlainAfter)
		}
	}
}
