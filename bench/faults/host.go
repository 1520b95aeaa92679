package faults

import (
	"context"
	"crypto/tls"
	"embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/bench/faults/disk"
	"troupe/bench/server"
	"troupe/messages/lazy"
	"troupe/transport/client"
)

//go:embed callbacks.js hang.js crowd.js
var scripts embed.FS

// ownFleet is the fleet of a host that the run starts.
const ownFleet = "fleet-faults"

// spec describes the host to start. Files that must survive a restart are in the folder of the run.
func (r *run) spec() (spec server.Spec, err error) {
	script, err := filepath.Abs(r.o.Script)
	if err != nil {
		return spec, err
	}
	if r.o.Script == "" {
		if script, err = r.unpack("callbacks.js"); err != nil {
			return spec, err
		}
	}
	config := filepath.Join(r.dir, "host.yaml")
	text := fmt.Sprintf("fleets:\n- {id: %s, name: faults, gameSessionsMax: %d, script: %q}\n", ownFleet, otherGames+10, script)
	if anyOf(r.events, Hang) {
		hang, err := r.unpack("hang.js")
		if err != nil {
			return spec, err
		}
		text += fmt.Sprintf("- {id: %s, name: hang, gameSessionsMax: 10, script: %q}\n", hangFleet, hang)
	}
	if anyOf(r.events, Memory) {
		crowd, err := r.unpack("crowd.js")
		if err != nil {
			return spec, err
		}
		text += fmt.Sprintf("- {id: %s, name: crowd, gameSessionsMax: %d, script: %q}\n", crowdFleet, crowdGames, crowd)
	}
	text += "aliases: []\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return spec, err
	}
	sets := []string{
		"store.memory=false", "store.path=" + filepath.Join(r.dir, "store.db"), "tls.dir=" + filepath.Join(r.dir, "tls"),
		"log.gameSessions.dir=" + filepath.Join(r.dir, "logs"),
		// All players connect from one address and reconnect more often than real players do.
		"limits.resumesPerPlayerSessionPerMinute=0", "limits.loginsPerPlayerSessionPerMinute=0",
		"dtls.hellosPerIPPerSecond=0", "dtls.halfOpen=0", "dtls.hellosPerSecond=0",
	}
	grace := Duration(0)
	for _, e := range r.events {
		if e.Fault == Restart {
			grace = e.For
		}
	}
	sets = append(sets, "drain.grace="+time.Duration(grace).String())
	if r.o.Quick {
		sets = append(sets, "session.pingInterval=500ms")
		// only with this fault: starting Node.js may take longer than quickLimit
		if slices.ContainsFunc(r.events, func(e Event) bool { return e.Fault == Hang }) {
			sets = append(sets, "script.callback="+quickLimit.String())
		}
	}
	spec = server.Spec{Kind: server.Troupe, Bin: r.o.Bin, FleetID: ownFleet, Config: config}
	if r.tight, err = newTight(r.events); err != nil {
		return spec, fmt.Errorf("%s: %w", Memory, err)
	}
	if r.tight != nil {
		spec.Within, sets = r.tight.Do, append(sets, "limits.playerBytesPerSecond=0", "limits.playerMessagesPerSecond=0")
	}
	spec.Sets = append(sets, r.o.Sets...)
	if slices.ContainsFunc(r.events, func(e Event) bool { return e.Fault.onDisk() }) {
		socket := filepath.Join(r.dir, "disk.sock")
		if r.disk, err = disk.Listen(socket); err != nil {
			return spec, err
		}
		spec.Args = slices.Concat(r.o.Behind, []string{socket})
	}
	return spec, nil
}

// unpack writes an embedded script into its own folder and returns the path of the script.
func (r *run) unpack(name string) (string, error) {
	text, err := scripts.ReadFile(name)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(r.dir, strings.TrimSuffix(name, ".js"))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(folder, name)
	return file, os.WriteFile(file, text, 0o600)
}

// start starts the host, or attaches to a host that is already running.
func (r *run) start(ctx context.Context) (err error) {
	if remote := r.o.Against; remote != nil {
		if err := remote.Probe(ctx); err != nil {
			return err
		}
		r.proc = server.Attach(*remote)
		return r.proc.AwaitFleet(ctx, remote.Fleet)
	}
	if r.own, err = r.spec(); err != nil {
		return err
	}
	r.proc, err = server.Start(ctx, r.own)
	if err != nil {
		return err
	}
	return r.proc.AwaitFleet(ctx, ownFleet)
}

