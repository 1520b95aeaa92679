package peers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"troupe/transport/tlsconf"
)

const (
	authorityYears = 10        // validity in years of an authority's certificate, and of the certificates that it signs
	backdated      = time.Hour // maximum time by which the clock of a node may be slow
)

// InitAuthority creates the authority of a cluster: ca.pem and ca.key in a directory. It creates the directory if
// necessary, and overwrites no file. The authority can sign certificates only for nodes of this cluster.
func InitAuthority(dir, cluster string) error {
	if !nameForm().MatchString(cluster) {
		return fmt.Errorf("peers: %q is no name of a cluster: letters, digits and hyphens, at most 63", cluster)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	now := time.Now()
	return sign(dir, "ca", nil, &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Troupe cluster " + cluster},
		NotBefore: now.Add(-backdated), NotAfter: now.AddDate(authorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedURIDomains: []string{cluster}, PermittedDNSDomainsCritical: true,
	})
}

// Issue creates the certificate of a node, in NODE.pem and NODE.key. The authority must be in the same directory. Nodes
// identify each other by their names. hosts are DNS names and IP addresses, for other programs that verify the
// certificate. Issue overwrites no file.
func Issue(dir, node string, hosts []string) error {
	if !nameForm().MatchString(node) {
		return fmt.Errorf("peers: %q is no name of a node: letters, digits and hyphens, at most 63", node)
	}
	ca, err := readAuthority(dir)
	if err != nil {
		return err
	}
	cert := &x509.Certificate{
		Subject:   pkix.Name{CommonName: node},
		NotBefore: time.Now().Add(-backdated), NotAfter: ca.Leaf.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs: []*url.URL{nodeURL(ca.Leaf.PermittedURIDomains[0], node)},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, host)
		}
	}
	return sign(dir, node, ca, cert)
}

func readAuthority(dir string) (*tls.Certificate, error) {
	cert, err := tlsconf.ReadFile(filepath.Join(dir, "ca.pem"), "", fileMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("peers: %s has no authority: make one with troupe admin cluster init", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	key, err := tlsconf.ReadFile(filepath.Join(dir, "ca.key"), "this private key", fileMax)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	ca, err := tls.X509KeyPair(cert, key)
	if err == nil && len(ca.Leaf.PermittedURIDomains) != 1 {
		err = errors.New("not the authority of a cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("peers: %s: %w", filepath.Join(dir, "ca.pem"), err)
	}
	return &ca, nil
}

// sign writes a certificate with a new key. ca signs it; if ca is nil, the certificate is self-signed.
func sign(dir, name string, ca *tls.Certificate, cert *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	parent, signer := cert, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	signed, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), signer)
	if err != nil {
		return fmt.Errorf("peers: %s: %w", name, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	keyFile := filepath.Join(dir, name+".key")
	if err := writeNew(keyFile, 0o600, &pem.Block{Type: "PRIVATE KEY", Bytes: secret}); err != nil {
		return err
	}
	if err := writeNew(filepath.Join(dir, name+".pem"), 0o644, &pem.Block{Type: "CERTIFICATE", Bytes: signed}); err != nil {
		_ = os.Remove(keyFile) // the key has no certificate
		return err
	}
	return nil
}

func writeNew(file string, mode fs.FileMode, b *pem.Block) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	if err := errors.Join(pem.Encode(f, b), f.Sync(), f.Close()); err != nil {
		_ = os.Remove(file)
		return fmt.Errorf("peers: %s: %w", file, err)
	}
	return nil
}
