package stock

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// identity is a CA, and a certificate for game.example that it has issued.
type identity struct {
	ca    []byte // PEM
	roots *x509.CertPool
	leaf  tls.Certificate
	file  string // file with certificate and key
}

func newIdentity(t *testing.T) identity {
	t.Helper()
	make1 := func(template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if by == nil {
			by = key
		}
		template.SerialNumber = big.NewInt(time.Now().UnixNano())
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	ca := &x509.Certificate{Subject: pkix.Name{CommonName: "CA " + rand.Text()}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caDER, caKey := make1(ca, ca, nil)
	parent, err := x509.ParseCertificate(caDER)
	if err != nil {
		t.Fatal(err)
	}
	leafDER, leafKey := make1(&x509.Certificate{
		Subject: pkix.Name{CommonName: "host"}, DNSNames: []string{"game.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, parent, caKey)
	secret, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	id := identity{
		ca:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		roots: x509.NewCertPool(),
		leaf:  tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: leafKey},
		file:  filepath.Join(t.TempDir(), "leaf.pem"),
	}
	id.roots.AddCert(parent)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(id.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return id
}

// dtlsPeer is the server's end of the fast channel. It is an openssl s_server, so it does not use the host's
// DTLS library.
type dtlsPeer struct {
	t    *testing.T
	pipe *net.UnixConn
	port int32
}

func needOpenSSL(t *testing.T) string {
	t.Helper()
	path, reason := HasOpenSSL()
	if path == "" {
		t.Skip(reason)
	}
	return path
}

// serveDTLS serves the given number of associations one after the other, and then ends.
func serveDTLS(t *testing.T, id identity, associations int) *dtlsPeer {
	t.Helper()
	path := needOpenSSL(t)
	_, port := freePort(t)
	pipe, theirs, err := packetPair()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "s_server", "-dtls1_2", "-quiet", "-accept", fmt.Sprintf("127.0.0.1:%d", port),
		"-cert", id.file, "-key", id.file, "-naccept", fmt.Sprint(associations))
	cmd.Stdin, cmd.Stdout = theirs, theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	t.Cleanup(func() { _ = pipe.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_ = pipe.SetDeadline(time.Now().Add(time.Minute))
	for end := time.Now().Add(patience); !bound(t, port); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("openssl s_server does not bind its port")
		}
	}
	return &dtlsPeer{t: t, pipe: pipe, port: port}
}

// freePort returns a free UDP port, and the closed socket that was bound to it.
func freePort(t *testing.T) (net.PacketConn, int32) {
	t.Helper()
	u, port := listenPeer(t, system{})
	_ = u.conn.Close()
	return u.conn, port
}

// bound reports whether a socket is bound to the UDP port of 127.0.0.1. It does not bind the port itself.
func bound(t *testing.T, port int32) bool {
	t.Helper()
	table, err := os.ReadFile("/proc/net/udp")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(table), fmt.Sprintf(" 0100007F:%04X ", port))
}

func (d *dtlsPeer) read(p *peer) Packet {
	d.t.Helper()
	buf := make([]byte, 1<<16)
	n, err := d.pipe.Read(buf)
	if err != nil || n == 0 {
		d.t.Fatalf("no record: %v", err)
	}
	return p.decode(bytes.Clone(buf[:n]))
}

// silent fails the test if a record arrives for a moment. With ended, the association must end within a
// minute.
func (d *dtlsPeer) silent(ended bool) {
	d.t.Helper()
	wait := 300 * time.Millisecond
	if ended {
		wait = time.Minute
	}
	_ = d.pipe.SetReadDeadline(time.Now().Add(wait))
	buf := make([]byte, 1<<16)
	n, err := d.pipe.Read(buf)
	if over := n == 0 && !errors.Is(err, os.ErrDeadlineExceeded); n > 0 || over != ended {
		d.t.Errorf("%d bytes, %v, association over: %v", n, err, over)
	}
}

func (d *dtlsPeer) send(packet Packet) { d.t.Helper(); d.write(EncodeUnit(packet)) }

func (d *dtlsPeer) write(record []byte) {
	d.t.Helper()
	if _, err := d.pipe.Write(record); err != nil {
		d.t.Fatal(err)
	}
}

// dialSecured connects over TLS to a server that presents the identity's certificate. opts decides what the client trusts.
func dialSecured(t *testing.T, id identity, opts Options) (*Client, *peer) {
	t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{id.leaf}})
	if err != nil {
		t.Fatal(err)
	}
	return dialOn(t, ln, opts)
}

func secureResponse(id identity, fastPort int32) Packet {
	p := loginResponse(7, fastPort)
	p.LoginResult.CACert, p.LoginResult.ConnectToken = id.ca, "token-1"
	return p
}

func verified(success bool, number int32) Packet {
	return Packet{
		OpCode: OpVerifyIdentityResponse, SequenceNumber: number, TargetPlayer: 7, Sender: ServerID,
		VerifyIdentityResult: &VerifyIdentityResult{Success: success, PeerID: 7},
	}
}

// soon returns a context with the timeout of the test's waits.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// childOf returns the process id of the client's DTLS program.
func childOf(t *testing.T, c *Client) int {
	t.Helper()
	fast := c.fastChannel()
	if fast == nil {
		t.Fatal("no fast channel")
	}
	return fast.first.(*dtlsProcess).pid
}

// children returns the part of /proc/<pid>/stat after the process name for every child of the test, including
// zombies.
func children(t *testing.T) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		t.Fatalf("no /proc: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the process has just ended
		}
		_, after, _ := strings.Cut(string(text), ") ") // begins with the state and the parent
		if f := strings.Fields(after); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			found = append(found, string(text))
		}
	}
	return found
}

