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

// Options configures a member.
type Options struct {
	Name   string // unique among the members; default "etcd"
	Dir    string // data directory, which is created if it is missing
	Client string // URL that the member listens on and that nodes connect to; with port 0, any free port
	// URL that the member listens on and that other members connect to; port 0, for any free port, is allowed
	// only without other members
	Peer    string
	Peers   map[string]string // name -> URL of all members; empty for a single member
	Joins   bool              // whether it joins running members instead of forming a new cluster with them
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
	etcd *embed.Etcd
	once sync.Once
}

const (
	quota      = 4 << 30 // maximum size of the database in bytes
	compaction = "10m"
)

// Start runs a member. It returns when the member serves requests. With several members, that takes until a
// majority has started. The member keeps running after ctx ends.
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
	etcd.Server.Stop() // Close would wait until the member is ready
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

// members returns the list of members in etcd's format.
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

// Client returns the URL that nodes connect to.
func (m *Member) Client() string {
	scheme := m.etcd.Config().ListenClientUrls[0].Scheme
	return scheme + "://" + m.etcd.Clients[0].Addr().String()
}

// Failed returns a channel that receives the error if the member ends with one.
func (m *Member) Failed() <-chan error { return m.etcd.Err() }

// Close stops the member. It is idempotent.
func (m *Member) Close() { m.once.Do(m.etcd.Close) }
