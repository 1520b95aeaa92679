package tlsconf

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"
)

const (
	caYears   = 3 // validity of a CA; devices that trust it must then get the next CA (see Prepare and Rotate)
	leafFor   = 365 * 24 * time.Hour
	backdated = time.Hour // maximum time that the clock of a player's device may be behind
)

// authority is the private CA of a data directory, with the one leaf that it signs.
type authority struct {
	dir   string
	hosts hosts // hosts of the leaf that the CA may sign for
	log   zerolog.Logger
}

type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// CAFile returns the path of the private CA's certificate in a data directory. The certificate is the trust
// anchor, as PEM.
func CAFile(dir string) string { return filepath.Join(dir, "ca", "cert.pem") }

func (a *authority) caDir() string    { return filepath.Join(a.dir, "ca") }
func (a *authority) caFile() string   { return CAFile(a.dir) }
func (a *authority) keyFile() string  { return filepath.Join(a.dir, "ca", "key.pem") }
func (a *authority) leafFile() string { return filepath.Join(a.dir, "leaf.pem") }

func (a *authority) files() []string { return []string{a.caFile(), a.keyFile(), a.leafFile()} }

func (a *authority) load(now time.Time) (*bundle, error) {
	ca, carried, err := a.ca(now)
	if err != nil {
		return nil, err
	}
	leaf, err := a.leaf(ca, carried, now)
	if err != nil {
		return nil, err
	}
	b, err := newBundle([]*x509.Certificate{leaf.cert}, leaf.key, []*x509.Certificate{ca.cert})
	if err != nil {
		return nil, err
	}
	b.renewAt = renewAt(leaf.cert, ca.cert)
	b.expires = expiry{a.caFile(), true, ca.cert.NotBefore, ca.cert.NotAfter}
	return b, nil
}

// ca reads the CA, and creates it at the first start. It also returns the hosts for the leaf.
func (a *authority) ca(now time.Time) (pair, hosts, error) {
	// The order matters: another process creates the CA before the leaf.
	leafThere, err := exists(a.leafFile())
	caThere, failed := exists(a.caDir())
	switch err := cmp.Or(err, failed); {
	case err != nil:
		return pair{}, hosts{}, err
	case caThere:
	case leafThere:
		return pair{}, hosts{}, fmt.Errorf("%s is there, and the CA that signed it is not: restore %s, or remove the leaf to start a new CA that players must be told of",
			a.leafFile(), a.caDir())
	default:
		if err := a.makeCA(now, a.caDir()); err != nil {
			return pair{}, hosts{}, fmt.Errorf("make a CA in %s: %w", a.dir, err)
		}
	}
	ca, err := a.readCA(now)
	if err != nil {
		return pair{}, hosts{}, err
	}
	return a.fits(ca, now)
}

func (a *authority) readCA(now time.Time) (pair, error) {
	cert, err := readPEM(a.caFile(), false)
	if err != nil {
		return pair{}, err
	}
	key, err := readPEM(a.keyFile(), true)
	if err != nil {
		return pair{}, err
	}
	if len(cert.certs) != 1 {
		return pair{}, fmt.Errorf("%s: %d certificates in it, not one", a.caFile(), len(cert.certs))
	}
	ca := cert.certs[0]
	switch {
	case key.key == nil:
		return pair{}, fmt.Errorf("%s: no private key in it", a.keyFile())
	case !ca.IsCA:
		return pair{}, fmt.Errorf("%s: not the certificate of a CA", a.caFile())
	case !belongs(key.key, ca):
		return pair{}, fmt.Errorf("%s: not the private key of %s", a.keyFile(), a.caFile())
	case now.Before(ca.NotBefore):
		return pair{}, fmt.Errorf("%s: valid from %v only: is the clock right?", a.caFile(), ca.NotBefore)
	case now.After(ca.NotAfter):
		return pair{}, fmt.Errorf("%s: expired on %v: troupe tls rotate starts a new CA, which players must be told of", a.caFile(), ca.NotAfter)
	}
	return pair{ca, key.key}, nil
}

