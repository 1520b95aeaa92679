package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"troupe/bench/faults/disk"
	"troupe/bench/server"
	"troupe/messages/coord"
	"troupe/messages/lazy"
	"troupe/transport/etcd"
)

const (
	nodesMax     = 9
	membersOf    = 3
	clusterName  = "faults"
	clusterGames = 1000 // of each host: many more than a run creates
	// registeredMax bounds the wait for the fleet of a cluster that starts.
	registeredMax = 15 * time.Second
	// portsFrom and portsTo are a range from which no system takes ports for outgoing connections, so a process that is
	// started again gets its ports back.
	portsFrom, portsTo = 20000, 32000
)

// clusterTarget matches the targets of faults in a cluster: one host, chosen by the seed; the host that leads; a host
// that does not; a numbered host; all members of etcd; the member that leads; one that does not; a numbered member.
var clusterTarget = lazy.Regexp(`^(node|leader|follower|node-\d|etcd|etcd-leader|etcd-follower|etcd-\d)$`)

// clusterConfig is the configuration of each host. It differs in the file of the events only.
const clusterConfig = `fleets:
- {id: %[1]s, name: faults, gameSessionsMax: %[2]d}
aliases: [{id: alias-faults, name: faults, fleet: %[1]s}]
queues: [{name: queue-faults, timeout: 60s, destinations: [alias-faults]}]
log: {level: info}
events: {sinks: [{name: all, type: file, path: %[3]q, all: true, kinds: [placement, gamesession]}]}
`

// machine is a process of a cluster.
type machine struct {
	name   string
	spec   server.Spec
	url    string     // of a member of etcd
	peers  string     // address on which a host listens for other hosts
	events string     // file with the events of a host
	conns  *pairs     // connections of other hosts to this one; nil: they are direct
	disk   *disk.Disk // nil if the plan has no fault of it
	member []string   // flags that name a member of etcd

	mu    sync.Mutex // guards the fields below
	proc  *server.Process
	api   *server.API // of a host
	hurts []span      // when it was under fault
}

// span is an interval. A zero to means that it has not ended.
type span struct{ from, to time.Time }

// overlaps reports whether a time span overlaps, extended by grace after its end.
func (s span) overlaps(from, to time.Time, grace time.Duration) bool {
	return to.After(s.from) && (s.to.IsZero() || from.Before(s.to.Add(grace)))
}

// cluster is the hosts and the members of etcd.
type cluster struct {
	*run
	plan    *Plan
	nodes   []*machine
	members []*machine
	store   *etcd.Client
	// Paths, if the plan cuts some: from a host to each member, and from a host to each other host.
	toEtcd, toPeers map[[2]int]*Path
	players         [][]*Path // paths of the players, by host
	watched         *watch
	calls           *load
	late            lateness // of this machine
}

// process returns the running process, or nil.
func (m *machine) process() *server.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc
}

// client returns the client of a host's service API, also of a host that was killed: its calls then fail.
func (m *machine) client() *server.API {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.api
}

// start starts the process.
func (m *machine) start(ctx context.Context) error {
	proc, err := server.Start(ctx, m.spec)
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc = proc; m.url == "" {
		m.api = proc.API(32)
	}
	return nil
}

// hurt records that a fault begins. The returned function records its end.
func (m *machine) hurt() (over func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := len(m.hurts)
	m.hurts = append(m.hurts, span{from: time.Now()})
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.hurts[i].to = time.Now()
	}
}

// under reports whether the machine was under fault in an interval, or until grace before it.
func (m *machine) under(from, to time.Time, grace time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.hurts, func(s span) bool { return s.overlaps(from, to, grace) })
}

// freePorts returns n free ports that no outgoing connection takes.
func freePorts(random *rand.Rand, n int) (all []int, err error) {
	for tries := 0; len(all) < n; tries++ {
		port := portsFrom + random.IntN(portsTo-portsFrom)
		l, err := net.Listen("tcp", loopbackAt(port))
		if err == nil {
			err = l.Close()
		}
		if err == nil && !slices.Contains(all, port) {
			all = append(all, port)
		} else if tries > 100*n {
			return nil, fmt.Errorf("no free ports: %w", err)
		}
	}
	return all, nil
}

