package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"

	"troupe/actors/cluster/clustertest"
	"troupe/actors/serverprocess/launch"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// launching returns the options of a host that starts the example itself. Its ports, from one on, are below those that kernels
// give away: a port that another program has is a crash.
func launching(t *testing.T, processes, from int, log io.Writer) host.Options {
	t.Helper()
	if err := launch.Supported(); err != nil {
		t.Skip(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := hosttest.Config(t)
	c.Fleets[0].GameSessionsMax = 0
	c.Fleets[0].Server = host.GameServer{Path: own, Env: []string{asExample + "=1"}, Ports: fmt.Sprintf("%d-%d", from, from+39), Processes: processes}
	return host.Options{Config: c, Network: hosttest.System, Log: zerolog.New(log)}
}

// launched starts a host that starts the example itself, and waits until its fleet is ACTIVE.
func launched(ctx context.Context, t *testing.T, log io.Writer) *hosttest.Host {
	t.Helper()
	h := hosttest.Start(t, launching(t, 2, 20_000+50*rand.IntN(240), log))
	await(ctx, t, "an ACTIVE fleet", func() bool {
		out, err := h.API.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{"fleet-dev"}})
		return err == nil && out.FleetAttributes[0].Status == types.FleetStatusActive
	})
	return h
}

func await(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("not seen: %s", what)
		}
	}
}

// matched starts a ticket for each player, and returns what they connect with, in this order.
func matched(ctx context.Context, t *testing.T, api *gamelift.Client, by string, players ...string) []*types.GameSessionConnectionInfo {
	t.Helper()
	var tickets []string
	for _, id := range players {
		out, err := api.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{ConfigurationName: aws.String(by), Players: []types.Player{{PlayerId: aws.String(id)}}})
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, *out.MatchmakingTicket.TicketId)
	}
	all := make([]*types.GameSessionConnectionInfo, len(tickets))
	await(ctx, t, "matches", func() bool {
		out, err := api.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: tickets})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, id := range tickets {
			for _, ticket := range out.TicketList {
				if *ticket.TicketId == id && ticket.Status == types.MatchmakingConfigurationStatusCompleted {
					all[i] = ticket.GameSessionConnectionInfo
					n++
				}
			}
		}
		return n == len(tickets)
	})
	return all
}

// join connects a player to the example.
func join(t *testing.T, g *types.GameSessionConnectionInfo) (net.Conn, *bufio.Scanner, string) {
	t.Helper()
	seat := *g.MatchedPlayerSessions[0].PlayerSessionId
	conn, err := net.Dial("tcp", net.JoinHostPort(*g.IpAddress, strconv.Itoa(int(*g.Port))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintln(conn, seat)
	return conn, bufio.NewScanner(conn), seat
}

func expect(t *testing.T, from *bufio.Scanner, want string) {
	t.Helper()
	var heard []string
	for from.Scan() {
		if from.Text() == want {
			return
		}
		heard = append(heard, from.Text())
	}
	t.Fatalf("not said: %q, %v; %q", want, from.Err(), heard)
}

// Two matches of two players each are played on two processes that Troupe has started itself. When a game is over, its
// process ends, and the next match has a new one.
func TestMatchesOnProcessesThatTroupeStarts(t *testing.T) {
	// long enough for slow machines: it only ends a test that hangs
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	h := launched(ctx, t, zerolog.NewTestWriter(t))
	games := matched(ctx, t, h.API, "match-dev", "ann", "bob", "cid", "dan")
	process := map[string]int32{}
	for _, g := range games {
		process[*g.GameSessionArn] = *g.Port
	}
	ports := map[int32]bool{}
	for _, port := range process {
		ports[port] = true
	}
	if len(process) != 2 || len(ports) != 2 {
		t.Fatalf("game sessions and their ports: %v", process)
	}
	first := *games[0].GameSessionArn
	var talk []net.Conn
	var hear []*bufio.Scanner
	var seats []string
	for _, g := range games {
		if *g.GameSessionArn == first {
			conn, lines, seat := join(t, g)
			expect(t, lines, seat+" joined")
			talk, hear, seats = append(talk, conn), append(hear, lines), append(seats, seat)
		}
	}
	fmt.Fprintln(talk[0], "hello")
	expect(t, hear[1], seats[0]+" hello")
	for _, conn := range talk {
		fmt.Fprintln(conn) // an empty line leaves; the last one ends the game
	}
	await(ctx, t, "the end of the game session", func() bool {
		out, err := h.API.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(first)})
		return err == nil && out.GameSessions[0].Status == types.GameSessionStatusTerminated
	})
	again := matched(ctx, t, h.API, "match-dev", "eve", "fay") // on a process that was started for it
	if *again[0].GameSessionArn == first || *again[0].Port == process[first] {
		t.Errorf("%v again", again[0])
	}
	log, err := h.API.GetGameSessionLogUrl(ctx, &gamelift.GetGameSessionLogUrlInput{GameSessionId: aws.String(first)})
	if err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "what the process has printed, in the log of its game session", func() bool {
		resp, err := h.Web.Get(*log.PreSignedUrl + "&format=text")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(text), "(stderr)") && strings.Contains(string(text), "active: <nil>")
	})
	events, err := h.API.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: aws.String("fleet-dev")})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Events {
		if strings.HasPrefix(string(e.EventCode), "SERVER_PROCESS") {
			t.Errorf("%s: %s", e.EventCode, *e.Message)
		}
	}
	computes, err := h.API.ListCompute(ctx, &gamelift.ListComputeInput{FleetId: aws.String("fleet-dev")})
	if err != nil || len(computes.ComputeList) != 1 || *computes.ComputeList[0].ComputeName != "host" {
		t.Errorf("%+v, %v", computes, err)
	}
}

