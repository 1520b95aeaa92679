package tlsconf

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// NextCAFile returns the path of the certificate of the CA that Prepare created for the next Rotate.
func NextCAFile(dir string) string { return filepath.Join(dir, "ca-next", "cert.pem") }

// split divides h into the hosts that a CA may sign for and the others. A permitted name includes its
// subdomains.
func (h hosts) split(ca *x509.Certificate) (good, bad hosts) {
	for _, name := range h.names {
		plain := strings.TrimPrefix(name, "*.")
		if len(ca.PermittedDNSDomains) > 0 && !slices.ContainsFunc(ca.PermittedDNSDomains, func(domain string) bool {
			return plain == domain || strings.HasSuffix(plain, "."+domain)
		}) {
			bad.names = append(bad.names, name)
		} else {
			good.names = append(good.names, name)
		}
	}
	for _, ip := range h.ips {
		if len(ca.PermittedIPRanges) > 0 && !slices.ContainsFunc(ca.PermittedIPRanges, func(n *net.IPNet) bool { return n.Contains(ip.AsSlice()) }) {
			bad.ips = append(bad.ips, ip)
		} else {
			good.ips = append(good.ips, ip)
		}
	}
	return good, bad
}

func (h hosts) texts() []string {
	all := slices.Clone(h.names)
	for _, ip := range h.ips {
		all = append(all, ip.String())
	}
	return all
}

// constrain restricts a CA to server certificates for h.
func constrain(template *x509.Certificate, h hosts) {
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	// The constraints are not critical, although RFC 5280 requires that: TLS libraries of consoles and phones
	// that do not support them would reject the CA.
	for _, name := range h.names {
		template.PermittedDNSDomains = append(template.PermittedDNSDomains, strings.TrimPrefix(name, "*."))
	}
	slices.Sort(template.PermittedDNSDomains)
	template.PermittedDNSDomains = slices.Compact(template.PermittedDNSDomains)
	for _, ip := range h.ips {
		template.PermittedIPRanges = append(template.PermittedIPRanges, &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(ip.BitLen(), ip.BitLen())})
	}
}

// constrained reports whether a CA has name constraints. CAs of older versions have none.
func constrained(ca *x509.Certificate) bool {
	return len(ca.PermittedDNSDomains) > 0 && len(ca.PermittedIPRanges) > 0
}

// forThisMachine reports whether a CA may sign only for loopback. Other machines cannot use such a CA.
func forThisMachine(ca *x509.Certificate) bool {
	local, _ := parseHosts(always)
	return constrained(ca) && !slices.ContainsFunc(ca.PermittedDNSDomains, func(domain string) bool { return !slices.Contains(local.names, domain) }) &&
		!slices.ContainsFunc(ca.PermittedIPRanges, func(n *net.IPNet) bool {
			ip, _ := netip.AddrFromSlice(n.IP)
			return !ip.Unmap().IsLoopback()
		})
}

// fits returns the CA and the configured hosts that its leaf may contain. It never replaces a CA that other
// machines may trust, because they would reject the new one. A name that the CA may not sign for is an error,
// because players connect to it. Such an address is left out instead: a machine's addresses may change, and
// the host must still start.
func (a *authority) fits(ca pair, now time.Time) (pair, hosts, error) {
	if !constrained(ca.cert) {
		a.log.Warn().Str("file", a.caFile()).Msg("this private CA may sign for any name (it was made by an older version): troupe tls rotate makes one for the configured names; " +
			"devices that trust the old one for wss need the new file then")
		return ca, a.hosts, nil
	}
	good, bad := a.hosts.split(ca.cert)
	switch {
	case len(bad.names)+len(bad.ips) == 0:
	case forThisMachine(ca.cert):
		a.log.Warn().Str("file", a.caFile()).Strs("for", bad.texts()).Msg("the private CA was for this machine alone: a new one takes its place")
		if _, err := a.rotate(now); err != nil {
			return pair{}, hosts{}, err
		}
		ca, err := a.readCA(now)
		return ca, a.hosts, err
	case len(bad.names) > 0:
		return pair{}, hosts{}, fmt.Errorf("%s may sign for %s only, and not for %s: troupe tls rotate, with the same settings, starts a new CA, which players must be told of",
			a.caFile(), strings.Join(Constraints(ca.cert), ", "), strings.Join(bad.texts(), ", "))
	default:
		a.log.Warn().Str("file", a.caFile()).Strs("without", bad.texts()).Msg("the private CA may not sign for these addresses, so the certificate has none of them: " +
			"players that connect to them by wss do not verify it (troupe tls rotate)")
	}
	return ca, good, nil
}

