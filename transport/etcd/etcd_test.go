package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
	"troupe/transport/etcd/member"
)

var _ cluster.Coordinator = (*Client)(nil)

// patience is the timeout of requests. It is long, because the tests check the responses and not their speed.
const patience = 2 * time.Minute

// port returns a free port outside the range of outgoing connections.
func port(t *testing.T) string {
	t.Helper()
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
}

// members starts n members of etcd that form a cluster. Each function of before is called with a member's options before the member starts.
func members(t *testing.T, n int, before ...func(member.Options) error) (all []*member.Member) {
	t.Helper()
	options := make([]member.Options, n)
	peers := map[string]string{}
	dir := t.TempDir()
	for i := range options {
		name := fmt.Sprint("m", i)
		peers[name] = "http://" + port(t)
		options[i] = member.Options{Name: name, Dir: filepath.Join(dir, name), Client: "http://127.0.0.1:0", Peer: peers[name], Peers: peers, Quick: true, Log: zerolog.Nop()}
	}
	all = make([]*member.Member, n)
	var started sync.WaitGroup
	for i, o := range options {
		started.Go(func() {
			for _, f := range before {
				if err := f(o); err != nil {
					t.Error(err)
					return
				}
			}
			m, err := member.Start(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(m.Close)
			all[i] = m
		})
	}
	if started.Wait(); t.Failed() {
		t.FailNow()
	}
	return all
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Attempt == 0 {
		o.Attempt = patience
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Three real members fulfil the whole contract of a coordinator. The two clients are connected to different
// members.
func TestConformance(t *testing.T) {
	m := members(t, 3)
	a, b := client(t, Options{Endpoints: []string{m[0].Client()}}), client(t, Options{Endpoints: []string{m[1].Client(), m[2].Client()}})
	for i, c := range clustertest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if !c.Compact {
				t.Parallel()
			}
			c.Run(&clustertest.Place{T: t, Prefix: fmt.Sprintf("/test/%d/", i), A: a, B: b, TTL: 2 * time.Second})
		})
	}
}

