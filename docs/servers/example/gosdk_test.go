package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// proxy passes connections on. Its connections can be cut.
type proxy struct {
	mu    sync.Mutex
	conns []net.Conn
	made  int
}

// passTo returns the address of the proxy, which passes connections to another address.
func (p *proxy) passTo(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for in, err := l.Accept(); err == nil; in, err = l.Accept() {
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.made++
			p.mu.Unlock()
			for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
				work.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		work.Wait()
	})
	return l.Addr().String()
}

// cut cuts all connections, and returns how many have been made.
func (p *proxy) cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	return p.made
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// SS-130: a server with Amazon's SDK for Go, unchanged, hosts a match on a fleet, a queue and a matchmaker that were made over
// the API. It is cut off, comes back to the same game session, fills it, closes it, and ends.
func TestTheServerSDKOfAmazon(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program := filepath.Join(t.TempDir(), "gosdk")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = "../gosdk"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h := hosttest.Start(t, host.Options{Config: hosttest.Config(t), Network: hosttest.System, Log: hosttest.Log(t)})
	var p proxy
	through := p.passTo(t, h.Host.Addrs().API)

	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	location := aws.String("custom-lan")
	_, err := h.API.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: location})
	do(err)
	fleet, err := h.API.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("arena"), ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: location}}, AnywhereConfiguration: &types.AnywhereConfiguration{Cost: aws.String("1")},
	})
	do(err)
	id := fleet.FleetAttributes.FleetId
	compute, err := h.API.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: id, ComputeName: aws.String("host-1"), Location: location, IpAddress: aws.String("127.0.0.1")})
	do(err)
	token, err := h.API.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: id, ComputeName: aws.String("host-1")})
	do(err)
	queue, err := h.API.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: aws.String("arena"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: fleet.FleetAttributes.FleetArn}}})
	do(err)
	_, err = h.API.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{
		Name: aws.String("arena"), RuleSetBody: aws.String(`{"name":"arena","ruleLanguageVersion":"1.0","teams":[{"name":"players","minPlayers":2,"maxPlayers":3}],"expansions":[]}`),
	})
	do(err)
	_, err = h.API.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("arena"), RuleSetName: aws.String("arena"), GameSessionQueueArns: []string{*queue.GameSessionQueue.GameSessionQueueArn},
		AcceptanceRequired: aws.Bool(false), RequestTimeoutSeconds: aws.Int32(300),
	})
	do(err)

	port := strconv.Itoa(32_000 + rand.IntN(700)) // below those that kernels give away
	var log bytes.Buffer
	server := exec.CommandContext(ctx, program)
	server.Dir, server.Stderr = t.TempDir(), &log // the SDK writes a log there
	server.Env = append(os.Environ(), "PORT="+port, "HEALTHCHECK_INTERVAL=300ms", "HEALTHCHECK_MAX_JITTER=1ms",
		"GAMELIFT_SDK_WEBSOCKET_URL="+strings.Replace(*compute.Compute.GameLiftServiceSdkEndpoint, h.Host.Addrs().API, through, 1),
		"GAMELIFT_SDK_AUTH_TOKEN="+*token.AuthToken, "GAMELIFT_SDK_FLEET_ID="+*id, "GAMELIFT_SDK_HOST_ID=host-1", "GAMELIFT_SDK_PROCESS_ID=process-1")
	do(server.Start())
	end := sync.OnceValue(server.Wait)
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = end()
		if t.Failed() {
			t.Logf("connections: %d\n%s", p.connections(), &log)
		}
	})

	games := matched(ctx, t, h.API, "arena", "ann", "bob")
	ann, anns, annID := join(t, games[0])
	expect(t, anns, annID+" joined")
	bob, bobs, bobID := join(t, games[1])
	expect(t, bobs, bobID+" joined")
	fmt.Fprintln(ann, "hello")
	expect(t, bobs, annID+" hello")

	before := p.cut()
	await(ctx, t, "another connection", func() bool { return p.connections() > before })
	fmt.Fprintln(bob, "/who")
	expect(t, bobs, "ann ACTIVE, bob ACTIVE, ")
	fmt.Fprintln(ann, "/fill")
	ticket := regexp.MustCompile(`^ticket (\S+) <nil>$`)
	var filled []string
	for filled == nil && anns.Scan() {
		filled = ticket.FindStringSubmatch(anns.Text())
	}
	if filled == nil {
		t.Fatal("no ticket")
	}
	cid := matched(ctx, t, h.API, "arena", "cid")
	expect(t, bobs, "update MATCHMAKING_DATA_UPDATED "+filled[1])
	if *cid[0].GameSessionArn != *games[0].GameSessionArn {
		t.Errorf("cid is in %s, the others are in %s", *cid[0].GameSessionArn, *games[0].GameSessionArn)
	}
	third, cids, cidID := join(t, cid[0])
	expect(t, cids, cidID+" joined")
	fmt.Fprintln(third, "/close")
	expect(t, cids, "closed <nil>")
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	do(err)
	defer conn.Close()
	fmt.Fprintln(conn, annID) // is here already
	if answer, _ := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(answer, "The player session was accepted already") {
		t.Errorf("ann again: %q", answer)
	}
	for _, player := range []net.Conn{ann, bob, third} {
		fmt.Fprintln(player)
	}
	if err := end(); err != nil || !strings.Contains(log.String(), "over: <nil> <nil>") {
		t.Errorf("the server has ended: %v\n%s", err, &log)
	}
	await(ctx, t, "TERMINATED", func() bool {
		out, err := h.API.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: games[0].GameSessionArn})
		return err == nil && out.GameSessions[0].Status == types.GameSessionStatusTerminated
	})
	sessions, err := h.API.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{GameSessionId: games[0].GameSessionArn})
	do(err)
	for _, s := range sessions.PlayerSessions {
		if s.Status != types.PlayerSessionStatusCompleted {
			t.Errorf("%s is %s", *s.PlayerId, s.Status)
		}
	}
}
