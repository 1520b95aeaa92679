package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/launch"
	"troupe/messages"
	"troupe/messages/lazy"
)

const serverProcessesMax = 1000 // processes of a fleet in a location

var variableForm = lazy.Regexp(`\A[A-Za-z_][A-Za-z0-9_]*=`)

// portRange returns the ports of a text like 7777-7876, or 7777.
func portRange(text string) (from, to int, ok bool) {
	if text == "" {
		return 0, 0, true
	}
	first, last, found := strings.Cut(text, "-")
	if !found {
		last = first
	}
	from, errFrom := strconv.Atoi(first)
	to, errTo := strconv.Atoi(last)
	return from, to, errFrom == nil && errTo == nil && from >= 1 && from <= to && to <= 60000 // the Server SDK takes no higher ones
}

// record returns the game server as the registry has it. Its paths are absolute, because other hosts of a cluster and
// later starts may have another working directory.
func (s *GameServer) record() *messages.GameServer {
	r := &messages.GameServer{Path: s.Path, Args: s.Args, Env: s.Env, Dir: s.Dir, User: s.User, MemoryMax: int64(s.MemoryMax), CPUs: s.CPUs}
	r.PortFrom, r.PortTo, _ = portRange(s.Ports)
	for _, path := range []*string{&r.Path, &r.Dir} {
		if abs, err := filepath.Abs(*path); err == nil && *path != "" {
			*path = abs
		}
	}
	return r
}

// gameServers checks the game servers of fleets. Whether an executable runs is seen when it is started.
func (v *checks) gameServers(c *Config) {
	taken := c.listenerPorts()
	own := func(key string, from, to int) {
		want := []catalog.PortRange{{Of: key, From: from, To: to}}
		if had, _, shared := catalog.SharedPorts(taken, want); shared {
			v.that(key, false, "has ports of "+had.Of+" as well")
		}
		taken = append(taken, want...)
	}
	records := c.fleetRecords(time.Time{})
	for i, f := range c.Fleets {
		key, s := fmt.Sprintf("fleets[%d].server", i), &f.Server
		if s.Path == "" {
			v.that(key, len(s.Args)+len(s.Env)+s.Processes+s.MemoryMax == 0 && s.Dir+s.Ports+s.User == "" && s.CPUs == 0, "has settings of a game server and no path")
			continue
		}
		v.err(key, launch.Supported())
		v.that(key, f.Script == "", "is there as well as a script: game sessions run in one of them")
		v.that(fmt.Sprintf("fleets[%d].launchParameters", i), f.LaunchParameters == "", "is for a script; a game server has server.args")
		v.that(fmt.Sprintf("fleets[%d].certificates", i), f.Certificates != certificatesGenerated, "is for players of this host; those of a game server connect to it")
		info, err := os.Stat(s.Path)
		switch {
		case err != nil:
			v.that(key+".path", false, "cannot be read: "+err.Error())
		default:
			v.that(key+".path", info.Mode().IsRegular() && info.Mode()&0o111 != 0, "must be an executable file")
		}
		v.that(key+".processes", s.Processes >= 1 && s.Processes <= serverProcessesMax, fmt.Sprintf("must be 1 to %d", serverProcessesMax))
		for j, variable := range s.Env {
			v.that(fmt.Sprintf("%s.env[%d]", key, j), variableForm().MatchString(variable), "must be NAME=value")
			v.that(fmt.Sprintf("%s.env[%d]", key, j), !strings.HasPrefix(variable, "GAMELIFT_SDK_"), "is set by the host")
		}
		v.that(key+".memoryMax", s.MemoryMax == 0 || s.MemoryMax >= 1<<20, "must be at least 1048576, or 0")
		v.that(key+".cpus", s.CPUs == 0 || s.CPUs >= 0.01 && s.CPUs <= 1024, "must be 0.01 to 1024, or 0")
		v.err(key+".user", launch.CheckUser(s.User))
		from, to, ok := portRange(s.Ports)
		v.that(key+".ports", ok, "must be a range like 7777-7876, from 1 to 60000")
		if ok && from == 0 {
			for _, text := range slices.Concat(s.Args, s.Env) {
				v.that(key+".ports", !strings.Contains(text, "{port}"), "must be there, because {port} is used")
			}
		}
		if !ok || from == 0 {
			continue
		}
		v.err(key+".ports", catalog.EnoughPorts(records[i]))
		own(key+".ports", from, to)
	}
	if from, to, ok := portRange(c.Builds.Ports); ok && from > 0 {
		own("builds.ports", from, to)
	}
}

