package tlsconf

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rs/zerolog"
)

// Options says where the certificate comes from: Dir, or CertFile and KeyFile.
type Options struct {
	// Dir is the data directory of the private CA. Its files have permissions 0600, and the directory 0700.
	// Several processes may share it if they have the same Hosts.
	Dir string
	// CertFile and KeyFile are the operator's own PEM files, used instead of Dir. CertFile has the leaf
	// first, then its intermediates. Only the owner may have access to KeyFile.
	CertFile, KeyFile string
	// CAFile, used with CertFile, is a PEM file with the trust anchors that players get as caCert. If it is
	// empty, the last certificate in CertFile is the anchor and must be self-issued.
	CAFile string
	// Hosts are the DNS names and IP addresses that the leaf must contain. A leaf of the private CA also
	// contains those of loopback.
	Hosts []string
	// ForDTLS rejects certificates that DTLS cannot use, also during a reload. DTLS offers only ECDHE_ECDSA
	// cipher suites.
	ForDTLS bool
	Log     zerolog.Logger // changes of the certificate are logged here
}

// AnchorFile returns the path of the file with the trust anchors.
func (o *Options) AnchorFile() string {
	if o.Dir != "" {
		return CAFile(o.Dir)
	}
	return cmp.Or(o.CAFile, o.CertFile)
}

var always = []string{"localhost", "127.0.0.1", "::1"} // hosts in every leaf of the private CA

// hosts are the names and addresses of a leaf: lower case, sorted, without duplicates.
type hosts struct {
	names []string
	ips   []netip.Addr
}

func (h hosts) equal(other hosts) bool {
	return slices.Equal(h.names, other.names) && slices.Equal(h.ips, other.ips)
}

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

// isName reports whether s is a lower-case DNS name. Its first label may be a wildcard.
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

func (o Options) validate() error {
	switch {
	case o.Dir != "" && (o.CertFile != "" || o.KeyFile != "" || o.CAFile != ""):
		return errors.New("tlsconf: a data directory and certificate files exclude each other")
	case o.Dir == "" && (o.CertFile == "" || o.KeyFile == ""):
		return errors.New("tlsconf: a certificate file and a key file need each other")
	}
	return nil
}

// source returns the source of certificates that the options select.
func (o Options) source() (source, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	list := o.Hosts
	if o.Dir != "" {
		list = slices.Concat(always, o.Hosts)
	}
	h, err := parseHosts(list)
	switch {
	case err != nil:
		return nil, fmt.Errorf("tlsconf: %w", err)
	case o.Dir != "":
		return &authority{dir: o.Dir, hosts: h, log: o.Log}, nil
	}
	return &operator{o, h}, nil
}
