package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"troupe/messages/wire"
	"troupe/transport/internal/rfc6455"
)

// pongTimeout limits the writing of a pong.
const pongTimeout = 10 * time.Second

// wsLink is the reliable channel over ws and wss. Its only goroutine is the reader.
type wsLink struct {
	// set once
	cn     *connection
	ws     *socket
	tcp    net.Conn // the TCP connection, under TLS if there is TLS
	secure bool
	quiet  *quietReader
	over   chan struct{} // closed when the reader has ended

	failOnce sync.Once
	cause    error // why writing ended, if it ended first; valid once fail has closed tcp
}

// quietReader limits the duration of each read. The reader owns max.
type quietReader struct {
	conn net.Conn
	max  time.Duration // 0 for no limit
}

func (q *quietReader) Read(b []byte) (int, error) {
	if q.max > 0 {
		q.conn.SetReadDeadline(time.Now().Add(q.max))
	}
	return q.conn.Read(b)
}

func openWebSocket(ctx context.Context, t Transport, o *Options, cn *connection) (link, error) {
	addr, secure := o.addr(t), t == WSS
	tcp, err := dialAgain(ctx, func(ctx context.Context) (net.Conn, error) { return o.dialContext(ctx, "tcp", netip.Addr{}, addr) })
	if err != nil {
		return nil, err
	}
	conn := tcp
	if secure {
		t := tls.Client(tcp, o.tlsConfig())
		if err := t.HandshakeContext(ctx); err != nil {
			tcp.Close()
			return nil, err
		}
		conn = t
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Unix(1, 0))
		close(cut)
	})
	quiet := &quietReader{conn: conn}
	ws, err := upgrade(conn, quiet, addr)
	if !stop() {
		<-cut
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		tcp.Close()
		return nil, fmt.Errorf("opening handshake: %w", err)
	}
	quiet.max = o.SilenceMax
	l := &wsLink{cn: cn, ws: ws, tcp: tcp, secure: secure, quiet: quiet, over: make(chan struct{})}
	go l.run()
	return l, nil
}

func (o *Options) tlsConfig() *tls.Config {
	cfg := &tls.Config{}
	if o.TLS != nil {
		cfg = o.TLS.Clone()
	}
	cfg.ServerName = o.serverName(o.WSSAddr)
	cfg.NextProtos = []string{"http/1.1"} // WebSocket over newer HTTP versions is not supported
	return cfg
}

func (l *wsLink) send(ctx context.Context, unit []byte) error {
	if err := l.ws.acquire(ctx); err != nil {
		return err
	}
	defer l.ws.release()
	err := l.ws.write(ctx, rfc6455.Binary, unit)
	if errors.Is(err, ErrClosed) {
		l.fail(err)
	}
	return err
}

// fail ends the connection if writing has failed. If only a close frame was written, the reader ends the connection.
func (l *wsLink) fail(err error) {
	if !l.ws.broken {
		return
	}
	l.failOnce.Do(func() {
		l.cause = err
		l.tcp.Close()
	})
}

func (l *wsLink) openFast(f *fastChannel, login *wire.LoginResult, o *Options) {
	if !l.secure {
		port := int(login.FastPort)
		f.c.spawn(func() { f.runUDP(l.tcp, port) })
		return
	}
	result := *login
	f.c.spawn(func() { f.runDTLS(l.tcp, &result, o.serverName(o.WSSAddr), o.Sessions, o.Payload) })
}

func (l *wsLink) close() {
	if l.ws.writeControl(rfc6455.Close, closePayload(codeNormal), closeTimeout) == nil {
		select {
		case <-l.over:
		case <-time.After(closeTimeout):
		}
	}
	l.tcp.Close()
}

// abort closes the TCP connection with a reset. It sends no TLS close_notify, because that could block.
func (l *wsLink) abort() {
	if tcp, ok := l.tcp.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	l.tcp.Close()
}

// run is the reader goroutine. When reading ends, it closes the connection and ends the link.
func (l *wsLink) run() {
	end := l.read()
	l.tcp.Close()
	l.failOnce.Do(func() {})
	if l.cause != nil && end.Code == 0 {
		end.Err = l.cause
	}
	close(l.over)
	l.cn.onEnd(end)
}

func (l *wsLink) read() End {
	for {
		op, payload, err := l.ws.read()
		if err != nil {
			if errors.Is(err, errProtocol) {
				l.ws.writeControl(rfc6455.Close, closePayload(codeProtocolError), closeTimeout)
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = fmt.Errorf("%w for %v", ErrSilent, l.quiet.max)
			}
			return End{Err: err}
		}
		switch op {
		case rfc6455.Binary:
			l.cn.onUnit(payload)
		case rfc6455.Text:
			l.cn.client.reliable.countReceived(len(payload))
			l.cn.client.reliable.malformed.Add(1) // hosts send no text messages
		case rfc6455.Ping:
			// A bare ErrClosed means that this side has already written a close frame and awaits the host's.
			if err := l.ws.writeControl(rfc6455.Pong, payload, pongTimeout); err != nil && err != ErrClosed {
				return End{Err: fmt.Errorf("answer to a ping: %w", err)}
			}
		case rfc6455.Close:
			return l.goodbye(payload)
		}
	}
}

// goodbye answers the host's close frame and waits a moment for the host to close TCP.
func (l *wsLink) goodbye(payload []byte) End {
	code, reason := closeFrame(payload)
	l.ws.writeControl(rfc6455.Close, payload[:min(2, len(payload))], closeTimeout)
	l.quiet.max = 0
	l.quiet.conn.SetReadDeadline(time.Now().Add(closeTimeout))
	io.Copy(io.Discard, l.ws.br)
	return End{Code: code, Reason: reason}
}
