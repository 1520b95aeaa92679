package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"troupe/messages/wire"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
)

// kcpLink is the reliable channel over KCP. The DTLS association of KCP also carries the fast channel.
type kcpLink struct{ stream *kcp.Stream }

// streamHandler passes received units to the connection.
type streamHandler struct{ cn *connection }

func (h streamHandler) OnMessage(message []byte)   { h.cn.onUnit(message) }
func (h streamHandler) OnDatagram(datagram []byte) { h.cn.onDatagram(datagram) }

func (h streamHandler) OnClosed(end kcp.StreamEnd) {
	err := end.Err
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: %w", ErrSilent, err)
	}
	h.cn.onEnd(End{Code: end.Code, Reason: end.Reason, Err: err})
}

// unackedMax is how long a host may acknowledge nothing, unless Options.StallMax is longer.
const unackedMax = 10 * time.Second

func (o *Options) kcp() kcp.DialOptions {
	d := dtls.DialOptions{Addr: o.KCPAddr, ServerName: o.serverName(o.KCPAddr), Sessions: o.Sessions}
	if o.TLS != nil {
		d.Roots = o.TLS.RootCAs
	}
	return kcp.DialOptions{DTLS: d, SilenceMax: o.SilenceMax, StallMax: o.StallMax, WriteTimeout: max(unackedMax, o.StallMax)}
}

func openKCP(ctx context.Context, o *Options, cn *connection) (link, error) {
	options := o.kcp()
	options.DTLS.SilenceMax = cn.silence
	if o.DialContext != nil {
		conn, err := o.dialContext(ctx, "udp", netip.Addr{}, o.KCPAddr)
		if err != nil {
			return nil, err
		}
		options.DTLS.Conn = conn
	}
	s, err := kcp.Dial(ctx, options, streamHandler{cn})
	if err != nil {
		return nil, err
	}
	return kcpLink{s}, nil
}

func (l kcpLink) send(ctx context.Context, unit []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.stream.Send(ctx, unit)
	if errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return err
}

// openFast needs no handshake, because the association exists and the login has authenticated it.
func (l kcpLink) openFast(f *fastChannel, _ *wire.LoginResult, o *Options) {
	write := func(unit []byte) bool { return l.stream.SendDatagram(unit) == nil }
	if o.Fast && f.open(&fastPath{write, func() {}}, 0) { // the path ends with the link
		f.c.spawn(f.announce)
	}
}

func (l kcpLink) close() { l.stream.Close(codeNormal) }
func (l kcpLink) abort() { l.stream.Abort() }
