package tlsconf

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		s := load(t, Options{Dir: dir, Hosts: []string{"Game.Example.", "192.0.2.7", "2001:db8::1", "localhost"}})

		leaf := s.Certificate().Leaf
		if want := []string{"game.example", "localhost"}; !slices.Equal(leaf.DNSNames, want) {
			t.Errorf("names %v, want %v", leaf.DNSNames, want)
		}
		for _, host := range []string{"game.example", "localhost", "127.0.0.1", "::1", "192.0.2.7", "2001:db8::1"} {
			_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: s.current.Load().roots, CurrentTime: time.Now()})
			if err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
		if leaf.VerifyHostname("other.example") == nil || len(leaf.IPAddresses) != 4 {
			t.Errorf("the leaf carries %v %v", leaf.DNSNames, leaf.IPAddresses)
		}
		if leaf.IsCA || leaf.PublicKeyAlgorithm != x509.ECDSA || leaf.KeyUsage != x509.KeyUsageDigitalSignature ||
			!slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
			t.Errorf("leaf: %+v", leaf)
		}
		if end := time.Now().Add(365 * day); !leaf.NotAfter.Equal(end) || len(s.Certificate().Certificate) != 1 {
			t.Errorf("the leaf ends at %v, chain of %d", leaf.NotAfter, len(s.Certificate().Certificate))
		}
		if err := forDTLS(s.Certificate().Leaf); err != nil {
			t.Error(err)
		}

		f, err := parsePEM(s.CAPEM())
		if err != nil || len(f.certs) != 1 || f.key != nil {
			t.Fatalf("caCert %q: %v", s.CAPEM(), err)
		}
		ca := f.certs[0]
		if !ca.IsCA || ca.MaxPathLen != 0 || !ca.MaxPathLenZero || ca.KeyUsage != x509.KeyUsageCertSign {
			t.Errorf("CA: %+v", ca)
		}
		if !ca.NotAfter.Equal(time.Now().AddDate(3, 0, 0)) || !bytes.Equal(s.CAPEM(), read(t, filepath.Join(dir, "ca", "cert.pem"))) {
			t.Errorf("CA ends at %v", ca.NotAfter)
		}
		if size := len(leaf.Raw); size > 700 {
			t.Errorf("the leaf is %d bytes", size)
		}
	})
}

func TestFilesAreThePrivateOnesOfOneUser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such permissions on Windows")
	}
	dir := filepath.Join(t.TempDir(), "a", "data")
	load(t, Options{Dir: dir})
	var seen []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has %v", path, info.Mode())
		}
		name, _ := filepath.Rel(dir, path)
		seen = append(seen, name)
		return nil
	})
	if want := []string{".", "ca", "ca/cert.pem", "ca/key.pem", "leaf.pem"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("files %v, %v", seen, err)
	}
}

func TestSecondStartKeeps(t *testing.T) {
	dir := t.TempDir()
	first, second := load(t, Options{Dir: dir}), load(t, Options{Dir: dir})
	if !first.current.Load().equal(second.current.Load()) {
		t.Error("another certificate")
	}
	other := load(t, Options{Dir: t.TempDir()})
	if bytes.Equal(first.CAPEM(), other.CAPEM()) || first.Certificate().Leaf.Issuer.String() == other.Certificate().Leaf.Issuer.String() {
		t.Error("two hosts have the same CA")
	}
}

// Stores share only the directory, so goroutines test the same as processes.
func TestManyFirstStartsAtOnce(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	for range rounds {
		dir := filepath.Join(t.TempDir(), "data")
		stores := make([]*Store, 8)
		errs := make([]error, len(stores))
		var wg sync.WaitGroup
		for i := range stores {
			wg.Go(func() { stores[i], errs[i] = Load(Options{Dir: dir, Hosts: []string{"game.example"}}) })
		}
		wg.Wait()
		for i, s := range stores {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if !bytes.Equal(s.CAPEM(), stores[0].CAPEM()) {
				t.Fatal("two CAs")
			}
			if _, err := s.Certificate().Leaf.Verify(x509.VerifyOptions{DNSName: "game.example", Roots: stores[0].current.Load().roots}); err != nil {
				t.Fatal(err)
			}
		}
		load(t, Options{Dir: dir, Hosts: []string{"game.example"}})
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
			t.Fatalf("left behind: %v, %v", left, err)
		}
	}
}

