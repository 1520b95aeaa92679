package stock

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// WebSocket op codes, for [Frame].
const (
	FrameContinuation byte = 0x0
	FrameText         byte = 0x1
	FrameBinary       byte = 0x2
	FrameClose        byte = 0x8
	FramePing         byte = 0x9
	FramePong         byte = 0xA
)

const (
	websocketGUID    = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	messageBytesMax  = 1 << 20 // a larger message of the server is a protocol error
	controlBytesMax  = 125
	writeTimeout     = 10 * time.Second // a server that does not read must not block a test forever
	closeCodeMissing = 1005
)

// ErrProtocol is wrapped by errors about a server that violates RFC 6455.
var ErrProtocol = errors.New("websocket protocol error by the server")

// HandshakeError is returned by [Dial] when the server does not switch protocols.
type HandshakeError struct {
	StatusCode int         // HTTP status of the response
	Header     http.Header // headers of the response
	Reason     string      // what is wrong with the response
}

// Error implements error.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("websocket handshake: status %d: %s", e.StatusCode, e.Reason)
}

// Frame is a WebSocket frame. Tests use it to create invalid frames for [Client.SendFrames].
type Frame struct {
	Final   bool
	RSV     byte // the three reserved bits, as a number from 0 to 7
	OpCode  byte
	Masked  bool // a client must mask, and a server must not
	Payload []byte
}

// Encode returns the bytes of the frame. If Masked is set, it masks the payload with a random key.
func (f Frame) Encode() []byte {
	first := f.RSV<<4 | f.OpCode
	if f.Final {
		first |= 0x80
	}
	b := []byte{first}
	var mask byte
	if f.Masked {
		mask = 0x80
	}
	switch n := len(f.Payload); {
	case n <= 125:
		b = append(b, mask|byte(n))
	case n <= 0xFFFF:
		b = binary.BigEndian.AppendUint16(append(b, mask|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, mask|127), uint64(n))
	}
	if !f.Masked {
		return append(b, f.Payload...)
	}
	var key [4]byte
	_, _ = rand.Read(key[:]) // never fails
	b = append(b, key[:]...)
	for i, c := range f.Payload {
		b = append(b, c^key[i&3])
	}
	return b
}

// CloseFramePayload returns the payload of a close frame.
func CloseFramePayload(code int, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)
}

// wsConn is the client's side of a WebSocket. Only one goroutine may read. Any goroutine may write.
type wsConn struct {
	conn net.Conn
	br   *bufio.Reader

	// mutex of capacity 1, held during a write, which may block; a sync.Mutex would stop virtual time
	// meanwhile
	writing   chan struct{}
	closeSent bool // guarded by writing
}

// upgrade performs the opening handshake on conn. The context limits its time.
func upgrade(ctx context.Context, conn net.Conn, host, path string, header http.Header) (*wsConn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	br, err := Upgrade(conn, host, path, header)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%v)", context.Cause(ctx), err)
		}
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	return &wsConn{conn: conn, br: br, writing: make(chan struct{}, 1)}, nil
}

// Upgrade performs the opening handshake on conn. It returns the reader to use from then on.
func Upgrade(conn net.Conn, host, path string, header http.Header) (*bufio.Reader, error) {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])

	var req strings.Builder
	fmt.Fprintf(&req, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n", path, host)
	fmt.Fprintf(&req, "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n", key)
	_ = header.Write(&req)
	req.WriteString("\r\n")
	if _, err := io.WriteString(conn, req.String()); err != nil {
		return nil, err
	}

	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		return nil, err
	}
	if reason := refusal(resp, key); reason != "" {
		return nil, &HandshakeError{StatusCode: resp.StatusCode, Header: resp.Header, Reason: reason}
	}
	return br, nil
}

func refusal(resp *http.Response, key string) string {
	sum := sha1.Sum([]byte(key + websocketGUID))
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return "not switching protocols"
	case !strings.EqualFold(resp.Header.Get("Upgrade"), "websocket"):
		return "Upgrade is not websocket"
	case !hasToken(resp.Header.Values("Connection"), "upgrade"):
		return "Connection lacks upgrade"
	case resp.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]):
		return "wrong Sec-WebSocket-Accept"
	case resp.Header.Get("Sec-WebSocket-Extensions") != "":
		return "extension that was not asked for"
	case resp.Header.Get("Sec-WebSocket-Protocol") != "":
		return "sub-protocol that was not asked for"
	}
	return ""
}

func hasToken(values []string, token string) bool {
	for t := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if strings.EqualFold(strings.TrimSpace(t), token) {
			return true
		}
	}
	return false
}