// The end of a process ends its game session at once, whoever ends it, and the host ends no process by force that ends when
// it is told to.
func TestProcessesEndWithTheirGameSessions(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	h := launched(ctx, t, zerolog.NewTestWriter(t))
	create := func() string {
		var id string
		await(ctx, t, "a free process", func() bool {
			out, err := h.API.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(4)})
			if err == nil {
				id = *out.GameSession.GameSessionId
			}
			return err == nil
		})
		return id
	}
	status := func(id string, want types.GameSessionStatus) {
		t.Helper()
		await(ctx, t, string(want), func() bool {
			out, err := h.API.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(id)})
			return err == nil && out.GameSessions[0].Status == want
		})
	}
	crashes := func() (n int) {
		events, err := h.API.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: aws.String("fleet-dev")})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Events {
			if e.EventCode == types.EventCodeServerProcessCrashed {
				n++
			}
		}
		return n
	}
	id := create()
	status(id, types.GameSessionStatusActive)
	if _, err := h.API.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(id), TerminationMode: types.TerminationModeTriggerOnProcessTerminate}); err != nil {
		t.Fatal(err)
	}
	status(id, types.GameSessionStatusTerminated)
	if n := crashes(); n != 0 {
		t.Errorf("%d crashes", n)
	}
	id = create()
	status(id, types.GameSessionStatusActive)
	if _, err := h.API.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(id), TerminationMode: types.TerminationModeForceTerminate}); err != nil {
		t.Fatal(err)
	}
	status(id, types.GameSessionStatusTerminated)
	status(create(), types.GameSessionStatusActive)
	if n := crashes(); n != 0 {
		t.Errorf("%d crashes", n)
	}
}

