package stock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

const closeWait = time.Second // how long to wait for the other side of a close handshake

// Client is one connection of a stock client, created by [Dial]. It is safe for concurrent use. It must be
// ended with [Client.Close] or [Client.Kill], even if the server has closed it.
type Client struct {
	// These fields do not change.
	opts     Options
	raw      net.Conn // the connection below TLS
	ws       *wsConn
	session  string
	endpoint string // the host passed to Dial, which certificates must name
	serverIP net.IPAddr
	openUDP  func(local string) (net.PacketConn, error)
	done     chan struct{} // closed when every goroutine has ended
	killed   chan struct{} // closed by Kill
	killOnce sync.Once
	hurry    chan struct{} // closed when the end must no longer wait for a DTLS handshake
	hurrying sync.Once
	loops    sync.WaitGroup // counts the goroutines of the fast channel

	mu       sync.Mutex
	changed  chan struct{} // closed at the next change; nil while nothing waits
	ended    bool          // no new goroutine may start
	over     bool          // set just before done is closed
	err      error         // reason of the end; nil after a close handshake
	status   Status
	peerID   int32
	token    string // connectToken of the last LOGIN_RESPONSE
	login    *LoginResult
	fast     *fastChannel
	fastGone *fastChannel // last DTLS channel that has ended
	fastErr  error        // why the fast channel could not be opened
	groups   map[int32]bool
	paused   chan struct{} // not nil while reading is paused
	pings    map[string]chan struct{}
	closed   *closeStatus
	received int
	log      []Event
	pending  []Event
	stats    Stats
}

type closeStatus struct {
	code   int
	reason string
}

// Dial opens a WebSocket to wsAddr and sends LOGIN immediately, like the SDKs. wsAddr is host:port, with or
// without a scheme. The context limits the opening only. If the server refuses the upgrade, Dial returns a
// *[HandshakeError].
func Dial(ctx context.Context, wsAddr, playerSessionID string, opts Options) (*Client, error) {
	if _, after, ok := strings.Cut(wsAddr, "://"); ok {
		wsAddr = after
	}
	wsAddr, _, _ = strings.Cut(wsAddr, "/")
	network := opts.Network
	if network == nil {
		network = system{}
	}
	raw, err := network.DialFrom(ctx, "tcp", opts.LocalAddr, wsAddr)
	if err != nil {
		return nil, fmt.Errorf("stock: %w", err)
	}
	if tcp, ok := raw.(*net.TCPConn); ok && opts.ReadBuffer > 0 {
		_ = tcp.SetReadBuffer(opts.ReadBuffer)
	}
	c, err := connect(ctx, raw, wsAddr, playerSessionID, opts, network.ListenUDP)
	if err != nil {
		return nil, fmt.Errorf("stock: %w", err)
	}
	return c, nil
}

// Network opens the sockets of a Client. local is an IP address, or empty.
type Network interface {
	DialFrom(ctx context.Context, network, local, address string) (net.Conn, error)
	ListenUDP(address string) (net.PacketConn, error)
}

// system is the operating system's network.
type system struct{}

func (system) DialFrom(ctx context.Context, network, local, address string) (net.Conn, error) {
	var d net.Dialer
	if local != "" {
		from, err := net.ResolveTCPAddr(network, net.JoinHostPort(local, "0"))
		if err != nil {
			return nil, fmt.Errorf("local address: %w", err)
		}
		d.LocalAddr = from
	}
	return d.DialContext(ctx, network, address)
}

func (system) ListenUDP(address string) (net.PacketConn, error) {
	return net.ListenPacket("udp", address)
}

// connect creates a client on an open connection and takes ownership of it.
func connect(
	ctx context.Context, raw net.Conn, host, playerSessionID string, opts Options,
	openUDP func(string) (net.PacketConn, error),
) (*Client, error) {
	if err := opts.validate(); err != nil {
		_ = raw.Close()
		return nil, err
	}
	opts = opts.withDefaults()
	conn, endpoint := raw, host
	if h, _, err := net.SplitHostPort(host); err == nil {
		endpoint = h
	}
	if opts.TLS != nil {
		config := opts.TLS.Clone()
		if config.ServerName == "" {
			config.ServerName = endpoint
		}
		endpoint = config.ServerName
		if opts.Flavor == CSharp {
			config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
		}
		secure := tls.Client(raw, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("tls: %w", err)
		}
		conn = secure
	}
	ws, err := upgrade(ctx, conn, host, opts.Path, opts.Header)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	c := &Client{
		opts: opts, raw: raw, ws: ws, session: playerSessionID, endpoint: endpoint, openUDP: openUDP,
		done: make(chan struct{}), killed: make(chan struct{}), hurry: make(chan struct{}),
		status: StatusConnected, groups: map[int32]bool{}, pings: map[string]chan struct{}{},
	}
	if a, ok := raw.RemoteAddr().(*net.TCPAddr); ok {
		c.serverIP = net.IPAddr{IP: a.IP, Zone: a.Zone}
	}
	go c.readLoop()
	if !opts.NoLogin {
		if err := c.SendLogin(); err != nil {
			c.Kill()
			return nil, fmt.Errorf("send LOGIN: %w", err)
		}
	}
	return c, nil
}