// write sends raw bytes. It sends at most one close frame, and nothing after it.
func (w *wsConn) write(raw []byte, isClose bool) error {
	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	if w.closeSent {
		return ErrClosed
	}
	w.closeSent = isClose
	_ = w.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := w.conn.Write(raw); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

func (w *wsConn) writeFrame(op byte, payload []byte) error {
	f := Frame{Final: true, OpCode: op, Masked: true, Payload: payload}
	return w.write(f.Encode(), op == FrameClose)
}

// writeFragmented sends one message in frames of at most size bytes, in a single write.
func (w *wsConn) writeFragmented(op byte, payload []byte, size int) error {
	var raw []byte
	for first := true; first || len(payload) > 0; first = false {
		n := min(size, len(payload))
		f := Frame{Final: n == len(payload), OpCode: op, Masked: true, Payload: payload[:n]}
		raw = append(raw, f.Encode()...)
		payload, op = payload[n:], FrameContinuation
	}
	return w.write(raw, false)
}

// ReadFrame reads and validates one frame of the server.
func ReadFrame(r io.Reader) (Frame, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Final: head[0]&0x80 != 0, RSV: head[0] >> 4 & 7, OpCode: head[0] & 0xF}
	size := uint64(head[1] & 0x7F)
	switch {
	case f.RSV != 0:
		return f, fmt.Errorf("%w: reserved bits set", ErrProtocol)
	case head[1]&0x80 != 0:
		return f, fmt.Errorf("%w: masked frame", ErrProtocol)
	case f.OpCode > FramePong || f.OpCode > FrameBinary && f.OpCode < FrameClose:
		return f, fmt.Errorf("%w: op code %#x", ErrProtocol, f.OpCode)
	case f.OpCode >= FrameClose && (!f.Final || size > controlBytesMax):
		return f, fmt.Errorf("%w: control frame fragmented or too long", ErrProtocol)
	}
	var ext [8]byte
	switch size {
	case 126:
		if _, err := io.ReadFull(r, ext[:2]); err != nil {
			return f, err
		}
		if size = uint64(binary.BigEndian.Uint16(ext[:])); size < 126 {
			return f, fmt.Errorf("%w: length not minimal", ErrProtocol)
		}
	case 127:
		if _, err := io.ReadFull(r, ext[:]); err != nil {
			return f, err
		}
		if size = binary.BigEndian.Uint64(ext[:]); size <= 0xFFFF {
			return f, fmt.Errorf("%w: length not minimal", ErrProtocol)
		}
	}
	if size > messageBytesMax {
		return f, fmt.Errorf("%w: frame of %d bytes", ErrProtocol, size)
	}
	f.Payload = make([]byte, size)
	_, err := io.ReadFull(r, f.Payload)
	return f, err
}

// assembler joins the fragments of data messages.
type assembler struct {
	open bool
	op   byte
	buf  []byte
}

// add adds a data frame. It returns the message when it is complete.
func (a *assembler) add(f Frame) (op byte, message []byte, done bool, err error) {
	switch {
	case f.OpCode == FrameContinuation && !a.open:
		return 0, nil, false, fmt.Errorf("%w: continuation of nothing", ErrProtocol)
	case f.OpCode != FrameContinuation && a.open:
		return 0, nil, false, fmt.Errorf("%w: new message inside a fragmented one", ErrProtocol)
	case f.OpCode != FrameContinuation:
		*a = assembler{open: true, op: f.OpCode}
	}
	if len(a.buf)+len(f.Payload) > messageBytesMax {
		return 0, nil, false, fmt.Errorf("%w: message too long", ErrProtocol)
	}
	a.buf = append(a.buf, f.Payload...)
	if !f.Final {
		return 0, nil, false, nil
	}
	op, message = a.op, a.buf
	*a = assembler{}
	if op == FrameText && !utf8.Valid(message) {
		return 0, nil, false, fmt.Errorf("%w: text that is not UTF-8", ErrProtocol)
	}
	return op, message, true, nil
}

// parseClose parses the payload of a close frame.
func parseClose(b []byte) (code int, reason string, err error) {
	if len(b) == 0 {
		return closeCodeMissing, "", nil
	}
	if len(b) == 1 || !utf8.Valid(b[2:]) {
		return 0, "", fmt.Errorf("%w: bad close frame", ErrProtocol)
	}
	code = int(binary.BigEndian.Uint16(b))
	if code < 1000 || code >= 5000 || code >= 1004 && code <= 1006 || code >= 1015 && code < 3000 {
		return code, "", fmt.Errorf("%w: close code %d", ErrProtocol, code)
	}
	return code, string(b[2:]), nil
}
