package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/messages/wire"
)

// Dial opens a connection and logs in. The context bounds this alone; when it
// ends, nothing of the attempt is left. A login that the host does not accept is
// ErrRefused, and a connection that ends before it is answered an *EndError; a
// refusal may take up to two seconds more, for the goodbye.
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
	if o.Transport != Auto {
		return attempt(ctx, o.Transport, o, open)
	}
	c, err := attemptFirst(ctx, o, open)
	if err == nil || answered(err) || ctx.Err() != nil {
		return c, err
	}
	c, wssErr := attempt(ctx, WSS, o, open)
	if wssErr != nil {
		return nil, fmt.Errorf("%w; before: %w", wssErr, err)
	}
	return c, nil
}

// attemptFirst is Auto's attempt by KCP. Time is left for another.
func attemptFirst(ctx context.Context, o *Options, open opener) (*Client, error) {
	bound := o.AutoTimeout
	if deadline, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(deadline)/3)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return attempt(ctx, KCP, o, open)
}

// answered reports whether the host itself said no: it would on any transport.
func answered(err error) bool {
	var end *EndError
	return errors.Is(err, ErrRefused) || errors.As(err, &end) && end.End.Code != 0
}

// attempt opens one link and logs in over it.
func attempt(ctx context.Context, t Transport, o *Options, open opener) (*Client, error) {
	c := newClient(t, o)
	l, err := open(ctx, t, o, c)
	if err != nil {
		return nil, dialError(ctx, t, err)
	}
	c.link = l
	result, err := c.logIn(ctx, o)
	switch {
	case errors.Is(err, ErrRefused):
		c.Close()
	case err != nil:
		c.Abort()
	}
	if err != nil {
		return nil, dialError(ctx, t, err)
	}
	c.peer = result.PeerID
	if c.fast != nil {
		l.openFast(c.fast, &result, o)
	}
	return c, nil
}

// dialError says where an attempt failed, and that the context ended if it did.
func dialError(ctx context.Context, t Transport, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	return fmt.Errorf("%s: %w", t, err)
}

// loginAnswer is the host's first packet, or why it is none.
type loginAnswer struct {
	result wire.LoginResult
	err    error
}

// logIn sends LOGIN and waits for the answer.
func (c *Client) logIn(ctx context.Context, o *Options) (wire.LoginResult, error) {
	login := wire.Login{PlayerSessionID: o.PlayerSessionID, ClientVersion: wire.ClientVersion}
	err := c.sendReliable(ctx, wire.AppendLogin(nil, &login, o.Payload))
	if err != nil && !errors.Is(err, ErrClosed) {
		return wire.LoginResult{}, err
	}
	var a loginAnswer
	select {
	case a = <-c.login:
	case <-ctx.Done():
		return a.result, ctx.Err()
	case <-c.done:
		select {
		case a = <-c.login: // it came before the end
		default:
			return a.result, &EndError{c.end}
		}
	}
	if a.err == nil && !a.result.Success {
		a.err = ErrRefused
	}
	return a.result, a.err
}

// parseLoginAnswer reads LOGIN_RESPONSE, which is the first packet there is.
func parseLoginAnswer(unit []byte) (wire.LoginResult, error) {
	var h wire.Header
	packet, err := wire.SplitUnit(unit)
	if err == nil {
		err = h.Parse(packet)
	}
	if err != nil {
		return wire.LoginResult{}, err
	}
	if h.OpCode != wire.OpLoginResponse || h.Command != wire.CommandLoginResult {
		return wire.LoginResult{}, fmt.Errorf("the host began with op code %s", wire.OpCode(h.OpCode))
	}
	return wire.ParseLoginResult(h.Inner)
}