func TestHostsChange(t *testing.T) {
	dir := t.TempDir()
	local := load(t, Options{Dir: dir})
	var log logged
	first := load(t, Options{Dir: dir, Hosts: []string{"a.example", "b.example"}, Log: log.logger()})
	if bytes.Equal(local.CAPEM(), first.CAPEM()) || log.count("for this machine alone") != 1 {
		t.Errorf("the CA of this machine alone stays, or nothing was said: %s", log.b.String())
	}
	same := load(t, Options{Dir: dir, Hosts: []string{"127.0.0.1", "B.example", "a.example", "b.example"}})
	if first.Certificate().Leaf.SerialNumber.Cmp(same.Certificate().Leaf.SerialNumber) != 0 {
		t.Error("the same hosts in other words made a new leaf")
	}
	for _, list := range [][]string{{"b.example"}, {}, {"a.example", "b.example"}, {"b.example", "eu.a.example"}} {
		s := load(t, Options{Dir: dir, Hosts: list})
		if want := slices.Sorted(slices.Values(append([]string{"localhost"}, list...))); !slices.Equal(s.Certificate().Leaf.DNSNames, want) {
			t.Errorf("%v: the leaf carries %v", list, s.Certificate().Leaf.DNSNames)
		}
		if !bytes.Equal(s.CAPEM(), first.CAPEM()) {
			t.Errorf("%v: another CA", list)
		}
	}
	before := contents(t, dir)
	_, err := Load(Options{Dir: dir, Hosts: []string{"a.example", "c.example", "192.0.2.7"}})
	refused(t, err, "cert.pem", "a.example, b.example", "c.example, 192.0.2.7", "troupe tls rotate")
	if contents(t, dir) != before {
		t.Error("files were changed")
	}
	// the host has moved to another address
	moved := load(t, Options{Dir: dir, Hosts: []string{"a.example", "192.0.2.7"}, Log: log.logger()})
	if !bytes.Equal(moved.CAPEM(), first.CAPEM()) || len(moved.Certificate().Leaf.IPAddresses) != 2 || log.count("192.0.2.7") != 1 {
		t.Errorf("addresses %v, said: %s", moved.Certificate().Leaf.IPAddresses, log.b.String())
	}
	dir = t.TempDir()
	for _, bad := range []string{"game.example:1901", "fe80::1%eth0", "a b", "", "ex\u00e4mple.org", "a..b", "-a.example", "*", "wss://game.example"} {
		_, err := Load(Options{Dir: dir, Hosts: []string{bad}})
		refused(t, err, fmt.Sprintf("%q", bad))
	}
	load(t, Options{Dir: dir, Hosts: []string{"*.game.example", "a_b.example"}})
}

func TestTooManyHostsForADatagram(t *testing.T) {
	var list []string
	for i := range 90 {
		list = append(list, fmt.Sprintf("host-%03d.game.example", i))
	}
	_, err := Load(Options{Dir: t.TempDir(), Hosts: list})
	refused(t, err, "leaf.pem", "fewer hosts")
	load(t, Options{Dir: t.TempDir(), Hosts: list[:50]})
}

func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		s := load(t, Options{Dir: t.TempDir(), Log: log.logger()})
		first := s.Certificate()
		reload := func() *tls.Certificate {
			t.Helper()
			if err := s.Reload(); err != nil {
				t.Fatal(err)
			}
			return s.Certificate()
		}

		time.Sleep(243 * day) // two thirds of 365 days have passed
		if same := reload(); same.Leaf.SerialNumber.Cmp(first.Leaf.SerialNumber) != 0 {
			t.Error("renewed with more than a third left")
		}
		time.Sleep(day)
		second := reload()
		if second.Leaf.SerialNumber.Cmp(first.Leaf.SerialNumber) == 0 || !second.Leaf.NotAfter.Equal(time.Now().Add(365*day)) {
			t.Errorf("not renewed: ends at %v", second.Leaf.NotAfter)
		}
		time.Sleep(400 * day) // the host was off for 400 days
		if third := reload(); third.Leaf.NotAfter.Before(time.Now()) {
			t.Error("an expired leaf is served")
		}

		// Near the end of the CA's lifetime, a new leaf cannot be valid longer. So the leaf is not renewed
		// again and again; instead the operator is warned.
		if log.count("near its end") != 0 {
			t.Error("warned too early")
		}
		_, ca := s.source.load(time.Now())
		if ca != nil {
			t.Fatal(ca)
		}
		end := s.current.Load().expires.end
		time.Sleep(end.Sub(time.Now()) - 100*day)
		last := reload()
		if !last.Leaf.NotAfter.Equal(end) || !s.current.Load().renewAt.IsZero() {
			t.Errorf("the last leaf ends at %v, the CA at %v", last.Leaf.NotAfter, end)
		}
		time.Sleep(99 * day)
		if same := reload(); same.Leaf.SerialNumber.Cmp(last.Leaf.SerialNumber) != 0 {
			t.Error("renewed to no avail")
		}
		if n := log.count("near its end"); n != 2 {
			t.Errorf("%d warnings, wanted one for each of the days that were looked at", n)
		}
		time.Sleep(2 * day)
		refused(t, s.Reload(), "ca", "cert.pem", "expired")
		if s.Certificate().Leaf.SerialNumber.Cmp(last.Leaf.SerialNumber) != 0 {
			t.Error("the old certificate is not kept")
		}
	})
}