func gone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// unlessShort skips a test that runs further programs. With -short, TestSecured covers them.
func unlessShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts further programs")
	}
}

func TestSecured(t *testing.T) {
	id := newIdentity(t)
	for name, c := range map[string]struct {
		stack  Stack
		has    func() (string, string)
		cipher Cipher
		says   string
	}{
		"openssl/ChaCha20": {OpenSSL, HasOpenSSL, ChaCha20, "CHACHA20-POLY1305"},
		"openssl/GCM":      {OpenSSL, HasOpenSSL, AES128GCM, "AES128-GCM"},
		"openssl/both":     {0, HasOpenSSL, 0, "CHACHA20-POLY1305"},
		"gnutls/ChaCha20":  {GnuTLS, HasGnuTLS, ChaCha20, "CHACHA20-POLY1305"},
		"gnutls/GCM":       {GnuTLS, HasGnuTLS, AES128GCM, "AES-128-GCM"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.stack != 0 {
				unlessShort(t)
			}
			if path, reason := c.has(); path == "" {
				t.Skip(reason)
			}
			t.Setenv("TMPDIR", t.TempDir())
			d := serveDTLS(t, id, 1)
			opts := Secured(id.roots, "game.example")
			opts.DTLS.Stack, opts.DTLS.Cipher, opts.Payload = c.stack, c.cipher, []byte("\x00\xffhello\r\n")
			client, p := dialSecured(t, id, opts)
			if got := p.packet(); got.Login == nil {
				t.Fatalf("first packet: %+v", got)
			}
			p.send(secureResponse(id, d.port))
			if _, err := client.AwaitLogin(soon(t)); err != nil {
				t.Fatal(err)
			}
			if report := client.HandshakeReport(); !strings.Contains(report, c.says) {
				t.Errorf("the handshake was %s", report)
			}

			// The first record is VERIFY_IDENTITY, and it is the only one so far.
			want := Packet{
				OpCode: OpVerifyIdentity, Sender: 7, Payload: []byte("\x00\xffhello\r\n"),
				VerifyIdentity: &VerifyIdentity{PeerID: 7, ConnectToken: "token-1"},
			}
			if got := d.read(p); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			d.silent(false)
			_ = d.pipe.SetDeadline(time.Now().Add(time.Minute))
			if err := client.SendEvent(11); err != nil || !p.packet().Reliable {
				t.Errorf("before the answer everything goes by WebSocket: %v", err)
			}
			d.send(verified(true, 0))
			if err := client.AwaitFast(soon(t)); err != nil || client.Status() != StatusConnectedSendFast {
				t.Fatalf("%v, status %v", err, client.Status())
			}
			again := verified(true, 0)
			again.Reliable = true
			p.send(again) // repeated on the WebSocket, as in D-108

			// A burst of messages: each is one record with its number, whatever the bytes.
			const burst = 40
			payload := make([]byte, FastPayloadMax)
			for i := range payload {
				payload[i] = byte(i)
			}
			for i := range burst {
				if err := client.Send(Message{OpCode: 20, TargetGroup: AllPlayers, Payload: payload[:i*FastPayloadMax/(burst-1)]}); err != nil {
					t.Fatal(err)
				}
			}
			for i := range burst {
				got := d.read(p)
				if got.SequenceNumber != int32(i+1) || got.Reliable || got.Sender != 7 || !bytes.Equal(got.Payload, payload[:i*FastPayloadMax/(burst-1)]) {
					t.Fatalf("record %d: %+v", i, got)
				}
			}
			if err := client.JoinGroup(3); err != nil || d.read(p).JoinGroup == nil {
				t.Errorf("join: %v", err)
			}
			if err := client.Send(Message{OpCode: 21, Reliable: true}); err != nil || p.packet().OpCode != 21 {
				t.Errorf("reliable: %v", err)
			}
			if err := client.Send(Message{OpCode: 22, Payload: make([]byte, 1201)}); err != nil || p.packet().OpCode != 22 {
				t.Errorf("too large for fast: %v", err)
			}

			// The other direction, and the rule for sequence numbers.
			for i := range burst {
				d.send(Packet{OpCode: 30, SequenceNumber: int32(i + 1), TargetPlayer: 7, Sender: 2, Payload: payload[:i*FastPayloadMax/(burst-1)]})
			}
			for i := range burst {
				e, err := client.Expect(soon(t), OpVia(30, ChannelDTLS))
				if err != nil || !bytes.Equal(e.Payload, payload[:i*FastPayloadMax/(burst-1)]) || e.Channel != ChannelDTLS {
					t.Fatalf("record %d: %v, %v", i, e, err)
				}
			}
			if err := client.CheckSequences(); err != nil {
				t.Error(err)
			}
			if err := client.CheckReceived(); err != nil {
				t.Error(err)
			}
			d.send(Packet{OpCode: 31, SequenceNumber: burst, TargetPlayer: 7, Sender: 2})
			d.send(Packet{OpCode: 32, SequenceNumber: burst + 1, TargetPlayer: 7, Sender: 2})
			if _, err := client.Expect(soon(t), Op(32)); err != nil || client.Stats().Stale != 1 {
				t.Errorf("%v, stale %d", err, client.Stats().Stale)
			}

			pid := childOf(t, client)
			client.Close()
			gone(t, pid)
			d.silent(true) // the close-notify ends s_server
			if leftover, _ := filepath.Glob(filepath.Join(os.TempDir(), "stock-ca-*")); len(leftover) > 0 {
				t.Errorf("left behind: %v", leftover)
			}
		})
	}
}