// listenerPorts returns the ports of all listeners of the host that are configured.
func (c *Config) listenerPorts() (all []catalog.PortRange) {
	tcp, udp := c.listening()
	for _, l := range slices.Concat(tcp, udp, []keyedAddr{{"serverSDK.addr", c.ServerSDK.Addr}}) {
		_, text, _ := net.SplitHostPort(l.addr)
		if port, err := strconv.Atoi(text); err == nil && port > 0 {
			all = append(all, catalog.PortRange{Of: l.key, From: port, To: port})
		}
	}
	if c.Fast.Enabled {
		all = append(all, catalog.PortRange{Of: "fast.portsFrom", From: c.Fast.PortsFrom, To: c.Fast.PortsTo})
	}
	return all
}

// launching returns how this host starts game servers.
func (h *Host) launching(c *Config, players fleet.Advertised) *launch.Options {
	name := "host"
	if h.node != nil {
		name = c.Cluster.Node
	}
	own := messages.Compute{IPAddress: players.IPAddress, DNSName: players.DNSName, Host: true}
	return &launch.Options{Compute: name, Show: h.showLogs, Authorize: func(ctx context.Context, f messages.FleetID, location, compute string) (launch.Access, error) {
		select {
		case <-h.started: // the endpoint is there
		case <-ctx.Done():
			return launch.Access{}, ctx.Err()
		}
		m := own
		m.FleetID, m.Name, m.Location = f, compute, location
		token, err := authorizeCompute(ctx, h.Doer(), m)
		return launch.Access{URL: h.ownServerSDK(c), Token: token}, err
	}}
}

// warnOfRoot says which fleets have game servers with all rights on this machine.
func (h *Host) warnOfRoot(fleets []Fleet) {
	for _, f := range fleets {
		if f.Server.Path != "" && f.Server.User == "" && os.Geteuid() == 0 {
			h.log.Warn().Str("fleet_id", f.ID).Msg("the host runs as root, and so do the game servers of this fleet: name another user in its server.user, or run the host as one")
		}
	}
}

// authorizeCompute registers a compute of this host, unless it is registered as it is now, and returns a token for its
// processes.
func authorizeCompute(ctx context.Context, d messages.Doer, m messages.Compute) (token string, err error) {
	found, err := messages.Do(ctx, d, messages.ComputeQuery{FleetID: m.FleetID})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(found, func(o *messages.Compute) bool { return o.Name == m.Name })
	if i >= 0 && (found[i].IPAddress != m.IPAddress || found[i].DNSName != m.DNSName || found[i].Location != m.Location || found[i].Host != m.Host) {
		if err := messages.Run(ctx, d, messages.DeregisterCompute{FleetID: m.FleetID, Name: m.Name}); err != nil {
			return "", err
		}
		i = -1
	}
	if i < 0 {
		_, err := messages.Do(ctx, d, messages.RegisterCompute{Compute: m})
		if err != nil && !errors.Is(err, &messages.Error{Code: messages.Conflict}) { // two processes may start at the same time
			return "", err
		}
	}
	auth, err := messages.Do(ctx, d, messages.AuthorizeCompute{FleetID: m.FleetID, Name: m.Name, Host: true})
	return auth.Token, err
}

// ownServerSDK returns the URL of the endpoint for processes on this machine.
func (h *Host) ownServerSDK(c *Config) string {
	a := h.api.Addr().(*net.TCPAddr).AddrPort()
	if a.Addr().IsUnspecified() {
		a = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	}
	scheme := "ws"
	if c.API.TLS {
		scheme = "wss"
	}
	return scheme + "://" + netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String() + serverSDKPath
}
