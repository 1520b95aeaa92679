package tlsconf

import (
	"bytes"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// caOf returns the CA of a directory with its key, as a thief would have it.
func caOf(t *testing.T, dir string) *issued {
	t.Helper()
	cert, err := parsePEM(read(t, filepath.Join(dir, "ca", "cert.pem")))
	if err != nil {
		t.Fatal(err)
	}
	key, err := parsePEM(read(t, filepath.Join(dir, "ca", "key.pem")))
	if err != nil {
		t.Fatal(err)
	}
	return &issued{cert: cert.certs[0], key: key.key}
}

// TestTheCASignsForItsNamesAlone: according to Go and openssl, certificates for other names are invalid, even
// if somebody has the CA's key.
func TestTheCASignsForItsNamesAlone(t *testing.T) {
	dir := t.TempDir()
	s := load(t, Options{Dir: dir, Hosts: []string{"game.example", "*.wild.example", "192.0.2.7", "2001:db8::1"}})
	ca := caOf(t, dir)
	if len(ca.cert.ExtKeyUsage) != 1 || ca.cert.ExtKeyUsage[0] != x509.ExtKeyUsageServerAuth {
		t.Errorf("the CA signs for %v", ca.cert.ExtKeyUsage)
	}
	if end := time.Now().AddDate(3, 0, 0); ca.cert.NotAfter.Before(end.Add(-day)) || ca.cert.NotAfter.After(end) {
		t.Errorf("the CA signs until %v, not for three years", ca.cert.NotAfter)
	}
	if want := []string{"game.example", "localhost", "wild.example", "127.0.0.1", "192.0.2.7", "::1", "2001:db8::1"}; !slices.Equal(Constraints(ca.cert), want) {
		t.Errorf("for %q, want %q", Constraints(ca.cert), want)
	}
	path, noOpenSSL := exec.LookPath("openssl")
	if noOpenSSL != nil {
		t.Log("openssl is not installed, Go alone is asked: ", noOpenSSL)
	}
	openssl := func(host, leaf string, good bool, args ...string) {
		t.Helper()
		if noOpenSSL != nil {
			return
		}
		args = append(append([]string{"verify", "-CAfile", CAFile(dir)}, args...), leaf)
		if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); (err == nil) != good {
			t.Errorf("%s: openssl: %s", host, out)
		}
	}
	for host, good := range map[string]bool{"game.example": true, "other.example": false} { // uses the leaf that the CA has signed
		openssl(host, filepath.Join(dir, "leaf.pem"), good, "-x509_strict", "-purpose", "sslserver", "-verify_hostname", host)
	}
	for host, good := range map[string]bool{
		"game.example": true, "eu.game.example": true, "a.wild.example": true, "localhost": true, "127.0.0.1": true, "192.0.2.7": true, "::1": true, "2001:db8::1": true,
		"bank.example": false, "example": false, "notgame.example": false, "192.0.2.8": false, "10.0.0.1": false, "2001:db8::2": false,
	} {
		stolen := issue(t, "P-256", ca, time.Now().Add(-day), time.Now().Add(day), host)
		_, err := stolen.cert.Verify(x509.VerifyOptions{DNSName: host, Roots: s.current.Load().roots})
		if (err == nil) != good {
			t.Errorf("%s: %v", host, err)
		}
		openssl(host, write(t, filepath.Join(t.TempDir(), "leaf.pem"), 0o600, stolen.pem), good)
	}
	client := issue(t, "P-256", ca, time.Now().Add(-day), time.Now().Add(day), "game.example")
	if _, err := client.cert.Verify(x509.VerifyOptions{Roots: s.current.Load().roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}}); err == nil {
		t.Error("it may sign for something else than servers")
	}
}

