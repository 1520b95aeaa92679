package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/transporttest/memnet"
)

// echo serves TLS on an in-memory network until the end of the test. It returns a function that connects to
// the server.
func echo(t *testing.T, config *tls.Config) (dial func(config *tls.Config) (*tls.Conn, error)) {
	t.Helper()
	network := memnet.New(memnet.Seed(t))
	under, err := network.Node().Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ln := tls.NewListener(under, config)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() { _ = ln.Close(); serving.Wait(); network.Close() })
	return func(config *tls.Config) (*tls.Conn, error) {
		raw, err := network.Node().Dial(t.Context(), ln.Addr().(*net.TCPAddr).AddrPort())
		if err != nil {
			return nil, err
		}
		conn := tls.Client(raw, config)
		t.Cleanup(func() { _ = conn.Close() })
		return conn, conn.HandshakeContext(t.Context())
	}
}

// talk sends data in both directions. With TLS 1.3, a client may not notice a refusal before that.
func talk(t *testing.T, conn *tls.Conn) error {
	t.Helper()
	var b [5]byte
	if _, err := conn.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, b[:])
	return err
}

// stores returns a store with an ECDSA leaf and one with an RSA leaf.
func stores(t *testing.T) map[string]*Store {
	t.Helper()
	rsa, _, _, _ := operators(t, "RSA", time.Now())
	return map[string]*Store{
		"ECDSA": load(t, Options{Dir: t.TempDir(), Hosts: []string{"game.example"}}),
		"RSA":   load(t, rsa),
	}
}

// RT-9, RL-214.
func TestHandshakeMatrix(t *testing.T) {
	versions := func(v uint16) *tls.Config { return &tls.Config{MinVersion: v, MaxVersion: v} }
	with := func(suites ...uint16) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, CipherSuites: suites}
	}
	const both = "ECDSA RSA"
	leaves := stores(t)
	for _, c := range []struct {
		name   string
		config *tls.Config
		works  string // kinds of leaf with which the handshake succeeds
	}{
		{"1.0", versions(tls.VersionTLS10), ""},
		{"1.1", versions(tls.VersionTLS11), ""},
		{"1.2", versions(tls.VersionTLS12), both},
		{"1.3", versions(tls.VersionTLS13), both},
		{"anything from 1.0", &tls.Config{MinVersion: tls.VersionTLS10}, both},

		{"ECDHE-ECDSA-AES128-GCM", with(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256), "ECDSA"},
		{"ECDHE-ECDSA-AES256-GCM", with(tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384), "ECDSA"},
		{"ECDHE-ECDSA-CHACHA20", with(tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256), "ECDSA"},
		{"ECDHE-RSA-AES128-GCM", with(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), "RSA"},
		{"ECDHE-RSA-AES256-GCM", with(tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384), "RSA"},
		{"ECDHE-RSA-CHACHA20", with(tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256), "RSA"},

		{"CBC", with(tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
			tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA), ""},
		{"CBC with SHA-256", with(tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256), ""},
		{"RSA key exchange", with(tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_128_CBC_SHA), ""},
		{"RC4 and 3DES", with(tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA), ""},
	} {
		for kind, s := range leaves {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				config := c.config.Clone()
				config.RootCAs, config.ServerName, config.NextProtos = s.current.Load().roots, "game.example", []string{"h2", "http/1.1"}
				conn, err := echo(t, s.ServerConfig())(config)
				if err == nil {
					err = talk(t, conn)
				}
				if works := c.works == both || c.works == kind; works != (err == nil) {
					t.Fatalf("works: %v, wanted %v (%v)", err == nil, works, err)
				}
				if c.config.MaxVersion != 0 && c.config.MaxVersion < tls.VersionTLS12 && !strings.Contains(err.Error(), "protocol version") {
					t.Errorf("refused for another reason than the version: %v", err)
				}
				if err == nil && conn.ConnectionState().NegotiatedProtocol != "http/1.1" {
					t.Errorf("protocol %q", conn.ConnectionState().NegotiatedProtocol)
				}
				if c.name == "anything from 1.0" && conn.ConnectionState().Version != tls.VersionTLS13 {
					t.Errorf("version %x is not the newest", conn.ConnectionState().Version)
				}
			})
		}
	}
	// The server caused the refusals above: the same client succeeds with a less strict server.
	careless := leaves["ECDSA"].ServerConfig()
	careless.MinVersion = tls.VersionTLS10
	careless.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
	for _, config := range []*tls.Config{versions(tls.VersionTLS11), with(tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA)} {
		config.InsecureSkipVerify = true
		if _, err := echo(t, careless)(config); err != nil {
			t.Errorf("the client itself refuses: %v", err)
		}
	}
}

func TestPlayerWithoutTheAnchorOrWithAnotherName(t *testing.T) {
	s := load(t, Options{Dir: t.TempDir(), Hosts: []string{"game.example"}})
	dial := echo(t, s.ServerConfig())
	for name, config := range map[string]*tls.Config{
		"no anchor":  {ServerName: "game.example", RootCAs: x509.NewCertPool()},
		"wrong name": {ServerName: "other.example", RootCAs: s.current.Load().roots},
	} {
		if _, err := dial(config); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
}

// RL-214.
func TestReloadSwapsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := load(t, Options{Dir: dir})
		dial := echo(t, s.ServerConfig())
		config := &tls.Config{ServerName: "localhost", RootCAs: s.current.Load().roots}

		before, err := dial(config)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * day)
		if err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		after, err := dial(config)
		if err != nil {
			t.Fatal(err)
		}
		old, fresh := before.ConnectionState().PeerCertificates[0], after.ConnectionState().PeerCertificates[0]
		if old.SerialNumber.Cmp(fresh.SerialNumber) == 0 || !fresh.Equal(s.Certificate().Leaf) {
			t.Errorf("served %v, then %v", old.SerialNumber, fresh.SerialNumber)
		}
		for name, conn := range map[string]*tls.Conn{"before": before, "after": after} {
			if err := talk(t, conn); err != nil {
				t.Errorf("connection from %s the reload: %v", name, err)
			}
		}
	})
}

func TestResumption(t *testing.T) {
	s := load(t, Options{Dir: t.TempDir()})
	dial := echo(t, s.ServerConfig())
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := &tls.Config{
			ServerName: "localhost", RootCAs: s.current.Load().roots, MinVersion: version, MaxVersion: version,
			ClientSessionCache: tls.NewLRUClientSessionCache(1),
		}
		for round, want := range []bool{false, true} {
			conn, err := dial(config)
			if err == nil {
				err = talk(t, conn) // a TLS 1.3 ticket arrives after the handshake
			}
			if err != nil || conn.ConnectionState().DidResume != want {
				t.Fatalf("version %x round %d: %v", version, round, err)
			}
		}
	}
}

func TestCertificateDoesNotAllocate(t *testing.T) {
	s := load(t, Options{Dir: t.TempDir()})
	if n := testing.AllocsPerRun(100, func() { _, _ = s.Certificate(), s.CAPEM() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
