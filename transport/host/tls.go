package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/transport/dtls"
	"troupe/transport/tlsconf"
)

// certificatesGenerated is the value for fleets that announce the secure ports.
const certificatesGenerated = "GENERATED"

func (c *Config) hasTLS() bool { return c.API.TLS || c.hasDTLS() }

func (c *Config) hasDTLS() bool { return c.WSS.Addr != "" || c.KCP.Addr != "" }

// Certificates returns the options for loading the certificate of the secured listeners.
func (c *Config) Certificates(log zerolog.Logger) (tlsconf.Options, error) {
	o := tlsconf.Options{Dir: c.TLS.Dir, CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, CAFile: c.TLS.CAFile, ForDTLS: c.hasDTLS(), Log: log}
	for _, name := range []string{c.Public.Host, c.Public.IP} {
		if name = strings.TrimSpace(name); name != "" {
			o.Hosts = append(o.Hosts, name)
		}
	}
	if o.CertFile == "" && o.Dir == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return o, fmt.Errorf("set tls.dir: %w", err)
		}
		o.Dir = filepath.Join(dir, "troupe", "tls")
	}
	return o, nil
}

// loadCertificates loads the certificate of the secured listeners.
func (l *listeners) loadCertificates(c *Config, log zerolog.Logger) error {
	o, err := c.Certificates(log)
	if err != nil {
		return err
	}
	if l.certs, err = tlsconf.Load(o); err != nil {
		return err
	}
	l.anchors = o.AnchorFile()
	if abs, err := filepath.Abs(l.anchors); err == nil {
		l.anchors = abs // a reader of the announcement may have another working directory
	}
	return nil
}

func (c *Config) dtlsOptions(addr string, certs *tlsconf.Store) dtls.Options {
	return dtls.Options{
		Addr: addr, Certificate: certs.Certificate, // a limit of 0 is off
		HalfOpenMax: cmp.Or(c.DTLS.HalfOpen, -1), HalfOpenPerIP: cmp.Or(c.DTLS.HalfOpenPerIP, -1),
		HelloRate: cmp.Or(c.DTLS.HellosPerSecond, -1), HelloRatePerIP: cmp.Or(c.DTLS.HellosPerIP, -1),
	}
}

// secureName returns the DNS name that game sessions of fleets with certificates announce.
func (c *Config) secureName() string {
	return cmp.Or(c.Public.Host, "localhost") // Validate ensures that the listeners are on loopback if Public.Host is empty
}

func (v *checks) secured(c *Config) {
	v.that("dtls.addr", (c.WSS.Addr == "") == (c.DTLS.Addr == ""), "must be set exactly where wss.addr is: stock clients need both")
	for key, addr := range map[string]string{"wss.addr": c.WSS.Addr, "dtls.addr": c.DTLS.Addr, "kcp.addr": c.KCP.Addr} {
		if addr != "" {
			v.addr(key, addr)
		}
	}
	v.that("tls.certFile", (c.TLS.CertFile == "") == (c.TLS.KeyFile == ""), "and tls.keyFile must be set together")
	v.that("tls.caFile", c.TLS.CAFile == "" || c.TLS.CertFile != "", "goes with tls.certFile")
	v.that("tls.reloadEvery", c.TLS.ReloadEvery >= time.Second || !c.hasTLS(), "must be at least 1s")
	v.noneNegative("dtls.", c.DTLS)
	for i, f := range c.Fleets {
		key := fmt.Sprintf("fleets[%d].certificates", i)
		switch f.Certificates {
		case "", "DISABLED":
		case certificatesGenerated:
			v.that(key, c.WSS.Addr != "", "needs wss.addr and dtls.addr")
			v.that("public.host", c.Public.Host != "" || c.WSS.Addr == "" || loopback(c.WSS.Addr),
				"must be set where a fleet has certificates: players verify that name")
		default:
			v.that(key, false, "must be GENERATED or DISABLED")
		}
	}
}
