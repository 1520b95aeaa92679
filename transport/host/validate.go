package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/gamesession"
	"troupe/messages/lazy"
	"troupe/transport"
)

var (
	regionForm  = lazy.Regexp(`\A[A-Za-z0-9-]{1,64}\z`)
	accountForm = lazy.Regexp(`\A[0-9]{12}\z`)
	fleetForm   = lazy.Regexp(`\Afleet-[A-Za-z0-9-]{1,120}\z`)
	aliasForm   = lazy.Regexp(`\Aalias-[A-Za-z0-9-]{1,120}\z`)
)

// windowMax is the longest reconnect window.
const windowMax = gamesession.ReconnectWindowMax

// Validate checks the whole configuration. Each error names its key.
func (c *Config) Validate() error {
	var v checks
	v.api(c)
	v.addr("websocket.addr", c.WebSocket.Addr)
	v.addr("fast.addr", c.Fast.Addr)
	v.that("fast.portsFrom", c.Fast.PortsFrom >= 1 && c.Fast.PortsFrom <= c.Fast.PortsTo && c.Fast.PortsTo <= 65535, "with fast.portsTo must name a range of ports")
	v.secured(c)
	v.ports(c)
	if c.Public.IP != "" {
		_, err := netip.ParseAddr(c.Public.IP)
		v.that("public.ip", err == nil, "must be an IP address")
	}
	v.serverSDK(c.ServerSDK.URL)
	if addr := c.ServerSDK.Addr; addr != "" {
		v.addr("serverSDK.addr", addr)
		v.that("serverSDK.addr", loopback(addr) || c.API.TLS || c.API.Insecure, "must be a loopback address without TLS (set api.tls, or api.insecure if something in front of it encrypts)")
	}
	v.that("region", regionForm().MatchString(c.Region), "must be letters, digits and hyphens")
	v.that("account", accountForm().MatchString(c.Account), "must be 12 digits")
	v.fleets(c)
	v.queues(c)
	v.matchmaking(c)
	v.locations(c)
	v.that("store.path", c.Store.Path != "" || c.Store.Memory, "must name a file, or store.memory be true: nothing outlives the process then")
	v.that("reconnect.window", c.Reconnect.Window >= 0 && c.Reconnect.Window <= windowMax, "must be 0s to 600s")
	v.that("reconnect.overflow", c.Reconnect.Overflow == "end" || c.Reconnect.Overflow == "gap", "must be end or gap")
	v.that("reconnect.stockAmbiguous", c.Reconnect.StockAmbiguous == "resend" || c.Reconnect.StockAmbiguous == "skip", "must be resend or skip")
	v.that("reconnect.queueBytesAll", c.Reconnect.QueueBytesAll >= 0, "must not be negative")
	v.that("reconnect.takeover", c.Reconnect.Takeover == "now" || c.Reconnect.Takeover == "refuse", "must be now or refuse")
	v.cluster(c)
	v.session(&c.Session)
	v.limits(&c.Limits)
	v.proxies("api.proxies", c.API.Proxies)
	v.proxies("websocket.proxies", c.WebSocket.Proxies)
	_, err := c.Flush.policy()
	v.that("flush.interval", err == nil, "must be adaptive or a duration of 0s to 100ms")
	v.that("drain.grace", c.Drain.Grace >= 0, "must not be negative")
	v.that("workers", c.Workers >= 0 && c.Workers <= 1024, "must be 0 to 1024")
	_, err = zerolog.ParseLevel(c.Log.Level)
	v.that("log.level", err == nil && c.Log.Level != "", "must be debug, info, warn or error")
	v.that("log.format", c.Log.Format == "json" || c.Log.Format == "pretty", "must be json or pretty")
	v.that("log.gameSessions.keep", c.Log.GameSessions.Keep >= time.Minute, "must be at least 1m")
	v.events(&c.Events)
	v.scripts(c)
	v.gameServers(c)
	v.builds(c)
	return errors.Join(v...)
}

// serverSDK checks a URL by the rules of all Server SDKs (server-sdk.md 1).
func (v *checks) serverSDK(text string) {
	u, err := url.Parse(text)
	ok := err == nil && (u.Scheme == "ws" || u.Scheme == "wss") && u.Hostname() != "" && u.User == nil && !strings.ContainsAny(text, "?#")
	v.that("serverSDK.url", text == "" || ok, "must be a ws:// or wss:// URL without a query and a fragment")
}

type checks []error

func (v *checks) that(key string, ok bool, what string) {
	if !ok {
		*v = append(*v, fmt.Errorf("%s: %s", key, what))
	}
}

// once checks that seen does not contain name, and adds it.
func (v *checks) once(seen map[string]bool, key, name string) {
	v.that(key, !seen[name], "is there twice")
	seen[name] = true
}

// err records an error, unless it is nil.
func (v *checks) err(key string, err error) {
	if err != nil {
		v.that(key, false, err.Error())
	}
}

// addr checks that an address has the form host:port.
func (v *checks) addr(key, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		v.that(key, false, "must be host:port, like 127.0.0.1:0")
		return
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		v.that(key, false, "must have a port from 0 to 65535")
	}
}

type keyedAddr struct{ key, addr string }

// listeners returns those of players and of the API.
func (c *Config) listening() (tcp, udp []keyedAddr) {
	return []keyedAddr{{"api.addr", c.API.Addr}, {"websocket.addr", c.WebSocket.Addr}, {"wss.addr", c.WSS.Addr}},
		[]keyedAddr{{"fast.addr", c.Fast.Addr}, {"dtls.addr", c.DTLS.Addr}, {"kcp.addr", c.KCP.Addr}}
}

// ports reports two listeners on the same port. Port 0, which means any free port, is allowed.
func (v *checks) ports(c *Config) {
	tcp, udp := c.listening()
	for _, all := range [][]keyedAddr{tcp, udp} {
		for i, l := range all {
			for _, before := range all[:i] {
				v.that(l.key, !samePort(before.addr, l.addr), "is the address of "+before.key+" as well")
			}
		}
	}
}

// samePort reports whether two addresses would bind the same port.
func samePort(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	all := func(host string) bool {
		ip, err := netip.ParseAddr(host)
		return host == "" || err == nil && ip.IsUnspecified()
	}
	return errA == nil && errB == nil && portA == portB && portA != "0" && (hostA == hostB || all(hostA) || all(hostB))
}

func (v *checks) proxies(key string, list []string) {
	_, err := transport.ParseProxies(list)
	v.err(key, err)
}
