package main

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/transport/host"
	"troupe/transport/tlsconf"
)

type tlsCommand struct {
	Trust  tlsTrustCommand  `cmd:"" help:"Print which certificate players must trust for wss, and how to install it on each platform."`
	Rotate tlsRotateCommand `cmd:"" help:"Start a new private certificate authority. The old one is kept beside it."`
}

type tlsTrustCommand struct{ settings }

type tlsRotateCommand struct {
	settings
	Prepare bool `help:"Only create the next authority, so that devices can trust it before the next rotate starts to use it."`
}

func (s *settings) certificates(out io.Writer) (tlsconf.Options, error) {
	c, err := s.load(host.Defaults(), out)
	if err != nil {
		return tlsconf.Options{}, err
	}
	return c.Certificates(zerolog.Nop())
}

func (c *tlsTrustCommand) Run(s streams) error {
	o, err := c.certificates(s.err)
	if err != nil {
		return err
	}
	anchors, file, err := tlsconf.Trusted(o)
	if errors.Is(err, fs.ErrNotExist) && o.Dir != "" {
		return fmt.Errorf("there is no certificate authority in %s yet: the host creates it at its first start (if it uses another directory, give --config or --tls-dir)", o.Dir)
	}
	if err != nil {
		return err
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	fmt.Fprintf(s.out, "Players that connect over wss must trust this file (DTLS and KCP clients get it with their login, or by --ca):\n\n  %s\n", file)
	for _, a := range anchors {
		describeAnchor(s.out, a)
	}
	_, err = io.WriteString(s.out, strings.ReplaceAll(trustText, "{}", file))
	return err
}

func describeAnchor(out io.Writer, a *x509.Certificate) {
	names := strings.Join(tlsconf.Constraints(a), ", ")
	if names == "" {
		names = "any name: trust it only on devices that are used for this game alone"
	}
	fmt.Fprintf(out, "  %s\n    signs for  %s\n    valid to   %s\n    SHA-256    % X\n", a.Subject, names, a.NotAfter.UTC().Format(time.DateOnly), sha256.Sum256(a.Raw))
}

const trustText = `
Compare the SHA-256 on the device before you trust it. Never copy ca/key.pem anywhere.

  troupe client, curl       --ca {}; --cacert {}
  Go                        SSL_CERT_FILE={}, or tls.Config.RootCAs
  Python, aws CLI           REQUESTS_CA_BUNDLE={}; AWS_CA_BUNDLE={}
  Node.js                   NODE_EXTRA_CA_CERTS={}
  Java                      keytool -importcert -cacerts -alias troupe -file {}
  .NET, Unity, the C# SDK   the trust store of the system, as below
  Debian, Ubuntu            cp {} /usr/local/share/ca-certificates/troupe.crt && update-ca-certificates
  Fedora, RHEL              cp {} /etc/pki/ca-trust/source/anchors/troupe.pem && update-ca-trust
  macOS                     security add-trusted-cert -r trustRoot -p ssl -k ~/Library/Keychains/login.keychain-db {}
  Windows                   certutil -user -addstore Root {}
  Firefox                   Settings, Certificates, Authorities, Import
  iOS                       send {} to the device, install the profile, then Settings, General, About, Certificate Trust Settings
  Android                   apps trust what their network_security_config names: add {} to the app as a raw resource

For a public game, use a certificate of a public authority instead: tls.certFile and tls.keyFile.
`

func (c *tlsRotateCommand) Run(s streams) error {
	o, err := c.certificates(s.err)
	if err != nil {
		return err
	}
	if c.Prepare {
		file, err := tlsconf.Prepare(o)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s is the next certificate authority. Have devices trust it beside the current one, then run: troupe tls rotate\n", file)
		return nil
	}
	old, err := tlsconf.Rotate(o)
	if err != nil {
		return err
	}
	if old != "" {
		fmt.Fprintf(s.out, "The old certificate authority is in %s. Remove it from the devices that trust it.\n", old)
	}
	fmt.Fprintf(s.out, "The new one is %s. A running host uses it within a minute. Devices that connect over wss must trust it: see troupe tls trust\n", tlsconf.CAFile(o.Dir))
	return nil
}
