package host

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
)

// streams requests the event stream with a token, and returns the status.
func (h *testHost) streams(token string) int {
	h.t.Helper()
	a := h.ask("GET", "/events", "", "Authorization", "Bearer "+token)
	a.Body.Close()
	return a.StatusCode
}

func TestReload(t *testing.T) { synctest.Test(t, reloadChangesWhatItCan) }

func reloadChangesWhatItCan(t *testing.T) {
	const old, replaced = "a-token-of-this-test", "another-token-of-this-test"
	c := config(t)
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(old)
	c.Events.SSE.SecretFile = file
	c.API.Keys = []APIKey{{ID: guardKey, Secret: guardSecret}}
	level := zerolog.InfoLevel
	h := begin(t, Options{Config: c, SetLogLevel: func(l zerolog.Level) { level = l }})
	if h.streams(old) != http.StatusOK || h.streams(replaced) != http.StatusUnauthorized {
		t.Fatal("the token is not the one of the file")
	}

	// A reload reads the files again, even if the configuration is unchanged.
	write(replaced)
	applied, restart, err := h.Reload(c)
	if err != nil || applied != nil || restart != nil {
		t.Fatalf("%v, %v, %v", applied, restart, err)
	}
	if h.streams(old) != http.StatusUnauthorized || h.streams(replaced) != http.StatusOK {
		t.Error("the old token is still in force")
	}

	// Reloadable keys are applied. The others are reported by each reload until a restart.
	next := c
	next.API.Keys = []APIKey{{ID: "KEYOTHER", Secret: "another-secret-of-the-test"}}
	next.Log.Level, next.Reconnect.Window, next.Workers = "debug", 11*time.Second, 3
	for range 2 {
		applied, restart, err = h.Reload(next)
		if err != nil || !slices.Equal(restart, []string{"reconnect.window", "workers"}) {
			t.Errorf("%v, %v", restart, err)
		}
		if applied != nil && !slices.Equal(applied, []string{"api.keys", "log.level"}) {
			t.Error(applied)
		}
	}
	if applied != nil || level != zerolog.DebugLevel {
		t.Errorf("%v, the level is %v", applied, level)
	}
	if known := h.reloads.knows("KEYOTHER"); !known || h.reloads.knows(guardKey) {
		t.Error("the old key is still in force")
	}

	// A configuration with a mistake changes nothing.
	bad := next
	bad.Log.Level, bad.API.Keys = "error", []APIKey{{ID: guardKey, SecretFile: filepath.Join(t.TempDir(), "none")}}
	if _, _, err := h.Reload(bad); err == nil || !strings.Contains(err.Error(), "api.keys[0].secretFile") {
		t.Errorf("%v", err)
	}
	if level != zerolog.DebugLevel || !h.reloads.knows("KEYOTHER") {
		t.Errorf("something has changed: %v", level)
	}

	// A reload cannot make a host with keys accept every caller.
	open := next
	open.API.Keys = nil
	if _, restart, err := h.Reload(open); err != nil || !slices.Contains(restart, "api.keys") || !h.reloads.knows("KEYOTHER") {
		t.Errorf("%v, %v", restart, err)
	}
}

// knows reports whether an access key is in force. An unknown key is refused as unrecognized.
func (s *reloads) knows(key string) bool {
	r, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(""))
	r.Header.Set("X-Amz-Date", time.Now().UTC().Format("20060102T150405Z"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/"+time.Now().UTC().Format("20060102")+
		"/us-east-1/gamelift/aws4_request, SignedHeaders=host;x-amz-date, Signature="+strings.Repeat("0", 64))
	_, err := s.authenticate(r)
	return err == nil || !strings.Contains(err.Error(), "security token")
}

func TestReloadOfSinks(t *testing.T) { synctest.Test(t, reloadOfSinks) }

func reloadOfSinks(t *testing.T) {
	c := config(t)
	h := begin(t, Options{Config: c})
	file := filepath.Join(t.TempDir(), "events.jsonl")
	next := c
	next.Events.Sinks = []EventSink{{Name: "audit", Type: "file", Path: file, All: true, Kinds: []string{"placement"}}}
	if applied, restart, err := h.Reload(next); err != nil || !slices.Equal(applied, []string{"events.sinks"}) || restart != nil {
		t.Fatalf("%v, %v, %v", applied, restart, err)
	}
	e := placementEvent(1)
	stored := make(chan error, 1)
	// as actors do: an event is committed with the change it reports
	h.store.Commit([]store.Change{store.Put(store.Event, e.ID, e)}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	h.events.Post(e)
	synctest.Wait()
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "Placement") {
		t.Errorf("the new sink's file has %q, %v", text, err)
	}
	// Events of game sessions are created only if a destination wanted them when the host started.
	next.Events.Sinks = []EventSink{{Name: "audit", Type: "file", Path: file, All: true, Kinds: []string{"gamesession"}}}
	if applied, restart, err := h.Reload(next); err != nil || applied != nil || !slices.Equal(restart, []string{"events.sinks"}) {
		t.Errorf("%v, %v, %v", applied, restart, err)
	}
	// A secret that cannot be read changes nothing.
	next.Events.Sinks = []EventSink{{Name: "hook", Type: "webhook-raw", URL: "https://example.com", All: true, SecretFile: filepath.Join(t.TempDir(), "none")}}
	if _, _, err := h.Reload(next); err == nil || !strings.Contains(err.Error(), "events.sinks[0].secretFile") {
		t.Errorf("%v", err)
	}
	if applied, _, err := h.Reload(c); err != nil || !slices.Equal(applied, []string{"events.sinks"}) || len(h.sinks) != 0 {
		t.Errorf("%v, %v", applied, err)
	}
}

// writeCertificate writes a certificate for localhost with the given serial number, and its key.
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

// A reload, as after SIGHUP, makes the open listeners use a new certificate, and keeps existing connections.
// If the files do not match, nothing changes.
func TestAReloadServesANewCertificate(t *testing.T) { synctest.Test(t, aReloadServesANewCertificate) }

func aReloadServesANewCertificate(t *testing.T) {
	c := config(t)
	dir := t.TempDir()
	// ReloadEvery is an hour, so that the periodic check does not reload first
	c.API.TLS, c.WSS.Addr, c.DTLS.Addr, c.TLS.ReloadEvery = true, "127.0.0.1:0", "127.0.0.1:0", time.Hour
	c.TLS.CertFile, c.TLS.KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, c.TLS.CertFile, c.TLS.KeyFile, 11)
	h := begin(t, Options{Config: c})
	dial := func(addr string) *tls.Conn {
		t.Helper()
		plain, err := h.net.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conn := tls.Client(plain, &tls.Config{InsecureSkipVerify: true}) // the test compares serial numbers instead
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
	want(11) // the old certificate, until the reload
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

	writeCertificate(t, c.TLS.CertFile, filepath.Join(dir, "other"), 33) // the key does not match: it is written to another file
	if _, _, err := h.Reload(c); err == nil {
		t.Error("a certificate without its key is taken over")
	}
	want(22)
}
