package websocket

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/lxzan/gws"

	"troupe/messages/counters"
	"troupe/transport"
)

// serve answers one opening handshake. Its buffers are pooled. It does not use the HTTP server
// of the standard library, which leaves 8 KiB of garbage for every hijacked connection.
func (v *handshakingConn) serve() {
	l := v.l
	defer l.leave(v)
	defer func() {
		if r := recover(); r != nil {
			transport.Panicked(l.opt.Counters, &l.opt.Log, "WebSocket handshake", r)
			_ = v.Close()
		}
	}()
	_ = v.SetDeadline(time.Now().Add(l.opt.HeaderTimeout))
	in := l.readers.Get().(*headerReader)
	defer func() {
		in.Reset(nil)
		l.readers.Put(in)
	}()
	in.limit.R, in.limit.N = v, int64(l.opt.HeaderBytesMax)
	in.Reset(&in.limit)
	r, err := http.ReadRequest(in.Reader)
	switch {
	case err != nil && in.limit.N <= 0:
		v.answer(http.StatusRequestHeaderFieldsTooLarge, "header too large")
	case err != nil && isSilence(err):
		_ = v.Close() // the peer is gone, or too slow for an answer
	case err != nil:
		v.answer(http.StatusBadRequest, "malformed request")
	default:
		v.decide(r, in.Reader)
	}
}

// headerReader reads one request header, with its bound.
type headerReader struct {
	*bufio.Reader
	limit io.LimitedReader
}

func newHeaderReader() any {
	h := &headerReader{}
	h.Reader = bufio.NewReader(&h.limit)
	return h
}

// isSilence reports whether a read failed by an end or a timeout, rather than by malformed
// bytes.
func isSilence(err error) bool {
	var timeout net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &timeout)
}

// decide upgrades a valid request, and answers any other with an error.
func (v *handshakingConn) decide(r *http.Request, in *bufio.Reader) {
	l := v.l
	switch {
	case l.closing():
		v.refuse(counters.RefusedDraining)
		v.answer(http.StatusServiceUnavailable, "the host drains")
		return
	case r.URL.Path != "/websocket" && r.URL.Path != "/":
		v.refuse(counters.RefusedPath)
		v.answer(http.StatusNotFound, "not found")
		return
	}
	if status, text := checkUpgrade(r); status != 0 {
		v.answer(status, text)
		return
	}
	if err := l.upgrade(v, r, in); err != nil {
		v.refuse(counters.RefusedHandshake)
		l.opt.Log.Debug().Stringer("remote", v.remote).Err(err).Msg("handshake failed")
	}
}

// answer refuses a request and closes the connection. It reads the rest of the input first,
// because a reset could destroy the answer.
func (v *handshakingConn) answer(status int, text string) {
	defer v.Close()
	v.refuse(counters.RefusedHandshake)
	_ = v.SetDeadline(time.Now().Add(v.l.opt.HeaderTimeout))
	_, err := fmt.Fprintf(v, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nSec-WebSocket-Version: 13\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n%s\n", status, http.StatusText(status), len(text)+1, text)
	if err != nil {
		return
	}
	if tcp := tcpOf(v.Conn); tcp != nil && tcp.CloseWrite() == nil {
		_ = v.SetDeadline(time.Now().Add(answerLinger))
		_, _ = io.CopyN(io.Discard, v.Conn, answerDiscardMax)
	}
}

// answerLinger and answerDiscardMax bound the reading after a refusal.
const (
	answerLinger     = 500 * time.Millisecond
	answerDiscardMax = 64 << 10
)

func newUpgrader(opt Options) *gws.Upgrader {
	return gws.NewUpgrader(gws.BuiltinEventHandler{}, &gws.ServerOption{
		HandshakeTimeout: opt.HeaderTimeout,
		ParallelGolimit:  1,
	})
}

// checkUpgrade checks a request by RFC 6455 section 4.2.1, where gws is too lenient or its
// answer says too little. Status 0 means that the request is valid. It also joins headers of
// several lines, because gws reads only the first line.
func checkUpgrade(r *http.Request) (status int, text string) {
	switch {
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "method is not GET"
	case !r.ProtoAtLeast(1, 1):
		return http.StatusBadRequest, "HTTP version below 1.1"
	case r.Host == "":
		return http.StatusBadRequest, "no Host"
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return http.StatusBadRequest, "request has a body"
	case !hasToken(r.Header.Values("Upgrade"), "websocket") || !hasToken(r.Header.Values("Connection"), "upgrade"):
		return http.StatusUpgradeRequired, "this is a websocket"
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return http.StatusUpgradeRequired, "websocket version is not 13"
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	if err != nil || len(key) != 16 {
		return http.StatusBadRequest, "Sec-WebSocket-Key is not 16 bytes in base64"
	}
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Connection", "Upgrade")
	return 0, ""
}

// hasToken reports whether a comma-separated header holds a token.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for t := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// upgrade lets gws answer the handshake and starts the connection. Bytes behind the request
// are the first bytes of its input. The gws connection is not used (see the package comment).
func (l *Listener) upgrade(v *handshakingConn, r *http.Request, in *bufio.Reader) error {
	if _, err := l.upgrader.UpgradeFromConn(v, in, r); err != nil {
		return fmt.Errorf("upgrade: %w", err) // gws has answered and closed
	}
	early, err := in.Peek(in.Buffered())
	if err != nil {
		_ = v.Close()
		return fmt.Errorf("buffered input: %w", err)
	}
	l.open(v, early)
	return nil
}