// In a cluster each host starts the processes of a fleet, and game sessions run on all of them, wherever they were created.
func TestEachHostOfAClusterStartsProcesses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	coordinator := clustertest.NewStore()
	t.Cleanup(coordinator.Close)
	from := 20_000 + 50*rand.IntN(240) // all have the same configuration: on one machine, those that come later must find a free port
	var hosts []*hosttest.Host
	for i := range 3 {
		o := launching(t, 1, from, zerolog.NewTestWriter(t))
		c := &o.Config.Cluster
		c.Name, c.Node, c.Etcd.Endpoints, c.Peers.Addr = "servers", fmt.Sprint("host-", i), []string{"http://127.0.0.1:1"}, "127.0.0.1:0"
		o.Coordinator = coordinator.Client()
		hosts = append(hosts, hosttest.Start(t, o))
	}
	ports := map[int32]bool{}
	var ids []string
	for i := range hosts {
		await(ctx, t, "a free process", func() bool {
			out, err := hosts[0].API.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(4)})
			if err == nil {
				ports[*out.GameSession.Port] = true
				ids = append(ids, *out.GameSession.GameSessionId)
			}
			return err == nil
		})
		await(ctx, t, "ACTIVE", func() bool {
			out, err := hosts[2-i].API.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(ids[i])})
			return err == nil && out.GameSessions[0].Status == types.GameSessionStatusActive
		})
	}
	if len(ports) != 3 {
		t.Errorf("game sessions run on the ports %v", ports)
	}
	computes, err := hosts[1].API.ListCompute(ctx, &gamelift.ListComputeInput{FleetId: aws.String("fleet-dev")})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range computes.ComputeList {
		names[*c.ComputeName] = true
	}
	if want := map[string]bool{"host-0": true, "host-1": true, "host-2": true}; !maps.Equal(names, want) {
		t.Errorf("computes are %v", names)
	}
}

// A game server that ends at once is shown with what it has printed, and its fleet is in ERROR.
func TestAServerThatDoesNotRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := launch.Supported(); err != nil {
		t.Skip(err)
	}
	c := hosttest.Config(t)
	c.Fleets[0].GameSessionsMax = 0
	c.Fleets[0].Server = host.GameServer{Path: "/bin/sh", Args: []string{"-c", "echo no map; exit 4"}, Processes: 1}
	h := hosttest.Start(t, host.Options{Config: c, Network: hosttest.System})
	await(ctx, t, "ERROR", func() bool {
		out, err := h.API.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{"fleet-dev"}})
		return err == nil && out.FleetAttributes[0].Status == types.FleetStatusError
	})
	events, err := h.API.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: aws.String("fleet-dev")})
	if err != nil {
		t.Fatal(err)
	}
	want := "a process ended (exit status 4); its last lines:\nno map"
	for _, e := range events.Events {
		if e.EventCode == types.EventCodeServerProcessCrashed && *e.Message == want {
			return
		}
	}
	t.Errorf("no event says %q", want)
}

// A drain tells the processes to end, and waits for them.
func TestADrainEndsTheProcesses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var log bytes.Buffer
	said := func(text string) int {
		mu.Lock()
		defer mu.Unlock()
		return strings.Count(log.String(), text)
	}
	h := launched(ctx, t, writes(func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		log.Write(b)
	}))
	await(ctx, t, "both processes", func() bool { return said("healthy: <nil>") == 2 }) // before they are ready, they are dropped
	h.Host.StartDrain(5 * time.Minute)
	select {
	case <-h.Host.Drained():
	case <-ctx.Done():
		t.Fatal("the host does not end")
	}
	if ended, well := said(`"game server ended"`), said(`"how":"exit status 0"`); ended != 2 || well != 2 {
		t.Errorf("%d processes have ended, %d of them by themselves:\n%s", ended, well, &log)
	}
}

// Nobody gets a token of a host's own compute over the API, and a token alone does not make a process one of the host's.
func TestOnlyTheHostStartsProcessesOfItsComputes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	h := launched(ctx, t, io.Discard)
	_, err := h.API.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: aws.String("fleet-dev"), ComputeName: aws.String("host")})
	var refused *types.InvalidRequestException
	if !errors.As(err, &refused) {
		t.Errorf("GetComputeAuthToken: %v", err)
	}
	auth, err := messages.Do(ctx, h.Host.System(), messages.AuthorizeCompute{FleetID: "fleet-dev", Name: "host", Host: true})
	if err != nil {
		t.Fatal(err)
	}
	q := url.Values{
		"pID": {"another-program"}, "sdkVersion": {"5.6.0"}, "sdkLanguage": {"Go"}, "ComputeId": {"host"}, "FleetId": {"fleet-dev"},
		"IdempotencyToken": {"x"}, "Authorization": {auth.Token},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(h.Host.Addrs().ServerSDK, "ws", "http", 1)+"?"+q.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"MDEyMzQ1Njc4OWFiY2RlZg=="}}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "has not started this process") {
		t.Errorf("%s %s", answer.Status, text)
	}
}

type writes func([]byte)

// Write implements io.Writer.
func (w writes) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}
