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

// handshakePatience is how long the DTLS handshake of a fast channel is tried.
// Nothing waits for it, so it may outlast a network's bad moment.
const handshakePatience = 30 * time.Second

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

// runDTLS sets the channel up and stays until it has ended. The token belongs to
// one association, so there is no second one.
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
	conn, err := dialBeside(link, int(login.FastPort))
	if err != nil {
		f.fail(err)
		return
	}
	h := &associationHandler{c: f.c, closed: make(chan struct{})}
	ctx, cancel := f.c.within(handshakePatience)
	a, err := dtls.Dial(ctx, dtls.DialOptions{Conn: conn, Roots: roots, ServerName: serverName, Sessions: sessions},
		func(*dtls.Association) dtls.Handler { return h })
	cancel()
	if err != nil {
		f.fail(err)
		return
	}
	if f.open(associationPath{a}, wire.OpVerifyIdentityResponse) {
		identity := wire.VerifyIdentity{PeerID: f.c.client.PeerID(), ConnectToken: login.ConnectToken}
		f.ask(h.closed, func(dst []byte, seq int32) []byte {
			return wire.AppendVerifyIdentity(dst, &identity, seq, payload)
		})
		if f.up() {
			f.announce()
		} else {
			a.Close()
		}
	} else {
		a.Close()
	}
	<-h.closed
	f.fail(h.err)
}
