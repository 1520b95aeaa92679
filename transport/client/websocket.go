package client

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
	"time"
	"unicode/utf8"

	"troupe/messages/wire"
)

// WebSocket op codes and header bits (RFC 6455 section 5.2).
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa

	bitFin  = 0x80
	bitMask = 0x80

	controlMax = 125
	messageMax = wire.ServerUnitMax + wire.LengthVarintMax
	acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

	codeNormal        = 1000
	codeProtocolError = 1002
)

// errProtocol is a breach of RFC 6455 by the host.
var errProtocol = errors.New("client: the host broke the WebSocket protocol")

// socket is a client's WebSocket. One goroutine reads; any may write.
type socket struct {
	conn net.Conn
	br   *bufio.Reader
	// owned by the reader
	message []byte // read so far
	first   byte   // op code of the message in parts, 0 for none
	control [controlMax]byte

	// lock holds one token; who has it may write.
	lock chan struct{}
	// held by the holder of lock
	frame  []byte
	closed bool // a close frame was written, or a write failed
	broken bool // a write failed
}

// upgrade does the opening handshake on an open connection, which is read through
// in, also later. Deadlines are the caller's.
func upgrade(conn net.Conn, in io.Reader, addr string) (*socket, error) {
	var nonce [16]byte
	rand.Read(nonce[:]) // never fails since Go 1.24
	key := base64.StdEncoding.EncodeToString(nonce[:])
	req := "GET /websocket HTTP/1.1\r\nHost: " + addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: " + key + "\r\nSec-WebSocket-Version: 13\r\n\r\n"
	if _, err := io.WriteString(conn, req); err != nil {
		return nil, err
	}
	// The answer's header is bounded by the reader's limit, the rest by messageMax.
	limited := &io.LimitedReader{R: in, N: 16 << 10}
	br := bufio.NewReaderSize(limited, 4<<10)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	sum := sha1.Sum([]byte(key + acceptGUID))
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("the host answered %s", resp.Status)
	case resp.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]):
		return nil, fmt.Errorf("%w: wrong Sec-WebSocket-Accept", errProtocol)
	}
	limited.N = 1<<63 - 1
	return &socket{conn: conn, br: br, lock: make(chan struct{}, 1)}, nil
}

// acquire takes the right to write.
func (s *socket) acquire(ctx context.Context) error {
	select {
	case s.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *socket) release() { <-s.lock }

// write writes one frame; the caller holds the lock. A write that ctx cuts off
// may stand half on the wire, so any error of the network ends the writing for
// good.
func (s *socket) write(ctx context.Context, op byte, payload []byte) error {
	if s.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.frame = appendFrame(s.frame[:0], op, payload)
	if ctx.Done() == nil {
		_, err := s.conn.Write(s.frame)
		return s.wrote(op, err)
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		s.conn.SetWriteDeadline(time.Unix(1, 0))
		close(cut)
	})
	_, err := s.conn.Write(s.frame)
	if !stop() {
		<-cut
		if err == nil { // ctx ended just behind the write
			s.conn.SetWriteDeadline(time.Time{})
		} else {
			err = ctx.Err()
		}
	}
	return s.wrote(op, err)
}

// wrote notes what came of a write.
func (s *socket) wrote(op byte, err error) error {
	s.closed, s.broken = op == opClose || err != nil, err != nil
	if err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

// writeControl writes one control frame, waiting no longer than patience.
func (s *socket) writeControl(op byte, payload []byte, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	return s.write(ctx, op, payload)
}

// appendFrame appends a masked client frame.
func appendFrame(dst []byte, op byte, payload []byte) []byte {
	dst = append(dst, bitFin|op)
	switch n := len(payload); {
	case n <= controlMax:
		dst = append(dst, bitMask|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, bitMask|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, bitMask|127), uint64(n))
	}
	var key [4]byte
	rand.Read(key[:])
	dst = append(dst, key[:]...)
	at := len(dst)
	dst = append(dst, payload...)
	for i := range dst[at:] {
		dst[at+i] ^= key[i&3]
	}
	return dst
}

// read returns the next control frame or whole message; opBinary and opText are
// messages. Control frames may come between the parts of a message. The payload
// is valid until the next read.
func (s *socket) read() (op byte, payload []byte, err error) {
	for {
		op, fin, size, err := s.header()
		if err != nil {
			return 0, nil, err
		}
		if op >= opClose {
			_, err := io.ReadFull(s.br, s.control[:size])
			return op, s.control[:size], err
		}
		if (op == opContinuation) != (s.first != 0) {
			return 0, nil, errProtocol
		}
		if s.first == 0 {
			s.first, s.message = op, s.message[:0]
		}
		if err := s.take(size); err != nil {
			return 0, nil, err
		}
		if fin {
			op, s.first = s.first, 0
			return op, s.message, nil
		}
	}
}

func (s *socket) header() (op byte, fin bool, size int, err error) {
	var b [8]byte
	if _, err := io.ReadFull(s.br, b[:2]); err != nil {
		return 0, false, 0, err
	}
	op, fin = b[0]&0x0f, b[0]&bitFin != 0
	n := uint64(b[1])
	if b[0]&0x70 != 0 || b[1]&bitMask != 0 {
		return 0, false, 0, errProtocol
	}
	switch op {
	case opContinuation, opText, opBinary:
	case opClose, opPing, opPong:
		if !fin || n > controlMax {
			return 0, false, 0, errProtocol
		}
	default:
		return 0, false, 0, errProtocol
	}
	switch n {
	case 126:
		_, err = io.ReadFull(s.br, b[:2])
		n = uint64(binary.BigEndian.Uint16(b[:2]))
	case 127:
		_, err = io.ReadFull(s.br, b[:8])
		n = binary.BigEndian.Uint64(b[:8])
	}
	if err != nil {
		return 0, false, 0, err
	}
	have := 0
	if op == opContinuation {
		have = len(s.message)
	}
	if n > messageMax || have+int(n) > messageMax {
		return 0, false, 0, fmt.Errorf("%w: a message is larger than %d bytes", errProtocol, messageMax)
	}
	return op, fin, int(n), nil
}

// takeStep is how much is reserved for data before it has arrived.
const takeStep = 64 << 10

func (s *socket) take(size int) error {
	for size > 0 {
		n := min(size, takeStep)
		at := len(s.message)
		s.message = append(s.message, make([]byte, n)...)
		if _, err := io.ReadFull(s.br, s.message[at:]); err != nil {
			return err
		}
		size -= n
	}
	return nil
}

// closeFrame reads the payload of a close frame.
func closeFrame(payload []byte) (code uint16, reason string) {
	if len(payload) < 2 {
		return 1005, "" // RFC 6455: no code was given
	}
	code = binary.BigEndian.Uint16(payload)
	if text := payload[2:]; utf8.Valid(text) {
		reason = string(text)
	}
	return code, reason
}

func closePayload(code uint16) []byte { return binary.BigEndian.AppendUint16(nil, code) }
