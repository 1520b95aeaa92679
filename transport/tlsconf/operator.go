package tlsconf

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// operator is a certificate in the operator's own files. The operator renews it.
type operator struct {
	Options
	hosts hosts
}

func (o *operator) files() []string {
	return slices.DeleteFunc([]string{o.CertFile, o.KeyFile, o.CAFile}, func(name string) bool { return name == "" })
}

func (o *operator) load(now time.Time) (*bundle, error) {
	chain, err := readCertificates(o.CertFile, o.CertFile == o.KeyFile)
	if err != nil {
		return nil, err
	}
	key, err := readPEM(o.KeyFile, true)
	if err != nil {
		return nil, err
	}
	if key.key == nil {
		return nil, fmt.Errorf("%s: no private key in it", o.KeyFile)
	}
	if !belongs(key.key, chain[0]) {
		return nil, fmt.Errorf("%s: not the private key of the first certificate in %s", o.KeyFile, o.CertFile)
	}
	chain, anchors, err := o.anchors(chain)
	if err != nil {
		return nil, err
	}
	b, err := newBundle(chain, key.key, anchors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.AnchorFile(), err)
	}
	if err := o.verify(chain, b.roots, now); err != nil {
		return nil, err
	}
	b.expires = expiry{o.CertFile, false, chain[0].NotBefore, chain[0].NotAfter}
	return b, nil
}

// anchors returns the trust anchors, and the chain without its anchor, because peers do not need that.
func (o *operator) anchors(chain []*x509.Certificate) (rest, anchors []*x509.Certificate, err error) {
	last := chain[len(chain)-1]
	selfIssued := string(last.RawIssuer) == string(last.RawSubject)
	rest = chain
	if selfIssued && len(chain) > 1 {
		rest = chain[:len(chain)-1]
	}
	if o.CAFile == "" {
		if !selfIssued {
			return nil, nil, fmt.Errorf("%s: its last certificate is not self-issued: a file of trust anchors for players is needed too", o.CertFile)
		}
		return rest, []*x509.Certificate{last}, nil
	}
	anchors, err = readCertificates(o.CAFile, false)
	return rest, anchors, err
}

// verify verifies the chain in the same way as players.
func (o *operator) verify(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) error {
	leaf, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("%s: players would refuse it with the trust anchors of %s: %w", o.CertFile, o.AnchorFile(), err)
	}
	var missing []error
	for _, host := range o.hosts.texts() {
		missing = append(missing, leaf.VerifyHostname(host))
	}
	if err := errors.Join(missing...); err != nil {
		return fmt.Errorf("%s: %w", o.CertFile, err)
	}
	return nil
}
