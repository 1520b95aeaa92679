package tlsconf

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

// logged is a log that can be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(b) }

func (l *logged) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

func (l *logged) logger() zerolog.Logger { return zerolog.New(l) }

func load(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refused fails the test unless the error contains all the words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, wanted one about %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not name %q", err, w)
		}
	}
}

func write(t *testing.T, name string, mode os.FileMode, parts ...[]byte) string {
	t.Helper()
	if err := os.WriteFile(name, bytes.Join(parts, nil), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // the umask does not matter
		t.Fatal(err)
	}
	return name
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// issued is a certificate that another authority has issued.
type issued struct {
	cert      *x509.Certificate
	key       crypto.Signer
	pem, secr []byte
}

func keyOf(t testing.TB, kind string) crypto.Signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch kind {
	case "P-256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "P-224":
		key, err = ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	case "P-384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "RSA":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "Ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		t.Fatalf("no key kind %q", kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue creates a certificate. If by is nil, it is self-signed. Without names, it is a CA.
func issue(t testing.TB, kind string, by *issued, from, to time.Time, names ...string) *issued {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: rand.Text()}, NotBefore: from, NotAfter: to, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(names) == 0 {
		template.IsCA, template.KeyUsage, template.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	c := &issued{key: keyOf(t, kind)}
	if by == nil {
		by = &issued{cert: template, key: c.key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, c.key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	if c.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		t.Fatal(err)
	}
	c.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c.secr = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	return c
}

// operators writes the certificates of a root, an intermediate and a leaf with the given kind of key. It
// returns options that name the files.
func operators(t *testing.T, kind string, now time.Time) (o Options, root, between, leaf *issued) {
	t.Helper()
	dir := t.TempDir()
	root = issue(t, "P-256", nil, now.Add(-day), now.Add(1000*day))
	between = issue(t, "P-256", root, now.Add(-day), now.Add(500*day))
	leaf = issue(t, kind, between, now.Add(-day), now.Add(99*day), "game.example", "192.0.2.7")
	return Options{
		CertFile: write(t, filepath.Join(dir, "cert.pem"), 0o644, leaf.pem, between.pem),
		KeyFile:  write(t, filepath.Join(dir, "key.pem"), 0o600, leaf.secr),
		CAFile:   write(t, filepath.Join(dir, "ca.pem"), 0o644, root.pem),
		Hosts:    []string{"game.example", "192.0.2.7"},
	}, root, between, leaf
}

func encodeCertificates(list []*x509.Certificate) (out []byte) {
	for _, c := range list {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: c.Raw})...)
	}
	return out
}
