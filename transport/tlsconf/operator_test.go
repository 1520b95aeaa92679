package tlsconf

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

var start = time.Now()

func TestOperatorsFiles(t *testing.T) {
	o, root, between, leaf := operators(t, "P-256", start)
	s := load(t, o)
	if chain := s.Certificate().Certificate; len(chain) != 2 || !bytes.Equal(chain[0], leaf.cert.Raw) || !bytes.Equal(chain[1], between.cert.Raw) {
		t.Errorf("chain of %d", len(chain))
	}
	if !bytes.Equal(s.CAPEM(), root.pem) {
		t.Errorf("caCert %q", s.CAPEM())
	}

	// Without a CAFile, the last certificate of the chain is the anchor. It is not sent to peers.
	o.CAFile = ""
	_, err := Load(o)
	refused(t, err, o.CertFile, "trust anchors")
	write(t, o.CertFile, 0o644, leaf.pem, between.pem, root.pem)
	s = load(t, o)
	if !bytes.Equal(s.CAPEM(), root.pem) || len(s.Certificate().Certificate) != 2 {
		t.Errorf("caCert %q, chain of %d", s.CAPEM(), len(s.Certificate().Certificate))
	}

	// A self-signed leaf is its own anchor.
	alone := issue(t, "P-256", nil, start.Add(-day), start.Add(day), "game.example", "192.0.2.7")
	write(t, o.CertFile, 0o600, alone.secr, alone.pem) // certificate and key are in the same file
	o.KeyFile = o.CertFile
	if s = load(t, o); !bytes.Equal(s.CAPEM(), alone.pem) || len(s.Certificate().Certificate) != 1 {
		t.Errorf("caCert %q, chain of %d", s.CAPEM(), len(s.Certificate().Certificate))
	}
}

func TestOperatorsFilesAreChecked(t *testing.T) {
	o, root, between, leaf := operators(t, "P-256", start)
	otherIssuer := issue(t, "P-256", nil, start.Add(-day), start.Add(day))
	legacy := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES-128-CBC,00"}, Bytes: []byte{1}})
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})
	for name, c := range map[string]struct {
		file  *string
		text  [][]byte
		words []string
	}{
		"no certificate":               {&o.CertFile, [][]byte{[]byte("hello")}, []string{"no certificate"}},
		"key only":                     {&o.CertFile, [][]byte{leaf.secr}, []string{"no certificate"}},
		"other leaf":                   {&o.CertFile, [][]byte{otherIssuer.pem}, []string{o.KeyFile, "not the private key"}},
		"intermediate missing":         {&o.CertFile, [][]byte{leaf.pem}, []string{"refuse", "unknown authority"}},
		"chain upside down":            {&o.CertFile, [][]byte{between.pem, leaf.pem}, []string{"not the private key"}},
		"bad block":                    {&o.CertFile, [][]byte{leaf.pem, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}, []string{"block 2"}},
		"block cut short":              {&o.CertFile, [][]byte{leaf.pem, between.pem[:200]}, []string{"1 of 2", "damaged"}},
		"block that is not base64":     {&o.CertFile, [][]byte{leaf.pem, bytes.ReplaceAll(between.pem, []byte("\nM"), []byte("\n%"))}, []string{"1 of 2", "damaged"}},
		"no key":                       {&o.KeyFile, [][]byte{leaf.pem}, []string{"no private key"}},
		"two keys":                     {&o.KeyFile, [][]byte{leaf.secr, leaf.secr}, []string{"second"}},
		"encrypted key":                {&o.KeyFile, [][]byte{encrypted}, []string{"encrypted"}},
		"encrypted key of the old way": {&o.KeyFile, [][]byte{legacy}, []string{"encrypted"}},
		"no anchors":                   {&o.CAFile, [][]byte{[]byte("\n")}, []string{"no certificate"}},
		"other anchors":                {&o.CAFile, [][]byte{otherIssuer.pem}, []string{"refuse", o.CertFile}},
		"bad anchor":                   {&o.CAFile, [][]byte{root.pem, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}, []string{"block 2"}},
		"a whole trust store":          {&o.CAFile, [][]byte{bytes.Repeat(root.pem, 100)}, []string{"16384"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := load(t, o)
			before, old := s.current.Load(), read(t, *c.file)
			write(t, *c.file, 0o600, c.text...)
			defer write(t, *c.file, 0o600, old)
			_, err := Load(o)
			refused(t, err, append(c.words, *c.file)...)
			refused(t, s.Reload(), c.words...)
			if s.current.Load() != before {
				t.Error("the old certificate is not kept")
			}
		})
	}

	o.Hosts = []string{"other.example"}
	_, err := Load(o)
	refused(t, err, o.CertFile, "other.example")
	o.Hosts = []string{"192.0.2.8"}
	_, err = Load(o)
	refused(t, err, o.CertFile, "192.0.2.8")
	o.Hosts = nil
	synctest.Test(t, func(t *testing.T) {
		o, _, _, _ := operators(t, "P-256", time.Now())
		time.Sleep(99*day + time.Second)
		_, err := Load(o)
		refused(t, err, o.CertFile, "expired")
	})
	o.KeyFile += ".missing"
	_, err = Load(o)
	refused(t, err, o.KeyFile)
}

func TestPermissionsOfTheOperatorsKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such permissions on Windows")
	}
	o, _, _, _ := operators(t, "P-256", start)
	if err := os.Chmod(o.KeyFile, 0o640); err != nil {
		t.Fatal(err)
	}
	_, err := Load(o)
	refused(t, err, o.KeyFile, "0640")
}