// One member that accepts connections and never answers delays one attempt, and not every second one. A check of it
// keeps the client at the member that answers.
func TestASilentMember(t *testing.T) {
	t.Parallel()
	m := members(t, 1)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	c := client(t, Options{Endpoints: []string{"http://" + silent.Addr().String(), m[0].Client()}, Attempt: time.Second})
	c.moveFrom(1)                                                    // if the client has chosen the member that answers
	limited, cancel := context.WithTimeout(t.Context(), time.Second) // as callers do
	defer cancel()
	if _, err := c.Read(limited, coord.Query{Key: "x"}); err == nil {
		t.Error("the silent member answers")
	}
	c.attempt = 30 * time.Second
	for range 20 {
		if _, err := c.Read(t.Context(), coord.Query{Key: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	c.attempt = 100 * time.Millisecond
	_ = c.Check(t.Context(), zerolog.Nop()) // the member that answers may be too slow, too
	if c.at != 1 {
		t.Error("the check has moved the client to the silent member")
	}
}

// A majority of the members continues to work. Without a majority no request succeeds, and no data is lost.
func TestMembersAway(t *testing.T) {
	t.Parallel()
	m := members(t, 3)
	c := client(t, Options{Endpoints: []string{m[0].Client(), m[1].Client(), m[2].Client()}})
	put := func(c *Client, value string) error {
		_, _, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put("k", []byte(value))})
		return err
	}
	if err := errors.Join(put(c, "1"), c.Check(t.Context(), zerolog.Nop())); err != nil {
		t.Fatal(err)
	}
	m[2].Close()
	for { // an attempt through the closed member may have been committed
		if err := put(c, "2"); err == nil {
			break
		} else if !errors.Is(err, coord.ErrUnknown) && !errors.Is(err, coord.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	m[1].Close()
	hasty := client(t, Options{Endpoints: []string{m[0].Client()}, Attempt: 300 * time.Millisecond})
	if err := put(hasty, "3"); !errors.Is(err, coord.ErrUnknown) && !errors.Is(err, coord.ErrUnavailable) {
		t.Errorf("Commit without a majority: %v", err)
	}
	if _, err := hasty.Read(t.Context(), coord.Query{Key: "k"}); !errors.Is(err, coord.ErrUnavailable) {
		t.Errorf("Read without a majority: %v", err)
	}
}

// When Close of a leader returns, another member already leads. No client waits for an election.
func TestALeaderHandsOver(t *testing.T) {
	t.Parallel()
	m := members(t, 3)
	c := client(t, Options{Endpoints: []string{m[0].Client()}})
	status := func(i int) (id, leads uint64) {
		answer, err := c.calls.Status(t.Context(), m[i].Client())
		if err != nil {
			t.Fatal(err)
		}
		return answer.Header.MemberId, answer.Leader
	}
	for i := range m {
		if id, leads := status(i); id == leads {
			m[i].Close()
			m = append(m[:i:i], m[i+1:]...)
			break
		}
	}
	if len(m) != 2 {
		t.Fatal("nobody leads")
	}
	for i := range m {
		if id, leads := status(i); id == leads {
			return
		}
	}
	t.Error("the leader has closed, and no other member leads")
}

// A new member replaces a removed one after MemberAdd. Before MemberAdd it is refused.
func TestAMemberIsReplaced(t *testing.T) {
	t.Parallel()
	m := members(t, 3)
	c := client(t, Options{Endpoints: []string{m[0].Client(), m[1].Client()}})
	if _, _, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put("kept", nil)}); err != nil {
		t.Fatal(err)
	}
	all, err := c.calls.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := member.Options{Name: "new", Dir: t.TempDir(), Client: "http://127.0.0.1:0", Peer: "http://" + port(t), Peers: map[string]string{}, Joins: true, Quick: true, Log: zerolog.Nop()}
	o.Peers["new"] = o.Peer
	change := func(f func() error) { // members that have not been connected for a while refuse it
		err := f()
		for errors.Is(err, rpctypes.ErrUnhealthy) {
			time.Sleep(100 * time.Millisecond)
			err = f()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range all.Members {
		if one.Name != "m2" {
			o.Peers[one.Name] = one.PeerURLs[0]
		} else {
			change(func() (err error) { _, err = c.calls.MemberRemove(t.Context(), one.ID); return err })
		}
	}
	if err := m[2].Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "removed from its cluster") {
		t.Errorf("the removed member: %v", err)
	}
	m[2].Close()
	if early, err := member.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "etcdctl member add") {
		t.Fatalf("a member that the others do not know: %v, %v", early, err)
	}
	o.Dir = t.TempDir()
	change(func() (err error) { _, err = c.calls.MemberAdd(t.Context(), []string{o.Peer}); return err })
	joined, err := member.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(joined.Close)
	found, err := client(t, Options{Endpoints: []string{joined.Client()}}).Read(t.Context(), coord.Query{Prefix: true})
	if err != nil || len(found.KVs) != 1 || found.KVs[0].Key != "kept" {
		t.Errorf("the new member has %+v, %v", found, err)
	}
}

// A restored member has the data of its snapshot, and a revision that is higher than any that a node has
// seen.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := member.Options{Dir: filepath.Join(dir, "a"), Client: "http://127.0.0.1:0", Peer: "http://127.0.0.1:0", Quick: true, Log: zerolog.Nop()}
	m, err := member.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if second, err := member.Start(t.Context(), o); err == nil {
		second.Close()
		t.Error("two members run on one directory")
	}
	c := client(t, Options{Endpoints: []string{m.Client()}})
	_, before, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put("kept", []byte("1"))})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "snapshot")
	from := member.Source{Endpoint: m.Client()}
	if _, err := member.Save(t.Context(), from, file); err != nil {
		t.Fatal(err)
	}
	if _, err := member.Save(t.Context(), from, file); err == nil {
		t.Error("a snapshot was overwritten")
	}
	if _, _, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put("lost", nil)}); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(dir, "b")
	if err := member.Restore(o, file); err != nil {
		t.Fatal(err)
	}
	if err := member.Restore(o, file); err == nil {
		t.Error("a member was overwritten")
	}
	again, err := member.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	c = client(t, Options{Endpoints: []string{again.Client()}})
	found, err := c.Read(t.Context(), coord.Query{Prefix: true})
	if err != nil || len(found.KVs) != 1 || found.KVs[0].Key != "kept" || found.At < before+1_000_000_000 {
		t.Errorf("restored: %+v, %v", found, err)
	}
	if b := <-c.Watch(t.Context(), "", before); !errors.Is(b.Err, coord.ErrCompacted) {
		t.Errorf("a watch of what was before: %v", b.Err)
	}
	three := members(t, 3, func(o member.Options) error { return member.Restore(o, file) })
	for _, m := range three {
		found, err := client(t, Options{Endpoints: []string{m.Client()}}).Read(t.Context(), coord.Query{Prefix: true})
		if err != nil || len(found.KVs) != 1 || found.KVs[0].Key != "kept" || found.At < before+1_000_000_000 {
			t.Errorf("restored to three: %+v, %v", found, err)
		}
	}
	damaged := filepath.Join(dir, "damaged")
	if bytes, err := os.ReadFile(file); err != nil || os.WriteFile(damaged, bytes[:len(bytes)-7], 0o600) != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(dir, "c")
	if err := member.Restore(o, damaged); err == nil {
		t.Error("a damaged snapshot was restored")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "c*")); len(left) > 0 || err != nil {
		t.Errorf("a damaged snapshot leaves %v, %v", left, err)
	}
}

