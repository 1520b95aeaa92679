package client

import (
	"bufio"
	"context"
	"crypto/rand"
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
	"troupe/transport/internal/rfc6455"
)

const (
	messageMax = wire.ServerUnitMax + wire.LengthVarintMax

	codeNormal        = 1000
	codeProtocolError = 1002
)

var errProtocol = errors.New("client: the host broke the WebSocket protocol")

// socket is a client's WebSocket. Only one goroutine may read. Any goroutine may write.
type socket struct {
	conn net.Conn
	br   *bufio.Reader
	// owned by the reader
	message []byte         // bytes of the message read so far
	first   rfc6455.Opcode // op code of the fragmented message; 0 if there is none
	control [rfc6455.ControlMax]byte

	// lock holds one token. The holder of the token may write.
	lock chan struct{}
	// owned by the holder of lock
	frame  []byte
	closed bool // a close frame was written, or a write failed
	broken bool // a write failed
}

// upgrade performs the opening handshake. This read and all later ones use in. The caller sets deadlines.
func upgrade(conn net.Conn, in io.Reader, addr string) (*socket, error) {
	var nonce [16]byte
	rand.Read(nonce[:]) // never fails since Go 1.24
	key := base64.StdEncoding.EncodeToString(nonce[:])
	req := "GET /websocket HTTP/1.1\r\nHost: " + addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: " + key + "\r\nSec-WebSocket-Version: 13\r\n\r\n"
	if _, err := io.WriteString(conn, req); err != nil {
		return nil, err
	}
	// The reader's limit bounds the response header. After that, messageMax bounds each message.
	limited := &io.LimitedReader{R: in, N: 16 << 10}
	br := bufio.NewReaderSize(limited, 4<<10)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("the host answered %s", resp.Status)
	case resp.Header.Get("Sec-WebSocket-Accept") != string(rfc6455.AppendAccept(nil, []byte(key))):
		return nil, fmt.Errorf("%w: wrong Sec-WebSocket-Accept", errProtocol)
	}
	limited.N = 1<<63 - 1
	return &socket{conn: conn, br: br, lock: make(chan struct{}, 1)}, nil
}

// acquire acquires lock, the right to write.
func (s *socket) acquire(ctx context.Context) error {
	select {
	case s.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *socket) release() { <-s.lock }

// write writes one frame. The caller holds lock. After an error a part of the frame may have been
// sent, so there must be no further write.
func (s *socket) write(ctx context.Context, op rfc6455.Opcode, payload []byte) error {
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
		if err == nil { // ctx ended just after the write
			s.conn.SetWriteDeadline(time.Time{})
		} else {
			err = ctx.Err()
		}
	}
	return s.wrote(op, err)
}

// wrote records the result of a write.
func (s *socket) wrote(op rfc6455.Opcode, err error) error {
	s.closed, s.broken = op == rfc6455.Close || err != nil, err != nil
	if err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

// writeControl writes one control frame. It takes at most timeout.
func (s *socket) writeControl(op rfc6455.Opcode, payload []byte, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	return s.write(ctx, op, payload)
}

// appendFrame appends a frame with a new random mask.
func appendFrame(dst []byte, op rfc6455.Opcode, payload []byte) []byte {
	var mask [4]byte
	rand.Read(mask[:])
	return rfc6455.AppendMasked(dst, op, binary.LittleEndian.Uint32(mask[:]), payload)
}

// read returns the next complete message (rfc6455.Binary, rfc6455.Text) or control frame. A control frame may come
// between the fragments of a message. The payload is valid until the next read.
func (s *socket) read() (op rfc6455.Opcode, payload []byte, err error) {
	for {
		op, fin, size, err := s.header()
		if err != nil {
			return 0, nil, err
		}
		if op.Control() {
			_, err := io.ReadFull(s.br, s.control[:size])
			return op, s.control[:size], err
		}
		if (op == rfc6455.Continuation) != (s.first != 0) {
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

func (s *socket) header() (op rfc6455.Opcode, fin bool, size int, err error) {
	var b [rfc6455.HeaderMax]byte
	if _, err := io.ReadFull(s.br, b[:2]); err != nil {
		return 0, false, 0, err
	}
	h, breach := rfc6455.ParseHeader(b[:2], false)
	if breach == nil && h.Size == 0 {
		all := b[:rfc6455.HeaderSize(b[1])]
		if _, err := io.ReadFull(s.br, all[2:]); err != nil {
			return 0, false, 0, err
		}
		h, breach = rfc6455.ParseHeader(all, false)
	}
	if breach != nil {
		return 0, false, 0, fmt.Errorf("%w: %s", errProtocol, breach.Text)
	}
	have := 0
	if h.Op == rfc6455.Continuation {
		have = len(s.message)
	}
	if h.Length > messageMax || have+int(h.Length) > messageMax {
		return 0, false, 0, fmt.Errorf("%w: a message is larger than %d bytes", errProtocol, messageMax)
	}
	return h.Op, h.Fin, int(h.Length), nil
}

// takeStep is how many bytes are allocated at most for data that has not arrived yet.
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

// closeFrame parses the payload of a close frame.
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
