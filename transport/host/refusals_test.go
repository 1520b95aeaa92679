package host

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
	"troupe/transport/peers"
)

// varying replaces what differs from run to run with expressions.
var varying = strings.NewReplacer("#", `\d+`, "ID", `[A-Z2-7]{26}`, "DIR", `/\S+`)

// CL-35, CL-122: what a host of a cluster says when it refuses to start: one line, with what to do. The refusals of the
// clock, the certificate of a running host and the version of etcd are proven where they are made (actors/cluster,
// transport/etcd).
func TestRefusals(t *testing.T) {
	keys := coord.KeysOf("test")
	put := func(c *hosts, key string, value any) {
		if _, _, err := c.coordinator.Client().Commit(c.Context(), nil, []coord.Change{coord.Put(key, coord.Encode(value))}); err != nil {
			c.Fatal(err)
		}
	}
	registered := func(c *hosts) coord.Node { return c.all[0].node.self.View().Self }
	for name, r := range map[string]struct {
		change func(c *hosts, o *Options)
		want   string // see varying
	}{
		"name taken": {func(c *hosts, o *Options) { o.Config.Cluster.Node = "node-0" },
			"host: cluster test: node node-0 runs already at 127.0.0.1:#: stop it, or set cluster.node to another name"},
		"a store used twice": {func(c *hosts, o *Options) { o.Config.Store = c.all[0].reloads.config.Store },
			"host: store.path: store: DIR/store.db: another process has it open: process #: stop it, or name another file"},
		"another cluster's store": {func(c *hosts, o *Options) {
			store := Store{Path: filepath.Join(c.TempDir(), "other.db")}
			coordinator := clustertest.NewStore()
			c.Cleanup(coordinator.Close)
			other := *o
			other.Coordinator, other.Config.Store, other.Config.Cluster.Name = coordinator.Client(), store, "other"
			h, err := Start(other)
			if err != nil {
				c.Fatal(err)
			}
			h.Close()
			o.Config.Store = store
		}, "host: cluster test: the store of node node-x belongs to another cluster (ID, not ID): set store.path to a new file, or cluster.etcd.endpoints to the etcd of that cluster"},
		"an older generation": {func(c *hosts, o *Options) {
			o.Config.Cluster.Generation = 1
		}, "host: cluster test: node node-0 has generation # of the configured resources, this node #: use the newer configuration file"},
		"another configuration of the generation": {func(c *hosts, o *Options) { o.Config.Fleets[0].GameSessionsMax++ },
			"host: cluster test: node node-0 has the same generation # of the configured resources, but other fleets: raise cluster.generation, or use its configuration file"},
		"another version": {func(c *hosts, o *Options) {
			other := registered(c)
			other.Name, other.Protocol, other.Version = "node-2", coord.Range{Low: 2, High: 3}, "3.0.0"
			put(c, keys.Node("node-2"), other)
		}, "host: cluster test: node node-2 (version 3.0.0) speaks protocol # to #, this version (0.1.0) # to #: upgrade one minor version at a time"},
		"other records": {func(c *hosts, o *Options) {
			put(c, keys.Meta(), coord.Meta{ID: c.all[0].node.self.ClusterID(), Schema: 2})
		},
			"host: cluster test: its records have schema #, and this version (0.1.0) knows # to #: start the version of Troupe that the other nodes run"},
		"no certificate": {func(c *hosts, o *Options) { o.Config.Cluster.Peers.Addr = "10.0.0.1:33480" },
			"host: configuration: cluster.peers.addr: needs cluster.peers.ca, cert and key, which troupe admin cluster cert makes; without them it must be on loopback"},
		"missing files of certificates": {func(c *hosts, o *Options) {
			o.Config.Cluster.Peers = Peers{Addr: "127.0.0.1:0", CA: "/none.pem", Cert: "/none.pem", Key: "/none.key"}
		}, "host: cluster.peers: peers: open /none.pem: no such file or directory: troupe admin cluster cert makes these files"},
		"the certificate of another node": {func(c *hosts, o *Options) {
			dir := c.TempDir()
			if err := errors.Join(peers.InitAuthority(dir, "test"), peers.Issue(dir, "node-0", nil)); err != nil {
				c.Fatal(err)
			}
			o.Config.Cluster.Peers = Peers{Addr: "127.0.0.1:0", CA: dir + "/ca.pem", Cert: dir + "/node-0.pem", Key: dir + "/node-0.key"}
		}, "host: cluster.peers: peers: DIR/node-0.pem: it is the certificate of node node-0, and this is node-x: troupe admin cluster cert makes these files"},
		"etcd without TLS on another machine": {func(c *hosts, o *Options) { o.Config.Cluster.Etcd.Endpoints = []string{"http://10.0.0.1:2379"} },
			"host: configuration: cluster.etcd.endpoints: must be URLs: http://127.0.0.1:2379, or https and the address of another machine"},
		"etcd away": {func(c *hosts, o *Options) { c.coordinator.SetAway(true) },
			"host: cluster test: etcd does not answer: start it, or correct cluster.etcd.endpoints: coordinator: no answer"},
		"etcd full": {func(c *hosts, o *Options) { c.coordinator.SetFull(true) },
			"host: cluster test: coordinator: its database is full: free space (etcdctl compact, defrag) or raise the quota of etcd, then etcdctl alarm disarm"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o Options
				c := hostsOf(t, 1, func(first *Options) {
					first.Version = "0.1.0"
					first.Config.Cluster.Generation = 2
					first.Config.Store = Store{Path: filepath.Join(t.TempDir(), "store.db")}
					o = *first
				})
				o.Coordinator, o.Config = c.coordinator.Client(), c.all[0].reloads.config
				o.Config.Fleets = append([]Fleet(nil), o.Config.Fleets...)
				o.Config.Cluster.Node, o.Config.Store = "node-x", Store{Memory: true}
				r.change(c, &o)
				h, err := Start(o)
				if err == nil {
					h.Close()
					t.Fatal("it starts")
				}
				if !regexp.MustCompile("^" + varying.Replace(regexp.QuoteMeta(r.want)) + "$").MatchString(err.Error()) {
					t.Errorf("the refusal is %s\nwant %s", err, r.want)
				}
				c.coordinator.SetAway(false)
				c.coordinator.SetFull(false)
			})
		})
	}
}
