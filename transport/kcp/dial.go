package kcp

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"troupe/messages/counters"
	"troupe/transport/dtls"
)

// DialOptions are what Dial needs. Zero values are defaults.
type DialOptions struct {
	DTLS         dtls.DialOptions
	SilenceMax   time.Duration // without a sign of the host; default 10 s
	WriteTimeout time.Duration // without progress; default 10 s
	// StallMax is how long the host may be silent although the stream pings it, up to fourteen times from a fifth of StallMax on.
	// Default: no such pings, only SilenceMax and WriteTimeout apply.
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

// Dial makes the association and the stream. ctx bounds Dial only. The handler may be called before Dial returns.
func Dial(ctx context.Context, o DialOptions, h StreamHandler) (*Stream, error) {
	var s *Stream
	_, err := dtls.Dial(ctx, o.DTLS, func(a *dtls.Association) dtls.Handler {
		s = newStream(a, o, h)
		return s.e
	})
	if err != nil {
		return nil, fmt.Errorf("kcp: dial: %w", err)
	}
	return s, nil
}