// readLoop is the only reader of the WebSocket. When the connection ends, it ends the rest of the client.
func (c *Client) readLoop() {
	err := c.readFrames()
	_ = c.raw.Close()

	c.mu.Lock()
	c.ended = true
	fast := c.fast
	c.mu.Unlock()
	if fast != nil {
		fast.shut(c.isKilled())
	}
	c.loops.Wait()

	c.mu.Lock()
	c.over, c.err, c.status = true, err, StatusDisconnected
	c.notifyLocked()
	c.mu.Unlock()
	close(c.done)
}

// readFrames reads until the connection ends. It returns nil after a close frame of the server. It answers a
// protocol violation with code 1002.
func (c *Client) readFrames() error {
	var parts assembler
	for {
		f, err := ReadFrame(c.ws.br)
		last := false
		if err == nil {
			err = c.gate()
		}
		if err == nil {
			last, err = c.onFrame(f, &parts)
		}
		if errors.Is(err, ErrProtocol) {
			_ = c.ws.writeFrame(FrameClose, CloseFramePayload(1002, ""))
		}
		if err != nil || last {
			return err
		}
	}
}

func (c *Client) onFrame(f Frame, parts *assembler) (last bool, err error) {
	switch f.OpCode {
	case FramePing:
		c.onPing(f.Payload)
	case FramePong:
		c.onPong(f.Payload)
	case FrameClose:
		return true, c.onCloseFrame(f.Payload)
	default:
		op, message, done, err := parts.add(f)
		if done {
			c.receive(nil, ChannelWebSocket, message, op == FrameText, nil)
		}
		return false, err
	}
	return false, nil
}

// gate blocks the read loop while reading is paused. It returns an error when the client is killed.
func (c *Client) gate() error {
	c.mu.Lock()
	paused := c.paused
	c.mu.Unlock()
	if paused != nil {
		select {
		case <-paused:
		case <-c.killed:
		}
	}
	if c.isKilled() {
		return ErrClosed
	}
	return nil
}

func (c *Client) isKilled() bool {
	select {
	case <-c.killed:
		return true
	default:
		return false
	}
}

func (c *Client) onPing(payload []byte) {
	c.count(func(s *Stats) { s.PingsReceived++ })
	if !c.opts.NoPong && c.ws.writeFrame(FramePong, payload) == nil {
		c.count(func(s *Stats) { s.PongsSent++ })
	}
}

func (c *Client) onPong(payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.PongsReceived++
	if waiting := c.pings[string(payload)]; waiting != nil {
		close(waiting)
		delete(c.pings, string(payload))
	}
}

// onCloseFrame answers the close frame, unless the client has sent one before. It then gives the server a
// moment to close the TCP connection, which is the server's task.
func (c *Client) onCloseFrame(payload []byte) error {
	code, reason, err := parseClose(payload)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.closed = &closeStatus{code, reason}
	c.mu.Unlock()
	_ = c.ws.writeFrame(FrameClose, payload[:min(2, len(payload))])
	_ = c.ws.conn.SetReadDeadline(time.Now().Add(closeWait))
	_, _ = io.Copy(io.Discard, c.ws.br)
	return nil
}

