package stock

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/transport/transporttest/memnet"
)

// patience is the timeout of a test that hangs.
const patience = 3 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is the server's end of a connection. It has its own code, so that the client is not tested against
// itself. Its methods fail the test and must be called from the test's goroutine.
type peer struct {
	t    *testing.T
	conn net.Conn
	br   *bufio.Reader
	req  *http.Request
}

// frame is a frame that peer has read: the unmasked payload and the bits of the header.
type frame struct {
	first   byte
	masked  bool
	payload []byte
}

// answer upgrades a connection. It computes the accept key from the client's request, and applies edit to the
// response header.
func answer(conn net.Conn, edit func(http.Header)) (*bufio.Reader, *http.Request, error) {
	br := bufio.NewReader(conn)
	req, err := http.ReadRequest(br)
	if err != nil {
		return nil, nil, err
	}
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	h := http.Header{
		"Upgrade":              {"websocket"},
		"Connection":           {"keep-alive, Upgrade"},
		"Sec-Websocket-Accept": {base64.StdEncoding.EncodeToString(sum[:])},
	}
	if edit != nil {
		edit(h)
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"); err != nil {
		return nil, nil, err
	}
	if err := h.Write(conn); err != nil {
		return nil, nil, err
	}
	_, err = io.WriteString(conn, "\r\n")
	return br, req, err
}

// machine returns an in-memory network that delivers immediately.
func machine(t *testing.T) memnet.Machine {
	network := memnet.New(memnet.Seed(t))
	t.Cleanup(network.Close)
	return network.Machine()
}

// dial starts a client and an in-memory peer. Both end with the test.
func dial(t *testing.T, opts Options) (*Client, *peer) {
	t.Helper()
	return dialIn(t, machine(t), opts)
}

func dialIn(t *testing.T, m memnet.Machine, opts Options) (*Client, *peer) {
	t.Helper()
	ln, err := m.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opts.Network = m
	return dialOn(t, ln, opts)
}

// dialOn is dial with a listener of the test, which dialOn closes.
func dialOn(t *testing.T, ln net.Listener, opts Options) (*Client, *peer) {
	t.Helper()
	defer func() { _ = ln.Close() }()
	p := &peer{t: t}
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		if p.conn, failed = ln.Accept(); failed == nil {
			p.br, p.req, failed = answer(p.conn, nil)
		}
	})
	c, err := Dial(t.Context(), "ws://"+ln.Addr().String(), "psess-1", opts)
	wg.Wait()
	if err != nil || failed != nil {
		t.Fatalf("dial: %v, accept: %v", err, failed)
	}
	_ = p.conn.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() {
		c.Kill()
		_ = p.conn.Close()
	})
	return c, p
}

func (p *peer) read() frame {
	p.t.Helper()
	f, err := p.tryRead()
	if err != nil {
		p.t.Fatalf("server read: %v", err)
	}
	return f
}

func (p *peer) tryRead() (frame, error) {
	var head [2]byte
	if _, err := io.ReadFull(p.br, head[:]); err != nil {
		return frame{}, err
	}
	f := frame{first: head[0], masked: head[1]&0x80 != 0}
	size := int(head[1] & 0x7F)
	if size == 127 {
		var ext [8]byte
		if _, err := io.ReadFull(p.br, ext[:]); err != nil {
			return f, err
		}
		size = int(binary.BigEndian.Uint64(ext[:]))
	} else if size == 126 {
		var ext [2]byte
		if _, err := io.ReadFull(p.br, ext[:]); err != nil {
			return f, err
		}
		size = int(binary.BigEndian.Uint16(ext[:]))
	}
	var key [4]byte
	if f.masked {
		if _, err := io.ReadFull(p.br, key[:]); err != nil {
			return f, err
		}
	}
	f.payload = make([]byte, size)
	_, err := io.ReadFull(p.br, f.payload)
	for i := range f.payload {
		f.payload[i] ^= key[i%4]
	}
	return f, err
}

// packet reads a binary message that consists of one unit.
func (p *peer) packet() Packet {
	p.t.Helper()
	f := p.read()
	if f.first != 0x82 || !f.masked {
		p.t.Fatalf("frame starts with %#x, masked %v", f.first, f.masked)
	}
	return p.decode(f.payload)
}

func (p *peer) decode(unit []byte) Packet {
	p.t.Helper()
	body, rest, err := SplitUnit(unit)
	if err != nil || len(rest) > 0 {
		p.t.Fatalf("unit %x: rest %x, %v", unit, rest, err)
	}
	packet, err := DecodePacket(body)
	if err != nil {
		p.t.Fatal(err)
	}
	return packet
}

// write writes raw bytes of frames.
func (p *peer) write(raw ...[]byte) {
	p.t.Helper()
	for _, b := range raw {
		if _, err := p.conn.Write(b); err != nil {
			p.t.Fatalf("server write: %v", err)
		}
	}
}

// send sends a packet as one binary frame.
func (p *peer) send(packet Packet) {
	p.t.Helper()
	unit := EncodeUnit(packet)
	if len(unit) <= 125 {
		p.write(short(0x82, unit))
		return
	}
	p.write(append(binary.BigEndian.AppendUint16([]byte{0x82, 126}, uint16(len(unit))), unit...))
}

// short encodes an unmasked frame of up to 125 bytes.
func short(first byte, payload []byte) []byte {
	return append([]byte{first, byte(len(payload))}, payload...)
}

func loginResponse(id, fastPort int32) Packet {
	return Packet{
		OpCode: OpLoginResponse, TargetPlayer: id, Sender: ServerID, Reliable: true,
		LoginResult: &LoginResult{Success: true, PeerID: id, FastPort: fastPort},
	}
}

// login logs the client in as peer 1.
func login(t *testing.T, c *Client, p *peer, fastPort int32) {
	t.Helper()
	p.packet()
	p.send(loginResponse(1, fastPort))
	if _, err := c.AwaitLogin(t.Context()); err != nil {
		t.Fatal(err)
	}
}
