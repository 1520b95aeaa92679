package host

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"troupe/actors"
	"troupe/actors/bans"
	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// startActors starts the tree of actors. The actors announce the addresses of the listeners, so those must be
// bound already.
func (h *Host) startActors(o Options) error {
	c := &o.Config
	plain, err := c.advertised(h.listeners.ws, c.Public.Host)
	if err != nil {
		return err
	}
	secured := plain
	if h.listeners.wss != nil {
		if secured, err = c.advertised(h.listeners.wss, c.secureName()); err != nil {
			return err
		}
	}
	h.gameURLs = []string{"ws://" + net.JoinHostPort(plain.IPAddress, strconv.Itoa(plain.Port))}
	if h.listeners.wss != nil {
		h.gameURLs = append(h.gameURLs, "wss://"+net.JoinHostPort(secured.DNSName, strconv.Itoa(secured.Port)))
	}
	policy, err := c.Flush.policy()
	if err != nil {
		return err
	}
	h.queued = player.NewPool(c.queueBytesAll())
	if !o.Dev {
		h.warnOfRoot(c.Fleets)
	}
	newHandler := o.NewHandler
	if newHandler == nil {
		newHandler = func(*messages.Fleet) script.Handler { return script.Relay{} }
	}
	scripts, err := c.scripts(time.Now())
	if err != nil {
		return err
	}
	matchmaking, err := c.matchmaking(time.Now())
	if err != nil {
		return err
	}
	unpacking, err := h.unpacking(c)
	if err != nil {
		return fmt.Errorf("host: builds: %w", err)
	}
	options := actors.Options{
		Cluster: h.node.options(c.Cluster.Generation),
		Bundle:  c.Script.bundleLimits(),
		Log:     o.Log, Counters: h.count, Shards: c.Workers, Flush: policy, OnFailure: o.OnFailure,
		Timeouts:  connection.Timeouts{Login: c.Limits.LoginTimeout, SilenceMin: connection.DefaultTimeouts().SilenceMin},
		Placement: c.placements(time.Now()), Matchmaking: matchmaking,
		Fleet: fleet.Options{
			Region: c.Region, Locations: c.locationRecords(time.Now()), Fleets: c.fleetRecords(time.Now()), Aliases: c.aliasRecords(time.Now()),
			Advertised: plain, Secured: secured,
			Session: c.sessionSettings(h.queued, h.bans, h.node), NewHandler: newHandler, OpenLog: h.openLog, Store: h.store, OnEvent: h.events.Post, OwnEvents: h.own,
			Launch: h.launching(c, plain), Builds: unpacking, BuildRules: c.Builds.rules(),
			NewProgram: h.programs.make, Scripts: scripts, ProcessesMax: c.Script.ProcessesMax, GroupsMax: c.Script.ProcessGroupsMax,
			EndEarlier: c.Script.EndEarlier,
			EndedMax:   c.Session.EndedMax, EndedKeep: c.Session.EndedKeep, Crash: h.crash,
		},
	}
	if h.node != nil {
		options.Fleet.Directory = h.node.directory
	}
	h.system, err = actors.Start(options)
	if err != nil {
		return fmt.Errorf("host: %w", err)
	}
	return nil
}

func (c *Config) sessionSettings(queued *player.Pool, banned *bans.List, node *clusterNode) gamesession.Settings {
	return gamesession.Settings{
		Bans: banned, Alternates: node.playersOf(),
		Budget: player.Budget{
			BytesMax: c.Session.PlayerQueueBytes, MessagesMax: c.Session.PlayerQueueMessages,
			Gap: c.Reconnect.Overflow == "gap", Pool: queued,
		},
		ReconnectWindow: c.Reconnect.Window, Takeover: c.Reconnect.Takeover == "now", Rejoin: c.Reconnect.Rejoin,
		Acknowledge: c.Reconnect.Acknowledge, SkipAmbiguous: c.Reconnect.StockAmbiguous == "skip",
		PingInterval: c.Session.PingInterval, EmptyTimeout: c.Session.EmptyTimeout,
		GroupsPerPlayerMax: groupsPerPlayer, GroupsMax: groupsPerGameSession,
		InboundBytesPerSecond: c.Limits.GameSessionBytesPerSecond,
		DeliveriesPerSecond:   c.Limits.DeliveriesPerGameSessionPerSecond, ScriptDeliveriesPerSecond: scriptDeliveriesPerSecond,
		Announce: gamesession.Announce{
			AllPlayersGroup: c.Session.AnnounceAllPlayers, Players: c.Session.AnnouncePlayers, LegacyLogin: c.Session.LegacyLoginPacket,
		},
		Mailbox: stage.LaneLimits{MessagesMax: c.Session.MailboxMessages, BytesMax: c.Session.MailboxBytes},
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

// flushGroups is the value of stage.FlushPolicy.Spread. With an interval of 15 ms, each shard then writes
// about every 2 ms.
const flushGroups = 8

func (f Flush) policy() (stage.FlushPolicy, error) {
	if f.Interval == "adaptive" {
		return stage.FlushPolicy{Interval: stage.Adaptive, Spread: flushGroups}, nil
	}
	d, err := time.ParseDuration(f.Interval)
	if err != nil || d < 0 || d > 100*time.Millisecond {
		return stage.FlushPolicy{}, fmt.Errorf("host: flush interval %q", f.Interval)
	}
	return stage.FlushPolicy{Interval: d, Spread: flushGroups}, nil
}
