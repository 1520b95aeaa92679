package loadgen

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	loginTimeout      = 20 * time.Second // from dialling to LOGIN_RESPONSE
	connsPerSource    = 4000             // maximum number of connections per source address 127.0.0.x
	sourcesMax        = 8
	handshakeBytesMax = 8 << 10
	acceptGUID        = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

// ErrRefused means that the host rejected a login.
var ErrRefused = errors.New("refused")

// DialError is the reason why a player could not log in.
type DialError struct{ err error }

func (e *DialError) Error() string { return "log in: " + e.err.Error() }
func (e *DialError) Unwrap() error { return e.err }

// dial connects, upgrades and logs in. The returned connection has no deadline, and its parser may contain unread
// bytes.
func (s *Swarm) dial(ctx context.Context, login Login, number int) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	addr := cmp.Or(login.Addr, s.cfg.Addr)
	c := &conn{rec: &s.shards[number%shardCount], room: login.Room}
	if s.cfg.To == ToAnything {
		c.seen = new(seen)
	}
	c.ticks = s.cfg.To == ToTicks
	if s.cfg.SDK != nil {
		return c, c.dialSDK(ctx, s.cfg.SDK, addr, login.PlayerSessionID)
	}
	d := net.Dialer{LocalAddr: source(addr, number), KeepAlive: -1}
	if d.LocalAddr != nil {
		d.Control = bindNoPort
	}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &DialError{err}
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	w := &webSocket{of: c, net: nc, protocol: s.cfg.Protocol}
	c.link = w
	_, _ = rand.Read(w.key[:])
	if w.protocol != nil {
		err = w.enter(ctx, addr, login)
	} else {
		err = w.open(addr, login.PlayerSessionID)
	}
	if err != nil {
		stop()
		return nil, &DialError{errors.Join(err, context.Cause(ctx), nc.Close())}
	}
	if !stop() {
		return nil, fmt.Errorf("log in: %w", context.Cause(ctx))
	}
	return c, nil
}

// source spreads connections over several loopback source addresses, so that neither ports nor a limit per address run
// out.
func source(addr string, number int) net.Addr {
	n := number / connsPerSource
	if n == 0 {
		return nil
	}
	host, _, _ := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() || ip.To4() == nil {
		return nil
	}
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+n%sourcesMax))}
}

// open performs the WebSocket handshake and the login.
func (c *webSocket) open(addr, playerSessionID string) error {
	if err := c.upgrade(addr, "/websocket"); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	if _, err := c.net.Write(appendFrame(nil, opBinary, c.key, AppendLogin(nil, playerSessionID))); err != nil {
		return fmt.Errorf("send login: %w", err)
	}
	unit, err := c.awaitMessage()
	if err != nil {
		return err
	}
	return c.loggedIn(unit)
}

func (c *webSocket) upgrade(addr, path string) error {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])
	req := "GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: " + key + "\r\nSec-WebSocket-Version: 13\r\n\r\n"
	if _, err := c.net.Write([]byte(req)); err != nil {
		return err
	}
	for {
		n, err := c.net.Read(c.parser.space())
		if err != nil {
			return err
		}
		c.parser.filled(n)
		got := c.parser.buf[:c.parser.end]
		if end := bytes.Index(got, []byte("\r\n\r\n")); end >= 0 {
			c.parser.start = end + 4
			return checkUpgrade(got[:end], key)
		}
		if len(got) > handshakeBytesMax {
			return errors.New("endless response header")
		}
	}
}

// checkUpgrade checks that the response has status 101 and the accept key that belongs to key.
func checkUpgrade(head []byte, key string) error {
	status, _, _ := bytes.Cut(head, []byte("\r\n"))
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 101")) {
		return fmt.Errorf("answered %q", status)
	}
	sum := sha1.Sum([]byte(key + acceptGUID))
	if !bytes.Contains(head, []byte(base64.StdEncoding.EncodeToString(sum[:]))) {
		return errors.New("wrong Sec-WebSocket-Accept")
	}
	return nil
}

// awaitMessage reads until the next binary message. The result is valid until the next call.
func (c *webSocket) awaitMessage() ([]byte, error) {
	for {
		op, payload, ok, err := c.parser.next()
		switch {
		case err != nil:
			return nil, err
		case ok && op == opBinary:
			return payload, nil
		case ok:
			if err := c.control(op, payload); err != nil {
				return nil, err
			}
		default:
			n, err := c.net.Read(c.parser.space())
			if err != nil {
				return nil, err
			}
			c.parser.filled(n)
		}
	}
}

func (c *webSocket) loggedIn(unit []byte) error {
	p, err := ParseUnit(unit)
	if err != nil {
		return err
	}
	if p.OpCode != OpLoginResponse || p.LoginRes == nil {
		return fmt.Errorf("first packet has op code %d", p.OpCode)
	}
	ok, peer, err := ParseLoginResult(p.LoginRes)
	if err != nil {
		return err
	}
	if !ok || peer <= 0 {
		return ErrRefused
	}
	c.of.peer = peer
	return nil
}
