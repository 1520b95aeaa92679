package websocket

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/transport/internal/rfc6455"
)

const requestKey = "dGhlIHNhbXBsZSBub25jZQ==" // from RFC 6455 section 1.3

const acceptKey = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

// client is a WebSocket client that sends valid or invalid bytes, as the test wants.
type client struct {
	t    testing.TB
	conn net.Conn
	br   *bufio.Reader
}

func request(path string, lines ...string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: host\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + requestKey + "\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
}

// socket opens a socket to the host. In memory, the client gets an address of its own, unless h.node is set.
func (h *host) socket(t testing.TB) (conn net.Conn, err error) {
	if node := h.node; h.network != nil {
		if node == nil {
			node = h.network.Node()
		}
		conn, err = node.Dial(t.Context(), addrPort(h.Addr()))
	} else if conn, err = net.DialTimeout("tcp", h.Addr().String(), patience); err == nil {
		_ = conn.SetDeadline(time.Now().Add(patience))
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, nil
}

// open connects and sends raw, which contains the request.
func (h *host) open(t testing.TB, raw string) *client {
	t.Helper()
	conn, err := h.socket(t)
	if err != nil {
		t.Fatal(err)
	}
	cl := &client{t: t, conn: conn, br: bufio.NewReader(conn)}
	cl.write([]byte(raw))
	return cl
}

func (h *host) dial(t testing.TB, path string, lines ...string) *client {
	t.Helper()
	cl := h.open(t, request(path, lines...))
	cl.upgraded()
	return cl
}

// secure does the same as open and dial, over TLS.
func (h *host) secure(t testing.TB, config *tls.Config) *client {
	t.Helper()
	conn, err := h.socket(t)
	if err != nil {
		t.Fatal(err)
	}
	config.InsecureSkipVerify = true
	conn = tls.Client(conn, config)
	cl := &client{t: t, conn: conn, br: bufio.NewReader(conn)}
	cl.write([]byte(request("/websocket")))
	cl.upgraded()
	return cl
}

// response reads the HTTP response.
func (cl *client) response() (*http.Response, error) {
	cl.t.Helper()
	return http.ReadResponse(cl.br, nil)
}

func (cl *client) upgraded() {
	cl.t.Helper()
	resp, err := cl.response()
	if err != nil {
		cl.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != acceptKey {
		cl.t.Fatalf("answer %s %v", resp.Status, resp.Header)
	}
	for _, name := range []string{"Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"} {
		if v := resp.Header.Values(name); len(v) > 0 {
			cl.t.Fatalf("%s: %q, none is to be negotiated", name, v)
		}
	}
}

func (cl *client) write(b []byte) {
	cl.t.Helper()
	if _, err := cl.conn.Write(b); err != nil {
		cl.t.Fatal(err)
	}
}

// masked returns a masked frame, as clients send it.
func masked(first byte, payload []byte) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, rfc6455.MaskBit|byte(n))
	case n <= 0xFFFF:
		b = binary.BigEndian.AppendUint16(append(b, rfc6455.MaskBit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, rfc6455.MaskBit|127), uint64(n))
	}
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	b = append(b, key[:]...)
	for i, c := range payload {
		b = append(b, c^key[i&3])
	}
	return b
}

func binaryFrame(payload string) []byte { return masked(0x82, []byte(payload)) }

func closeFrame(code uint16, text string) []byte {
	return masked(0x88, append(binary.BigEndian.AppendUint16(nil, code), text...))
}

// readFrame reads one frame of the server and checks its header.
func readFrame(br *bufio.Reader) (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1])
	var ext [8]byte
	switch {
	case head[1]&rfc6455.MaskBit != 0:
		return 0, nil, fmt.Errorf("masked frame")
	case n == 126:
		if _, err := io.ReadFull(br, ext[6:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(ext[:])
	case n == 127:
		if _, err := io.ReadFull(br, ext[:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(ext[:])
	}
	if n > 4<<20 {
		return 0, nil, fmt.Errorf("frame of %d bytes", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(br, payload)
	return head[0], payload, err
}

func (cl *client) frame() (first byte, payload []byte) {
	cl.t.Helper()
	first, payload, err := readFrame(cl.br)
	if err != nil {
		cl.t.Fatalf("reading a frame: %v", err)
	}
	return first, payload
}

// expect reads one frame and checks its first byte and payload.
func (cl *client) expect(first byte, payload string) {
	cl.t.Helper()
	gotFirst, got := cl.frame()
	if gotFirst != first || string(got) != payload {
		cl.t.Fatalf("frame %#x %q, want %#x %q", gotFirst, got, first, payload)
	}
}

// expectClose reads frames up to the close frame and checks its code. Then the connection must end.
func (cl *client) expectClose(code uint16) {
	cl.t.Helper()
	for {
		first, payload := cl.frame()
		if first != 0x88 {
			continue
		}
		if len(payload) < 2 || binary.BigEndian.Uint16(payload) != code {
			cl.t.Fatalf("close frame %q, want code %d", payload, code)
		}
		return
	}
}

// expectEnd checks that the connection ends without another byte.
func (cl *client) expectEnd() {
	cl.t.Helper()
	if b, err := cl.br.ReadByte(); err == nil {
		cl.t.Fatalf("byte %#x after the end", b)
	}
}

// chunks cuts b into pieces of n bytes.
func chunks(b []byte, n int) [][]byte { return slices.Collect(slices.Chunk(b, n)) }