func loopbackAt(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// startCluster starts the members of etcd, then the hosts, and waits until all hosts are registered.
func (r *run) startCluster(ctx context.Context, plan *Plan) (_ *cluster, err error) {
	c := &cluster{run: r, plan: plan, toEtcd: map[[2]int]*Path{}, toPeers: map[[2]int]*Path{}, players: make([][]*Path, plan.Nodes)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	ports, err := freePorts(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), 2*membersOf+plan.Nodes)
	if err != nil {
		return c, err
	}
	var peers, urls []string
	for i := range membersOf {
		peers = append(peers, "--peer", fmt.Sprintf("m%d=http://%s", i, loopbackAt(ports[2*i])))
	}
	for i := range membersOf {
		url := "http://" + loopbackAt(ports[2*i+1])
		m := &machine{name: fmt.Sprint("etcd-", i), url: url}
		m.member = append([]string{"--name", fmt.Sprint("m", i), "--dir", filepath.Join(r.dir, m.name)}, peers...)
		m.spec = server.Spec{Kind: server.Plain, Name: m.name, Bin: r.o.Bin, Args: append([]string{"etcd", "--listen", url}, m.member...)}
		urls, c.members = append(urls, url), append(c.members, m)
		if err := errors.Join(c.onDisk(m), m.start(ctx)); err != nil {
			return c, err
		}
	}
	if c.store, err = etcd.Open(ctx, etcd.Options{Endpoints: urls, Attempt: 2 * time.Second}); err != nil {
		return c, err
	}
	for i := range plan.Nodes {
		m := &machine{name: fmt.Sprint("node-", i), peers: loopbackAt(ports[2*membersOf+i]), events: filepath.Join(r.dir, fmt.Sprintf("events-%d.jsonl", i))}
		c.nodes = append(c.nodes, m)
	}
	for i, m := range c.nodes {
		if m.spec, err = c.nodeSpec(i, urls); err == nil {
			err = c.onDisk(m)
		}
		if err != nil {
			return c, err
		}
	}
	var starts sync.WaitGroup
	errs := make([]error, len(c.nodes))
	for i, m := range c.nodes {
		starts.Go(func() { errs[i] = m.start(ctx) })
	}
	if starts.Wait(); errors.Join(errs...) != nil {
		return c, errors.Join(errs...)
	}
	for _, m := range c.nodes {
		for began := time.Now(); ; {
			err := m.process().AwaitFleet(ctx, ownFleet) // the leader offers the fleet when its term has begun
			if err == nil {
				break
			}
			if time.Since(began) > registeredMax || rest(ctx, watchEvery) != nil {
				return c, fmt.Errorf("%s: %w\n%s", m.name, err, m.process().Output())
			}
		}
	}
	return c, nil
}

// nodeSpec describes a host. Its files are in the folder of the run, so that they survive a restart.
func (c *cluster) nodeSpec(i int, urls []string) (spec server.Spec, err error) {
	m, dir := c.nodes[i], filepath.Join(c.dir, fmt.Sprint("node-", i))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return spec, err
	}
	config := filepath.Join(dir, "host.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, clusterConfig, ownFleet, clusterGames, m.events), 0o600); err != nil {
		return spec, err
	}
	advertise := m.peers
	if anyOf(c.events, Cut) {
		if urls, err = c.viaPaths(i, urls); err != nil {
			return spec, err
		}
		if m.conns, err = c.listenPairs(i); err != nil {
			return spec, err
		}
		advertise = m.conns.addr()
	}
	grace := Duration(0)
	for _, e := range c.events {
		if e.Fault == Restart {
			grace = e.For
		}
	}
	sets := []string{
		"store.memory=false", "store.path=" + filepath.Join(dir, "store.db"), "tls.dir=" + filepath.Join(dir, "tls"), "log.gameSessions.dir=" + filepath.Join(dir, "logs"),
		"limits.resumesPerPlayerSessionPerMinute=0", "limits.loginsPerPlayerSessionPerMinute=0", "dtls.hellosPerIPPerSecond=0", "dtls.halfOpen=0", "dtls.hellosPerSecond=0",
		"drain.grace=" + time.Duration(grace).String(),
		"cluster.name=" + clusterName, "cluster.node=" + m.name, "cluster.etcd.endpoints=[\"" + strings.Join(urls, `","`) + "\"]",
		"cluster.peers.addr=" + m.peers, "cluster.peers.advertise=" + advertise,
	}
	return server.Spec{Name: m.name, Kind: server.Troupe, Bin: c.o.Bin, FleetID: ownFleet, Config: config, Sets: append(sets, c.o.Sets...), Env: pairsEnv}, nil
}

