package host

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/dtls"
	"troupe/transport/fast"
	"troupe/transport/kcp"
	"troupe/transport/tlsconf"
	"troupe/transport/websocket"
)

// listeners has all sockets for players. The secured ones are nil if the secured mode is off.
type listeners struct {
	certs     *tlsconf.Store
	anchors   string // file with the trust anchors
	admission *transport.Admission
	lastID    atomic.Uint64 // last connection id; all transports share the sequence

	ws, wss *websocket.Listener
	fast    *fast.Pool
	secured *fast.Secured
	kcp     *kcp.Listener
	kcpUDP  *dtls.Endpoint
}

func (l *listeners) nextID() uint64 { return l.lastID.Add(1) }

// bind opens all sockets except KCP's, which would accept players immediately.
func (l *listeners) bind(o *Options, count *counters.Set) error {
	c, log := &o.Config, o.Log
	l.admission = transport.NewAdmission(transport.AdmissionLimits{
		PendingMax: c.Limits.Unauthenticated, PendingPerIPMax: c.Limits.UnauthenticatedPerIP,
		RatePerIP: c.Limits.ConnectionsPerIPPerSecond, BurstPerIP: c.Limits.ConnectionsPerIPBurst,
		HeldMax: c.Limits.ConnectionsHeld, HeldPerIPMax: heldPerIPMax, HeldFor: c.Limits.LoginTimeout,
	}, count, time.Now)
	proxies, err := transport.ParseProxies(c.WebSocket.Proxies)
	if err != nil {
		return fmt.Errorf("host: websocket.proxies: %w", err)
	}
	ws := websocket.Options{
		Addr: c.WebSocket.Addr, Proxies: proxies, Admission: l.admission, Counters: count, Log: log, NextID: l.nextID,
		EmptyCloseIsLeave: c.WebSocket.EmptyCloseIsLeave,
	}
	if l.ws, err = listenWebSocket(o, ws); err != nil {
		return fmt.Errorf("host: websocket.addr: %w", err)
	}
	plain := c.fastOptions(count, log)
	if o.Network != nil {
		plain.ListenPacket = o.Network.ListenPacket
	}
	if l.fast, err = fast.Listen(plain); err != nil {
		return fmt.Errorf("host: fast.addr: %w", err)
	}
	if !c.hasTLS() {
		return nil
	}
	if err = l.loadCertificates(c, log); err != nil {
		return fmt.Errorf("host: tls: %w", err)
	}
	if c.WSS.Addr == "" {
		return nil
	}
	ws.Addr, ws.TLS = c.WSS.Addr, l.certs.ServerConfig()
	if l.wss, err = listenWebSocket(o, ws); err != nil {
		return fmt.Errorf("host: wss.addr: %w", err)
	}
	secured, err := dtlsOptions(o, c.DTLS.Addr, l.certs)
	if err != nil {
		return fmt.Errorf("host: dtls.addr: %w", err)
	}
	l.secured, err = fast.ListenSecured(fast.SecuredOptions{
		DTLS: secured, Anchors: l.certs.CAPEM, Enabled: c.Fast.Enabled, Log: log, Counters: count,
	})
	if err != nil {
		return fmt.Errorf("host: dtls.addr: %w", err)
	}
	return nil
}

func listenWebSocket(o *Options, ws websocket.Options) (l *websocket.Listener, err error) {
	if o.Network != nil {
		if ws.Listener, err = o.Network.Listen("tcp", ws.Addr); err != nil {
			return nil, err
		}
	}
	return websocket.Listen(ws)
}

func dtlsOptions(o *Options, addr string, certs *tlsconf.Store) (d dtls.Options, err error) {
	d = o.Config.dtlsOptions(addr, certs)
	if o.Network != nil {
		d.Conn, err = o.Network.ListenPacket("udp", addr)
	}
	return d, err
}

// open opens the KCP socket.
func (l *listeners) open(options *Options, gw transport.Acceptor, count *counters.Set) (err error) {
	c, log := &options.Config, options.Log
	if c.KCP.Addr == "" {
		return nil
	}
	l.kcp = kcp.NewListener(kcp.Options{Admission: l.admission, Counters: count, Log: log, NextID: l.nextID}, gw)
	o, err := dtlsOptions(options, c.KCP.Addr, l.certs)
	if err != nil {
		return fmt.Errorf("host: kcp.addr: %w", err)
	}
	o.Channel, o.Counters, o.Log = counters.KCP, count, log
	if l.kcpUDP, err = dtls.Listen(o, l.kcp); err != nil {
		return fmt.Errorf("host: kcp.addr: %w", err)
	}
	return nil
}

func (l *listeners) webSockets() (all []*websocket.Listener) {
	for _, ws := range []*websocket.Listener{l.ws, l.wss} {
		if ws != nil {
			all = append(all, ws)
		}
	}
	return all
}

func (l *listeners) stopAccepting(ctx context.Context) error {
	var errs []error
	for _, ws := range l.webSockets() {
		errs = append(errs, ws.Close(ctx))
	}
	if l.kcp != nil {
		l.kcp.Close()
	}
	return errors.Join(errs...)
}

// closeAll closes all connections with a reason, and waits until they are closed.
func (l *listeners) closeAll(ctx context.Context, reason messages.CloseReason) {
	for _, ws := range l.webSockets() {
		ws.CloseAll(reason)
	}
	if l.kcp != nil {
		l.kcp.CloseAll(reason)
		_ = l.kcp.Wait(ctx) // closing the socket ends the remaining connections
	}
	for _, ws := range l.webSockets() {
		_ = ws.Wait(ctx)
	}
}

func (l *listeners) closeSockets() {
	if l.fast != nil {
		l.fast.Close()
	}
	if l.secured != nil {
		l.secured.Close()
	}
	if l.kcpUDP != nil {
		l.kcpUDP.Close()
	}
}

func (l *listeners) announcement(c *Config) (a Announcement) {
	a.WS = l.ws.Addr().String()
	if c.Fast.Enabled {
		a.Fast = fastAddr(c.Fast.Addr, l.fast.Port())
	}
	if l.wss != nil {
		a.WSS = l.wss.Addr().String()
		a.DTLS = fastAddr(c.DTLS.Addr, l.secured.Port())
	}
	if l.kcpUDP != nil {
		a.KCP = fastAddr(c.KCP.Addr, l.kcpUDP.Port())
	}
	a.CA = l.anchors
	return a
}

// Announcement has the addresses of the listeners as host:port. The address of a listener that is off is
// empty.
type Announcement struct {
	API    string `json:"api,omitempty"`
	APIURL string `json:"api_url,omitempty"` // base address of the service API, with its scheme
	WS     string `json:"ws,omitempty"`
	WSS    string `json:"wss,omitempty"`
	Fast   string `json:"fast,omitempty"`
	DTLS   string `json:"fast_dtls,omitempty"`
	KCP    string `json:"kcp,omitempty"`
	CA     string `json:"ca,omitempty"` // PEM trust anchors of the secured listeners
	// ServerSDK is the URL at which game servers with the GameLift Server SDK connect.
	ServerSDK string `json:"server_sdk,omitempty"`
}

func (c *Config) fastOptions(count *counters.Set, log zerolog.Logger) fast.Options {
	return fast.Options{
		Addr: c.Fast.Addr, Enabled: c.Fast.Enabled, SameIP: c.Fast.SameIP,
		ExtraPortsMin: uint16(c.Fast.PortsFrom), ExtraPortsMax: uint16(c.Fast.PortsTo), Counters: count, Log: log,
	}
}
