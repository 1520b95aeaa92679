package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/coord"
)

// version is a version of etcd: major, minor, patch.
type version [3]int

var (
	versionMin = version{3, 5, 13} // earlier ones lose leases and events (S12)
	// advised are the first versions without a known flaw, of each minor version (S14).
	advised = []version{{3, 5, 33}, {3, 6, 14}, {3, 7, 1}}
)

// parseVersion reads a version as etcd reports it: numbers with dots, and perhaps a suffix.
func parseVersion(text string) (v version, err error) {
	text, _, _ = strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if len(parts) != len(v) {
		return v, fmt.Errorf("%q is no version", text)
	}
	for i, p := range parts {
		if v[i], err = strconv.Atoi(p); err != nil {
			return v, fmt.Errorf("%q is no version", text)
		}
	}
	return v, nil
}

func (v version) less(o version) bool { return slices.Compare(v[:], o[:]) < 0 }

// advises returns the version to which a member of version v should be upgraded, or nil.
func (v version) advises() *version {
	for i := range advised {
		if a := &advised[i]; v.less(*a) && v[0] == a[0] && v[1] == a[1] {
			return a
		}
	}
	return nil
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// supported reads the version of a member. It returns an error if the member is too old.
func supported(text string) (version, error) {
	v, err := parseVersion(text)
	if err != nil {
		return v, fmt.Errorf("%w: use etcd %v or newer", err, versionMin)
	}
	if v.less(versionMin) {
		return v, fmt.Errorf("version %v loses leases and events: upgrade it to %v or newer", v, versionMin)
	}
	return v, nil
}

// Check returns an error if a member that answers is too old, and logs if a member should be upgraded. It returns
// coord.ErrUnavailable if no member answers.
func (c *Client) Check(ctx context.Context, log zerolog.Logger) error {
	var silent error
	answers := 0
	for _, endpoint := range c.endpoints {
		var text string
		err := c.once(ctx, coord.ErrUnavailable, func(ctx context.Context) error {
			answer, err := c.calls.Status(ctx, endpoint)
			if err == nil {
				text = answer.Version
			}
			return err
		})
		if err != nil {
			silent = err
			if why := c.why(ctx, endpoint); why != nil && errors.Is(err, coord.ErrUnavailable) {
				silent = fmt.Errorf("%w: %s: %w", coord.ErrUnavailable, endpoint, why)
			}
			continue
		}
		answers++
		v, err := supported(text)
		if err != nil {
			return fmt.Errorf("etcd at %s: %w", endpoint, err)
		}
		if a := v.advises(); a != nil {
			log.Warn().Str("endpoint", endpoint).Stringer("version", v).Stringer("advised", *a).Msg("etcd has a known flaw: upgrade it")
		}
	}
	if answers == 0 {
		return silent
	}
	return nil
}

// why returns why no connection to a member is possible, or nil if it is. The etcd library does not say.
func (c *Client) why(ctx context.Context, endpoint string) error {
	at, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.attempt)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	if at.Scheme != "https" {
		return nil
	}
	config := &tls.Config{}
	if c.tls != nil {
		config = c.tls.Clone()
	}
	config.ServerName, config.NextProtos = at.Hostname(), []string{"h2"}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	_ = secured.SetReadDeadline(time.Now().Add(c.attempt)) // a server refuses a certificate after the handshake
	if _, err = secured.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