// In a synctest bubble it is the year 2000.
func TestAClockThatIsBehind(t *testing.T) {
	dir := t.TempDir()
	load(t, Options{Dir: dir})
	synctest.Test(t, func(t *testing.T) {
		_, err := Load(Options{Dir: dir})
		refused(t, err, "cert.pem", "clock")
	})
}

func TestDamagedDirectory(t *testing.T) {
	another := t.TempDir()
	load(t, Options{Dir: another})
	foreign := func(file string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, file), 0o600, read(t, filepath.Join(another, file)))
		}
	}
	text := func(file, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { write(t, filepath.Join(dir, file), 0o600, []byte(text)) }
	}
	without := func(file string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	half := func(file string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			b := read(t, filepath.Join(dir, file))
			write(t, filepath.Join(dir, file), 0o600, b[:len(b)*3/4])
		}
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		words  []string
	}{
		"CA of another host":     {foreign("ca/cert.pem"), []string{"ca/key.pem", "not the private key"}},
		"CA key of another host": {foreign("ca/key.pem"), []string{"ca/key.pem", "not the private key"}},
		"leaf of another host":   {foreign("leaf.pem"), []string{"leaf.pem", "not signed by"}},
		"empty CA":               {text("ca/cert.pem", ""), []string{"ca/cert.pem", "0 certificates"}},
		"empty CA key":           {text("ca/key.pem", ""), []string{"ca/key.pem", "no private key"}},
		"empty leaf":             {text("leaf.pem", ""), []string{"leaf.pem", "not one certificate"}},
		"half a CA":              {half("ca/cert.pem"), []string{"ca/cert.pem", "damaged"}},
		"half a CA key":          {half("ca/key.pem"), []string{"ca/key.pem", "damaged"}},
		"half a leaf":            {half("leaf.pem"), []string{"leaf.pem", "damaged"}},
		"block that is no key":   {text("ca/key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), []string{"ca/key.pem", "block 1"}},
		"CA certificate gone":    {without("ca/cert.pem"), []string{"ca/cert.pem"}},
		"CA key gone":            {without("ca/key.pem"), []string{"ca/key.pem"}},
		"CA gone, leaf there":    {without("ca"), []string{"leaf.pem", "restore"}},
		"huge file":              {text("leaf.pem", string(make([]byte, fileMax+1))), []string{"leaf.pem", "more than"}},
		"CA that is a leaf": {func(t *testing.T, dir string) {
			plain := issue(t, "P-256", nil, time.Now(), time.Now().Add(day), "a.example")
			write(t, filepath.Join(dir, "ca/cert.pem"), 0o600, plain.pem)
			write(t, filepath.Join(dir, "ca/key.pem"), 0o600, plain.secr)
		}, []string{"ca/cert.pem", "not the certificate of a CA"}},
		"key of another leaf": {func(t *testing.T, dir string) {
			b := read(t, filepath.Join(dir, "leaf.pem"))
			other := issue(t, "P-256", nil, time.Now(), time.Now().Add(day))
			cert, _, _ := bytes.Cut(b, []byte("-----BEGIN PRIVATE"))
			write(t, filepath.Join(dir, "leaf.pem"), 0o600, cert, other.secr)
		}, []string{"leaf.pem", "private key is not that"}},
		"directory that is a file": {func(t *testing.T, dir string) { without("ca")(t, dir); text("ca", "")(t, dir) }, []string{"ca"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := load(t, Options{Dir: dir})
			before := s.current.Load()
			c.damage(t, dir)
			damaged := contents(t, dir)

			_, err := Load(Options{Dir: dir})
			refused(t, err, c.words...)
			refused(t, s.Reload(), c.words...)
			if s.current.Load() != before {
				t.Error("the old certificate is not kept")
			}
			if after := contents(t, dir); after != damaged {
				t.Errorf("files were changed\nfrom %s\nto   %s", damaged, after)
			}
		})
	}
}

// contents returns the names and contents of all files below dir.
func contents(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all += fmt.Sprintf("%s %x\n", path, read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPermissionsOfKeys(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such permissions on Windows")
	}
	for _, file := range []string{"ca/key.pem", "leaf.pem"} {
		for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601} {
			dir := t.TempDir()
			s := load(t, Options{Dir: dir})
			if err := os.Chmod(filepath.Join(dir, file), mode); err != nil {
				t.Fatal(err)
			}
			_, err := Load(Options{Dir: dir})
			refused(t, err, file, fmt.Sprintf("%04o", mode), "chmod 600")
			refused(t, s.Reload(), file)
		}
	}
	dir := t.TempDir()
	load(t, Options{Dir: dir})
	for _, mode := range []os.FileMode{0o400, 0o600} {
		if err := os.Chmod(filepath.Join(dir, "leaf.pem"), mode); err != nil {
			t.Fatal(err)
		}
		load(t, Options{Dir: dir})
	}
	if err := os.Chmod(filepath.Join(dir, "ca/cert.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	load(t, Options{Dir: dir}) // the certificate is not secret
}
