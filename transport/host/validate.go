package host

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/gamesession"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/transport"
)

var (
	regionForm  = regexp.MustCompile(`\A[A-Za-z0-9-]{1,64}\z`)
	accountForm = regexp.MustCompile(`\A[0-9]{12}\z`)
	fleetForm   = regexp.MustCompile(`\Afleet-[A-Za-z0-9-]{1,120}\z`)
	aliasForm   = regexp.MustCompile(`\Aalias-[A-Za-z0-9-]{1,120}\z`)
)

// windowMax is the longest reconnect window.
const windowMax = gamesession.ReconnectWindowMax

// Validate checks the whole configuration. Each problem names its key.
func (c *Config) Validate() error {
	var v checks
	v.api(c)
	v.addr("websocket.addr", c.WebSocket.Addr)
	v.addr("fast.addr", c.Fast.Addr)
	v.that("fast.portsFrom", c.Fast.PortsFrom >= 1 && c.Fast.PortsFrom <= c.Fast.PortsTo && c.Fast.PortsTo <= 65535, "with fast.portsTo must name a range of ports")
	v.that("fast.sockets", c.Fast.Sockets >= 0, "must not be negative")
	v.secured(c)
	if c.Public.IP != "" {
		_, err := netip.ParseAddr(c.Public.IP)
		v.that("public.ip", err == nil, "must be an IP address")
	}
	v.that("region", regionForm.MatchString(c.Region), "must be letters, digits and hyphens")
	v.that("account", accountForm.MatchString(c.Account), "must be 12 digits")
	v.fleets(c)
	v.queues(c)
	v.locations(c)
	v.that("store.path", c.Store.Path != "" || c.Store.Memory, "must name a file, or store.memory be true: nothing outlives the process then")
	v.that("reconnect.window", c.Reconnect.Window >= 0 && c.Reconnect.Window <= windowMax, "must be 0s to 600s")
	v.that("reconnect.overflow", c.Reconnect.Overflow == "end" || c.Reconnect.Overflow == "gap", "must be end or gap")
	v.that("reconnect.stockAmbiguous", c.Reconnect.StockAmbiguous == "resend" || c.Reconnect.StockAmbiguous == "skip", "must be resend or skip")
	v.that("reconnect.queueBytesAll", c.Reconnect.QueueBytesAll >= 0, "must not be negative")
	v.that("reconnect.takeover", c.Reconnect.Takeover == "now" || c.Reconnect.Takeover == "refuse", "must be now or refuse")
	v.session(&c.Session)
	v.limits(&c.Limits)
	v.proxies("api.proxies", c.API.Proxies)
	v.proxies("websocket.proxies", c.WebSocket.Proxies)
	if _, err := c.Flush.policy(); err != nil {
		v.that("flush.interval", false, "must be adaptive or a duration of 0s to 100ms")
	}
	v.that("drain.grace", c.Drain.Grace >= 0, "must not be negative")
	v.that("workers", c.Workers >= 0 && c.Workers <= 1024, "must be 0 to 1024")
	_, err := zerolog.ParseLevel(c.Log.Level)
	v.that("log.level", err == nil && c.Log.Level != "", "must be debug, info, warn or error")
	v.that("log.format", c.Log.Format == "json" || c.Log.Format == "pretty", "must be json or pretty")
	v.gameSessionLogs(&c.Log.GameSessions)
	v.events(&c.Events)
	v.scripts(c)
	return errors.Join(v...)
}

func (v *checks) gameSessionLogs(l *GameSessionLogs) {
	v.that("log.gameSessions.maxBytes", l.MaxBytes >= 64<<10, "must be at least 65536")
	v.that("log.gameSessions.files", l.Files >= 1 && l.Files <= 1000, "must be 1 to 1000")
	v.that("log.gameSessions.totalBytes", l.TotalBytes >= l.MaxBytes, "must be at least log.gameSessions.maxBytes")
	v.that("log.gameSessions.keep", l.Keep >= time.Minute, "must be at least 1m")
}

