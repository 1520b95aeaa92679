package peers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/lazy"
	"troupe/transport/tlsconf"
)

// Certs contains the certificate of a node and the authority of its cluster. It reads its files again when they change,
// so a renewed certificate is used for new connections. Any goroutine may call its methods.
type Certs struct {
	cluster, node string
	files         Files
	log           zerolog.Logger

	mu    sync.Mutex
	now   *credentials
	times [3]time.Time // when the files of now, or files that could not be used, were changed
}

// credentials is what the files contain. It is immutable.
type credentials struct {
	cluster string
	own     tls.Certificate
	roots   *x509.CertPool
}

// Files names PEM files. Only the owner may have access to Key.
type Files struct{ CA, Cert, Key string }

const fileMax = 1 << 20

// errNoCertificate means that a peer has presented no certificate of the cluster.
var errNoCertificate = errors.New("peers: no certificate of the cluster")

// LoadCerts reads a node's files. It returns an error if the files belong to another cluster or node, or do not fit
// together. It logs when the files have changed.
func LoadCerts(cluster, node string, f Files, log zerolog.Logger) (*Certs, error) {
	c := &Certs{cluster: cluster, node: node, files: f, log: log, times: f.changed()}
	var err error
	c.now, err = load(cluster, node, f)
	return c, err
}

// changed returns the modification times of the files.
func (f Files) changed() (times [3]time.Time) {
	for i, name := range []string{f.CA, f.Cert, f.Key} {
		if info, err := os.Stat(name); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

// current returns the credentials for a new connection. If changed files cannot be used, it returns the former
// credentials.
func (c *Certs) current() *credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := c.files.changed()
	if times == c.times {
		return c.now
	}
	c.times = times
	renewed, err := load(c.cluster, c.node, c.files)
	if err != nil {
		c.log.Error().Err(err).Msg("changed certificates of the cluster cannot be used: the former ones stay in use")
		return c.now
	}
	c.now = renewed
	c.log.Info().Time("not_after", renewed.own.Leaf.NotAfter).Msg("certificate of the cluster renewed")
	return renewed
}

func load(cluster, node string, f Files) (*credentials, error) {
	var text [3][]byte
	for i, file := range []struct{ name, secret string }{{f.CA, ""}, {f.Cert, ""}, {f.Key, "this private key"}} {
		var err error
		if text[i], err = tlsconf.ReadFile(file.name, file.secret, fileMax); err != nil {
			return nil, fmt.Errorf("peers: %w", err)
		}
	}
	c := &credentials{cluster: cluster, roots: x509.NewCertPool()}
	if !c.roots.AppendCertsFromPEM(text[0]) {
		return nil, fmt.Errorf("peers: %s has no certificate", f.CA)
	}
	var err error
	if c.own, err = tls.X509KeyPair(text[1], text[2]); err != nil {
		return nil, fmt.Errorf("peers: %s, %s: %w", f.Cert, f.Key, err)
	}
	named, err := c.verify([]*x509.Certificate{c.own.Leaf}, x509.ExtKeyUsageServerAuth)
	if err == nil && named != node {
		err = fmt.Errorf("it is the certificate of node %s, and this is %s", named, node)
	}
	if err != nil {
		return nil, fmt.Errorf("peers: %s: %w", f.Cert, err)
	}
	return c, nil
}

// verify checks the certificate that a peer has presented, and returns the name of its node.
func (c *credentials) verify(shown []*x509.Certificate, use x509.ExtKeyUsage) (node string, err error) {
	if len(shown) == 0 {
		return "", errNoCertificate
	}
	o := x509.VerifyOptions{Roots: c.roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{use}}
	for _, cert := range shown[1:] {
		o.Intermediates.AddCert(cert)
	}
	if _, err := shown[0].Verify(o); err != nil {
		return "", err
	}
	for _, u := range shown[0].URIs {
		if u.Scheme == scheme && u.Host == c.cluster && len(u.Path) > 1 {
			return u.Path[1:], nil
		}
	}
	return "", fmt.Errorf("%w %s", errNoCertificate, c.cluster)
}

// client returns the configuration for a connection to a node. If another node answers, the error is errOther.
func (c *Certs) client(node string) *tls.Config {
	now := c.current()
	return now.config(func(s tls.ConnectionState) error {
		named, err := now.verify(s.PeerCertificates, x509.ExtKeyUsageServerAuth)
		if err == nil && named != node {
			return fmt.Errorf("%w: %s, not %s", errOther, named, node)
		}
		return err
	})
}

// errOther means that another node of the cluster listens at an address.
var errOther = errors.New("peers: another node is at this address")

// server returns the configuration of a server. The server calls refused for each peer that is not a node of the
// cluster.
func (c *Certs) server(refused func(error)) *tls.Config {
	now := c.current()
	return now.config(func(s tls.ConnectionState) error {
		_, err := now.verify(s.PeerCertificates, x509.ExtKeyUsageClientAuth)
		if err != nil {
			refused(err)
		}
		return err
	})
}

// config makes both sides verify certificates with verify, because the names in them are names of nodes and not of
// hosts.
func (c *credentials) config(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.own}, NextProtos: []string{"h2"},
		InsecureSkipVerify: true, ClientAuth: tls.RequestClientCert, VerifyConnection: verify, SessionTicketsDisabled: true,
	}
}

const scheme = "troupe"

// nameForm matches valid names of clusters and nodes.
var nameForm = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

func nodeURL(cluster, node string) *url.URL {
	return &url.URL{Scheme: scheme, Host: cluster, Path: "/" + node}
}
