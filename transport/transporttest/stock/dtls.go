package stock

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"
)

// Errors of the secured mode.
var (
	// ErrNoAnchors means that LOGIN_RESPONSE had no caCert. The C# client throws then.
	ErrNoAnchors = errors.New("caCert is empty")
	// ErrVerifyRefused means that the server answered VERIFY_IDENTITY with success false.
	ErrVerifyRefused = errors.New("identity refused")
)

const (
	recordMax     = 2047            // maximum bytes of plain text in the decrypt buffer of the C# client
	dtlsTimeout   = 2 * time.Minute // approximate handshake timeout of the C# client
	dtlsCloseWait = 2 * time.Second // maximum time for a DTLS program to exit after its input ends
)

// DTLS configures the fast channel of the secured mode. The handshake runs in the handler of LOGIN_RESPONSE,
// as in the SDK. Meanwhile nothing is read from the WebSocket.
type DTLS struct {
	Stack   Stack         // program that implements DTLS; zero means OpenSSL
	Cipher  Cipher        // offered cipher; zero means both, ChaCha20 first
	Timeout time.Duration // handshake timeout; zero means that of the C# client, two minutes
}

// Secured returns the options of the secured mode. wss uses TLS 1.2, and its certificate must chain to roots,
// which stand for the trust store of the platform. DTLS uses the trust anchors of LOGIN_RESPONSE. Both verify
// the DNS name, so Dial may get any address.
func Secured(roots *x509.CertPool, name string) Options {
	return Options{TLS: &tls.Config{RootCAs: roots, ServerName: name}, DTLS: &DTLS{}}
}

// validate rejects options that no stock client could have.
func (o Options) validate() error {
	switch {
	case o.DTLS != nil && o.TLS == nil:
		return errors.New("DTLS needs TLS, with the roots of the platform")
	case o.DTLS != nil && o.TLS.InsecureSkipVerify:
		return errors.New("DTLS and InsecureSkipVerify: the stock client keeps all checks on")
	}
	return nil
}

// secured reports whether the fast channel is DTLS.
func (o Options) secured() bool { return o.DTLS != nil }

// checkAnchors checks caCert like mbed TLS: a single certificate that cannot be parsed fails the handshake.
func checkAnchors(caCert []byte) error {
	if len(caCert) == 0 {
		return ErrNoAnchors
	}
	if bytes.IndexByte(caCert, 0) >= 0 {
		return errors.New("caCert has a NUL in it, where the text ends for the stock client")
	}
	parsed, text := 0, caCert
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		parsed++
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate %d of caCert: %w", parsed, err)
		}
	}
	switch begun := bytes.Count(caCert, []byte("-----BEGIN CERTIFICATE-----")); {
	case begun == 0:
		return errors.New("caCert holds no certificate")
	case begun != parsed:
		return fmt.Errorf("%d of %d certificates of caCert are damaged", begun-parsed, begun)
	}
	return nil
}

// secureConn is a DTLS association with the interface of a UDP socket. A datagram is one record.
type secureConn interface {
	net.PacketConn
	// kill ends the association without a close-notify.
	kill()
	// report returns what the program printed about the handshake.
	report() string
}

// openSecure performs the DTLS handshake and sends VERIFY_IDENTITY once.
func (c *Client) openSecure(login *LoginResult, server *net.UDPAddr) (*fastChannel, error) {
	if err := checkAnchors(login.CACert); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoFast, err)
	}
	local := ""
	if c.opts.LocalAddr != "" {
		local = c.udpLocal()
	}
	conn, err := dialDTLS(c.hurry, *c.opts.DTLS, dtlsTarget{
		server: server, local: local, name: c.endpoint, anchors: login.CACert,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: DTLS handshake with %v: %w", ErrNoFast, server, err)
	}
	fast := newFastChannel(c, conn, server, ChannelDTLS)
	c.mu.Lock()
	c.fast = fast
	c.mu.Unlock()
	_ = fast.send(c.verifyPacket(), nil) // an error is counted; the packet is never sent again
	return fast, nil
}

// dtlsTarget is the server of a handshake.
type dtlsTarget struct {
	server  *net.UDPAddr
	local   string // local IP address; empty means any
	name    string // name that the server's certificate must contain
	anchors []byte // PEM; the only trusted certificates
}

// verifyPacket returns the VERIFY_IDENTITY that the client sends after the handshake.
func (c *Client) verifyPacket() Packet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Packet{
		OpCode: OpVerifyIdentity, Sender: c.peerID, Payload: c.opts.Payload,
		VerifyIdentity: &VerifyIdentity{PeerID: c.peerID, ConnectToken: c.token},
	}
}

// onVerifyResponse handles VERIFY_IDENTITY_RESPONSE, on whichever channel it arrived. It reports whether the
// fast channel is up now.
func (c *Client) onVerifyResponse(fast *fastChannel, r *VerifyIdentityResult) bool {
	if fast == nil {
		fast = c.fastChannel()
	}
	if fast == nil || fast.via != ChannelDTLS || r == nil {
		return false
	}
	if r.Success {
		return fast.ack() && fast == c.fastChannel()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == StatusConnected {
		c.fastErr = fmt.Errorf("%w: %w", ErrNoFast, ErrVerifyRefused)
	}
	return false
}

// HandshakeReport returns what the DTLS program printed about the handshake of the current fast channel. It
// includes the cipher suite, as CHACHA20-POLY1305 or AES128-GCM (OpenSSL), or AES-128-GCM (GnuTLS). It is
// empty without a fast channel.
func (c *Client) HandshakeReport() string {
	if fast := c.fastChannel(); fast != nil {
		if conn, ok := fast.first.(secureConn); ok {
			return conn.report()
		}
	}
	return ""
}