// Constraints returns the names and addresses that a CA may sign for. An empty result means that it may sign
// for any.
func Constraints(ca *x509.Certificate) []string {
	all := slices.Clone(ca.PermittedDNSDomains)
	for _, n := range ca.PermittedIPRanges {
		if ones, bits := n.Mask.Size(); ones == bits {
			all = append(all, n.IP.String())
		} else {
			all = append(all, n.String())
		}
	}
	return all
}

// rotate moves the CA aside, and replaces it by the prepared CA or a new one. It returns the path of the old
// CA, or "" if there was none. It removes the leaf first: if both are missing, the next start creates both.
// So a host can start after a crash at any point.
func (a *authority) rotate(now time.Time) (old string, err error) {
	next := filepath.Dir(NextCAFile(a.dir))
	prepared, err := exists(next)
	if err == nil && prepared {
		err = a.preparedFits()
	}
	if err != nil {
		return "", err
	}
	if err := os.Remove(a.leafFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	there, err := exists(a.caDir())
	if err != nil {
		return "", err
	}
	if there {
		old = filepath.Join(a.dir, "ca-until-"+now.UTC().Format("20060102-150405.000"))
		if err := os.Rename(a.caDir(), old); err != nil {
			return "", err
		}
	}
	if prepared {
		err = os.Rename(next, a.caDir())
	} else {
		err = a.makeCA(now, a.caDir())
	}
	syncDir(a.dir)
	if gone := os.Remove(a.leafFile()); gone == nil { // a running host has created a leaf meanwhile
		a.log.Debug().Str("file", a.leafFile()).Msg("removed a certificate of the old CA")
	}
	return old, err
}

// authorityOf returns the private CA that the options select. It returns an error if they select the
// operator's own files.
func authorityOf(o Options) (*authority, time.Time, error) {
	s, err := o.source()
	a, ok := s.(*authority)
	if err == nil && !ok {
		err = errors.New("tlsconf: the certificate is from files of your own, and so is its CA")
	}
	return a, time.Now(), err
}

// preparedFits returns an error if the CA that Prepare created may not sign for the configured hosts.
func (a *authority) preparedFits() error {
	file := NextCAFile(a.dir)
	f, err := readPEM(file, false)
	if err != nil || len(f.certs) != 1 {
		return err
	}
	if _, bad := a.hosts.split(f.certs[0]); len(bad.texts()) > 0 {
		return fmt.Errorf("%s may not sign for %s: remove %s and prepare again", file, strings.Join(bad.texts(), ", "), filepath.Dir(file))
	}
	return nil
}

// Prepare creates the CA for the next Rotate and returns the path of its certificate, so that devices can
// trust it in advance. It keeps an existing prepared CA that fits the configuration.
func Prepare(o Options) (file string, err error) {
	a, now, err := authorityOf(o)
	if err != nil {
		return "", err
	}
	file = NextCAFile(a.dir)
	there, err := exists(filepath.Dir(file))
	if err == nil && !there {
		err = a.makeCA(now, filepath.Dir(file))
	}
	if err == nil {
		err = a.preparedFits()
	}
	if err != nil {
		return "", fmt.Errorf("tlsconf: %w", err)
	}
	return file, nil
}

// Rotate replaces the CA by the one that Prepare created, or by a new one. The old CA is kept in the
// directory old and no longer signs. A running host loads the new CA when it next checks the files.
func Rotate(o Options) (old string, err error) {
	a, now, err := authorityOf(o)
	if err == nil {
		old, err = a.rotate(now)
	}
	if err == nil {
		_, err = a.load(now)
	}
	if err != nil {
		return old, fmt.Errorf("tlsconf: %w", err)
	}
	return old, nil
}

// Trusted returns the certificates that players must trust for wss, and the file that contains them. It
// creates no files.
func Trusted(o Options) (anchors []*x509.Certificate, file string, err error) {
	if err := o.validate(); err != nil {
		return nil, "", err
	}
	file = o.AnchorFile()
	anchors, err = readCertificates(file, false)
	if err != nil {
		return nil, file, fmt.Errorf("tlsconf: %w", err)
	}
	if o.CAFile == "" && o.Dir == "" { // the chain in CertFile ends with the anchor
		anchors = anchors[len(anchors)-1:]
	}
	return anchors, file, nil
}
