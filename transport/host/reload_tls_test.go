package host

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// writeCertificate writes a certificate for localhost with a serial number, and its key.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(90 * 24 * time.Hour), DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A reload, as after SIGHUP, puts a new certificate in force on the listeners that are open, and leaves their connections alone.
// Files that do not fit together change nothing.
func TestAReloadServesANewCertificate(t *testing.T) { synctest.Test(t, aReloadServesANewCertificate) }

func aReloadServesANewCertificate(t *testing.T) {
	c := config(t)
	dir := t.TempDir()
	c.API.TLS, c.WSS.Addr, c.DTLS.Addr, c.TLS.ReloadEvery = true, "127.0.0.1:0", "127.0.0.1:0", time.Hour // no watch is to be faster
	c.TLS.CertFile, c.TLS.KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, c.TLS.CertFile, c.TLS.KeyFile, 11)
	h := begin(t, Options{Config: c})
	dial := func(addr string) *tls.Conn {
		t.Helper()
		plain, err := h.net.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conn := tls.Client(plain, &tls.Config{InsecureSkipVerify: true}) // the serial number tells
		t.Cleanup(func() { conn.Close() })
		if err := conn.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	listeners := map[string]string{"wss": h.Addrs().WSS, "api": h.Addrs().API}
	want := func(serial int64) {
		t.Helper()
		for name, addr := range listeners {
			if got := dial(addr).ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != serial {
				t.Errorf("%s: certificate %d, want %d", name, got, serial)
			}
		}
	}
	want(11)
	old := dial(h.Addrs().WSS)

	writeCertificate(t, c.TLS.CertFile, c.TLS.KeyFile, 22)
	want(11) // not before the reload
	if applied, restart, err := h.Reload(c); err != nil || applied != nil || restart != nil {
		t.Errorf("%v, %v, %v", applied, restart, err)
	}
	want(22)
	if _, err := old.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		t.Error(err)
	}
	if n, err := old.Read(make([]byte, 100)); n == 0 {
		t.Errorf("the connection from before the reload gets no answer: %v", err)
	}

	writeCertificate(t, c.TLS.CertFile, filepath.Join(dir, "other"), 33) // its key is elsewhere
	if _, _, err := h.Reload(c); err == nil {
		t.Error("a certificate without its key is taken over")
	}
	want(22)
}