// securedClient returns a client that has sent VERIFY_IDENTITY, and both ends of the server.
func securedClient(t *testing.T, edit func(*Options)) (*Client, *peer, *dtlsPeer, identity) {
	t.Helper()
	id := newIdentity(t)
	d := serveDTLS(t, id, 1)
	opts := Secured(id.roots, "game.example")
	if edit != nil {
		edit(&opts)
	}
	c, p := dialSecured(t, id, opts)
	p.packet()
	p.send(secureResponse(id, d.port))
	if _, err := c.AwaitLogin(soon(t)); err != nil {
		t.Fatal(err)
	}
	d.read(p)
	return c, p, d, id
}

func TestVerifiedByWebSocketAlone(t *testing.T) {
	unlessShort(t)
	c, p, d, _ := securedClient(t, nil)
	answer := verified(true, 0)
	answer.Reliable = true
	p.send(answer)
	if err := c.AwaitFast(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.SendEvent(11); err != nil || d.read(p).OpCode != 11 {
		t.Error(err)
	}
}

func TestVerifyRefused(t *testing.T) {
	unlessShort(t)
	c, p, d, _ := securedClient(t, nil)
	d.send(verified(false, 0))
	if err := c.AwaitFast(soon(t)); !errors.Is(err, ErrVerifyRefused) || !errors.Is(err, ErrNoFast) {
		t.Errorf("got %v", err)
	}
	if err := c.SendEvent(11); err != nil || !p.packet().Reliable || c.Status() != StatusConnected {
		t.Errorf("%v, status %v", err, c.Status())
	}
}

func TestEndDuringTheHandshake(t *testing.T) {
	unlessShort(t)
	needOpenSSL(t)
	id := newIdentity(t)
	for name, end := range map[string]func(*Client){"Kill": (*Client).Kill, "Close": (*Client).Close} {
		u, port := listenPeer(t, system{})
		c, p := dialSecured(t, id, Secured(id.roots, "game.example"))
		p.packet()
		p.send(secureResponse(id, port))
		if _, _, err := u.conn.ReadFrom(make([]byte, 2048)); err != nil {
			t.Fatal(err)
		}
		if len(children(t)) != 1 {
			t.Fatal("the handshake has no process")
		}
		start := time.Now()
		end(c)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if left := children(t); len(left) > 0 {
			t.Errorf("%s leaves processes %v", name, left)
		}
	}
}

func TestKillIsSilent(t *testing.T) {
	unlessShort(t)
	c, _, d, _ := securedClient(t, nil)
	pid := childOf(t, c)
	c.Kill()
	gone(t, pid)
	d.silent(false) // a close-notify would end s_server
}

func TestServerEndsTheAssociation(t *testing.T) {
	unlessShort(t)
	c, p, d, _ := securedClient(t, nil)
	d.send(verified(true, 0))
	if err := c.AwaitFast(soon(t)); err != nil {
		t.Fatal(err)
	}
	pid := childOf(t, c)
	_ = d.pipe.CloseWrite() // makes s_server send a close-notify
	if err := c.AwaitFastEnd(soon(t)); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	if err := c.SendEvent(11); !errors.Is(err, ErrNoFast) || c.Status() != StatusConnectedSendFast {
		t.Errorf("%v, status %v", err, c.Status())
	}
	if err := c.Send(Message{OpCode: 12, Reliable: true}); err != nil || p.packet().OpCode != 12 {
		t.Errorf("WebSocket: %v", err)
	}
}

func TestWhatTheHandshakeRefuses(t *testing.T) {
	unlessShort(t)
	needOpenSSL(t)
	id, other := newIdentity(t), newIdentity(t)
	damaged := bytes.Replace(other.ca, []byte("\nM"), []byte("\n%"), 1)
	bad := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})
	for name, c := range map[string]struct {
		caCert []byte
		stack  Stack
		dtls   identity // identity of the DTLS server
		whole  bool     // whether caCert is well-formed
	}{
		"empty":                       {nil, OpenSSL, id, false},
		"anchors of somebody else":    {other.ca, OpenSSL, id, true},
		"the same with GnuTLS":        {other.ca, GnuTLS, id, true},
		"server of somebody else":     {id.ca, OpenSSL, other, true},
		"no text":                     {[]byte("hello"), OpenSSL, id, false},
		"one bad certificate of two":  {append(bytes.Clone(id.ca), bad...), OpenSSL, id, false},
		"one damaged block of two":    {append(bytes.Clone(id.ca), damaged...), OpenSSL, id, false},
		"a NUL before the second one": {append(append(bytes.Clone(id.ca), 0), other.ca...), OpenSSL, id, false},
	} {
		t.Run(name, func(t *testing.T) {
			if path, reason := HasGnuTLS(); c.stack == GnuTLS && path == "" {
				t.Skip(reason)
			}
			d := serveDTLS(t, c.dtls, 1)
			opts := Secured(id.roots, "game.example")
			opts.DTLS.Stack, opts.DTLS.Timeout = c.stack, time.Minute
			client, p := dialSecured(t, id, opts)
			p.packet()
			answer := secureResponse(id, d.port)
			answer.LoginResult.CACert = c.caCert
			p.send(answer)
			_, err := client.AwaitLogin(soon(t))
			if thrown := errors.Is(err, ErrNoAnchors); thrown != (len(c.caCert) == 0) || !thrown && err != nil {
				t.Errorf("login: %v", err)
			}
			err = client.AwaitFast(soon(t))
			if !errors.Is(err, ErrNoFast) || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("fast: %v", err)
			}
			if found := client.CheckReceived(); (found == nil) != c.whole {
				t.Errorf("check: %v", found)
			}
			if err := client.SendEvent(11); err != nil || !p.packet().Reliable {
				t.Errorf("WebSocket: %v", err)
			}
		})
	}
}

