//go:build !noetcdserver

package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"strings"

	"troupe/transport/etcd/member"
	"troupe/transport/host"
)

type etcdCommand struct {
	Member   etcdMemberCommand   `cmd:"" default:"withargs" help:"Run a member of etcd, which the nodes of a cluster share."`
	Snapshot etcdSnapshotCommand `cmd:"" help:"Save a snapshot of a running etcd."`
	Restore  etcdRestoreCommand  `cmd:"" help:"Make the directory of a member from a snapshot."`
}

// etcdMembers are the flags that name a member and the other members. They must be the same when a member is restored
// and when it is started.
type etcdMembers struct {
	Name       string            `required:"" placeholder:"NAME" help:"Name of this member, unique among the members."`
	Dir        string            `required:"" placeholder:"DIR" help:"Directory of its data. It is created if it is missing."`
	PeerListen string            `placeholder:"URL" help:"Where it listens for other members (its own --peer, or else http://127.0.0.1:2380)."`
	Peer       map[string]string `placeholder:"NAME=URL" help:"Where the other members reach a member. Once for each member, this one included; none for a member that is alone."`
}

// etcdTLS are the files for one kind of connection.
type etcdTLS struct {
	CA   string `name:"ca" placeholder:"FILE" help:"Authority that signs the certificates of members and clients, for https (PEM)."`
	Cert string `placeholder:"FILE" help:"Certificate of this side, for https (PEM)."`
	Key  string `placeholder:"FILE" help:"Its key (PEM)."`
}

func (t etcdTLS) files() member.TLS { return member.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key} }

type etcdMemberCommand struct {
	etcdMembers
	etcdTLS
	Listen string `default:"http://127.0.0.1:2379" placeholder:"URL" help:"Where it listens for nodes (${default})."`
	Join   bool   `help:"Join members that run already. They must know this member: etcdctl member add."`
}

// Run runs a member until a signal arrives or the member fails.
func (c *etcdMemberCommand) Run(s streams) error {
	o, err := c.options()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	ctx, stop := s.interruptible()
	defer stop()
	o.Log = newLog(host.Log{Level: "info"}, s.err, nil)
	m, err := member.Start(ctx, o)
	if ctx.Err() != nil && err != nil {
		return nil // a signal arrived before the member was ready
	}
	if err != nil {
		return err
	}
	o.Log.Info().Str("client", m.Client()).Str("dir", o.Dir).Int("members", max(1, len(o.Peers))).Msg("etcd serves")
	err = m.Wait(ctx)
	stop() // a second signal ends the process at once
	o.Log.Info().Msg("etcd stops")
	m.Close()
	return err
}

// options checks the flags and returns the member's options.
func (c *etcdMemberCommand) options() (member.Options, error) {
	o, err := c.etcdMembers.options()
	if err != nil {
		return o, err
	}
	given := c.CA != "" && c.Cert != "" && c.Key != ""
	if !given && c.etcdTLS != (etcdTLS{}) {
		return o, errors.New("--ca, --cert and --key belong together: give all three")
	}
	o.Client, o.Joins, o.TLS, o.Peering = c.Listen, c.Join, c.files(), c.files()
	secured := false
	urls := map[string]string{"--listen": o.Client, "--peer-listen": o.Peer}
	for name, url := range o.Peers {
		urls["--peer "+name] = url
	}
	for flag, text := range urls {
		https, err := checkEtcdURL(flag, text)
		if err != nil {
			return o, err
		}
		if https && !given {
			return o, fmt.Errorf("%s %s: https needs --ca, --cert and --key", flag, text)
		}
		secured = secured || https
	}
	if given && !secured {
		return o, errors.New("--ca, --cert and --key are for https, but no URL begins with https:// (--listen, --peer-listen, --peer)")
	}
	return o, nil
}

// options returns the options for restoring a member.
func (c *etcdMembers) options() (member.Options, error) {
	o := member.Options{Name: c.Name, Dir: c.Dir, Peer: c.PeerListen, Peers: maps.Clone(c.Peer)}
	if o.Peer == "" {
		o.Peer = c.Peer[c.Name]
	}
	if o.Peer == "" {
		o.Peer = "http://127.0.0.1:2380"
	}
	if len(o.Peers) > 0 && o.Peers[c.Name] == "" {
		return o, fmt.Errorf("the other members must know how to reach this one: add --peer %s=URL", c.Name)
	}
	return o, nil
}

// checkEtcdURL returns an error if a text is not a URL, or if others on the network could read the connection. It
// reports whether the URL is https.
func checkEtcdURL(flag, text string) (https bool, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || strings.Trim(u.Path, "/") != "" {
		return false, fmt.Errorf("%s %s: give a URL like http://127.0.0.1:2379 or https://10.0.0.1:2379", flag, text)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback() {
		return false, fmt.Errorf("%s %s: http is for loopback addresses only: give an https URL", flag, text)
	}
	return u.Scheme == "https", nil
}

type etcdSnapshotCommand struct {
	etcdTLS
	File         string `arg:"" name:"file" help:"File to write. It must not exist yet."`
	Endpoint     string `default:"http://127.0.0.1:2379" placeholder:"URL" help:"A member (${default})."`
	User         string `placeholder:"NAME" help:"User of etcd, where it asks for one. It needs the role root."`
	PasswordFile string `placeholder:"FILE" help:"File with the user's password."`
}

// Run saves a snapshot.
func (c *etcdSnapshotCommand) Run(s streams) error {
	if _, err := checkEtcdURL("--endpoint", c.Endpoint); err != nil {
		return &exitError{exitUsage, err}
	}
	from := member.Source{Endpoint: c.Endpoint, TLS: c.files(), User: c.User}
	if (c.User == "") != (c.PasswordFile == "") {
		return &exitError{exitUsage, errors.New("--user and --password-file belong together: give both")}
	}
	if c.PasswordFile != "" {
		text, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return err
		}
		from.Password = strings.TrimRight(string(text), "\r\n")
	}
	ctx, stop := s.interruptible()
	defer stop()
	version, err := member.Save(ctx, from, c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "written: %s, a snapshot of etcd %s\n", c.File, version)
	return err
}

type etcdRestoreCommand struct {
	etcdMembers
	File string `arg:"" name:"file" help:"Snapshot to restore. Restore all members from the same one."`
}

// Run creates the directory of a member from a snapshot. The member must not be running.
func (c *etcdRestoreCommand) Run(s streams) error {
	o, err := c.options()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	o.Client = "http://127.0.0.1:2379" // required, but not stored in the directory
	if err := member.Restore(o, c.File); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "restored: %s. Start the member with the same --name and --peer.\n", c.Dir)
	return err
}
