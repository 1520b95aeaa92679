package kcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"troupe/messages/counters"
	"troupe/transport/dtls"
)

// DialOptions are what Dial needs. Zero values are defaults.
type DialOptions struct {
	DTLS         dtls.DialOptions
	SilenceMax   time.Duration // without a sign of the host; default 10 s
	WriteTimeout time.Duration // without progress; default 10 s
	// StallMax is how long the host may be silent if the stream pings it: after a fifth of
	// this time the stream sends up to fourteen pings. Default: no such pings, only
	// SilenceMax and WriteTimeout apply.
	StallMax time.Duration
	QueueMax int // messages that may wait in Send; default 1024
}

func (o DialOptions) withDefaults() DialOptions {
	o.SilenceMax = cmp.Or(o.SilenceMax, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.QueueMax = cmp.Or(o.QueueMax, 1024)
	o.DTLS.Counters = cmp.Or(o.DTLS.Counters, new(counters.Set))
	return o
}

// Dial makes the association and the stream. ctx bounds Dial only. The handler may be
// called before Dial returns. If Dial fails after the association was established,
// OnClosed is called.
func Dial(ctx context.Context, o DialOptions, h StreamHandler) (*Stream, error) {
	// Make the socket here, so that the stream knows its local address.
	if o.DTLS.Conn == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "udp", o.DTLS.Addr)
		if err != nil {
			return nil, fmt.Errorf("kcp: dial: %w", err)
		}
		o.DTLS.Conn = conn
		if host, _, err := net.SplitHostPort(o.DTLS.Addr); err == nil && o.DTLS.ServerName == "" {
			o.DTLS.ServerName = host
		}
	}
	conn := o.DTLS.Conn
	var s *Stream
	_, err := dtls.Dial(ctx, o.DTLS, func(a *dtls.Association) dtls.Handler {
		s = newStream(a, o, h)
		s.local = conn.LocalAddr()
		return s.e
	})
	if err == nil && s == nil {
		err = errors.New("kcp: no association")
	}
	if err != nil {
		if s != nil {
			s.Abort()
		}
		_ = conn.Close()
		return nil, fmt.Errorf("kcp: dial: %w", err)
	}
	return s, nil
}
