package stories

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
)

// oneAndThree runs a test with one host, and with three hosts that are one cluster.
func oneAndThree(t *testing.T, test func(t *testing.T, hosts int)) {
	t.Run("OneHost", func(t *testing.T) { test(t, 1) })
	t.Run("ThreeHosts", func(t *testing.T) { test(t, 3) })
}

// startHosts starts hosts on a network. With more than one, they are one cluster, and each request through Web goes to
// the next of them (CL-2). change completes the options of each host.
func startHosts(t *testing.T, n int, on hosttest.Network, config func(*testing.T) host.Config, change func(*host.Options)) *hosttest.Host {
	t.Helper()
	if on == nil {
		network := memnet.New(1)
		t.Cleanup(network.Close)
		on = network.Machine()
	}
	coordinator := clustertest.NewStore()
	t.Cleanup(coordinator.Close)
	r := new(rotation)
	var systems []*actors.System
	var first *hosttest.Host
	for i := range n {
		o := host.Options{Config: config(t), Log: zerolog.Nop(), Network: on}
		if n > 1 {
			c := &o.Config.Cluster
			c.Name, c.Node, c.Etcd.Endpoints, c.Peers.Addr = "stories", fmt.Sprint("host-", i), []string{"http://127.0.0.1:1"}, "127.0.0.1:0"
			o.Coordinator = coordinator.Client()
		}
		if change != nil {
			change(&o)
		}
		h := hosttest.Start(t, o)
		first = cmp.Or(first, h)
		r.hosts = append(r.hosts, h.Host.Addrs().API)
		systems = append(systems, h.Host.System())
	}
	for _, s := range systems { // the first leader creates the configured fleets
		for {
			fleets, err := messages.Do(t.Context(), s, messages.FleetQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if len(fleets) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	r.transport = first.Web.Transport
	first.Web = &http.Client{Transport: r}
	return first
}

// rotation sends each request to the next host, as a load balancer does.
type rotation struct {
	transport http.RoundTripper
	hosts     []string
	requests  atomic.Uint64
}

func (r *rotation) RoundTrip(q *http.Request) (*http.Response, error) {
	to := q.Clone(q.Context())
	to.Host = cmp.Or(q.Host, q.URL.Host) // the name that is signed
	to.URL.Host = r.hosts[r.requests.Add(1)%uint64(len(r.hosts))]
	return r.transport.RoundTrip(to)
}

// balancer returns the URL of a listener for other processes, whose requests go to h.Web.
func balancer(t *testing.T, h *hosttest.Host) string {
	t.Helper()
	return hosttest.Serve(t, h.Net, &httputil.ReverseProxy{Transport: h.Web.Transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host
	}})
}

// CL-4: a page token of one host is good at the next. Items that exist throughout appear once, while others come and go.
func TestPagesOfThreeHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHosts(t, 3, nil, config, func(o *host.Options) { o.Config.Fleets[0].GameSessionsMax = 30 })
		s := teller{t, newGoSDK(t, "http://"+h.Host.Addrs().API, h.Web), h.Net.Dial}
		create := func() string {
			return text(s.ok("CreateGameSession", object{"FleetId": "fleet-dev", "MaximumPlayerSessionCount": 2}), "GameSession.GameSessionId")
		}
		var stay, others []string
		for i := range 30 {
			if id := create(); i%2 == 0 {
				stay = append(stay, id)
			} else {
				others = append(others, id)
			}
			time.Sleep(time.Second)
		}
		for operation, in := range map[string]object{
			"DescribeGameSessions": {}, "DescribeGameSessionDetails": {},
			"SearchGameSessions": {"FilterExpression": "maximumSessions = 2", "SortExpression": "creationTimeMillis DESC"},
		} {
			seen := map[string]int{}
			for in["FleetId"], in["Limit"] = "fleet-dev", 4; ; {
				out := s.ok(operation, in)
				all, _ := at(out, "GameSessions").([]any)
				details, _ := at(out, "GameSessionDetails").([]any)
				for _, one := range details {
					all = append(all, at(one, "GameSession"))
				}
				for _, one := range all {
					seen[text(one, "GameSessionId")]++
				}
				if in["NextToken"] = text(out, "NextToken"); in["NextToken"] == "" {
					break
				}
				s.ok("TerminateGameSession", object{"GameSessionId": others[0], "TerminationMode": "FORCE_TERMINATE"})
				others = append(others[1:], create())
				s.ok("DescribeGameSessions", object{"GameSessionId": others[0]}) // with four calls, the next page comes from another host
			}
			for _, id := range stay {
				if seen[id] != 1 {
					t.Errorf("%s: %s appears %d times", operation, id, seen[id])
				}
			}
		}
	})
}