func (v *checks) scripts(c *Config) {
	s := &c.Script
	for key, n := range map[string]int64{
		"callback": int64(s.Callback), "tick": int64(s.Tick), "timersMax": int64(s.TimersMax), "memoryMax": int64(s.MemoryMax),
	} {
		v.that("script."+key, n >= 0, "must not be negative; 0 switches it off")
	}
	v.that("script.memoryMax", s.MemoryMax == 0 || s.MemoryMax >= 16<<20, "must be at least 16777216, or 0")
	v.that("script.unpackedMax", s.UnpackedMax >= 1<<20 && s.UnpackedMax <= 1<<30, "must be 1048576 to 1073741824")
	v.that("script.processesMax", s.ProcessesMax >= 1, "must be at least 1")
	v.that("script.processGroupsMax", s.ProcessGroupsMax >= 1 && s.ProcessGroupsMax <= 10_000, "must be 1 to 10000")
	for key, id := range map[string]int{"uid": s.Node.UID, "gid": s.Node.GID} {
		v.that("script.node."+key, id >= 0 && int64(id) <= math.MaxUint32, "must be 0 to 4294967295")
	}
	for i, f := range c.Fleets {
		key := fmt.Sprintf("fleets[%d]", i)
		v.that(key+".engine", f.Engine == "" || f.Engine == bundle.EngineEmbedded || f.Engine == bundle.EngineNode, "must be embedded or node, or empty")
		v.that(key+".nodeVersion", f.NodeVersion == "" || f.NodeVersion == messages.NodeVersion10 || f.NodeVersion == messages.NodeVersion24, "must be 10.x or 24.x, or empty")
		v.that(key+".standby", f.Standby >= -1 && f.Standby <= 1000, "must be -1 to 1000")
		if f.Script == "" {
			v.that(key, f.LaunchPath == "" && f.Engine == "" && f.Standby == 0 && f.NodeVersion == "", "has settings of a script and no script")
		}
	}
}

type checks []error

func (v *checks) that(key string, ok bool, what string) {
	if !ok {
		*v = append(*v, fmt.Errorf("%s: %s", key, what))
	}
}

// addr checks host:port.
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

func (v *checks) fleets(c *Config) {
	v.that("fleets", len(c.Fleets) > 0, "must name at least one fleet")
	seen := map[string]bool{}
	for i, f := range c.Fleets {
		key := fmt.Sprintf("fleets[%d]", i)
		v.that(key+".id", fleetForm.MatchString(f.ID), "must be fleet- and letters, digits, hyphens")
		v.that(key+".id", !seen[f.ID], "is there twice")
		v.that(key+".gameSessionsMax", f.GameSessionsMax >= 1, "must be at least 1")
		if f.ReconnectWindow != "" {
			w, err := time.ParseDuration(f.ReconnectWindow)
			v.that(key+".reconnectWindow", err == nil && w >= 0 && w <= windowMax, "must be 0s to 600s, or empty")
		}
		seen[f.ID] = true
	}
	for i, a := range c.Aliases {
		key := fmt.Sprintf("aliases[%d]", i)
		v.that(key+".id", aliasForm.MatchString(a.ID), "must be alias- and letters, digits, hyphens")
		v.that(key+".id", !seen[a.ID], "is there twice")
		v.that(key, (a.Fleet == "") != (a.Message == ""), "must have either a fleet or a message")
		v.that(key+".fleet", a.Fleet == "" || seen[a.Fleet], "must be one of fleets")
		seen[a.ID] = true
	}
}

// certificatesGenerated is the setting of a fleet that announces the secure ports.
const certificatesGenerated = "GENERATED"

func (v *checks) secured(c *Config) {
	v.that("dtls.addr", (c.WSS.Addr == "") == (c.DTLS.Addr == ""), "must be set exactly where wss.addr is: stock clients need both")
	for key, addr := range map[string]string{"wss.addr": c.WSS.Addr, "dtls.addr": c.DTLS.Addr, "kcp.addr": c.KCP.Addr} {
		if addr != "" {
			v.addr(key, addr)
		}
	}
	v.that("tls.certFile", (c.TLS.CertFile == "") == (c.TLS.KeyFile == ""), "and tls.keyFile must be set together")
	v.that("tls.caFile", c.TLS.CAFile == "" || c.TLS.CertFile != "", "goes with tls.certFile")
	v.that("tls.reloadEvery", c.TLS.ReloadEvery >= time.Second || !c.hasTLS(), "must be at least 1s")
	for key, n := range map[string]float64{
		"halfOpen": float64(c.DTLS.HalfOpen), "halfOpenPerIP": float64(c.DTLS.HalfOpenPerIP),
		"hellosPerSecond": c.DTLS.HellosPerSecond, "hellosPerIPPerSecond": c.DTLS.HellosPerIP, "associations": float64(c.DTLS.Associations),
	} {
		v.that("dtls."+key, n >= 0, "must not be negative; 0 switches it off")
	}
	for i, f := range c.Fleets {
		key := fmt.Sprintf("fleets[%d].certificates", i)
		switch f.Certificates {
		case "", "DISABLED":
		case certificatesGenerated:
			v.that(key, c.WSS.Addr != "", "needs wss.addr and dtls.addr")
			v.that("public.host", c.Public.Host != "" || c.WSS.Addr == "" || loopback(c.WSS.Addr),
				"must be set where a fleet has certificates: players verify that name")
		default:
			v.that(key, false, "must be GENERATED or DISABLED")
		}
	}
}

