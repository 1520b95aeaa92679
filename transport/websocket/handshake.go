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

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/internal/rfc6455"
)

// serve answers one opening handshake. It uses pooled buffers.
func (v *handshakingConn) serve() {
	l := v.l
	defer l.leave(v)
	defer transport.Rescue(l.opt.Counters, &l.opt.Log, "WebSocket handshake", v.panicked)
	_ = v.SetDeadline(time.Now().Add(headerTimeout))
	in := l.readers.Get().(*headerReader)
	defer func() {
		in.Reset(nil)
		l.readers.Put(in)
	}()
	in.limit.R, in.limit.N = v, headerBytesMax
	in.Reset(&in.limit)
	if used, key := in.usual(); used > 0 && !l.closing() {
		in.key = append(in.key[:0], key...)
		_, _ = in.Discard(used)
		v.upgrade(in)
		return
	}
	r, err := http.ReadRequest(in.Reader)
	switch {
	case err != nil && in.limit.N <= 0:
		v.answer(http.StatusRequestHeaderFieldsTooLarge, "header too large")
	case err != nil && isSilence(err):
		_ = v.Close() // the peer is gone, or too slow for an answer
	case err != nil:
		v.answer(http.StatusBadRequest, "malformed request")
	default:
		v.decide(r, in)
	}
}

// headerReader reads one request header of limited size.
type headerReader struct {
	*bufio.Reader
	limit io.LimitedReader
	key   []byte // the Sec-WebSocket-Key
	out   []byte // the answer
}

func newHeaderReader() any {
	h := &headerReader{}
	h.Reader = bufio.NewReader(&h.limit)
	return h
}

// usual reads once and consumes nothing. It returns the result of parseUsual. The key is valid until the next read.
func (h *headerReader) usual() (used int, key []byte) {
	if _, err := h.Peek(1); err != nil {
		return 0, nil // ReadRequest will return the same error
	}
	read, _ := h.Peek(h.Buffered())
	return parseUsual(read)
}

// isSilence reports whether a read failed because of the stream's end or a timeout, rather than malformed bytes.
func isSilence(err error) bool {
	var timeout net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &timeout)
}

// decide upgrades a valid request, and answers any other request with an error.
func (v *handshakingConn) decide(r *http.Request, in *headerReader) {
	l := v.l
	switch {
	case l.closing():
		v.refuse(counters.RefusedDraining)
		v.answer(http.StatusServiceUnavailable, "the host drains")
		return
	// Load balancers check the health of the port that they balance.
	case r.URL.Path == "/healthz" && r.Method == http.MethodGet:
		v.done.Store(true) // it is not refused
		v.respond(http.StatusOK, "ok")
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
	in.key = append(in.key[:0], r.Header.Get("Sec-WebSocket-Key")...)
	v.upgrade(in)
}

// upgrade accepts the handshake with in.key, and starts the connection with the bytes that follow the request.
func (v *handshakingConn) upgrade(in *headerReader) {
	l := v.l
	in.out = rfc6455.AppendAccepted(in.out[:0], in.key)
	_ = v.SetDeadline(time.Now().Add(headerTimeout))
	_, err := v.Write(in.out)
	if err == nil {
		err = v.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = v.Close()
		l.opt.Log.Debug().Stringer("remote", v.remote).Err(err).Msg("handshake failed")
		return
	}
	early, _ := in.Peek(in.Buffered())
	l.open(v, early)
}

// answer counts the request as refused and responds. respond sends a response and closes the connection. It first reads
// the rest of the input, because a TCP reset could destroy the response.
func (v *handshakingConn) answer(status int, text string) {
	v.refuse(counters.RefusedHandshake)
	v.respond(status, text)
}

func (v *handshakingConn) respond(status int, text string) {
	defer v.Close()
	_ = v.SetDeadline(time.Now().Add(headerTimeout))
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

// answerLinger and answerDiscardMax limit how long and how many bytes are read after a response.
const (
	answerLinger     = 500 * time.Millisecond
	answerDiscardMax = 64 << 10
)

// checkUpgrade checks a request by RFC 6455 section 4.2.1. Status 0 means that it is valid.
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
	if !isKey(r.Header.Get("Sec-WebSocket-Key")) {
		return http.StatusBadRequest, "Sec-WebSocket-Key is not 16 bytes in base64"
	}
	return 0, ""
}

// isKey reports whether a key is 16 bytes in base64.
func isKey[T string | []byte](key T) bool {
	var decoded [18]byte
	if len(key) != 24 {
		return false
	}
	n, err := base64.StdEncoding.Decode(decoded[:], []byte(key))
	return err == nil && n == 16
}

// hasToken reports whether a comma-separated header contains a token.
func hasToken(values []string, token string) bool {
	for t := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if strings.EqualFold(strings.TrimSpace(t), token) {
			return true
		}
	}
	return false
}
