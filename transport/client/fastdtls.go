package client

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"troupe/messages/wire"
	"troupe/transport/dtls"
)

const (
	// handshakeTimeout limits opening the socket and the DTLS handshake of a fast channel. Nothing waits for the
	// channel, so the handshake may outlast a short network failure.
	handshakeTimeout = 30 * time.Second
	// retryTimeout is the limit after the channel was up. By then a new attempt succeeds
	// sooner than the retransmissions of an old one.
	retryTimeout = 5 * time.Second
)

// The fast channel of wss is a separate DTLS association, on which the client sends VERIFY_IDENTITY (realtime.md 8).

// associationHandler receives the records of the association.
type associationHandler struct {
	c      *connection
	closed chan struct{}
	err    error // valid after closed is closed
}

func (h *associationHandler) OnRecord(plain []byte) { h.c.onDatagram(plain) }

func (h *associationHandler) OnClosed(err error) {
	h.err = err
	close(h.closed)
}

// dtlsSetup holds the parameters that all DTLS handshakes of one connection share.
type dtlsSetup struct {
	link     net.Conn
	login    *wire.LoginResult
	dial     dtls.DialOptions
	payload  []byte
	identity wire.VerifyIdentity
}

// runDTLS sets the channel up. If the association is dead, it sets the channel up again, provided that the host supports that:
// the token is bound to one association until the client reports to the host that it is lost. runDTLS ends with the connection.
func (f *fastChannel) runDTLS(link net.Conn, login *wire.LoginResult, serverName string, sessions *dtls.Sessions, payload []byte) {
	if len(login.CACert) == 0 {
		f.fail(fmt.Errorf("%w: it announced no certificate", ErrFastRefused))
		return
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(login.CACert) {
		f.fail(errors.New("the host's certificate authority cannot be read"))
		return
	}
	// VERIFY_IDENTITY would not fit a datagram, and the login has already delivered the payload.
	if len(payload) > FastPayloadMax {
		payload = nil
	}
	w := &dtlsSetup{
		link: link, login: login, payload: payload, dial: dtls.DialOptions{Roots: roots, ServerName: serverName, Sessions: sessions},
		identity: wire.VerifyIdentity{PeerID: f.c.client.PeerID(), ConnectToken: login.ConnectToken},
	}
	err := f.associate(w, handshakeTimeout)
	for pause := time.Duration(0); ; pause = min(2*pause+time.Second, pauseMax) {
		f.mu.Lock()
		wasUp := f.state == fastUp
		hopeless := f.state == fastDown || !wasUp && f.next == 0
		f.mu.Unlock()
		if hopeless || !f.c.client.counts() {
			f.fail(err)
			return
		}
		if wasUp {
			pause = 0
		}
		if !f.down(err) || !wait(f.c.alive, pause) {
			return
		}
		err = f.associate(w, retryTimeout)
	}
}

// associate makes one association. It returns the reason when the association has ended or the host is silent.
func (f *fastChannel) associate(w *dtlsSetup, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(f.c.alive, timeout)
	defer cancel()
	conn, err := f.c.client.o.dialBeside(ctx, w.link, int(w.login.FastPort))
	if err != nil {
		return err
	}
	h := &associationHandler{c: f.c, closed: make(chan struct{})}
	o := w.dial
	o.Conn = conn
	a, err := dtls.Dial(ctx, o, func(*dtls.Association) dtls.Handler { return h })
	if err != nil {
		return err
	}
	var silent error
	if f.open(&fastPath{a.Write, a.Close}, wire.OpVerifyIdentityResponse) && f.ask(h.closed, func(dst []byte, seq int32) []byte {
		return wire.AppendVerifyIdentity(dst, &w.identity, seq, w.payload)
	}) {
		f.announce()
		silent = f.watch(dtlsProbes, h.closed, func(dst []byte, seq int32) []byte {
			return wire.AppendVerifyIdentity(dst, &w.identity, seq, nil)
		})
	}
	select {
	case <-h.closed: // closed by the host, or because the channel has ended
	default:
		a.Close()
		<-h.closed
	}
	if silent != nil {
		return silent
	}
	return h.err
}
