package tlsconf

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	anchorsMax = 16 << 10 // maximum bytes of caCert as PEM, because it is part of every LOGIN_RESPONSE
	// flightMax is the maximum size of the certificates in bytes of DER. With it, the server's flight of a
	// DTLS handshake fits into two datagrams of 1200 bytes. The stock client may lose datagrams of a longer
	// burst (realtime.md 8.2).
	flightMax = 2000
)

// source provides bundles.
type source interface {
	// load reads the files. The private CA also creates and renews its own files.
	load(now time.Time) (*bundle, error)
	files() []string
}

// bundle is the loaded content of the files. It is immutable.
type bundle struct {
	cert    tls.Certificate
	anchors []byte // PEM
	roots   *x509.CertPool

	renewAt time.Time // time at which load creates a new leaf; zero: never
	expires expiry    // expiry that only the operator can extend
}

// expiry is the validity of the certificate in a file.
type expiry struct {
	file       string
	private    bool // whether it is a private CA's certificate
	begin, end time.Time
}

// soon reports whether less than a tenth of the validity is left.
func (e expiry) soon(now time.Time) bool { return now.After(e.end.Add(-e.end.Sub(e.begin) / 10)) }

// newBundle returns a bundle after checking the sizes. chain starts with the leaf and does not include the
// anchor.
func newBundle(chain []*x509.Certificate, key any, anchors []*x509.Certificate) (*bundle, error) {
	b := &bundle{cert: tls.Certificate{PrivateKey: key, Leaf: chain[0]}, roots: x509.NewCertPool()}
	for _, c := range chain {
		b.cert.Certificate = append(b.cert.Certificate, c.Raw)
	}
	for _, c := range anchors {
		b.roots.AddCert(c)
		b.anchors = append(b.anchors, pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: c.Raw})...)
	}
	if len(b.anchors) > anchorsMax {
		return nil, fmt.Errorf("the trust anchors are %d bytes, more than the %d that a login may carry: name only those of this host's certificate",
			len(b.anchors), anchorsMax)
	}
	return b, nil
}

// equal reports whether both bundles have the same certificates and anchors.
func (b *bundle) equal(other *bundle) bool {
	return bytes.Equal(b.anchors, other.anchors) && bytes.Equal(bytes.Join(b.cert.Certificate, nil), bytes.Join(other.cert.Certificate, nil))
}

// Store has the current certificate. It is safe for concurrent use.
type Store struct {
	o       Options
	source  source
	current atomic.Pointer[bundle]

	mu     sync.Mutex // serializes reloads
	seen   []stamp    // stamps of the files at the last reload
	failed bool       // whether the last reload failed
	warned time.Time  // last time that a warning about the certificate's expiry was logged
}

// Load reads the certificate, and creates it at the first start. Its errors name the file and what to do.
func Load(o Options) (*Store, error) {
	src, err := o.source()
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, source: src}
	if err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Certificate returns the current leaf with its chain. It costs one atomic load. The caller must not modify
// the result.
func (s *Store) Certificate() *tls.Certificate { return &s.current.Load().cert }

// Ends returns two expiry times: that of the served certificate, and that of the certificate which only the
// operator can replace (the operator's own, or the private CA).
func (s *Store) Ends() (served, operator time.Time) {
	b := s.current.Load()
	return b.cert.Leaf.NotAfter, b.expires.end
}

// CAPEM returns the trust anchors as PEM text of at most 16 KiB, with CERTIFICATE blocks only. The caller
// must not modify the result.
func (s *Store) CAPEM() []byte { return s.current.Load().anchors }

// ServerConfig returns a new configuration for wss. It allows TLS 1.3, and TLS 1.2 with ephemeral keys and
// AEAD only (realtime.md 1, reliability.md 5). A connection gets the certificate that is current at its
// handshake.
func (s *Store) ServerConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // for TLS 1.2; crypto/tls determines the order
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.Certificate(), nil },
	}
}

// forDTLS returns an error that names the required kind of key if DTLS cannot use the certificate.
func forDTLS(leaf *x509.Certificate) error {
	key, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	switch {
	case !ok:
		return fmt.Errorf("tlsconf: DTLS needs a certificate with an ECDSA key, and this one has %v: it serves wss only", leaf.PublicKeyAlgorithm)
	case key.Curve != elliptic.P256() && key.Curve != elliptic.P384():
		return fmt.Errorf("tlsconf: DTLS needs an ECDSA key on P-256 or P-384, and this one is on %s: it serves wss only", key.Curve.Params().Name)
	}
	return nil
}

// Reload reads the files again, and renews the leaf of a private CA if it is due. On an error, the Store
// keeps its certificate.
func (s *Store) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reloadLocked()
}

func (s *Store) reloadLocked() error {
	now := time.Now()
	// Read the stamps before the files, so that a change in between is detected at the next check.
	s.seen = stampAll(s.source.files())
	b, err := s.source.load(now)
	if err == nil && s.o.ForDTLS {
		err = forDTLS(b.cert.Leaf)
	}
	s.failed = err != nil
	if err != nil {
		return fmt.Errorf("tlsconf: %w", err)
	}
	if old := s.current.Load(); old == nil || !old.equal(b) {
		s.describe(b)
	}
	s.current.Store(b)
	s.warnLocked(now)
	return nil
}

func (s *Store) describe(b *bundle) {
	leaf := b.cert.Leaf
	s.o.Log.Info().Strs("dns", leaf.DNSNames).Any("ip", leaf.IPAddresses).Time("not_after", leaf.NotAfter).
		Str("key", leaf.PublicKeyAlgorithm.String()).Msg("certificate in use")
	if size := len(bytes.Join(b.cert.Certificate, nil)); size > flightMax && forDTLS(leaf) == nil {
		s.o.Log.Warn().Int("bytes", size).Int("bytes_max", flightMax).
			Msg("the certificate chain does not fit two datagrams, DTLS handshakes of stock clients may take several tries")
	}
}
