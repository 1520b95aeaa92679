package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// Options configures a member.
type Options struct {
	Name    string            // unique among the members; default "etcd"
	Dir     string            // data directory, which is created if it is missing
	Client  string            // URL that the member listens on and that nodes connect to; with port 0, any free port
	Peer    string            // URL that the member listens on for other members; port 0, for any free port, is allowed only for a single member
	Peers   map[string]string // name -> URL by which the members, this one included, reach each other; empty for a single member
	Joins   bool              // whether the member joins running members instead of forming a new cluster with them
	TLS     TLS               // for connections of nodes, if Client is https
	Peering TLS               // for connections between members, if Peer is https
	Quick   bool              // no fsync and short ticks, for tests and for data that need not survive a crash
	Log     zerolog.Logger
}

// TLS names PEM files. Client and server must both present certificates of the authority CA.
type TLS struct{ CA, Cert, Key string }

func (t TLS) info() transport.TLSInfo {
	return transport.TLSInfo{TrustedCAFile: t.CA, CertFile: t.Cert, KeyFile: t.Key, ClientCertAuth: t.CA != ""}
}

// Member is a running member. It is safe for concurrent use.
type Member struct {
	etcd    *embed.Etcd
	once    sync.Once
	closing *atomic.Bool // flag of the member's log
}

const (
	quota      = 4 << 30 // maximum size of the database in bytes
	compaction = "10m"
)

// Start runs a member. It returns when the member serves requests. With several members, that takes until a
// majority has started. The member keeps running after ctx ends.
func Start(ctx context.Context, o Options) (*Member, error) {
	config, err := o.config()
	if err == nil {
		err = o.prepare(config)
	}
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	log, closing := logger(o.Log)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	if len(o.Peers) > 1 {
		o.Log.Info().Str("name", config.Name).Str("dir", o.Dir).Str("peers", config.InitialCluster).Msg("etcd starts: it serves when a majority of its members runs")
	}
	etcd, err := embed.StartEtcd(config)
	if err != nil && o.Joins {
		err = fmt.Errorf("%w: tell the members first that this one joins (etcdctl member add), and give --peer for each member that they have", err)
	}
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	m := &Member{etcd: etcd, closing: closing}
	select {
	case <-etcd.Server.ReadyNotify():
		return m, nil
	case err = <-etcd.Err():
	case <-etcd.Server.StopNotify():
		err = errors.New("it stopped while it started")
	case <-ctx.Done():
		err = fmt.Errorf("no majority of %s answers: %w", strings.Join(slices.Sorted(maps.Keys(o.Peers)), ", "), ctx.Err())
	}
	etcd.Server.Stop() // Close would wait until the member is ready
	m.Close()
	return nil, fmt.Errorf("etcd: %w", err)
}

// prepare creates the directory of a member if necessary. It also checks options that etcd would check only after the
// member has joined.
func (o Options) prepare(config *embed.Config) error {
	for _, tls := range []transport.TLSInfo{config.ClientTLSInfo, config.PeerTLSInfo} {
		if !tls.Empty() {
			if _, err := tls.ServerConfig(); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	if err := unused(o.Dir); err != nil || o.Quick {
		return err
	}
	return measure(o.Dir, o.Log)
}

// unused returns an error if a member is already running on the directory. Without this check, etcd would wait for that
// member to end, without any message.
func unused(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		return err
	}
	lock, err := fileutil.TryLockFile(slices.Max(logs), os.O_RDWR, fileutil.PrivateFileMode)
	if errors.Is(err, fileutil.ErrLocked) {
		return fmt.Errorf("another process runs a member on %s: stop it, or give this member a directory of its own", dir)
	} else if err != nil {
		return err
	}
	return lock.Close()
}

func (o Options) config() (*embed.Config, error) {
	c := embed.NewConfig()
	c.Name, c.Dir = cmp.Or(o.Name, "etcd"), o.Dir
	client, err := url.Parse(o.Client)
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(o.Peer)
	if err != nil {
		return nil, err
	}
	reached, err := url.Parse(cmp.Or(o.Peers[c.Name], o.Peer))
	if err != nil {
		return nil, err
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*reached}
	if c.InitialCluster, err = o.members(c.Name); err != nil {
		return nil, err
	}
	if c.ClusterState = embed.ClusterStateFlagNew; o.Joins {
		c.ClusterState = embed.ClusterStateFlagExisting
	}
	if client.Scheme == "https" {
		c.ClientTLSInfo = o.TLS.info()
	}
	if peer.Scheme == "https" {
		c.PeerTLSInfo = o.Peering.info()
	}
	c.QuotaBackendBytes = quota
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, compaction
	c.EnableGRPCGateway = false
	if o.Quick {
		c.UnsafeNoFsync, c.TickMs, c.ElectionMs = true, 50, 500
	}
	return c, nil
}

// members returns the list of members in etcd's format.
func (o Options) members(name string) (string, error) {
	if len(o.Peers) == 0 {
		return name + "=" + o.Peer, nil
	}
	if len(o.Peers) == 2 {
		return "", errors.New("two members are worse than one, because both must be up: run one, or three")
	}
	if o.Peers[name] == "" {
		return "", fmt.Errorf("the list of members has no %s, which is the name of this member", name)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Peers)) {
		all = append(all, name+"="+o.Peers[name])
	}
	return strings.Join(all, ","), nil
}

// Client returns the URL that nodes connect to.
func (m *Member) Client() string {
	scheme := m.etcd.Config().ListenClientUrls[0].Scheme
	return scheme + "://" + m.etcd.Clients[0].Addr().String()
}

// Wait returns nil when ctx ends. If the member ends by itself before that, Wait returns the reason.
func (m *Member) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-m.etcd.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-m.etcd.Server.StopNotify():
		return errors.New("etcd: the member has stopped, because it was removed from its cluster or its data is damaged")
	}
}

// Close ends the member. A leader first transfers leadership to another member, so that clients need not wait for an
// election. Close is idempotent.
func (m *Member) Close() {
	m.once.Do(func() {
		m.closing.Store(true)
		m.etcd.Close()
	})
}
