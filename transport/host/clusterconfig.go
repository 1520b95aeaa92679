package host

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"troupe/messages/coord"
	"troupe/transport/etcd"
	"troupe/transport/tlsconf"
)

// Cluster makes the host a node of a cluster, which has one service API over several hosts.
type Cluster struct {
	Name       string   `config:"name"`       // the same on all nodes: letters, digits and hyphens; empty: the host is alone
	Node       string   `config:"node"`       // unique name of this node, the same after a restart: letters, digits and hyphens; empty: the name of the machine
	Locations  []string `config:"locations"`  // where this node runs game sessions, of region and locations; empty: all of them
	Generation int      `config:"generation"` // of the configured fleets, aliases and scripts; a higher one replaces them in the whole cluster
	Etcd       EtcdUse  `config:"etcd"`
	Peers      Peers    `config:"peers"`
}

// EtcdUse is the coordinator of a cluster.
type EtcdUse struct {
	Endpoints    []string `config:"endpoints"`    // URLs of the members of etcd: http only on this machine
	CA           string   `config:"ca"`           // certificates of the authority of etcd, PEM; empty: those of the system
	Cert         string   `config:"cert"`         // certificate that etcd expects of its clients, PEM; empty: none
	Key          string   `config:"key"`          // private key of cert, PEM; only its owner may have access
	User         string   `config:"user"`         // user of etcd; empty: none
	PasswordFile string   `config:"passwordFile"` // file with the password of the user; only its owner may have access
	// Compact is the age at which the leader discards etcd's history. 0: never, for an etcd that others use too.
	Compact time.Duration `config:"compact"`
}

// Peers is the listener for the other nodes of a cluster.
type Peers struct {
	Addr      string `config:"addr"`      // host:port, port 0 for any
	Advertise string `config:"advertise"` // host:port at which other nodes reach the listener; empty: its own address
	CA        string `config:"ca"`        // certificate of the cluster's authority (troupe admin cluster init), PEM; empty: no TLS, on this machine only
	Cert      string `config:"cert"`      // certificate of this node (troupe admin cluster cert), PEM
	Key       string `config:"key"`       // private key of cert, PEM; only its owner may have access
}

func (v *checks) cluster(all *Config) {
	c := &all.Cluster
	if c.Name == "" {
		return
	}
	for _, l := range c.Locations {
		v.that("cluster.locations", slices.Contains(all.allLocations(), l), "must be region or one of locations: "+l+" is not")
	}
	v.err("cluster.name", coord.CheckName("cluster", c.Name))
	if c.Node != "" {
		v.err("cluster.node", coord.CheckName("node", c.Node))
	}
	v.that("cluster.generation", c.Generation >= 1, "must be at least 1")
	v.that("cluster.etcd.endpoints", len(c.Etcd.Endpoints) > 0, "must name the members of etcd: troupe etcd runs one")
	for _, e := range c.Etcd.Endpoints {
		u, err := url.Parse(e)
		v.that("cluster.etcd.endpoints", err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && onLoopback(u.Hostname())),
			"must be URLs: http://127.0.0.1:2379, or https and the address of another machine")
	}
	v.that("cluster.etcd.compact", c.Etcd.Compact == 0 || c.Etcd.Compact >= time.Minute, "must be at least 1m, or 0")
	v.addr("cluster.peers.addr", c.Peers.Addr)
	if host, _, err := net.SplitHostPort(c.Peers.Addr); err == nil {
		ip, _ := netip.ParseAddr(host)
		v.that("cluster.peers.addr", c.Peers.CA != "" || onLoopback(host),
			"needs cluster.peers.ca, cert and key, which troupe admin cluster cert makes; without them it must be on loopback")
		v.that("cluster.peers.advertise", c.Peers.Advertise != "" || host != "" && !ip.IsUnspecified(), "must be set if cluster.peers.addr names no address")
	}
	v.that("cluster.peers.ca", (c.Peers.CA == "") == (c.Peers.Cert == "") && (c.Peers.Cert == "") == (c.Peers.Key == ""), "goes with cert and key")
}

func onLoopback(host string) bool {
	ip, _ := netip.ParseAddr(host)
	return ip.IsLoopback() || host == "localhost"
}

// locationNames returns the names of the locations that this host serves.
func (c *Config) locationNames() []string {
	if len(c.Cluster.Locations) > 0 {
		return c.Cluster.Locations
	}
	return c.allLocations()
}

func (c *Config) allLocations() []string {
	all := []string{c.Region}
	for _, l := range c.Locations {
		if l.Name != c.Region {
			all = append(all, l.Name)
		}
	}
	return all
}

// resourcesHash returns hashes of the configured resources that the nodes of a cluster share (see coord.Node).
func (c *Config) resourcesHash() string {
	var all []string
	for _, section := range []struct {
		name  string
		value any
	}{
		{"region", c.Region}, {"account", c.Account}, {"locations", c.Locations}, {"fleets", c.Fleets}, {"aliases", c.Aliases}, {"queues", c.Queues},
		{"matchmaking", c.Matchmaking},
	} {
		text, err := json.Marshal(section.value)
		if err != nil {
			panic(err) // a bug: these values always encode
		}
		sum := sha256.Sum256(text)
		all = append(all, section.name+"="+hex.EncodeToString(sum[:8]))
	}
	return strings.Join(all, " ")
}

const keyFileMax = 64 << 10 // bytes

// open connects to etcd.
func (e *EtcdUse) open(ctx context.Context) (*etcd.Client, error) {
	o := etcd.Options{Endpoints: e.Endpoints, User: e.User}
	if e.PasswordFile != "" {
		password, err := readSecret(e.PasswordFile)
		if err != nil {
			return nil, err
		}
		o.Password = password
	}
	if e.CA != "" || e.Cert != "" {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if e.CA != "" {
		text, err := os.ReadFile(e.CA)
		if err != nil {
			return nil, err
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca: %s has no certificate in PEM", e.CA)
		}
	}
	if e.Cert != "" {
		if _, err := tlsconf.ReadFile(e.Key, "this key", keyFileMax); err != nil {
			return nil, err
		}
		pair, err := tls.LoadX509KeyPair(e.Cert, e.Key)
		if err != nil {
			return nil, err
		}
		o.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if renewed, err := tls.LoadX509KeyPair(e.Cert, e.Key); err == nil {
				return &renewed, nil
			}
			return &pair, nil // the files are being replaced
		}
	}
	ctx, cancel := context.WithTimeout(ctx, syncedMax)
	defer cancel()
	return etcd.Open(ctx, o)
}
