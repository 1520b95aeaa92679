package tlsconf

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// Options say where the certificate comes from: Dir, or CertFile and KeyFile.
type Options struct {
	// Dir is the data directory of the private CA. CA and leaf are made there at
	// first start and kept: files 0600, directory 0700. Several processes may share
	// it when they name the same Hosts.
	Dir string

	// CertFile and KeyFile are the operator's own, instead of Dir: PEM, the leaf
	// first, then its intermediates; the key unencrypted and, except on Windows, with
	// permissions no wider than 0600.
	CertFile, KeyFile string
	// CAFile holds the PEM trust anchors that players get as caCert, with CertFile
	// only. Empty means the last certificate of CertFile, which must be self-issued
	// then.
	CAFile string

	// Hosts are the DNS names and IP addresses that the leaf must carry. A leaf of
	// the private CA carries localhost, 127.0.0.1 and ::1 as well, and nothing else.
	Hosts []string

	// ForDTLS refuses certificates that cannot serve DTLS, which offers only ECDHE_ECDSA suites, also at a reload:
	// otherwise wss would work, and players would wait for DTLS.
	ForDTLS bool

	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets changes of the certificate. Its zero value logs nothing.
	Log zerolog.Logger
}

// AnchorFile returns the path of the file with the trust anchors.
func (o *Options) AnchorFile() string {
	if o.Dir != "" {
		return CAFile(o.Dir)
	}
	return cmp.Or(o.CAFile, o.CertFile)
}

// always are the hosts of every leaf of the private CA.
var always = []string{"localhost", "127.0.0.1", "::1"}

// hosts are the names of a leaf: lower case, sorted, none twice.
type hosts struct {
	names []string
	ips   []netip.Addr
}

func (h hosts) equal(other hosts) bool {
	return slices.Equal(h.names, other.names) && slices.Equal(h.ips, other.ips)
}

// parseHosts checks and sorts names and addresses.
func parseHosts(list []string) (h hosts, err error) {
	for _, s := range list {
		if ip, err := netip.ParseAddr(s); err == nil {
			if ip.Zone() != "" {
				return hosts{}, fmt.Errorf("host %q: an address with a zone cannot be in a certificate", s)
			}
			h.ips = append(h.ips, ip.Unmap())
			continue
		}
		name := strings.ToLower(strings.TrimSuffix(s, "."))
		if !isName(name) {
			return hosts{}, fmt.Errorf("host %q: neither an IP address nor a DNS name (without port; international names as xn--)", s)
		}
		h.names = append(h.names, name)
	}
	h.sort()
	return h, nil
}

func (h *hosts) sort() {
	slices.Sort(h.names)
	slices.SortFunc(h.ips, netip.Addr.Compare)
	h.names, h.ips = slices.Compact(h.names), slices.Compact(h.ips)
}

// isName reports whether s is a DNS name in lower case, perhaps with a wildcard
// as its first label.
func isName(s string) bool {
	if len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	if labels[0] == "*" && len(labels) > 1 {
		labels = labels[1:]
	}
	return !slices.ContainsFunc(labels, func(label string) bool {
		return label == "" || len(label) > 63 || strings.Trim(label, "-") != label ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != ""
	})
}

// validate checks the options.
func (o Options) validate() error {
	switch {
	case o.Dir != "" && (o.CertFile != "" || o.KeyFile != "" || o.CAFile != ""):
		return errors.New("tlsconf: a data directory and certificate files exclude each other")
	case o.Dir == "" && o.CertFile == "" && o.KeyFile == "":
		return errors.New("tlsconf: neither a data directory nor certificate files are given")
	case o.Dir == "" && (o.CertFile == "" || o.KeyFile == ""):
		return errors.New("tlsconf: a certificate file and a key file need each other")
	}
	return nil
}

// source returns the source of certificates that o names.
func (o Options) source() (source, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	list := o.Hosts
	if o.Dir != "" {
		list = slices.Concat(always, o.Hosts)
	}
	h, err := parseHosts(list)
	if err != nil {
		return nil, fmt.Errorf("tlsconf: %w", err)
	}
	if o.Dir != "" {
		return &authority{dir: o.Dir, hosts: h, log: o.Log}, nil
	}
	return &operator{o, h}, nil
}