// onDisk gives a process a disk that can fail, if the plan has such faults of its kind.
func (c *cluster) onDisk(m *machine) (err error) {
	if !slices.ContainsFunc(c.events, func(e Event) bool { return e.Fault.onDisk() && strings.HasPrefix(e.Target, "etcd") == (m.url != "") }) {
		return nil
	}
	socket := filepath.Join(c.dir, m.name+".sock")
	m.spec.Args = slices.Concat(c.o.Behind, []string{socket}, m.spec.Args)
	m.disk, err = disk.Listen(socket)
	return err
}

// viaPaths opens the paths of a host to the members of etcd and returns their URLs.
func (c *cluster) viaPaths(node int, urls []string) (via []string, err error) {
	for i, url := range urls {
		p, err := ListenPath(nil, "127.0.0.1:0", c.o.Seed, node, strings.TrimPrefix(url, "http://"), "")
		if err != nil {
			return nil, err
		}
		c.toEtcd[[2]int{node, i}] = p
		via = append(via, "http://"+p.TCP())
	}
	return via, nil
}

// close ends all processes and closes all paths.
func (c *cluster) close() (err error) {
	for _, m := range slices.Concat(c.nodes, c.members) {
		if p := m.process(); p != nil {
			p.Kill()
			err = errors.Join(err, p.Stop())
		}
		if a := m.client(); a != nil {
			a.Close()
		}
		if m.conns != nil {
			m.conns.close()
		}
		if m.disk != nil {
			err = errors.Join(err, m.disk.Close())
		}
	}
	for _, paths := range []map[[2]int]*Path{c.toEtcd, c.toPeers} {
		for _, p := range paths {
			err = errors.Join(err, p.Close())
		}
	}
	if c.store != nil {
		err = errors.Join(err, c.store.Close())
	}
	return err
}

// targets returns the processes that a fault is about.
func (c *cluster) targets(ctx context.Context, name string) ([]*machine, error) {
	kind, number, numbered := strings.Cut(name, "-")
	i, err := strconv.Atoi(number)
	all := c.nodes
	if kind == "etcd" {
		all = c.members
	}
	switch {
	case name == "etcd":
		return c.members, nil
	case name == "etcd-leader", name == "etcd-follower":
		i, err := c.etcdLeader(ctx)
		if name == "etcd-follower" {
			i = (i + 1) % len(all)
		}
		return all[i : i+1], err
	case numbered && (err != nil || i >= len(all)):
		return nil, fmt.Errorf("there is no %s", name)
	case numbered:
		return all[i : i+1], nil
	}
	leader, err := c.leader(ctx)
	if err != nil {
		return nil, err
	}
	for i, m := range c.nodes {
		if (m.name == leader) == (name == "leader") {
			return c.nodes[i : i+1], nil
		}
	}
	return nil, fmt.Errorf("there is no %s", name)
}

// leader returns the name of the host that leads.
func (c *cluster) leader(ctx context.Context) (string, error) {
	found, err := c.store.Read(ctx, coord.Query{Key: coord.KeysOf(clusterName).Lead()})
	if err != nil || len(found.KVs) != 1 {
		return "", fmt.Errorf("no host leads: %w", err)
	}
	lead, err := coord.Decode[coord.Lead](found.KVs[0])
	return lead.Node, err
}

// registered returns the incarnations of all registered hosts.
func (c *cluster) registered(ctx context.Context) (map[string]int64, error) {
	keys := coord.KeysOf(clusterName)
	found, err := c.store.Read(ctx, coord.Query{Key: keys.Nodes(), Prefix: true})
	all := map[string]int64{}
	for _, kv := range found.KVs {
		all[strings.TrimPrefix(kv.Key, keys.Nodes())] = kv.Created
	}
	return all, err
}

// isLeader matches the metric of the member of etcd that leads.
var isLeader = lazy.Regexp(`(?m)^etcd_server_is_leader 1$`)

// etcdLeader returns the number of the member of etcd that leads.
func (c *cluster) etcdLeader(ctx context.Context) (int, error) {
	for i, m := range c.members {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
		if err = errors.Join(err, res.Body.Close()); err == nil && isLeader().Match(text) {
			return i, nil
		}
	}
	return 0, errors.New("no member of etcd leads")
}