func TestOptionsExcludeEachOther(t *testing.T) {
	for _, o := range []Options{
		{}, {CertFile: "a"}, {KeyFile: "a"}, {CAFile: "a"}, {Dir: "a", CertFile: "b"}, {Dir: "a", KeyFile: "b"}, {Dir: "a", CAFile: "b"},
	} {
		_, err := Load(o)
		refused(t, err, "tlsconf: ")
	}
	if there, err := exists("a"); there || err != nil {
		t.Errorf("a directory was made: %v", err)
	}
}

func TestPEMWithJunk(t *testing.T) {
	o, root, between, leaf := operators(t, "P-256", start)
	params := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}})
	junk := []byte("\ufeffCertificate:\n    Data:\r\n  -----\nsubject=CN = game\n\x00\xff\n")
	headed := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"Note": "x"}, Bytes: root.cert.Raw})
	write(t, o.CertFile, 0o600, junk, leaf.pem, junk, bytes.ReplaceAll(between.pem, []byte("\n"), []byte("\r\n")), leaf.secr, junk)
	write(t, o.KeyFile, 0o600, params, junk, leaf.secr)
	write(t, o.CAFile, 0o600, junk, headed, params, junk)
	s := load(t, o)
	if !bytes.Equal(s.CAPEM(), root.pem) { // only certificates: mbed TLS fails if a single block is invalid
		t.Errorf("caCert is not clean: %q", s.CAPEM())
	}
	if len(s.Certificate().Certificate) != 2 {
		t.Errorf("chain of %d", len(s.Certificate().Certificate))
	}
}

func TestForDTLS(t *testing.T) {
	for kind, word := range map[string]string{"P-256": "", "P-384": "", "P-224": "P-224", "RSA": "RSA", "Ed25519": "Ed25519"} {
		o, _, _, _ := operators(t, kind, start)
		err := forDTLS(load(t, o).Certificate().Leaf)
		if word == "" && err != nil {
			t.Errorf("%s: %v", kind, err)
		} else if word != "" {
			refused(t, err, word, "ECDSA", "wss only")
		}
	}
}

func TestLongChainIsAWarningForDTLS(t *testing.T) {
	o, root, _, leaf := operators(t, "P-256", start)
	for kind, want := range map[string]int{"P-256": 1, "RSA": 0} {
		var log logged
		leaf = issue(t, kind, root, start.Add(-day), start.Add(day), "game.example", "192.0.2.7")
		write(t, o.KeyFile, 0o600, leaf.secr)
		write(t, o.CertFile, 0o600, leaf.pem)
		o.Log = log.logger()
		load(t, o)
		if n := log.count("two datagrams"); n != 0 {
			t.Errorf("%s: %d warnings about a short chain", kind, n)
		}
		write(t, o.CertFile, 0o600, leaf.pem, bytes.Repeat(root.pem, 6)) // the repeated root is useless, but such files exist
		load(t, o)
		if n := log.count("two datagrams"); n != want {
			t.Errorf("%s: %d warnings", kind, n)
		}
	}
}

func FuzzParsePEM(f *testing.F) {
	whole := issue(f, "P-256", nil, start, start.Add(day), "a.example", "::1")
	f.Add(append(whole.pem, whole.secr...))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"))
	f.Add([]byte("junk -----BEGIN PRIVATE KEY-----\n\n-----END PRIVATE KEY-----"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parsePEM(text)
		if err != nil {
			return
		}
		// Parsed certificates can be encoded and parsed again, whatever text surrounded them.
		again, err := parsePEM(encodeCertificates(got.certs))
		if err != nil || len(again.certs) != len(got.certs) {
			t.Fatalf("%d certificates, then %d: %v", len(got.certs), len(again.certs), err)
		}
		for _, c := range got.certs {
			if got.key != nil {
				_ = belongs(got.key, c)
			}
			_ = forDTLS(c)
			_ = hostsOf(c).equal(hosts{})
		}
	})
}

func TestFilesOfTheDirectoryAsTheOperatorsOwn(t *testing.T) {
	dir := t.TempDir()
	own := load(t, Options{Dir: dir})
	s := load(t, Options{
		CertFile: filepath.Join(dir, "leaf.pem"), KeyFile: filepath.Join(dir, "leaf.pem"), CAFile: filepath.Join(dir, "ca", "cert.pem"),
		Hosts: []string{"localhost", "::1"},
	})
	if !s.current.Load().equal(own.current.Load()) {
		t.Error("another certificate")
	}
}

// A reload never replaces a certificate that DTLS can use by one that it cannot use.
func TestForDTLSHoldsAtAReload(t *testing.T) {
	o, root, _, _ := operators(t, "P-256", start)
	o.ForDTLS = true
	s := load(t, o)
	kept := s.Certificate()
	leaf := issue(t, "RSA", root, start.Add(-day), start.Add(day), "game.example", "192.0.2.7")
	write(t, o.KeyFile, 0o600, leaf.secr)
	write(t, o.CertFile, 0o600, leaf.pem, root.pem)
	refused(t, s.Reload(), "RSA", "ECDSA")
	if s.Certificate() != kept {
		t.Error("the certificate was replaced")
	}
	if _, err := Load(o); err == nil {
		t.Error("loaded at a start")
	}
}