// TestNamesAreComparedAsMbedTLSDoes: the certificate contains 127.0.0.1 as an IP address, and mbed TLS
// compares DNS names only.
func TestNamesAreComparedAsMbedTLSDoes(t *testing.T) {
	unlessShort(t)
	needOpenSSL(t)
	id := newIdentity(t)
	d := serveDTLS(t, id, 1)
	c, p := dialSecured(t, id, Secured(id.roots, "127.0.0.1"))
	p.packet()
	p.send(secureResponse(id, d.port))
	if err := c.AwaitFast(soon(t)); !errors.Is(err, ErrNoFast) || !strings.Contains(err.Error(), "ostname mismatch") {
		t.Errorf("fast: %v", err)
	}
}

func TestRecordSizes(t *testing.T) {
	unlessShort(t)
	c, _, d, _ := securedClient(t, nil)
	d.send(verified(true, 0))
	sized := func(number int32, size int) []byte {
		p := Packet{OpCode: 50, SequenceNumber: number, TargetPlayer: 7, Sender: ServerID, Payload: make([]byte, size-40)}
		for len(EncodeUnit(p)) < size {
			p.Payload = append(p.Payload, 0)
		}
		return EncodeUnit(p)
	}
	faulty := func(what string) bool {
		err := c.CheckReceived()
		return err != nil && strings.Contains(err.Error(), what)
	}
	for number, size := range []int{1023, 1024, 1025, 2047} {
		d.write(sized(int32(number+1), size))
		e, err := c.Expect(soon(t), Op(50))
		if err != nil || len(e.Raw) != size || e.Trailing != 0 || faulty("more than 2047") {
			t.Fatalf("record of %d bytes: %d, %v, %v", size, len(e.Raw), err, c.CheckReceived())
		}
	}
	d.write(sized(5, 2048))
	if e, err := c.Expect(soon(t), Op(50)); err != nil || len(e.Raw) != 2048 || !faulty("record of 2048 bytes") {
		t.Errorf("%d bytes, %v, %v", len(e.Raw), err, c.CheckReceived())
	}
	if faulty("after the unit") || faulty("undecodable") {
		t.Error(c.CheckReceived())
	}
	d.write(append(sized(6, 100), 0))
	if e, err := c.Expect(soon(t), Op(50)); err != nil || e.Trailing != 1 || !faulty("after the unit") {
		t.Errorf("%v, %v", e, err)
	}
	d.write([]byte{9, 1})
	if _, err := c.Expect(soon(t), func(e Event) bool { return e.Err != nil }); err != nil || !faulty("undecodable") {
		t.Error(err)
	}
}

