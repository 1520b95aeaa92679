package peers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func authority(t *testing.T, cluster string, nodes ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	err := InitAuthority(dir, cluster)
	for _, node := range nodes {
		err = errors.Join(err, Issue(dir, node, []string{node + ".example", "10.0.0.1"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// An authority supports every valid name. Certificates are valid for ten years.
func TestAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("a", 63)
		for _, name := range []string{"prod", "P-1", "0", "127", long} {
			dir := authority(t, name, name, "b")
			c, err := LoadCerts(name, name, files(dir, name), zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			cert := c.now.own.Leaf
			if got := cert.URIs[0].String(); got != "troupe://"+name+"/"+name || !slices.Equal(cert.DNSNames, []string{name + ".example"}) || cert.IPAddresses[0].String() != "10.0.0.1" {
				t.Errorf("%s, %v, %v", got, cert.DNSNames, cert.IPAddresses)
			}
			if end := time.Now().AddDate(10, 0, 0); !cert.NotAfter.Equal(end.Truncate(time.Second)) {
				t.Errorf("it ends at %v, not %v", cert.NotAfter, end)
			}
		}
		for _, name := range []string{"", "-", "a-", "-a", "a.b", "a/b", "a b", "ä", "..", long + "a"} {
			if err := InitAuthority(t.TempDir(), name); err == nil {
				t.Errorf("%q is the name of a cluster", name)
			}
			if err := Issue(authority(t, "prod"), name, nil); err == nil {
				t.Errorf("%q is the name of a node", name)
			}
		}
	})
}

// An authority can sign only for its own cluster, even if its key is stolen.
func TestAuthorityOfAnotherCluster(t *testing.T) {
	dir := authority(t, "test")
	ca, err := readAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	forged := &x509.Certificate{NotAfter: ca.Leaf.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	forged.URIs = append(forged.URIs, nodeURL("prod", "a"))
	if err := sign(dir, "a", ca, forged); err != nil {
		t.Fatal(err)
	}
	_, err = LoadCerts("prod", "a", files(dir, "a"), zerolog.Nop())
	if invalid := new(x509.CertificateInvalidError); !errors.As(err, invalid) || invalid.Reason != x509.CANotAuthorizedForThisName {
		t.Error(err)
	}
}

// Files that do not fit together are refused. The error names the wrong file.
func TestLoadCerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, other := authority(t, "prod", "a", "b"), authority(t, "prod", "a")
		good := files(dir, "a")
		for _, c := range []struct {
			cluster, node string
			change        func(f *Files)
			want          string
		}{
			{"prod", "b", func(*Files) {}, "certificate of node a"},
			{"test", "a", func(*Files) {}, "a.pem: peers: no certificate of the cluster test"},
			{"prod", "a", func(f *Files) { f.CA = files(other, "a").CA }, "unknown authority"},
			{"prod", "a", func(f *Files) { f.Key = files(dir, "b").Key }, "private key does not match"},
			{"prod", "a", func(f *Files) { f.CA = f.Key }, "has no certificate"},
			{"prod", "a", func(f *Files) { f.Cert = "none.pem" }, "none.pem"},
		} {
			f := good
			c.change(&f)
			if _, err := LoadCerts(c.cluster, c.node, f, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.want, err)
			}
		}
		if _, err := LoadCerts("prod", "a", good, zerolog.Nop()); err != nil {
			t.Error(err)
		}
		if runtime.GOOS != "windows" {
			if err := os.Chmod(good.Key, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := LoadCerts("prod", "a", good, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("a key that others can read: %v", err)
			}
			_ = os.Chmod(good.Key, 0o600)
		}
		time.Sleep(11 * 365 * 24 * time.Hour)
		if _, err := LoadCerts("prod", "a", good, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("after eleven years: %v", err)
		}
	})
}

// No file is overwritten, and no key remains without its certificate.
// A renewed certificate is used for the next connection. Files that cannot be used change nothing.
func TestRenewedCertificate(t *testing.T) {
	dir := authority(t, "prod", "a")
	f := files(dir, "a")
	c, err := LoadCerts("prod", "a", f, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	first := c.current()
	if c.current() != first {
		t.Error("files that have not changed were read again")
	}
	later := func(d time.Duration) {
		if err := os.Chtimes(f.Cert, time.Time{}, time.Now().Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(f.Cert), os.Remove(f.Key), os.WriteFile(f.Cert, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if later(time.Hour); c.current() != first {
		t.Error("files that cannot be used replaced the certificate")
	}
	if err := errors.Join(os.Remove(f.Cert), Issue(dir, "a", nil)); err != nil {
		t.Fatal(err)
	}
	later(2 * time.Hour)
	if now := c.current(); now == first || now.own.Leaf.SerialNumber.Cmp(first.own.Leaf.SerialNumber) == 0 {
		t.Error("the renewed certificate is not used")
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	dir := authority(t, "prod", "a")
	before, err := tls.LoadX509KeyPair(files(dir, "a").Cert, files(dir, "a").Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := InitAuthority(dir, "prod"); err == nil {
		t.Error("a second authority")
	}
	if err := Issue(dir, "a", nil); err == nil {
		t.Error("a second certificate")
	}
	if after, err := tls.LoadX509KeyPair(files(dir, "a").Cert, files(dir, "a").Key); err != nil || !after.Leaf.Equal(before.Leaf) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Issue(dir, "b", nil); err == nil {
		t.Error("a file was overwritten")
	}
	if _, err := os.Stat(filepath.Join(dir, "b.key")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("b.key: %v", err)
	}
}