// makeCA creates a CA for the configured names in dir.
func (a *authority) makeCA(now time.Time, dir string) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	// The random part of the name distinguishes the CAs of several hosts in one trust store.
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Troupe CA " + rand.Text()[:8]},
		NotBefore:             now.Add(-backdated),
		NotAfter:              now.AddDate(caYears, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	constrain(template, a.hosts)
	cert, key, err := create(template, nil)
	if err != nil {
		return err
	}
	a.log.Info().Str("dir", dir).Time("not_after", template.NotAfter).Strs("for", Constraints(template)).Msg("making a private CA")
	return createDir(dir, map[string][]byte{"cert.pem": cert, "key.pem": key})
}

// leaf reads the leaf certificate. It creates a new one at the first start, and when the old one is due for
// renewal.
func (a *authority) leaf(ca pair, carried hosts, now time.Time) (pair, error) {
	leaf, err := a.readLeaf(ca)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pair{}, err
	}
	if err == nil {
		due := renewAt(leaf.cert, ca.cert)
		if hostsOf(leaf.cert).equal(carried) && (due.IsZero() || now.Before(due)) {
			return leaf, nil
		}
	}
	if err := a.makeLeaf(ca, carried, now); err != nil {
		return pair{}, fmt.Errorf("make %s: %w", a.leafFile(), err)
	}
	return a.readLeaf(ca)
}

func (a *authority) readLeaf(ca pair) (pair, error) {
	f, err := readPEM(a.leafFile(), true)
	if err != nil {
		return pair{}, err
	}
	if len(f.certs) != 1 || f.key == nil {
		return pair{}, fmt.Errorf("%s: not one certificate and its private key", a.leafFile())
	}
	leaf := pair{f.certs[0], f.key}
	if !belongs(leaf.key, leaf.cert) {
		return pair{}, fmt.Errorf("%s: its private key is not that of its certificate", a.leafFile())
	}
	if err := leaf.cert.CheckSignatureFrom(ca.cert); err != nil {
		return pair{}, fmt.Errorf("%s: not signed by %s: %w", a.leafFile(), a.caFile(), err)
	}
	return leaf, nil
}

func (a *authority) makeLeaf(ca pair, carried hosts, now time.Time) error {
	end := slices.MinFunc([]time.Time{now.Add(leafFor), ca.cert.NotAfter}, time.Time.Compare)
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "Troupe host"},
		NotBefore:   now.Add(-backdated),
		NotAfter:    end,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    carried.names,
	}
	for _, ip := range carried.ips {
		template.IPAddresses = append(template.IPAddresses, net.IP(ip.AsSlice()))
	}
	cert, key, err := create(template, &ca)
	if err != nil {
		return err
	}
	if size := len(cert) * 3 / 4; size > flightMax {
		return fmt.Errorf("a certificate for %d hosts would be %d bytes, more than the %d that fit a DTLS handshake: name fewer hosts",
			len(carried.names)+len(carried.ips), size, flightMax)
	}
	a.log.Info().Str("file", a.leafFile()).Time("not_after", end).Msg("making a certificate")
	return replaceFile(a.leafFile(), append(cert, key...))
}

// renewAt returns the time when a third of the leaf's lifetime is left. It returns the zero time if the CA
// expires too early for a new leaf to be valid longer.
func renewAt(leaf, ca *x509.Certificate) time.Time {
	if !ca.NotAfter.After(leaf.NotAfter) {
		return time.Time{}
	}
	return leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
}

func hostsOf(cert *x509.Certificate) hosts {
	h := hosts{names: slices.Clone(cert.DNSNames)}
	for _, b := range cert.IPAddresses {
		ip, _ := netip.AddrFromSlice(b)
		h.ips = append(h.ips, ip.Unmap())
	}
	h.sort()
	return h
}

// create creates a P-256 key and its certificate, both as PEM. Without an issuer, the certificate is
// self-signed.
func create(template *x509.Certificate, issuer *pair) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if issuer == nil {
		issuer = &pair{template, key}
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, &key.PublicKey, issuer.key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: secret}), nil
}