func TestWSSIsChecked(t *testing.T) {
	id, other := newIdentity(t), newIdentity(t)
	lax := Secured(id.roots, "game.example")
	lax.TLS.InsecureSkipVerify = true
	m := machine(t)
	for name, c := range map[string]struct {
		opts   Options
		server *tls.Config
		word   string
	}{
		"other root":   {Secured(other.roots, "game.example"), &tls.Config{}, "unknown authority"},
		"other name":   {Secured(id.roots, "other.example"), &tls.Config{}, "other.example"},
		"TLS 1.3 only": {Secured(id.roots, "game.example"), &tls.Config{MinVersion: tls.VersionTLS13}, "protocol version"},
		"no checks":    {lax, &tls.Config{}, "InsecureSkipVerify"},
		"no TLS":       {Options{DTLS: &DTLS{}}, &tls.Config{}, "needs TLS"},
	} {
		c.server.Certificates = []tls.Certificate{id.leaf}
		under, err := m.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln := tls.NewListener(under, c.server)
		c.opts.Network = m
		done := make(chan struct{})
		go func() {
			defer close(done)
			if conn, err := ln.Accept(); err == nil {
				_, _, _ = answer(conn, nil)
				_ = conn.Close()
			}
		}()
		client, err := Dial(t.Context(), ln.Addr().String(), "psess-1", c.opts)
		if err == nil {
			client.Kill()
		}
		if err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", name, err)
		}
		_ = ln.Close()
		<-done
	}
}
