package dtls

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/pion/dtls/v2"
	"github.com/pion/dtls/v2/pkg/crypto/clientcertificate"
	"github.com/pion/dtls/v2/pkg/crypto/prf"
	wirehandshake "github.com/pion/dtls/v2/pkg/protocol/handshake"
	"github.com/pion/dtls/v2/pkg/protocol/recordlayer"
	"github.com/pion/logging"

	"troupe/messages/counters"
)

// Only this file uses github.com/pion/dtls. It runs a handshake and returns the keys. Version 2 is no longer
// maintained. The filter (filter.go) keeps away all input that it is known to mishandle. Its record layer seals only
// the one Finished of a handshake, because its AES-GCM nonces are random (CVE-2026-26014).

// flightIntervalMin and flightIntervalMax are the bounds of the random time after which a handshake sends a flight
// again. It is random so that many peers that lost their connections together do not resend together. The library
// resends at regular intervals; [repeats] drops some of these resends.
const (
	flightIntervalMin = 150 * time.Millisecond
	flightIntervalMax = 250 * time.Millisecond
)

var errNoKeys = errors.New("dtls: the handshake left no keys")

// serverHandshake runs the server's side over conn and closes conn. suite is one that the ClientHello offers.
func serverHandshake(ctx context.Context, conn *pipe, cert *tls.Certificate, suite counters.Suite, sessions *Sessions) (*secrets, error) {
	store := &sessionStore{sessions: sessions}
	captured, config := baseConfig(suite, store)
	config.Certificates = []tls.Certificate{*cert}
	return finish(conn, captured, store, func() (*dtls.Conn, error) { return dtls.ServerWithContext(ctx, conn, config) })
}

// clientHandshake runs the client's side over conn and closes conn.
func clientHandshake(ctx context.Context, conn *pipe, roots *x509.CertPool, name string, sessions *Sessions) (*secrets, error) {
	store := &sessionStore{sessions: sessions}
	captured, config := baseConfig(counters.SuiteChaCha20, store)
	config.RootCAs, config.ServerName = roots, name
	if net.ParseIP(name) != nil { // the library treats an IP address as no name at all
		config.VerifyPeerCertificate = func(_ [][]byte, chains [][]*x509.Certificate) error { return chains[0][0].VerifyHostname(name) }
	}
	return finish(conn, captured, store, func() (*dtls.Conn, error) { return dtls.ClientWithContext(ctx, conn, config) })
}

// baseConfig offers only the given suite. For ChaCha20, captured receives the keys.
func baseConfig(suite counters.Suite, store *sessionStore) (captured *atomic.Pointer[secrets], _ *dtls.Config) {
	captured = new(atomic.Pointer[secrets])
	config := &dtls.Config{
		FlightInterval: flightIntervalMin + rand.N(flightIntervalMax-flightIntervalMin), MTU: 1200, LoggerFactory: silent, CipherSuites: []dtls.CipherSuiteID{},
	}
	if store.sessions != nil {
		config.SessionStore = store
	}
	if suite == counters.SuiteAESGCM {
		config.CipherSuites = append(config.CipherSuites, dtls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)
	} else {
		config.CustomCipherSuites = func() []dtls.CipherSuite { return []dtls.CipherSuite{&chaCha20{captured: captured}} }
	}
	return captured, config
}

// finish runs a handshake and then closes the library's connection.
func finish(conn *pipe, captured *atomic.Pointer[secrets], store *sessionStore, run func() (*dtls.Conn, error)) (*secrets, error) {
	defer conn.Close()
	c, err := run()
	if err != nil {
		return nil, fmt.Errorf("dtls: handshake: %w", err)
	}
	conn.mute()
	state := c.ConnectionState()
	out := captured.Load()
	if out == nil {
		out, err = gcmSecrets(&state)
	}
	closeErr := c.Close() // writes close_notify to the muted pipe, and waits for the library's goroutines
	if err = errors.Join(err, closeErr); err != nil {
		return nil, err
	}
	out.resumed = store.resumed()
	return out, nil
}

// gcmSecrets derives the keys of a handshake with the library's own suite.
func gcmSecrets(state *dtls.State) (*secrets, error) {
	b, err := state.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var s struct { // only the encoded fields that are used here
		LocalRandom, RemoteRandom [randomSize]byte
		CipherSuiteID             uint16
		MasterSecret              []byte
		IsClient                  bool
	}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&s); err != nil {
		return nil, err
	}
	if s.CipherSuiteID != suiteAESGCM || len(s.MasterSecret) == 0 {
		return nil, errNoKeys
	}
	client, server := s.RemoteRandom, s.LocalRandom
	if s.IsClient {
		client, server = server, client
	}
	return derive(counters.SuiteAESGCM, s.MasterSecret, client[:], server[:], s.IsClient, 16, 4)
}

