package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"troupe/messages/lazy"
)

// etcdDir is the directory of a member's data, in the directory of its process.
const etcdDir = "data"

// StartEtcd starts the members of an etcd, one process each, with this program's `etcd` command. They listen on loopback
// addresses without TLS, and sync their data. It returns when all serve. Announce.API is the URL of a member.
func StartEtcd(ctx context.Context, bin string, members int) ([]*Process, error) {
	ports, err := freePorts(members)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	var peers []string
	for i, addr := range ports {
		peers = append(peers, "--peer", fmt.Sprintf("%s=http://%s", memberName(i), addr))
	}
	procs, errs := make([]*Process, members), make([]error, members)
	var all sync.WaitGroup
	for i := range members { // at once, because a member does not serve before a majority has started
		all.Go(func() {
			args := []string{"etcd", "--name", memberName(i), "--dir", etcdDir, "--listen", "http://127.0.0.1:0"}
			procs[i], errs[i] = Start(ctx, Spec{Kind: Etcd, Name: "etcd " + memberName(i), Bin: bin, Args: slices.Concat(args, peers)})
		})
	}
	all.Wait()
	if err = errors.Join(errs...); err == nil {
		return procs, nil
	}
	for _, p := range procs {
		if p != nil {
			err = errors.Join(err, p.Stop())
		}
	}
	return nil, err
}

func memberName(i int) string { return string(rune('a' + i)) }

// freePorts returns loopback addresses with different free ports. Members must know each other's before they start.
func freePorts(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all are open at the same time, so that they differ
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

var etcdServes = lazy.Regexp(`"client":"([^"]+)".*"message":"etcd serves"`)

// serves reports whether a member's log says that it serves, and takes its URL from there.
func (p *Process) serves() (bool, error) {
	found := etcdServes().FindStringSubmatch(p.output.String())
	if found != nil {
		p.Announce.API = found[1]
	}
	return found != nil, nil
}

// DatabaseBytes returns the size of a member's database. Etcd only.
func (p *Process) DatabaseBytes() (int64, error) {
	info, err := os.Stat(filepath.Join(p.dir, etcdDir, "member", "snap", "db"))
	if err != nil {
		return 0, fmt.Errorf("size of etcd's database: %w", err)
	}
	return info.Size(), nil
}
