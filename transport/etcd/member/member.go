package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// Options describe a member.
type Options struct {
	Name    string            // unique among the members; "": "etcd"
	Dir     string            // of its data; made if it is missing
	Client  string            // URL that it listens on, and where nodes reach it; port 0 takes any
	Peer    string            // URL that it listens on, and where other members reach it; port 0 takes any for a member that is alone
	Peers   map[string]string // the URLs of all members by name; empty: it is alone
	Joins   bool              // to members that run already, instead of beginning with them
	TLS     TLS               // for nodes, where Client is https
	Peering TLS               // for members, where Peer is https
	Quick   bool              // no fsync and short ticks, for tests and for what need not outlive a crash
	Log     zerolog.Logger
}

// TLS names files in PEM. Both sides show certificates of the authority.
type TLS struct{ CA, Cert, Key string }

func (t TLS) info() transport.TLSInfo {
	return transport.TLSInfo{TrustedCAFile: t.CA, CertFile: t.Cert, KeyFile: t.Key, ClientCertAuth: t.CA != ""}
}

// Member is a member that runs. Its methods may be called from any goroutine.
type Member struct {
	etcd *embed.Etcd
	once sync.Once
}

const (
	quota      = 4 << 30 // bytes of the database
	compaction = "10m"
)

// Start runs a member and returns when it serves: with others, once a majority has started. The member outlives ctx.
func Start(ctx context.Context, o Options) (*Member, error) {
	config, err := o.config()
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	m := &Member{etcd: etcd}
	select {
	case <-etcd.Server.ReadyNotify():
		return m, nil
	case err = <-etcd.Err():
	case <-etcd.Server.StopNotify():
		err = errors.New("it stopped while it started")
	case <-ctx.Done():
		err = fmt.Errorf("no majority of %s answers: %w", strings.Join(slices.Sorted(maps.Keys(o.Peers)), ", "), ctx.Err())
	}
	etcd.Server.Stop() // Close would wait until it is ready
	m.Close()
	return nil, fmt.Errorf("etcd: %w", err)
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
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	if c.InitialCluster, err = o.members(c.Name); err != nil {
		return nil, err
	}
	if c.ClusterState = embed.ClusterStateFlagNew; o.Joins {
		c.ClusterState = embed.ClusterStateFlagExisting
	}
	c.ClientTLSInfo, c.PeerTLSInfo = o.TLS.info(), o.Peering.info()
	c.QuotaBackendBytes = quota
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, compaction
	c.EnableGRPCGateway = false
	if o.Quick {
		c.UnsafeNoFsync, c.TickMs, c.ElectionMs = true, 50, 500
	}
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger(o.Log))
	return c, nil
}

// members returns the members in the form of etcd.
func (o Options) members(name string) (string, error) {
	if len(o.Peers) == 0 {
		return name + "=" + o.Peer, nil
	}
	if len(o.Peers) == 2 {
		return "", errors.New("two members are worse than one, because both must be up: run one, or three")
	}
	if o.Peers[name] != o.Peer {
		return "", fmt.Errorf("member %s is to be reached at %q, but the list of members says %q", name, o.Peer, o.Peers[name])
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Peers)) {
		all = append(all, name+"="+o.Peers[name])
	}
	return strings.Join(all, ","), nil
}

// Client returns the URL at which nodes reach the member.
func (m *Member) Client() string {
	scheme := m.etcd.Config().ListenClientUrls[0].Scheme
	return scheme + "://" + m.etcd.Clients[0].Addr().String()
}

// Failed has the error that ended the member, if one does.
func (m *Member) Failed() <-chan error { return m.etcd.Err() }

// Close ends the member. It is idempotent.
func (m *Member) Close() { m.once.Do(m.etcd.Close) }