func derive(suite counters.Suite, master, client, server []byte, isClient bool, keySize, ivSize int) (*secrets, error) {
	k, err := prf.GenerateEncryptionKeys(master, client, server, 0, keySize, ivSize, sha256.New)
	if err != nil {
		return nil, err
	}
	s := &secrets{suite: suite, localKey: k.ServerWriteKey, localIV: k.ServerWriteIV, remoteKey: k.ClientWriteKey, remoteIV: k.ClientWriteIV}
	if isClient {
		s.localKey, s.localIV, s.remoteKey, s.remoteIV = s.remoteKey, s.remoteIV, s.localKey, s.localIV
	}
	return s, nil
}

// chaCha20 implements TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (RFC 7905), which the library lacks. It encrypts
// and decrypts only the two Finished messages.
type chaCha20 struct {
	captured *atomic.Pointer[secrets]
	keys     atomic.Pointer[keys]
}

func (c *chaCha20) String() string                          { return "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" }
func (c *chaCha20) ID() dtls.CipherSuiteID                  { return suiteChaCha20 }
func (c *chaCha20) CertificateType() clientcertificate.Type { return clientcertificate.ECDSASign }
func (c *chaCha20) HashFunc() func() hash.Hash              { return sha256.New }
func (c *chaCha20) ECC() bool                               { return true }
func (c *chaCha20) IsInitialized() bool                     { return c.keys.Load() != nil }

func (c *chaCha20) AuthenticationType() dtls.CipherSuiteAuthenticationType {
	return dtls.CipherSuiteAuthenticationTypeCertificate
}

func (c *chaCha20) KeyExchangeAlgorithm() dtls.CipherSuiteKeyExchangeAlgorithm {
	return dtls.CipherSuiteKeyExchangeAlgorithmEcdhe
}

// Init implements dtls.CipherSuite.
func (c *chaCha20) Init(master, client, server []byte, isClient bool) error {
	s, err := derive(counters.SuiteChaCha20, master, client, server, isClient, 32, 12)
	if err != nil {
		return err
	}
	k, err := newKeys(s)
	if err != nil {
		return err
	}
	c.keys.Store(&k)
	c.captured.Store(s)
	return nil
}

// Encrypt implements dtls.CipherSuite. raw is a plaintext record.
func (c *chaCha20) Encrypt(pkt *recordlayer.RecordLayer, raw []byte) ([]byte, error) {
	k := c.keys.Load()
	if k == nil || len(raw) < headerSize || len(raw) > headerSize+PlainMax || pkt.Header.Epoch != 1 {
		return nil, errors.New("dtls: nothing to encrypt with, or too much to encrypt")
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	sealed := k.sealRecord(s, contentType(pkt.Header.ContentType), pkt.Header.SequenceNumber, raw[headerSize:])
	return append([]byte(nil), sealed...), nil
}

// Decrypt implements dtls.CipherSuite. It returns the plaintext record.
func (c *chaCha20) Decrypt(raw []byte) ([]byte, error) {
	r, _, drop := nextRecord(raw)
	if drop != 0 {
		return nil, errors.New("dtls: not a record")
	}
	if r.typ == changeCipherSpec {
		return raw, nil
	}
	k := c.keys.Load()
	if k == nil {
		return nil, errNoKeys
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	plain, ok := k.openRecord(s, &r)
	if !ok {
		return nil, errors.New("dtls: a record does not decrypt")
	}
	out := append(append([]byte(nil), raw[:headerSize]...), plain...)
	binary.BigEndian.PutUint16(out[11:], uint16(len(plain)))
	return out, nil
}

// sessionStore adapts Sessions to the library's interface.
type sessionStore struct {
	sessions *Sessions
	found    atomic.Bool
	stored   atomic.Bool
}

func (s *sessionStore) resumed() bool { return s.found.Load() && !s.stored.Load() }

// Get implements dtls.SessionStore.
func (s *sessionStore) Get(key []byte) (dtls.Session, error) {
	found, ok := s.sessions.get(string(key))
	if !ok {
		return dtls.Session{}, nil
	}
	s.found.Store(true)
	return dtls.Session{ID: found.id, Secret: found.secret}, nil
}

// Set implements dtls.SessionStore.
func (s *sessionStore) Set(key []byte, v dtls.Session) error {
	s.stored.Store(true)
	s.sessions.put(string(key), v.ID, v.Secret)
	return nil
}

// Del implements dtls.SessionStore.
func (s *sessionStore) Del(key []byte) error {
	s.sessions.drop(string(key))
	return nil
}

// libraryReads reports whether the library's parser accepts a message. It runs the parser here, where a panic can be recovered.
func libraryReads(m *message) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	header := wirehandshake.Header{Type: wirehandshake.Type(m.typ), Length: uint32(m.length), MessageSequence: m.sequence,
		FragmentLength: uint32(m.length)}
	raw, err := header.Marshal()
	if err != nil {
		return false
	}
	h := wirehandshake.Handshake{KeyExchangeAlgorithm: dtls.CipherSuiteKeyExchangeAlgorithmEcdhe}
	return h.Unmarshal(append(raw, m.body...)) == nil
}

// silent discards the library's log lines, because peers could fill the log.
var silent = &logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled}

var _ net.Conn = (*pipe)(nil)
