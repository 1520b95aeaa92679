package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"troupe/transport/tlsconf"
)

// authority is the certificate of all hosts in these tests, for localhost and 127.0.0.1.
var authority = sync.OnceValue(func() *tlsconf.Store {
	dir, err := os.MkdirTemp("", "client")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := tlsconf.Load(tlsconf.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	return store
})

// roots returns the trust anchors that a host has written to a file.
func roots(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("no certificate in the announced file")
	}
	return pool
}

// tlsFront terminates TLS and forwards to a host that does not speak it. When one side of a
// connection ends, so does the other. Stop waits for all connections.
func tlsFront(to string) (addr string, stop func(), err error) {
	l, err := tls.Listen("tcp", "127.0.0.1:0", authority().ServerConfig())
	if err != nil {
		return "", nil, err
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			work.Go(func() { io.Copy(in, out); in.Close() })
			work.Go(func() { io.Copy(out, in); out.Close() })
		}
	})
	return l.Addr().String(), func() {
		l.Close()
		work.Wait()
	}, nil
}
