package etcd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"

	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
	"troupe/transport/etcd/member"
)

const ownPrefix = "/troupe/prod/"

// secured starts a member with users: root, and node, which may read and write only the keys of one cluster.
func secured(t *testing.T) (*member.Member, member.Options) {
	t.Helper()
	o := member.Options{Dir: filepath.Join(t.TempDir(), "a"), Client: "http://" + port(t), Peer: "http://127.0.0.1:0", Quick: true, Log: zerolog.Nop()}
	m, err := member.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	admin := client(t, Options{Endpoints: []string{m.Client()}}).calls
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(admin.UserAdd(t.Context(), "root", "of root"))
	must(admin.UserGrantRole(t.Context(), "root", "root"))
	must(admin.RoleAdd(t.Context(), "troupe"))
	must(admin.RoleGrantPermission(t.Context(), "troupe", ownPrefix, clientv3.GetPrefixRangeEnd(ownPrefix), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(admin.UserAdd(t.Context(), "node", "of node"))
	must(admin.UserGrantRole(t.Context(), "node", "troupe"))
	must(admin.AuthEnable(t.Context()))
	return m, o
}

// A user who may only touch the keys of its cluster may do everything but compact, which concerns all users of etcd.
func TestAUserOfOnePrefix(t *testing.T) {
	m, _ := secured(t)
	user := Options{Endpoints: []string{m.Client()}, User: "node", Password: "of node"}
	a, b := client(t, user), client(t, user)
	if err := a.Compact(t.Context(), 1); !errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, coord.ErrUnavailable) {
		t.Errorf("Compact: %v", err)
	}
	for i, c := range clustertest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Compact { // etcd permits it to administrators only
				t.Skip("it compacts the history of all users")
			}
			t.Parallel()
			c.Run(&clustertest.Place{T: t, Prefix: fmt.Sprintf("%s%d/", ownPrefix, i), A: a, B: b, TTL: 5 * time.Second})
		})
	}
}

// Whoever has no user, a wrong password or another prefix is refused for good: no further attempt would succeed.
func TestRefusedUsers(t *testing.T) {
	t.Parallel()
	m, _ := secured(t)
	at := []string{m.Client()}
	refused := func(what string, c *Client, key string) {
		t.Helper()
		_, _, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put(key, nil)})
		_, again := c.Read(t.Context(), coord.Query{Key: key})
		for _, err := range []error{err, again} {
			if err == nil || errors.Is(err, coord.ErrUnknown) || errors.Is(err, coord.ErrUnavailable) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	refused("another prefix", client(t, Options{Endpoints: at, User: "node", Password: "of node"}), "/troupe/prod2/meta")
	refused("no user", client(t, Options{Endpoints: at}), ownPrefix+"meta")
	c, err := Open(t.Context(), Options{Endpoints: at, User: "node", Password: "wrong", Attempt: patience})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		refused("a wrong password", c, ownPrefix+"meta")
	}
}

// After a restart etcd knows no token that it gave before. The client fetches a new one.
func TestARestartOfEtcdWithUsers(t *testing.T) {
	t.Parallel()
	m, o := secured(t)
	c := client(t, Options{Endpoints: []string{m.Client()}, User: "node", Password: "of node"})
	put := func(value string) (int64, error) {
		_, at, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put(ownPrefix+"k", []byte(value))})
		return at, err
	}
	at, err := put("1")
	if err != nil {
		t.Fatal(err)
	}
	lease, err := c.Grant(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	hasty := Options{Endpoints: []string{o.Client}, User: "node", Password: "of node"}
	ended, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer end()
	if early, err := Open(ended, hasty); err == nil || !strings.Contains(err.Error(), "check that etcd runs") {
		t.Errorf("Open without etcd: %v, %v", early, err)
	}
	opened := make(chan *Client)
	go func() {
		late, err := Open(t.Context(), hasty)
		if err != nil {
			t.Errorf("Open before etcd: %v", err)
		}
		opened <- late
	}()
	again, err := member.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	if late := <-opened; late != nil {
		t.Cleanup(func() { _ = late.Close() })
	}
	watch := c.Watch(t.Context(), ownPrefix, at)
	if err := c.Renew(t.Context(), lease); err != nil {
		t.Errorf("Renew: %v", err)
	}
	if _, err := put("2"); err != nil {
		t.Errorf("Commit: %v", err)
	}
	if b := <-watch; b.Err != nil || len(b.Events) != 1 || string(b.Events[0].Value) != "2" {
		t.Errorf("Watch: %+v", b)
	}
}