// Start returns a descriptive error for invalid options.
func TestRefusedMembers(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	ok := member.Options{Name: "a", Client: "http://127.0.0.1:0", Peer: "http://127.0.0.1:0", Log: zerolog.Nop()}
	for what, c := range map[string]struct {
		change func(*member.Options)
	}{
		"two members":  {func(o *member.Options) { o.Peers = map[string]string{"a": o.Peer, "b": "http://127.0.0.1:1"} }},
		"not a member": {func(o *member.Options) { o.Peers = map[string]string{"b": o.Peer} }},
		"no certificate": {func(o *member.Options) {
			o.Client, o.TLS = "https://127.0.0.1:0", member.TLS{CA: "/none", Cert: "/none", Key: "/none"}
		}},
		"no URL":          {func(o *member.Options) { o.Client = "127.0.0.1:0" }},
		"a taken address": {func(o *member.Options) { o.Client = "http://" + taken.Addr().String() }},
	} {
		o := ok
		o.Dir = t.TempDir()
		c.change(&o)
		m, err := member.Start(t.Context(), o)
		if err == nil {
			m.Close()
			t.Errorf("%s: started", what)
		}
		t.Logf("%s: %v", what, err)
		if left, err := os.ReadDir(filepath.Join(o.Dir, "member")); len(left) > 0 && what != "a taken address" {
			t.Errorf("%s: it leaves %v, %v", what, left, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	o := ok
	o.Dir, o.Peer = t.TempDir(), "http://"+port(t)
	o.Peers = map[string]string{"a": o.Peer, "b": "http://" + port(t), "c": "http://" + port(t)}
	if m, err := member.Start(ctx, o); err == nil {
		m.Close()
		t.Error("one of three serves alone")
	} else {
		t.Logf("no majority: %v", err)
	}
}

// CL-35, in part: why no connection to a member is possible.
func TestWhyAMemberDoesNotAnswer(t *testing.T) {
	t.Parallel()
	plain, secured, asks := httptest.NewServer(nil), httptest.NewUnstartedServer(nil), httptest.NewUnstartedServer(nil)
	asks.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	for _, s := range []*httptest.Server{plain, secured, asks} {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		if s.EnableHTTP2 = s != plain; s.EnableHTTP2 {
			s.StartTLS()
		}
		t.Cleanup(s.Close)
	}
	roots := x509.NewCertPool()
	roots.AddCert(asks.Certificate())
	nobody := port(t)
	for _, c := range []struct {
		endpoint, want string
		config         *tls.Config
	}{
		{"http://" + nobody, "connection refused", nil}, {"https://" + nobody, "connection refused", nil},
		{plain.URL, "", nil}, {strings.Replace(plain.URL, "http", "https", 1), "TLS: tls: first record does not look like a TLS handshake", nil},
		{secured.URL, "certificate signed by unknown authority", nil}, {asks.URL, "certificate required", &tls.Config{RootCAs: roots}},
	} {
		got := ""
		if err := client(t, Options{Endpoints: []string{c.endpoint}, TLS: c.config, Attempt: patience}).why(t.Context(), c.endpoint); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", c.endpoint, got, c.want)
		}
	}
	c := client(t, Options{Endpoints: []string{"http://" + nobody}, Attempt: time.Second})
	if err := c.Check(t.Context(), zerolog.Nop()); !errors.Is(err, coord.ErrUnavailable) || !strings.Contains(err.Error(), nobody) {
		t.Error(err)
	}
}
