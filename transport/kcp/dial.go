package kcp

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"troupe/messages/counters"
	"troupe/transport/dtls"
)

// DialOptions are the settings of Dial. A zero value means the default.
type DialOptions struct {
	DTLS         dtls.DialOptions
	SilenceMax   time.Duration // longest time without any record from the host; default 10 s
	WriteTimeout time.Duration // longest time without acknowledgement of sent data; default 10 s
	// StallMax is how long the host may be silent although the stream pings it. The first ping follows a silence of
	// StallMax/5; there are at most fourteen. By default there are no such pings, and only SilenceMax and WriteTimeout apply.
	StallMax time.Duration
	QueueMax int // how many messages Send may queue; default 1024
}

func (o DialOptions) withDefaults() DialOptions {
	o.SilenceMax = cmp.Or(o.SilenceMax, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.QueueMax = cmp.Or(o.QueueMax, 1024)
	o.DTLS.Counters = cmp.Or(o.DTLS.Counters, new(counters.Set))
	return o
}

// Dial establishes the association and the stream. ctx limits only Dial itself. The handler may be called before Dial returns.
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
