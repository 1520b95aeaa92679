package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/dtls"
	"troupe/transport/fast"
	"troupe/transport/gateway"
	"troupe/transport/kcp"
	"troupe/transport/tlsconf"
	"troupe/transport/websocket"
)

// listeners are all sockets for players. Those of the secured mode are nil where
// they are off.
type listeners struct {
	certs     *tlsconf.Store
	anchors   string // file with the trust anchors
	admission *transport.Admission
	lastID    atomic.Uint64 // of connections, over all transports

	ws, wss *websocket.Listener
	fast    *fast.Pool
	secured *fast.Secured
	kcp     *kcp.Listener
	kcpUDP  *dtls.Endpoint
}

func (l *listeners) nextID() uint64 { return l.lastID.Add(1) }

// bind opens the sockets, except for KCP's, which takes players at once.
func (l *listeners) bind(c *Config, count *counters.Set, log zerolog.Logger) error {
	l.admission = transport.NewAdmission(transport.AdmissionLimits{
		PendingMax: c.Limits.Unauthenticated, PendingPerIPMax: c.Limits.UnauthenticatedPerIP,
		RatePerIP: c.Limits.ConnectionsPerIPPerSecond, BurstPerIP: c.Limits.ConnectionsPerIPBurst,
		HeldMax: c.Limits.ConnectionsHeld, HeldPerIPMax: c.Limits.ConnectionsHeldPerIP, HeldFor: c.Limits.LoginTimeout,
	}, count, time.Now)
	proxies, err := transport.ParseProxies(c.WebSocket.Proxies)
	if err != nil {
		return fmt.Errorf("host: websocket.proxies: %w", err)
	}
	ws := websocket.Options{
		Proxies: proxies,
		Addr:    c.WebSocket.Addr, Kind: transport.WS, Admission: l.admission, Counters: count, Log: log, NextID: l.nextID,
		MessageBytesMax: c.Limits.MessageBytes, EmptyCloseIsLeave: c.WebSocket.EmptyCloseIsLeave,
	}
	if l.ws, err = websocket.Listen(ws); err != nil {
		return fmt.Errorf("host: websocket.addr: %w", err)
	}
	if l.fast, err = fast.Listen(c.fastOptions(count, log)); err != nil {
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
	ws.Addr, ws.Kind, ws.TLS = c.WSS.Addr, transport.WSS, l.certs.ServerConfig()
	if l.wss, err = websocket.Listen(ws); err != nil {
		return fmt.Errorf("host: wss.addr: %w", err)
	}
	l.secured, err = fast.ListenSecured(fast.SecuredOptions{
		DTLS: c.dtlsOptions(c.DTLS.Addr, l.certs), Anchors: l.certs.CAPEM, Enabled: c.Fast.Enabled, SameIP: c.DTLS.SameIP, Log: log, Counters: count,
	})
	if err != nil {
		return fmt.Errorf("host: dtls.addr: %w", err)
	}
	return nil
}

// open takes players on KCP.
func (l *listeners) open(c *Config, gw *gateway.Gateway, count *counters.Set, log zerolog.Logger) (err error) {
	if c.KCP.Addr == "" {
		return nil
	}
	l.kcp = kcp.NewListener(kcp.Options{
		Admission: l.admission, Counters: count, Log: log, NextID: l.nextID, MessageBytesMax: c.Limits.MessageBytes,
	}, gw)
	o := c.dtlsOptions(c.KCP.Addr, l.certs)
	o.Channel, o.Counters, o.Log = counters.KCP, count, log
	if l.kcpUDP, err = dtls.Listen(o, l.kcp); err != nil {
		return fmt.Errorf("host: kcp.addr: %w", err)
	}
	return nil
}

// len is the number of open connections.
func (l *listeners) len() (n int) {
	for _, ws := range l.webSockets() {
		n += ws.Len()
	}
	if l.kcp != nil {
		n += l.kcp.Len()
	}
	return n
}

func (l *listeners) webSockets() (all []*websocket.Listener) {
	for _, ws := range []*websocket.Listener{l.ws, l.wss} {
		if ws != nil {
			all = append(all, ws)
		}
	}
	return all
}

// closeDoors takes no new connections.
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

// closeAll ends the connections with a reason and waits for them.
func (l *listeners) closeAll(ctx context.Context, reason messages.CloseReason) {
	for _, ws := range l.webSockets() {
		ws.CloseAll(reason)
	}
	if l.kcp != nil {
		l.kcp.CloseAll(reason)
		_ = l.kcp.Wait(ctx) // what is left is cut with its socket
	}
	for _, ws := range l.webSockets() {
		_ = ws.Wait(ctx)
	}
}

// closeSockets ends what has no connections: the UDP sockets.
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

// announcement tells where everything listens.
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

func (c *Config) hasTLS() bool { return c.API.TLS || c.hasDTLS() }

func (c *Config) hasDTLS() bool { return c.WSS.Addr != "" || c.KCP.Addr != "" }

// Certificates says where the certificate of the secured listeners is.
func (c *Config) Certificates(log zerolog.Logger) (tlsconf.Options, error) {
	o := tlsconf.Options{Dir: c.TLS.Dir, CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, CAFile: c.TLS.CAFile, ForDTLS: c.hasDTLS(), Log: log}
	for _, name := range append(strings.Split(c.TLS.Hosts, ","), c.Public.Host, c.Public.IP) {
		if name = strings.TrimSpace(name); name != "" {
			o.Hosts = append(o.Hosts, name)
		}
	}
	if o.CertFile == "" && o.Dir == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return o, fmt.Errorf("set tls.dir: %w", err)
		}
		o.Dir = filepath.Join(dir, "troupe", "tls")
	}
	return o, nil
}

// loadCertificates loads the certificate of the secured listeners.
func (l *listeners) loadCertificates(c *Config, log zerolog.Logger) error {
	o, err := c.Certificates(log)
	if err != nil {
		return err
	}
	if l.certs, err = tlsconf.Load(o); err != nil {
		return err
	}
	switch {
	case o.CAFile != "":
		l.anchors = o.CAFile
	case o.CertFile != "":
		l.anchors = o.CertFile
	default:
		l.anchors = tlsconf.CAFile(o.Dir)
	}
	if abs, err := filepath.Abs(l.anchors); err == nil {
		l.anchors = abs // whoever reads the announcement may stand elsewhere
	}
	return nil
}

func (c *Config) dtlsOptions(addr string, certs *tlsconf.Store) dtls.Options {
	o := dtls.Options{Addr: addr, Certificate: certs.Certificate, HalfOpenMax: c.DTLS.HalfOpen, HalfOpenPerIP: c.DTLS.HalfOpenPerIP,
		HelloRate: c.DTLS.HellosPerSecond, HelloRatePerIP: c.DTLS.HellosPerIP, PeersMax: c.DTLS.Associations}
	for _, limit := range []*int{&o.HalfOpenMax, &o.HalfOpenPerIP, &o.PeersMax} {
		if *limit == 0 {
			*limit = -1 // 0 switches a limit off
		}
	}
	for _, limit := range []*float64{&o.HelloRate, &o.HelloRatePerIP} {
		if *limit == 0 {
			*limit = -1
		}
	}
	return o
}

// secureName is the DNS name that game sessions of fleets with certificates
// announce.
func (c *Config) secureName() string {
	if c.Public.Host != "" {
		return c.Public.Host
	}
	return "localhost" // Validate has seen to it that nobody else is invited
}

// loopback reports whether addr is on this machine alone.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