// receive handles a message or a datagram. fast is set for a datagram.
func (c *Client) receive(fast *fastChannel, via Channel, raw []byte, text bool, from net.Addr) {
	e := decodeEvent(c.opts.Flavor, raw, text)
	e.Channel, e.From = via, from
	if fast != nil && e.Err == nil {
		e.Stale = !fast.fresh(e.SequenceNumber, from)
	}
	acked, login := false, false
	var opened *fastChannel
	if e.Err == nil && !e.Stale {
		switch e.OpCode {
		case OpLoginResponse:
			if login = via == ChannelWebSocket && e.LoginResult != nil; login {
				opened = c.onLoginResponse(e)
			}
		case OpServerAck:
			acked = c.onServerAck(fast)
		case OpVerifyIdentityResponse:
			acked = c.onVerifyResponse(fast, e.VerifyIdentityResult)
		}
	}
	if opened != nil {
		// The new socket is read only after LOGIN_RESPONSE is in the log.
		defer c.startLoops(opened, opened.first, opened.via == ChannelUDP)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if via == ChannelWebSocket {
		c.stats.ReceivedWebSocket++
	} else {
		c.stats.ReceivedUDP++
	}
	if e.Stale {
		c.stats.Stale++
	}
	if e.Err != nil {
		c.stats.Undecodable++
	}
	if acked {
		c.status = StatusConnectedSendFast
	}
	if login {
		c.login = e.LoginResult
	}
	if u := e.GroupMembershipUpdate; u != nil && e.OpCode == OpGroupMembershipUpdate && !e.Stale {
		c.setGroupLocked(u.Group, slices.Contains(u.Players, c.peerID))
	}
	c.recordLocked(e)
	c.notifyLocked()
}

// onLoginResponse stores the client's own id and opens the fast channel. Like the SDK, it does everything in
// the receive handler, including the DTLS handshake. A second LOGIN_RESPONSE restarts the fast channel. The
// caller starts the goroutines of the returned channel.
func (c *Client) onLoginResponse(e Event) *fastChannel {
	if !e.LoginResult.Success {
		return nil
	}
	c.mu.Lock()
	c.peerID = e.LoginResult.PeerID
	if c.opts.Flavor == TypeScript {
		c.peerID = e.TargetPlayer
	}
	c.token = e.LoginResult.ConnectToken
	old := c.fast
	c.fast, c.fastErr = nil, nil
	if c.status == StatusConnectedSendFast {
		c.status = StatusConnected
	}
	c.mu.Unlock()
	if old != nil {
		old.shut(false)
	}
	if c.opts.NoUDP {
		return nil
	}
	fast, err := c.openFast(e.LoginResult)
	if err != nil {
		c.mu.Lock()
		c.fastErr = err
		c.mu.Unlock()
	}
	return fast
}

func (c *Client) openFast(login *LoginResult) (*fastChannel, error) {
	port := int(login.FastPort)
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("%w: fastPort %d makes the stock client throw", ErrNoFast, port)
	}
	server := &net.UDPAddr{IP: c.serverIP.IP, Zone: c.serverIP.Zone, Port: port}
	if c.opts.secured() {
		return c.openSecure(login, server)
	}
	conn, err := c.openUDP(c.udpLocal())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoFast, err)
	}
	fast := newFastChannel(c, conn, server, ChannelUDP)
	c.mu.Lock()
	c.fast = fast
	c.mu.Unlock()
	_ = fast.sendConnect() // number 0, before any other packet can take it; an error is counted and the packet is sent again
	return fast, nil
}

func (c *Client) udpLocal() string {
	if a, ok := c.raw.LocalAddr().(*net.TCPAddr); ok {
		return (&net.UDPAddr{IP: a.IP, Zone: a.Zone}).String()
	}
	return ""
}

func (c *Client) startLoops(fast *fastChannel, conn net.PacketConn, connectToo bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		_ = conn.Close()
		return
	}
	c.loops.Go(func() { fast.readLoop(conn) })
	if connectToo {
		c.loops.Go(fast.connectLoop)
	}
}

// onServerAck answers the first SERVER_ACK of the channel, on whichever channel it arrived. It reports
// whether this was the first.
func (c *Client) onServerAck(fast *fastChannel) bool {
	if fast == nil {
		fast = c.fastChannel()
	}
	if fast == nil || fast.via != ChannelUDP || !fast.ack() {
		return false
	}
	if !c.opts.NoClientAck {
		_ = fast.send(c.handshakePacket(OpClientAck), nil)
	}
	return fast == c.fastChannel()
}

func (c *Client) handshakePacket(opCode int32) Packet {
	return Packet{OpCode: opCode, TargetPlayer: ServerID, Sender: c.PeerID(), UDPConnect: &Empty{}}
}

func (c *Client) fastChannel() *fastChannel {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fast
}

func (c *Client) setGroupLocked(group int32, member bool) {
	if member {
		c.groups[group] = true
	} else {
		delete(c.groups, group)
	}
}

func (c *Client) count(add func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.stats)
}

// Close leaves like the SDK's Disconnect. It sends a close frame with code 1000, then closes UDP, or DTLS
// with a close-notify. It waits up to a second for the server's part of the close handshake, and returns when
// all goroutines have ended.
func (c *Client) Close() {
	c.ResumeReading()
	err := c.ws.writeFrame(FrameClose, CloseFramePayload(1000, ""))
	if err == nil || errors.Is(err, ErrClosed) {
		timer := time.NewTimer(closeWait)
		defer timer.Stop()
		select {
		case <-c.done:
		case <-timer.C: // the server does not respond, or a DTLS handshake blocks the reader
			c.hurrying.Do(func() { close(c.hurry) })
		}
	}
	_ = c.raw.Close()
	<-c.done
}

// Vanish ends the connection without a close frame, like a process that is killed. Data that was written
// before still arrives. It returns when all goroutines have ended.
func (c *Client) Vanish() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-c.done: // the server has read everything and closed the connection
	case <-timer.C:
	}
	c.Kill()
}

// Kill ends the connection without a close frame, by a TCP reset. It ends DTLS without a close-notify. It
// returns when all goroutines have ended.
func (c *Client) Kill() {
	if tcp, ok := c.raw.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	c.killOnce.Do(func() { close(c.killed) })
	c.hurrying.Do(func() { close(c.hurry) })
	_ = c.raw.Close()
	<-c.done
}
