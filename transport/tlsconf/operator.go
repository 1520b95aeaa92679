package tlsconf

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// operator is a certificate in files of the operator, who renews it.
type operator struct {
	certFile, keyFile, caFile string // caFile may be empty
	hosts                     hosts
}

func (o *operator) files() []string {
	list := []string{o.certFile, o.keyFile}
	if o.caFile != "" {
		list = append(list, o.caFile)
	}
	return list
}

func (o *operator) load(now time.Time) (*bundle, error) {
	cert, err := readPEM(o.certFile, o.certFile == o.keyFile)
	if err != nil {
		return nil, err
	}
	if len(cert.certs) == 0 {
		return nil, fmt.Errorf("%s: no certificate in it", o.certFile)
	}
	key, err := readPEM(o.keyFile, true)
	if err != nil {
		return nil, err
	}
	if key.key == nil {
		return nil, fmt.Errorf("%s: no private key in it", o.keyFile)
	}
	chain := cert.certs
	if !belongs(key.key, chain[0]) {
		return nil, fmt.Errorf("%s: not the private key of the first certificate in %s", o.keyFile, o.certFile)
	}
	chain, anchors, err := o.anchors(chain)
	if err != nil {
		return nil, err
	}
	b, err := newBundle(chain, key.key, anchors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.anchorFile(), err)
	}
	if err := o.verify(chain, b.roots, now); err != nil {
		return nil, err
	}
	b.expires = expiry{o.certFile, false, chain[0].NotBefore, chain[0].NotAfter}
	return b, nil
}

func (o *operator) anchorFile() string {
	if o.caFile != "" {
		return o.caFile
	}
	return o.certFile
}

// anchors returns the chain without its anchor, which is not sent to peers, and the trust
// anchors.
func (o *operator) anchors(chain []*x509.Certificate) (rest, anchors []*x509.Certificate, err error) {
	last := chain[len(chain)-1]
	selfIssued := string(last.RawIssuer) == string(last.RawSubject)
	rest = chain
	if selfIssued && len(chain) > 1 {
		rest = chain[:len(chain)-1]
	}
	if o.caFile == "" {
		if !selfIssued {
			return nil, nil, fmt.Errorf("%s: its last certificate is not self-issued: a file of trust anchors for players is needed too", o.certFile)
		}
		return rest, []*x509.Certificate{last}, nil
	}
	ca, err := readPEM(o.caFile, false)
	if err != nil {
		return nil, nil, err
	}
	if len(ca.certs) == 0 {
		return nil, nil, fmt.Errorf("%s: no certificate in it", o.caFile)
	}
	return rest, ca.certs, nil
}

// verify verifies the chain as players do.
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
		return fmt.Errorf("%s: players would refuse it with the trust anchors of %s: %w", o.certFile, o.anchorFile(), err)
	}
	var missing []error
	for _, name := range o.hosts.names {
		missing = append(missing, leaf.VerifyHostname(name))
	}
	for _, ip := range o.hosts.ips {
		missing = append(missing, leaf.VerifyHostname(ip.String()))
	}
	if err := errors.Join(missing...); err != nil {
		return fmt.Errorf("%s: %w", o.certFile, err)
	}
	return nil
}
