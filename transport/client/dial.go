package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"troupe/messages/wire"
)

// Dial opens a connection and logs in. The context limits only Dial, not the Client. If Dial fails, nothing of the
// attempt is left running. If the host asks the client to try later, Dial does so as long as the context allows.
//
// If the host refuses the login, the error is a *RefusedError. Because of the closing handshake, Dial may return it up
// to two seconds late. If no connection can be made, or it ends before the login is answered, the error is an
// *EndError. If the context or Options.DialTimeout ends first, the error wraps the context's error.
func Dial(ctx context.Context, o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return dial(ctx, &o, openLink)
}

func dial(ctx context.Context, o *Options, open opener) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	c := newClient(o, open)
	for n := 0; ; n++ {
		err := c.connect(ctx, o.Transport)
		if err == nil {
			return c, nil
		}
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.RetryAfter == 0 || !wait(ctx, refused.RetryAfter+o.Reconnect.delay(n)) {
			c.leave()
			return nil, err
		}
	}
}

// dialContext opens a TCP connection or a UDP socket. Only for UDP may local be valid; it is then the local address.
func (o *Options) dialContext(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error) {
	if o.DialContext != nil {
		conn, err := o.DialContext(ctx, network, local, address)
		if conn == nil && err == nil {
			err = errors.New("Options.DialContext returned neither a connection nor an error")
		}
		return conn, err
	}
	var d net.Dialer
	if local.IsValid() { // for UDP only
		d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
	}
	return d.DialContext(ctx, network, address)
}

// wait waits for d. It returns false if ctx ends first, or at once if the deadline of ctx is earlier.
func wait(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// connect logs in over a transport. Auto first tries the transport that worked last.
func (c *Client) connect(ctx context.Context, t Transport) error {
	if t != Auto {
		return c.attempt(ctx, t)
	}
	first, second := KCP, WSS
	if c.Transport() == WSS {
		first, second = WSS, KCP
	}
	err := c.attemptFirst(ctx, first)
	if err == nil || answered(err) || ctx.Err() != nil {
		return err
	}
	if secondErr := c.attempt(ctx, second); secondErr != nil {
		return fmt.Errorf("%w; before: %w", secondErr, err)
	}
	return nil
}

// attemptFirst makes the first attempt of Auto. It leaves enough time for a second one.
func (c *Client) attemptFirst(ctx context.Context, t Transport) error {
	bound := c.o.AutoTimeout
	if deadline, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(deadline)/3)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return c.attempt(ctx, t)
}

// answered reports whether the host itself refused the login. It would refuse it over any other transport, too.
func answered(err error) bool {
	var end *EndError
	return errors.Is(err, ErrRefused) || errors.As(err, &end) && end.End.Code != 0
}

// attemptAt opens one link with the addresses in o and logs in over it.
func (c *Client) attemptAt(ctx context.Context, t Transport, o *Options) error {
	cn := newConnection(c, t, o)
	if o.addr(t) == "" {
		cn.ended()
		return &EndError{End{Err: fmt.Errorf("client: the host of the game session does not offer %s", t)}}
	}
	l, err := c.open(ctx, t, o, cn)
	if err != nil {
		cn.ended()
		return dialError(ctx, t, o, err)
	}
	c.mu.Lock()
	cn.link = l
	c.mu.Unlock()
	err = c.logIn(ctx, cn)
	if err == nil || !c.abandon(cn, err) {
		return nil
	}
	c.mu.Lock()
	leave := c.leaving
	c.mu.Unlock()
	if leave || errors.Is(err, ErrRefused) && !redirected(err) { // a redirect is followed at once
		l.close()
	} else {
		l.abort()
	}
	<-cn.done
	return dialError(ctx, t, o, err)
}

// abandon prevents a connection from becoming the current one. It returns false if the connection
// already was the current one. It is called once.
func (c *Client) abandon(cn *connection, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !cn.since.IsZero() {
		return false
	}
	close(cn.abandoned)
	if cn.asked && !errors.Is(err, ErrRefused) { // a refused login cannot succeed later
		c.abandonedAt = time.Now()
	}
	return true
}

type attemptError struct {
	text  string
	cause error
}

func (e *attemptError) Error() string { return e.text }
func (e *attemptError) Unwrap() error { return e.cause }

// dialError describes a failed attempt. The result wraps the error of an ended context, a *RefusedError or an *EndError.
func dialError(ctx context.Context, t Transport, o *Options, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	text := err.Error()
	var end *EndError
	if ctx.Err() == nil && !errors.Is(err, ErrRefused) && !errors.As(err, &end) {
		err = &EndError{End{Err: err}}
	}
	var plain tls.RecordHeaderError
	switch {
	case errors.Is(err, ErrRefused):
	case errors.As(err, &plain):
		text = "it does not speak TLS (a fleet without certificates is for ws)"
	case errors.Is(err, context.DeadlineExceeded):
		text = "no answer in time: " + context.DeadlineExceeded.Error()
	}
	return &attemptError{t.String() + " at " + o.addr(t) + ": " + text, err}
}

// logIn sends LOGIN and waits for its result.
func (c *Client) logIn(ctx context.Context, cn *connection) error {
	login := wire.Login{PlayerSessionID: c.o.PlayerSessionID, ClientVersion: wire.ClientVersion}
	c.mu.Lock()
	c.numbers.login(&login)
	cn.asked, cn.said = true, login.LastReceived
	c.mu.Unlock()
	unit := wire.AppendLogin(nil, &login, c.o.Payload)
	c.reliable.countSent(len(unit))
	if err := cn.link.send(ctx, unit); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	select {
	case err := <-cn.login:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-cn.done:
	}
	select {
	case err := <-cn.login: // the answer arrived before the end
		return err
	default:
		return &EndError{cn.end}
	}
}

// parseLoginAnswer parses a LOGIN_RESPONSE.
func parseLoginAnswer(unit []byte) (wire.LoginResult, error) {
	var h wire.Header
	if err := parse(&h, unit); err != nil {
		return wire.LoginResult{}, err
	}
	if h.OpCode != wire.OpLoginResponse || h.Command != wire.CommandLoginResult {
		return wire.LoginResult{}, fmt.Errorf("the host began with op code %s", wire.OpCode(h.OpCode))
	}
	return wire.ParseLoginResult(h.Inner)
}