// begin begins a fault and returns a function that ends it.
func (c *cluster) begin(ctx context.Context, e Event) (end func() error, err error) {
	all, err := c.targets(ctx, e.Target)
	if err != nil {
		return nil, err
	}
	var ends []func() error
	for _, m := range all {
		over := m.hurt()
		end, err := c.beginAt(ctx, e, m)
		if err != nil {
			return nil, err
		}
		if end == nil {
			over()
			continue
		}
		ends = append(ends, func() error {
			defer over()
			return end()
		})
	}
	if len(ends) == 0 {
		return nil, nil
	}
	return func() error {
		var work sync.WaitGroup
		errs := make([]error, len(ends))
		for i, end := range ends {
			work.Go(func() { errs[i] = end() })
		}
		work.Wait()
		return errors.Join(errs...)
	}, nil
}

func (c *cluster) beginAt(ctx context.Context, e Event, m *machine) (end func() error, err error) {
	proc := m.process()
	switch e.Fault {
	case Stall:
		if err := proc.Pause(); err != nil {
			return nil, err
		}
		return proc.Continue, nil
	case Cut:
		return c.cut(e.From, slices.Index(c.nodes, m)), nil
	case Revoke:
		return nil, c.revoke(ctx, m)
	case Restore:
		proc.Kill()
		return func() error { return errors.Join(proc.Stop(), c.restore(ctx, m), m.start(ctx)) }, nil
	case Restart:
		if err := proc.Terminate(); err != nil {
			return nil, err
		}
		asked := time.Now()
		return func() error {
			select {
			case <-proc.Exited():
			case <-time.After(time.Until(asked.Add(time.Duration(e.For) + exitMax))):
				proc.Kill()
				c.watched.note("%s did not end by itself within %v", m.name, time.Since(asked).Round(time.Millisecond))
			case <-ctx.Done():
				return ctx.Err()
			}
			return c.startAgain(ctx, m, proc)
		}, nil
	}
	if e.Fault.onDisk() {
		return breakDisk(m.disk, e), nil
	}
	proc.Kill()
	return func() error { return c.startAgain(ctx, m, proc) }, nil
}

// startAgain starts a process in place of one that has ended.
func (c *cluster) startAgain(ctx context.Context, m *machine, old *server.Process) error {
	if err := errors.Join(old.Stop(), m.start(ctx)); err != nil {
		return err
	}
	if i := slices.Index(c.nodes, m); i >= 0 {
		for _, p := range c.players[i] {
			p.Retarget(m.process().Announce.WS, m.process().Announce.KCP)
		}
	}
	return nil
}

// revoke ends the lease of a host.
func (c *cluster) revoke(ctx context.Context, m *machine) error {
	found, err := c.store.Read(ctx, coord.Query{Key: coord.KeysOf(clusterName).Node(m.name)})
	if err != nil || len(found.KVs) != 1 {
		return fmt.Errorf("%s is not registered: %w", m.name, err)
	}
	return c.store.Revoke(ctx, found.KVs[0].Lease)
}

// backup is the file of the backup.
func (c *cluster) backup() string { return filepath.Join(c.dir, "etcd.snapshot") }

// restore makes the directory of a member from the backup. Placements after the backup are gone.
func (c *cluster) restore(ctx context.Context, m *machine) error {
	c.calls.forgetPlacements()
	if err := os.RemoveAll(filepath.Join(c.dir, m.name)); err != nil {
		return err
	}
	return c.etcd(ctx, append([]string{"restore", c.backup()}, m.member...)...)
}

// etcd runs a command of etcd.
func (c *cluster) etcd(ctx context.Context, args ...string) error {
	text, err := exec.CommandContext(ctx, c.o.Bin, append([]string{"etcd"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("etcd %s: %w\n%s", args[0], err, text)
	}
	return nil
}

// cut makes the paths of a host silent.
func (c *cluster) cut(from string, node int) (end func() error) {
	var paths []*Path
	for pair, p := range c.toEtcd {
		if pair[0] == node && from != "one" {
			paths = append(paths, p)
		}
	}
	other := (node + 1) % len(c.nodes)
	for pair, p := range c.toPeers {
		if from == "one" && slices.Contains([][2]int{{node, other}, {other, node}}, pair) || (from == "peers" || from == "all") && (pair[0] == node || pair[1] == node) {
			paths = append(paths, p)
		}
	}
	if from == "all" {
		paths = append(paths, c.players[node]...)
	}
	var ends []func()
	for _, p := range paths {
		ends = append(ends, p.Begin(Event{Fault: Silence}))
	}
	return func() error {
		for _, end := range ends {
			end()
		}
		return nil
	}
}