// TestACAOfAnOlderVersionStays: devices trust the CA, so it is kept, and only a warning is logged.
func TestACAOfAnOlderVersionStays(t *testing.T) {
	dir := t.TempDir()
	old := issue(t, "P-256", nil, time.Now().Add(-day), time.Now().Add(3000*day))
	if err := os.MkdirAll(filepath.Join(dir, "ca"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "ca", "cert.pem"), 0o600, old.pem)
	write(t, filepath.Join(dir, "ca", "key.pem"), 0o600, old.secr)
	var log logged
	s := load(t, Options{Dir: dir, Hosts: []string{"game.example"}, Log: log.logger()})
	if !bytes.Equal(s.CAPEM(), old.pem) || log.count("troupe tls rotate") != 1 {
		t.Errorf("the CA is another, or nothing was said: %s", log.b.String())
	}
	if again := load(t, Options{Dir: dir, Hosts: []string{"other.example"}}); !bytes.Equal(again.CAPEM(), old.pem) {
		t.Error("other names, another CA")
	}
}

func TestRotate(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, Hosts: []string{"game.example"}}
	running := load(t, o)
	first := running.CAPEM()
	next, err := Prepare(o)
	if err != nil || next != NextCAFile(dir) {
		t.Fatal(next, err)
	}
	prepared := read(t, next)
	if _, err := Prepare(o); err != nil || !bytes.Equal(read(t, next), prepared) {
		t.Errorf("prepared twice: %v", err)
	}
	if _, err := Prepare(Options{Dir: dir, Hosts: []string{"new.example"}}); err == nil || !strings.Contains(err.Error(), "new.example") {
		t.Errorf("prepared for another name: %v", err)
	}
	if old, err := Rotate(Options{Dir: dir, Hosts: []string{"new.example"}}); err == nil || old != "" || !bytes.Equal(read(t, CAFile(dir)), first) {
		t.Errorf("rotated to one that is prepared for another name: %q, %v", old, err)
	}
	// At its start, a host replaces a CA that is for loopback only. It refuses a prepared CA that may not sign for its name, too.
	local := t.TempDir()
	if _, err := Prepare(Options{Dir: local}); err != nil {
		t.Fatal(err)
	}
	load(t, Options{Dir: local})
	if _, err := Load(Options{Dir: local, Hosts: []string{"game.example"}}); err == nil || !strings.Contains(err.Error(), "ca-next") {
		t.Errorf("with a CA that may not sign for its name: %v", err)
	}
	old, err := Rotate(o)
	if err != nil || !bytes.Equal(read(t, filepath.Join(old, "cert.pem")), first) {
		t.Fatal(old, err)
	}
	if err := running.Reload(); err != nil || !bytes.Equal(running.CAPEM(), prepared) {
		t.Errorf("the host that runs: %v", err)
	}
	if _, err := running.Certificate().Leaf.Verify(x509.VerifyOptions{DNSName: "game.example", Roots: running.current.Load().roots}); err != nil {
		t.Error(err)
	}
	if _, err := Rotate(o); err != nil { // no CA was prepared
		t.Fatal(err)
	}
	if again := load(t, o); bytes.Equal(again.CAPEM(), prepared) || bytes.Equal(again.CAPEM(), first) {
		t.Error("the same CA")
	}
	for _, o := range []Options{{CertFile: "a", KeyFile: "b"}, {}} {
		if _, err := Rotate(o); err == nil {
			t.Errorf("%+v was rotated", o)
		}
	}
	if _, err := Rotate(Options{Dir: t.TempDir()}); err != nil { // Rotate works even if no host has started with the directory
		t.Error(err)
	}
}

func TestTrusted(t *testing.T) {
	dir := t.TempDir()
	if _, file, err := Trusted(Options{Dir: dir}); err == nil || file != CAFile(dir) {
		t.Errorf("before the first start: %s, %v", file, err)
	}
	s := load(t, Options{Dir: dir})
	if anchors, _, err := Trusted(Options{Dir: dir}); err != nil || len(anchors) != 1 || !bytes.Equal(encodeCertificates(anchors), s.CAPEM()) {
		t.Errorf("%v, %v", anchors, err)
	}
	o, root, _, _ := operators(t, "P-256", time.Now())
	if anchors, file, err := Trusted(o); err != nil || len(anchors) != 1 || !anchors[0].Equal(root.cert) || file != o.CAFile {
		t.Errorf("the operator's own: %v, %s, %v", anchors, file, err)
	}
}