func (v *checks) session(s *Session) {
	v.that("session.pingInterval", s.PingInterval >= 100*time.Millisecond && s.PingInterval <= 10*time.Minute, "must be 100ms to 10m")
	v.that("session.playerQueueBytes", s.PlayerQueueBytes >= 64<<10, "must be at least 65536")
	v.that("session.playerQueueMessages", s.PlayerQueueMessages >= 16, "must be at least 16")
	v.that("session.mailboxBytes", s.MailboxBytes >= 64<<10, "must be at least 65536")
	v.that("session.mailboxMessages", s.MailboxMessages >= 16, "must be at least 16")
	v.that("session.endedMax", s.EndedMax >= 1, "must be at least 1")
	v.that("session.endedKeep", s.EndedKeep > 0, "must be positive")
}

func (v *checks) proxies(key string, list []string) {
	if _, err := transport.ParseProxies(list); err != nil {
		v.that(key, false, err.Error())
	}
}

func (v *checks) limits(l *Limits) {
	v.that("limits.loginTimeout", l.LoginTimeout > 0, "must be positive")
	v.that("limits.messageBytes", l.MessageBytes >= 8<<10 && l.MessageBytes <= 1<<20, "must be 8192 to 1048576")
	for key, n := range map[string]float64{
		"unauthenticated": float64(l.Unauthenticated), "unauthenticatedPerIP": float64(l.UnauthenticatedPerIP),
		"connectionsPerIPPerSecond": l.ConnectionsPerIPPerSecond, "connectionsPerIPBurst": float64(l.ConnectionsPerIPBurst),
		"connectionsHeld": float64(l.ConnectionsHeld), "connectionsHeldPerIP": float64(l.ConnectionsHeldPerIP),
		"loginFailuresPerIPPerMinute":      float64(l.LoginFailuresPerIPPerMinute),
		"loginsPerPlayerSessionPerMinute":  float64(l.LoginsPerPlayerSessionPerMinute),
		"resumesPerPlayerSessionPerMinute": float64(l.ResumesPerPlayerSessionPerMinute),
		"loginsPerSecond":                  l.LoginsPerSecond, "loginsWaiting": float64(l.LoginsWaiting),
		"malformedPackets": float64(l.MalformedPackets), "playerMessagesPerSecond": l.PlayerMessagesPerSecond,
		"playerMessagesBurst": l.PlayerMessagesBurst, "playerBytesPerSecond": l.PlayerBytesPerSecond,
		"tooFastFor": float64(l.TooFastFor), "groupOperationsPerSecond": l.GroupOperationsPerSecond,
		"groupsPerPlayer": float64(l.GroupsPerPlayer), "groupsPerGameSession": float64(l.GroupsPerGameSession),
		"gameSessionBytesPerSecond":         float64(l.GameSessionBytesPerSecond),
		"deliveriesPerGameSessionPerSecond": float64(l.DeliveriesPerGameSessionPerSecond),
		"scriptDeliveriesPerSecond":         float64(l.ScriptDeliveriesPerSecond),
	} {
		v.that("limits."+key, n >= 0, "must not be negative; 0 switches it off")
	}
}

// policy turns the interval into the stage's policy.
func (f Flush) policy() (stage.FlushPolicy, error) {
	if f.Interval == "adaptive" {
		return stage.FlushPolicy{Interval: stage.Adaptive}, nil
	}
	d, err := time.ParseDuration(f.Interval)
	if err != nil || d < 0 || d > 100*time.Millisecond {
		return stage.FlushPolicy{}, fmt.Errorf("host: flush interval %q", f.Interval)
	}
	return stage.FlushPolicy{Interval: d}, nil
}
