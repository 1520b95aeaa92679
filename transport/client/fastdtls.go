package client

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"troupe/messages/wire"
	"troupe/transport/dtls"
)

const (
	// handshakePatience is how long the DTLS handshake of a fast channel is tried.
	// Nothing waits for it, so it may outlast a network's bad moment.
	handshakePatience = 30 * time.Second
	// againPatience is the same for one after a channel that was up: then a new
	// attempt is better than the repetitions of an old one.
	againPatience = 5 * time.Second
)

// associationPath is the fast channel of wss: a DTLS association of its own, and
// VERIFY_IDENTITY (realtime.md 8).
type associationPath struct{ a *dtls.Association }

func (p associationPath) write(unit []byte) bool { return p.a.Write(unit) }
func (p associationPath) close()                 { p.a.Close() }

// associationHandler takes what arrives on it.
type associationHandler struct {
	c      *connection
	closed chan struct{}
	err    error // valid once closed is closed
}

func (h *associationHandler) OnRecord(plain []byte) { h.c.onDatagram(plain) }

func (h *associationHandler) OnClosed(err error) {
	h.err = err
	close(h.closed)
}

// secureWay is what the handshakes of one connection have in common.
type secureWay struct {
	link     net.Conn
	login    *wire.LoginResult
	dial     dtls.DialOptions
	payload  []byte
	identity wire.VerifyIdentity
}

// runDTLS sets the channel up, and does it again when its way is dead, if the host
// knows how to let it in again: the token belongs to one association, until the host
// is told that this one is lost. It ends with the connection.
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
	w := &secureWay{
		link: link, login: login, payload: payload, dial: dtls.DialOptions{Roots: roots, ServerName: serverName, Sessions: sessions},
		identity: wire.VerifyIdentity{PeerID: f.c.client.PeerID(), ConnectToken: login.ConnectToken},
	}
	err := f.associate(w, handshakePatience)
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
		err = f.associate(w, againPatience)
	}
}

// associate makes one association and stays until it has ended, or nothing comes by
// it; it tells why.
func (f *fastChannel) associate(w *secureWay, patience time.Duration) error {
	conn, err := dialBeside(w.link, int(w.login.FastPort))
	if err != nil {
		return err
	}
	h := &associationHandler{c: f.c, closed: make(chan struct{})}
	ctx, cancel := f.c.within(patience)
	o := w.dial
	o.Conn = conn
	a, err := dtls.Dial(ctx, o, func(*dtls.Association) dtls.Handler { return h })
	cancel()
	if err != nil {
		return err
	}
	var silent error
	if f.open(associationPath{a}, wire.OpVerifyIdentityResponse) && f.ask(h.closed, func(dst []byte, seq int32) []byte {
		return wire.AppendVerifyIdentity(dst, &w.identity, seq, w.payload)
	}) {
		f.announce()
		silent = f.watch(dtlsVigil, h.closed, func(dst []byte, seq int32) []byte {
			return wire.AppendVerifyIdentity(dst, &w.identity, seq, nil)
		})
	}
	select {
	case <-h.closed: // by the host, or by the end of the channel
	default:
		a.Close()
		<-h.closed
	}
	if silent != nil {
		return silent
	}
	return h.err
}
