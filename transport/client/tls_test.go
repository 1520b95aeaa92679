package client_test

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"sync"

	"troupe/transport/tlsconf"
)

// authority is the certificate of all hosts in these tests, for localhost and
// 127.0.0.1.
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

// tlsFront listens for TLS and hands on what comes to a host that speaks without.
// A connection cut on one side is cut on the other. Stop waits for all of them.
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