// enter creates a game session and logs the players in.
func (r *run) enter(ctx context.Context, number int) (*crew, server.Room, error) {
	room, err := r.proc.Open(ctx, number, r.o.Players)
	if err != nil {
		return nil, room, err
	}
	reach, err := r.access(room, r.proc)
	if err != nil {
		return nil, room, err
	}
	players, err := enter(ctx, r.o.Network, r.o.Seed, room.IDs, reach, r.line, 0)
	return players, room, err
}

// access returns how each player reaches the game session of a host.
func (r *run) access(room server.Room, on *server.Process) (func(index int) access, error) {
	wss, kcp, trusted := r.o.WSSAddr, r.o.KCPAddr, r.o.TLS
	if r.o.Against == nil {
		wss, kcp = on.Announce.WSS, on.Announce.KCP
		var err error
		if trusted, err = on.TLS(); err != nil {
			return nil, err
		}
	}
	// Players dial proxies, but the certificate is issued for the host.
	as := func(addr string) *tls.Config {
		config := trusted.Clone()
		if name, _, err := net.SplitHostPort(addr); err == nil && config.ServerName == "" {
			config.ServerName = name
		}
		return config
	}
	return func(index int) access {
		a := access{transport: r.transport(index), tcp: room.Addr, udp: kcp, silence: r.silence()}
		// With ws, the host chooses the address of the fast channel, so that channel would bypass the proxies.
		a.fast = a.transport == client.KCP
		if r.hostOnly() {
			a.stall = a.silence
		}
		switch a.transport {
		case client.WSS:
			a.tcp, a.tls = wss, as(wss)
		case client.KCP:
			a.tls = as(kcp)
		}
		return a
	}, nil
}

// transport returns the transport of a player. Players take the configured transports in turn.
func (r *run) transport(index int) client.Transport { return r.o.Transports[index%len(r.o.Transports)] }

// callback matches a log line of callbacks.js.
var callback = lazy.Regexp(`faults (connect|accepted|detached|reconnected|disconnect) (\d+) (\d+)`)

// callbacks counts the callbacks in the game session's log by peer and by name. Callbacks that were not there at the
// previous call are added to the timeline.
func (r *run) callbacks(ctx context.Context, session string) (map[int32]map[string]int, error) {
	if !r.tells() {
		return nil, nil
	}
	text, err := r.proc.GameSessionLog(ctx, session)
	if err != nil {
		return nil, err
	}
	all := make(map[int32]map[string]int)
	found := callback().FindAllStringSubmatch(text, -1)
	for i, m := range found {
		peer, err := strconv.ParseInt(m[2], 10, 32)
		if err != nil {
			continue
		}
		if at, err := strconv.ParseInt(m[3], 10, 64); err == nil && i >= r.called[session] {
			r.line.called(time.UnixMilli(at), m[1])
		}
		if all[int32(peer)] == nil {
			all[int32(peer)] = make(map[string]int)
		}
		all[int32(peer)][m[1]]++
	}
	r.called[session] = len(found)
	return all, nil
}

// callbacksMax bounds the wait until the log has the callbacks of players who have left.
const callbacksMax = 10 * time.Second

const callbacksPromise = "each player is announced to the script once and taken leave of once, however often it comes back"

// tells reports whether the host runs our own script, which logs its callbacks.
func (r *run) tells() bool { return r.o.Script == "" && r.o.Against == nil }

// judgeCallbacks judges the callbacks of players who have just left. before holds the callbacks that had run before
// they left.
func (r *run) judgeCallbacks(ctx context.Context, peers []int32, session string, before map[int32]map[string]int, f *Figures) (Verdict, error) {
	if !r.tells() {
		return Verdict{Promise: callbacksPromise, Invariant: "RL-13", Outcome: notChecked, Detail: "the host runs another script than the one that tells of its callbacks"}, nil
	}
	var wrong violations
	for _, peer := range peers {
		if n := before[peer]["disconnect"]; n > 0 {
			wrong.add("onPlayerDisconnect ran for peer %d, who was in the game", peer)
		}
	}
	after, err := r.callbacks(ctx, session)
	complete := func() bool {
		for _, peer := range peers {
			if after[peer]["disconnect"] == 0 {
				return false
			}
		}
		return true
	}
	for deadline := time.Now().Add(callbacksMax); err == nil && !complete() && time.Now().Before(deadline); {
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return Verdict{}, err
		}
		after, err = r.callbacks(ctx, session)
	}
	if err != nil {
		return Verdict{}, err
	}
	for _, peer := range peers {
		for _, name := range []string{"connect", "accepted", "disconnect"} {
			if n := after[peer][name]; n != 1 {
				wrong.add("%s ran %d times for peer %d", name, n, peer)
			}
		}
	}
	f.WrongCallbacks = wrong.count
	return wrong.judge("RL-13", callbacksPromise, "%d players, %d wrong callbacks", len(peers), wrong.count), nil
}
