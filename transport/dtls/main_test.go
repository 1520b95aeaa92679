package dtls

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages/counters"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority is a CA and a leaf for localhost, made once.
var authority = sync.OnceValue(func() (a struct {
	leaf  *tls.Certificate
	roots *x509.CertPool
	pem   []byte
}) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Unix(1<<33, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Unix(1<<33, 0), DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	must(err)
	parsed, err := x509.ParseCertificate(caDER)
	must(err)
	a.leaf = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	a.roots = x509.NewCertPool()
	a.roots.AddCert(parsed)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	return a
})

// inbox is a Handler that keeps received records.
type inbox struct {
	a      *Association
	got    chan []byte
	closed chan error
	echo   bool
}

func newInbox(a *Association) *inbox {
	return &inbox{a: a, got: make(chan []byte, 1024), closed: make(chan error, 2)}
}

func (i *inbox) OnRecord(plain []byte) {
	if i.echo {
		i.a.Write(plain)
		return
	}
	select {
	case i.got <- append([]byte(nil), plain...):
	default:
	}
}

func (i *inbox) OnClosed(err error) { i.closed <- err }

// acceptAll accepts every association and hands its inbox over.
type acceptAll struct {
	new  chan *inbox
	echo bool
}

func (s *acceptAll) Accept(a *Association) Handler {
	i := newInbox(a)
	i.echo = s.echo
	select {
	case s.new <- i:
	default:
	}
	return i
}

// server is an Endpoint: on a network of the tests, or on loopback for foreign peers (serve).
type server struct {
	*Endpoint
	testing.TB
	count *counters.Set
	new   chan *inbox
}

func serve(t testing.TB, change func(o *Options, s *acceptAll)) *server {
	t.Helper()
	acc := &acceptAll{new: make(chan *inbox, 64)}
	o := testOptions()
	if change != nil {
		change(&o, acc)
	}
	s := listen(t, o, acc)
	s.new = acc.new
	return s
}

func serveWith(t testing.TB, acc Acceptor) *server { return listen(t, testOptions(), acc) }

func testOptions() Options {
	return Options{Addr: "127.0.0.1:0", Certificate: func() *tls.Certificate { return authority().leaf }, Counters: new(counters.Set)}
}

func listen(t testing.TB, o Options, acc Acceptor) *server {
	t.Helper()
	e, err := Listen(o, acc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &server{Endpoint: e, TB: t, count: o.Counters}
}

func (s *server) dial(change func(o *DialOptions)) *inbox {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var box *inbox
	o := DialOptions{Addr: s.Addr().String(), Roots: authority().roots, ServerName: "localhost"}
	if change != nil {
		change(&o)
	}
	a, err := Dial(ctx, o, func(a *Association) Handler { box = newInbox(a); return box })
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { a.Close(); await(s, box.closed) })
	return box
}

// await takes one value, which must come soon.
func await[T any](t testing.TB, c chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return v
}

// counted waits until a counter has reached n.
func counted(t testing.TB, what string, get func() int64, n int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); get() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %d, want %d", what, get(), n)
		}
	}
}
